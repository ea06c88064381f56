"""Static embeddings of several languages in one space: text in; vectors, figures, a report out."""

from __future__ import annotations

import dataclasses
import logging as python_logging
import os
from typing import Any, Iterable, Mapping

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import config_static
from clwe_jax.embeddings.reallocate import Reallocation, reallocate
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate.static_encoder import StaticEncoder
from clwe_jax.jobs import align, evaluators, lexica, measure, refine, spaces
from clwe_jax.api.static import StaticModel
from clwe_jax.text import world
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.words import Segmenter

Vocabularies = Mapping[str, Vectors]


@dataclasses.dataclass(frozen=True)
class _Trained:
    """Vectors before refinement.

    Attributes:
      raw: language -> its vectors, most frequent words first.
      shared: language -> the words that it has in common with the hub.
      before: the same before reallocation; None where nothing was reallocated.
      vocabulary: of the report.
    """

    raw: Vocabularies
    shared: Mapping[str, frozenset[str]]
    before: tuple[Vocabularies, Mapping[str, frozenset[str]]] | None = None
    vocabulary: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def run(config: ConfigDict, workdir: str) -> bool:
    """Trains, reallocates, aligns, evaluates and reports.

    Every stage leaves its result whole in the folder; started again, a run goes on from there, or
    says that all is done. With `config.align.source_vectors` nothing is trained; see `align.run`.

    Returns:
      True: it always runs to its end.

    Raises:
      ValueError, FileNotFoundError: a setting, a file or a folder that cannot work.
    """
    if config.align.source_vectors:
        return align.run(config, workdir)
    python_logging.getLogger("gensim").setLevel(python_logging.WARNING)
    stages = measure.Stages()
    options.claim_workdir(config, workdir)
    refine.aligner(config)
    if measure.finished(config, workdir):
        return True
    with measure.noted() as notes:
        folders = world.resolve_folders(config, workdir)
        normalizer = Normalizer(config.data.lower_case, config.data.simplify_chinese)
        with stages("dictionaries"):
            dictionary = lexica.training(config, folders, workdir, normalizer)
            tests = lexica.tests(config, folders, normalizer)
        made = evaluators.build(config, measure.context(config, normalizer), folders)
        segmenter = Segmenter(_lexicons(options.languages(config), dictionary, tests))
        trainer = spaces.Trainer(
            config, workdir, folders["text"], normalizer, segmenter, dictionary
        )
        with stages("training"):
            trained = _train(config, trainer)
        hub = config_static.hub_of(config)
        alignments = {}
        if config.static.refinement:
            with stages("alignment"):
                alignments = _refine(config, workdir, trained, dictionary, hub)
        model = StaticModel(trained.raw, trained.shared, alignments, hub, normalizer)
        with stages("writing"):
            model.save(workdir)
            if config.static.write_text:
                align.write_vectors(workdir, model)
        measure.leave(
            config,
            workdir,
            model,
            made,
            StaticEncoder(
                model,
                lambda text, language: segmenter.words(normalizer(text, language), language),
            ),
            dictionary=dictionary,
            stages=stages,
            notes=notes,
            static={
                "vocabulary": trained.vocabulary,
                "projection": _pictures(config, trained, model, dictionary),
            },
            extras=_described(trainer.counts, dictionary),
        )
    return True


def _lexicons(
    languages: Iterable[str], dictionary: Dictionary | None, tests: Iterable[Any]
) -> dict[str, set[str]]:
    """The words by which text without spaces is cut.

    Test words are among them, as words, not as translations: in text that is cut without them
    they would not be found.
    """
    found = {
        language: set(dictionary.lexicon(language)) if dictionary is not None else set()
        for language in languages
    }
    for test in tests:
        found[test.source] |= set(test.entries)
        found[test.target] |= set().union(*test.entries.values())
    return found


def _train(config: ConfigDict, trainer: spaces.Trainer) -> _Trained:
    """The vectors of every language, and what they share."""
    kind, most = config.static.training, config.embeddings.max_vocab
    hub = config_static.hub_of(config)
    if kind in ("separate", "duong"):
        found = trainer.separate() if kind == "separate" else trainer.duong()
        return _Trained({language: found[language].top(most) for language in found}, {})
    joint, counts = trainer.joint(replaced=kind == "replace"), trainer.counts
    raw = {
        language: spaces.of_language(joint, words, words, most)
        for language, words in counts.items()
    }
    shared = _in_common(raw, hub)
    if not config.static.reallocation:
        return _Trained(raw, shared, vocabulary=_vocabulary(raw, shared))
    separate = trainer.separate() if config.static.rule == "neighbours" else None
    decided = reallocate(
        counts,
        config.static.gamma,
        words=joint.words,
        rule=config.static.rule,
        vectors=separate,
        seed=config.seed,
    )
    kept = {
        language: spaces.of_language(joint, words, decided.vocabulary(language), most)
        for language, words in counts.items()
    }
    # Of reallocated words those that both still have are the shared ones.
    left, sharers = _in_common(kept, hub), decided.sharers
    for language, vectors in kept.items():
        logging.info(
            "%s: %s words, %s before reallocation, %s of them shared", language,
            f"{len(vectors):,}", f"{len(raw[language]):,}",
            f"{sum(word in sharers for word in vectors.words):,}",
        )  # fmt: skip
    vocabulary = _reallocated(raw, kept, decided, config)
    return _Trained(kept, left, (raw, shared), vocabulary)


def _in_common(raw: Vocabularies, hub: str) -> dict[str, frozenset[str]]:
    """language -> the words that it and the hub have."""
    return {
        language: frozenset(word for word in vectors.words if word in raw[hub].index)
        for language, vectors in raw.items()
        if language != hub
    }


def _vocabulary(raw: Vocabularies, shared: Mapping[str, frozenset[str]]) -> dict[str, Any]:
    return {
        "text": "One set of vectors: a word that occurs in the text of two languages is one word.",
        "languages": {
            language: {"words": len(vectors), "shared": len(shared[language])}
            for language, vectors in raw.items()
            if language in shared
        },
    }


def _reallocated(
    before: Vocabularies, after: Vocabularies, decided: Reallocation, config: ConfigDict
) -> dict[str, Any]:
    """What the report says of the reallocation."""
    if config.static.rule == "ratio":
        how = (
            "A word stays shared by the languages in which its relative frequency is at least "
            f"{(1 - config.static.gamma) / config.static.gamma:.3f} of that where it is highest "
            f"(gamma {config.static.gamma:g}); otherwise the latter alone keeps it."
        )
    else:
        how = (
            "A word stays shared by the languages in which its neighbours agree more than those "
            "of different words do; otherwise the one where it is most frequent keeps it."
        )
    languages = {}
    for language, vectors in after.items():
        shared = sum(word in decided.sharers for word in vectors.words)
        languages[language] = {
            "words": len(before[language]),
            "own": len(vectors) - shared,
            "shared": shared,
            "lost": sum(word not in vectors.index for word in before[language].words),
        }
    return {"text": how, "languages": languages, "examples": decided.examples()}


def _refine(
    config: ConfigDict, workdir: str, trained: _Trained, dictionary: Dictionary | None, hub: str
) -> dict[str, Any]:
    """The map of every language to the hub."""
    found = {}
    for language, vectors in trained.raw.items():
        if language == hub:
            continue
        shared = trained.shared.get(language, frozenset())
        found[language] = refine.kept(
            os.path.join(workdir, "alignments", f"{language}-{hub}.npz"),
            # The words of these are left out of the dictionary that the map is trained on.
            {"tests": config.evals.bli.data, "words": [len(vectors), len(trained.raw[hub])]},
            lambda: refine.fit(
                config, vectors, trained.raw[hub], dictionary, (language, hub), shared
            ),
        )
    return found


def _pictures(
    config: ConfigDict, trained: _Trained, model: StaticModel, dictionary: Dictionary | None
) -> dict[str, Any]:
    """Frequent words of every language and the hub, stage by stage (joint-align, Fig. 1)."""
    hub = model.hub
    found = {}
    for language in model.languages:
        if language == hub:
            continue
        pairs = dictionary.pairs(language, hub) if dictionary is not None else []
        shared = trained.shared.get(language, frozenset())
        raw = model.raw[language], model.raw[hub]
        stages = {"before": measure.picture(*raw, shared, pairs)}
        if trained.before is not None:
            first, common = trained.before
            stages["reallocated"] = stages["before"]
            stages["before"] = measure.picture(first[language], first[hub], common[language], pairs)
        if language in model.alignments:
            stages["after"] = measure.picture(*model.space(language, hub), shared, pairs)
        found[f"{language}-{hub}"] = stages
    return found


def _described(
    counts: Mapping[str, Mapping[str, int]], dictionary: Dictionary | None
) -> dict[str, Any]:
    """What the report shows of the text: its equal parts, and what the dictionary covers."""
    rows = {}
    for language, words in counts.items():
        total = sum(words.values())
        rows[language] = {"words": total}
        if dictionary is not None:
            covered = sum(words.get(word, 0) for word in dictionary.language_words(language))
            rows[language]["coverage"] = covered / max(1, total)
    return {"languages": rows}

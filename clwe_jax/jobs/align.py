"""The alignment of vectors that people bring: two files in; one space, figures, a report out."""

from __future__ import annotations

import os
from typing import Any

from absl import logging
from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.embeddings import files
from clwe_jax.embeddings.collect import KEPT
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.jobs import evaluators, lexica, measure, refine
from clwe_jax.api.static import StaticModel
from clwe_jax.text import world
from clwe_jax.text.normalize import Normalizer


def run(config: ConfigDict, workdir: str) -> bool:
    """Aligns the first language's vectors to the second's, evaluates and reports.

    Started again in the same folder it goes on from the alignment that is there, or says that all
    is done.

    Returns:
      True: it always runs to its end.

    Raises:
      ValueError, FileNotFoundError: a setting, a file or a folder that cannot work.
    """
    stages = measure.Stages()
    options.claim_workdir(config, workdir)
    refine.aligner(config)
    if measure.finished(config, workdir):
        return True
    with measure.noted() as notes:
        folders = _folders(config, workdir)
        normalizer = Normalizer(config.align.lower_case_dictionary, config.data.simplify_chinese)
        with stages("dictionaries"):
            dictionary = lexica.training(config, folders, workdir, normalizer)
        made = evaluators.build(config, measure.context(config, normalizer), folders)
        with stages("reading"):
            vectors, skipped = _read(config)
        source, target = options.languages(config)
        with stages("alignment"):
            found = refine.kept(
                os.path.join(workdir, "alignments", f"{source}-{target}.npz"),
                {"tests": config.evals.bli.data, "vectors": _states(config)},
                lambda: refine.fit(
                    config, vectors[source], vectors[target], dictionary, (source, target)
                ),
            )
        model = StaticModel(vectors, {}, {source: found}, target, normalizer)
        with stages("writing"):
            model.save(workdir)
            if config.static.write_text:
                write_vectors(workdir, model)
        pairs = dictionary.pairs(source, target) if dictionary is not None else []
        pictures = {
            "before": _both(config, vectors, pairs),
            "after": measure.picture(*model.space(source, target), frozenset(), pairs),
        }
        measure.leave(
            config,
            workdir,
            model,
            made,
            model.encoder(),
            dictionary=dictionary,
            stages=stages,
            notes=notes,
            static={"projection": {f"{source}-{target}": pictures}},
            extras={"skipped": skipped},
        )
    return True


def _folders(config: ConfigDict, workdir: str) -> dict[str, str]:
    """What 'pocket' stands for; of the embedded world no text is written, only dictionaries."""
    brought = ConfigDict(config.to_dict())
    brought.data.source = "text:"
    return world.resolve_folders(brought, workdir)


def _read(config: ConfigDict) -> tuple[dict[str, Vectors], dict[str, int]]:
    """The vectors of both files, and counts of what was left out of them."""
    found, skipped = {}, {}
    paths = config.align.source_vectors, config.align.target_vectors
    for language, path in zip(options.languages(config), paths):
        vectors = files.read(path, max_vocab=config.align.max_vocab)
        logging.info(
            "%s: %s words of %d dimensions (%s)", language, f"{len(vectors.words):,}",
            vectors.vectors.shape[1], path,
        )  # fmt: skip
        found[language] = vectors
        for name, count in vectors.report.items():
            if count and name not in KEPT:
                skipped[f"{os.path.basename(path)}: {name.replace('_', ' ')}"] = count
    return found, skipped


def _both(config: ConfigDict, vectors: dict[str, Vectors], pairs: Any) -> dict[str, Any]:
    source, target = (vectors[language] for language in options.languages(config))
    if source.vectors.shape[1] != target.vectors.shape[1]:
        return {}
    return measure.picture(source, target, frozenset(), pairs)


def _states(config: ConfigDict) -> list[list[float]]:
    """Size and time of both files: of others the alignment is another."""
    paths = (config.align.source_vectors, config.align.target_vectors)
    return [[os.path.getsize(path), os.path.getmtime(path)] for path in paths]


def write_vectors(workdir: str, model: StaticModel) -> None:
    """Writes WORKDIR/vectors/{lang}.vec: every language in the hub's space, for other tools."""
    os.makedirs(os.path.join(workdir, "vectors"), exist_ok=True)
    for language in model.languages:
        path = os.path.join(workdir, "vectors", f"{language}.vec")
        files.write(path, model.vectors(language))

"""A trained tagger, classifier or probe, as the folder of a transfer run holds it."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax import atomic, options, registry
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.checks import check_languages, check_texts
from clwe_jax.encoders.features import FeatureReader, PieceTable
from clwe_jax.encoders.loaded import LoadedEncoder, list_languages
from clwe_jax.objectives import projected
from clwe_jax.options.transfer import LEARNED, TransferOptions, TransferRun
from clwe_jax.text.dictionary.glossary import Glossary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, fine_tuned, heads
from clwe_jax.transfer.labeller import Frozen, Labellers, TunedLabellers

JOINT = "joint"  # the encoder in WORKDIR/encoder
ENCODER = "encoder"
HEADS = "heads"
VOCABULARY = "vocab"
SETTINGS = "labels.json"
CENTERS = "centers.npz"
_CALLS = {
    "tags": ("words", "tag([TEXT]"),
    "texts": ("texts", "classify([TEXT]"),
    "spans": ("spans", "label_spans([(WORDS, SPANS)]"),
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TrainedLabeller:
    """A trained tagger, classifier or probe (`encoders.loaded.LabelsText`).

    Attributes:
      labels: name of each label.
      kind: 'tags', 'texts' or 'spans': what has labels.
      texts: number of texts or spans of a row that has labels of its own.
      predictor: the trained heads or models of all seeds.
      seed: place of the seed that answers, the one with the best development figure.
      encoder: the model that the run's encoder is; None where the encoder learned with the head.
      tokenizer: cuts text into words; None: `encoder` does.
      glossaries: language -> the words that translate its text before it is labelled.
    """

    config: TransferRun
    labels: tuple[str, ...]
    kind: str
    texts: int
    predictor: Labellers
    seed: int
    encoder: LoadedEncoder | None
    tokenizer: Tokenizer | None
    glossaries: Mapping[str, Glossary] = dataclasses.field(default_factory=dict)
    kind_name = "Taggers and classifiers"
    lack_message = (
        "give labels and no vectors, which the method {method!r} needs: api.load(ENCODER) loads the model "
        "of the run's config.encoder, which has them"
    )

    def __repr__(self) -> str:
        return f"TrainedLabeller({self.config.transfer.task}; {list_languages(self.languages)})"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the encoder knows; labels were learned in a part of them."""
        encoded = self.tokenizer.languages if self.encoder is None else self.encoder.languages
        return tuple(dict.fromkeys([*encoded, *self.glossaries]))

    def segmenter(self, lang: str) -> Segmenter:
        """Cuts text of a language into words as the encoder does."""
        return self.tokenizer.segmenter if self.encoder is None else self.encoder.segmenter(lang)

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The words of texts with their labels, as `api.Model.tag` describes them.

        Raises:
          ValueError: a run whose labels are those of texts, or an unknown language.
        """
        self._check(lang, "tags")
        if isinstance(texts, str):
            check_texts(texts)
        words = [self._words(text, lang) if isinstance(text, str) else list(text) for text in texts]
        # Encoders take no sentence without words.
        full = [place for place, sentence in enumerate(words) if sentence]
        tagged: list[list[tuple[str, str]]] = [[] for _ in words]
        if full:
            sentences = [words[i] for i in full]
            spoken = lang
            if self.config.transfer.lower_case:
                sentences = [[word.lower() for word in sentence] for sentence in sentences]
            if lang in self.glossaries:
                glossary = self.glossaries[lang]
                sentences = list(map(glossary.words, sentences))
                spoken = glossary.target
            labels = self.predictor.label_sentences(sentences, spoken)[self.seed]
            for place, mine in zip(full, labels):
                tagged[place] = list(zip(words[place], mine))
        return tagged

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]], lang: str) -> list[str]:
        """The labels of texts; for a task of pairs, of pairs of texts.

        Raises:
          ValueError: a run whose labels are those of words, an unknown language, or texts where the
            task has pairs.
        """
        self._check(lang, "texts")
        rows = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        if isinstance(texts, str) or any(len(row) != self.texts for row in rows):
            expected = "pairs (TEXT, TEXT)" if self.texts == 2 else "texts"
            raise ValueError(f"texts: expected a list of {expected}")
        if not rows:
            return []
        if lang in self.glossaries:
            glossary = self.glossaries[lang]
            rows = [tuple(map(glossary.text, row)) for row in rows]
            lang = glossary.target
        return self.predictor.label_texts(rows, lang)[self.seed]

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], lang: str
    ) -> list[tuple[str, ...]]:
        """The labels of spans, or of pairs of spans, as `api.Model.label_spans` describes them.

        Raises:
          ValueError: a run whose labels are those of words or texts, an unknown language, or a span
            that is empty or outside the sentence.
        """
        self._check(lang, "spans")
        for words, spans in rows:
            if len(spans) != self.texts or not all(0 <= a < b <= len(words) for a, b in spans):
                raise ValueError(
                    f"{list(spans)}: expected {self.texts} of (first word, word after the last one) "
                    f"in a sentence of {len(words)} words"
                )
        return self.predictor.label_spans(rows, lang)[self.seed] if rows else []

    def _check(self, lang: str, kind: str) -> None:
        if self.kind != kind:
            labelled, call = _CALLS[self.kind]
            raise ValueError(
                f"This run labels {labelled} ({', '.join(self.labels)}): {call}, lang={lang!r})"
            )
        check_languages(self.languages, lang=lang)

    def _words(self, text: str, lang: str) -> list[str]:
        """The words of a text with their own capitals."""
        if lang in self.glossaries:
            return self.glossaries[lang].cut(text)
        return self.segmenter(lang).words(Normalizer(lower_case=False)(text, lang), lang)


def reader(
    settings: TransferOptions,
    model: LoadedEncoder,
    tags: bool,
    layers: str,
    folder: str | None = None,
) -> FeatureReader:
    """Makes the features of texts for a head.

    Args:
      tags: whether each word has a label.
      layers: the option `layers`, or the chosen one.
    """
    encoder = encoders.text_encoder(model, settings.reduce, settings.pivot_probability)
    layers = "mix" if layers == "each" else layers
    of_means = settings.head.of_means and not tags
    return FeatureReader(encoder, layers, settings.words, of_means, folder)


def load(workdir: str) -> TrainedLabeller:
    """The tagger or classifier in a run's folder.

    Raises:
      FileNotFoundError: the folder holds no trained heads, or the encoder's folder is gone.
      ValueError: a damaged file.
    """
    config = options.read_config(workdir)
    path = os.path.join(workdir, SETTINGS)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no trained head: start the run again with the same command, which "
            f"resumes it: --workdir={workdir}"
        )
    described = atomic.read_json(path)
    labels = tuple(described["labels"])
    kind = registry.lookup("transfer_task", config.transfer.task).kind
    model = None
    tokenizer = None
    if config.encoder in LEARNED:
        tokenizer = Tokenizer.load(os.path.join(workdir, VOCABULARY))
    else:
        if config.encoder == JOINT:
            model = encoders.load(f"run:{os.path.join(workdir, ENCODER)}", described["languages"])
        else:
            model = encoders.of_run(config.encoder, described["languages"], workdir)
        tokenizer = model.tokenizer
        maps = os.path.join(workdir, projected.FILE)
        if os.path.exists(maps):  # of `config.transfer.align`
            projection = projected.load(maps, model.objective, tokenizer.language_id)
            model = dataclasses.replace(model, projection=projection)
    make = _tuned_labeller if config.transfer.mode == "tune" else _load_frozen
    predictor, seed = make(config, workdir, described, model, tokenizer)
    glossaries = {x: Glossary(**entry) for x, entry in described.get("translated", {}).items()}
    return TrainedLabeller(
        config, labels, kind, described["texts"], predictor, seed, model, tokenizer, glossaries
    )


def _load_frozen(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: LoadedEncoder | None,
    tokenizer: Tokenizer | None,
) -> tuple[Frozen, int]:
    name = described["chosen"] or "head"
    history = np.array(atomic.read_json(os.path.join(workdir, HEADS, f"{name}.json"))["history"])
    # With layers='each' the chosen head, such as 'layer3', names the layer that it reads.
    layers = described["chosen"].removeprefix("layer") or config.transfer.layers
    source: FeatureReader | PieceTable
    if model is None:
        source = PieceTable(tokenizer)
        size = tokenizer.vocabulary.size
    else:
        source = reader(config.transfer, model, described["tags"], layers)
        size = 0
    labels = described["labels"]
    tags = described["tags"]
    centers = None
    path = os.path.join(workdir, HEADS, CENTERS)
    if config.transfer.center:
        part = slice(int(layers), int(layers) + 1) if name != "head" else slice(None)
        with np.load(path, allow_pickle=False) as file:
            centers = {language: file[language][part] for language in file.files}
    return Frozen(
        source,
        build.labeller(config.transfer, config.encoder, labels, tags, size),
        heads.load(os.path.join(workdir, HEADS, f"{name}.npz")),
        labels,
        centers,
    ), int(history.max(0).argmax())


def _tuned_labeller(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: LoadedEncoder | None,
    tokenizer: Tokenizer | None,
) -> tuple[TunedLabellers, int]:
    base = encoders.tunable(model, config.encoder).objective
    objective = build.tuned_objective(config.transfer, described["labels"], described["tags"], base)
    metric = f"dev/{described['metric']}"
    folders = [fine_tuned.folder(workdir, k) for k in range(config.transfer.seeds)]
    highest = [max(fine_tuned.history(folder, metric).values()) for folder in folders]
    seed = int(np.argmax(highest))
    length = min(config.transfer.length, objective.max_length)
    variables = [fine_tuned.best(folders[seed], objective, metric)]  # the seed that answers alone
    types = described["texts"] == 2 and objective.model.backbone.options.types > 1
    return TunedLabellers(objective, tokenizer, variables, described["labels"], length, types), 0

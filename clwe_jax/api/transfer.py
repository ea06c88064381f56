"""Use a tagger, classifier or probe: labels of words, of texts and of spans.

    from clwe_jax import api

    model = api.load("runs/ner_bilstm_crf")
    model.tag(["Anna wohnt in Berlin."], lang="de")       # [[('Anna', 'B-PER'), ...]]
    model = api.load("runs/finetune_xnli")
    model.classify([("He sleeps.", "He is awake.")], lang="en")
    model = api.load("runs/edge_probing")
    model.label_spans([(["Er", "schläft", "."], [(1, 2), (0, 1)])], lang="de")   # [('agent',)]
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Mapping, Sequence

import numpy as np

from clwe_jax import options, registry
from clwe_jax.api import encoders
from clwe_jax.api.base import Loaded
from clwe_jax.api.checks import check_texts
from clwe_jax.api.loaded import LoadedModel, shown
from clwe_jax.encoders.features import PieceTable, Vectors
from clwe_jax.evaluate.labeller import Frozen, Predictor, Tuned
from clwe_jax.objectives import projected
from clwe_jax.options.section import nearest
from clwe_jax.options.transfer import TransferRun
from clwe_jax.text.glossary import Glossary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.text.words import Segmenter
from clwe_jax.training import build, fine_tuned, heads

JOINT = "joint"  # the encoder in WORKDIR/encoder
ENCODER, HEADS, VOCABULARY = "encoder", "heads", "vocab"
SETTINGS, CENTERS = "labels.json", "centers.npz"


_CALLS = {
    "tags": ("words", "tag([TEXT]"),
    "texts": ("texts", "classify([TEXT]"),
    "spans": ("spans", "label_spans([(WORDS, SPANS)]"),
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TransferModel(LoadedModel):
    """A trained tagger, classifier or probe.

    Attributes:
      config: the run's config.
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
    predictor: Predictor
    seed: int
    encoder: Loaded | None
    tokenizer: Tokenizer | None
    glossaries: Mapping[str, Glossary] = dataclasses.field(default_factory=dict)
    described = "Taggers and classifiers"
    _segmenters: dict[str, Segmenter] = dataclasses.field(
        default_factory=dict, init=False, repr=False
    )

    def __repr__(self) -> str:
        return f"TransferModel({self.config.transfer.task}; {shown(self.languages)})"

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that the encoder knows; labels were learned in a part of them."""
        known = self.tokenizer.languages if self.encoder is None else self.encoder.languages
        return tuple(dict.fromkeys([*known, *self.glossaries]))

    def tag(self, texts: Sequence[str], lang: str) -> list[list[tuple[str, str]]]:
        """The words of texts with their labels.

        Args:
          texts: sentences, which are cut into words as the encoder cuts text, in their own spelling;
            or sequences of words, which are not cut.
          lang: their language.

        Returns:
          For each text its pairs of a word and a label.

        Raises:
          ValueError: a run whose labels are those of texts, or an unknown language.
        """
        self._check(lang, "tags")
        if isinstance(texts, str):
            check_texts(texts)
        words = [self._words(text, lang) if isinstance(text, str) else list(text) for text in texts]
        full = [place for place, some in enumerate(words) if some]
        found: list[list[tuple[str, str]]] = [[] for _ in words]
        if full:
            given, spoken = [words[i] for i in full], lang
            if self.config.transfer.lower_case:
                given = [[word.lower() for word in some] for some in given]
            if lang in self.glossaries:
                glossary = self.glossaries[lang]
                given, spoken = list(map(glossary.words, given)), glossary.target
            labels = self.predictor.of_sentences(given, spoken)[self.seed]
            for place, mine in zip(full, labels):
                found[place] = list(zip(words[place], mine))
        return found

    def classify(self, texts: Sequence[str] | Sequence[Sequence[str]], lang: str) -> list[str]:
        """The labels of texts, or of pairs of texts.

        Args:
          texts: texts; for a task of pairs, pairs of texts.
          lang: their language.

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
        return self.predictor.of_texts(rows, lang)[self.seed]

    def label_spans(
        self, rows: Sequence[tuple[Sequence[str], Sequence[tuple[int, int]]]], lang: str
    ) -> list[tuple[str, ...]]:
        """The labels of spans, or of pairs of spans.

        Args:
          rows: words of a sentence, and its spans: one, or for a task of pairs two, each (first word,
            word after the last one).
          lang: their language.

        Returns:
          For each row its labels, of which there may be none.

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
        return self.predictor.of_spans(rows, lang)[self.seed] if rows else []

    def _check(self, lang: str, kind: str) -> None:
        if self.kind != kind:
            labelled, call = _CALLS[self.kind]
            raise ValueError(
                f"This run labels {labelled} ({', '.join(self.labels)}): {call}, lang={lang!r})"
            )
        if lang not in self.languages:
            raise ValueError(
                f"lang={lang!r} is not a language of this model. "
                f"{nearest(str(lang), self.languages)}"
            )

    def _words(self, text: str, lang: str) -> list[str]:
        """The words of a text with their own capitals."""
        if lang in self.glossaries:
            return self.glossaries[lang].cut(text)
        if lang not in self._segmenters:
            found = self.tokenizer.segmenter if self.encoder is None else None
            self._segmenters[lang] = found or encoders.segmenter_of(self.encoder, lang)
        return self._segmenters[lang].words(Normalizer(lower_case=False)(text, lang), lang)


def load(workdir: str, step: int | None = None) -> TransferModel:
    """The tagger or classifier in a run's folder; see `api.load`.

    Raises:
      FileNotFoundError: the folder holds no trained heads, or the encoder's folder is gone.
      ValueError: a damaged file.
    """
    del step
    config = options.read_config(workdir)
    path = os.path.join(workdir, SETTINGS)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no trained head: start the run again with the same command, which "
            f"resumes it: --workdir={workdir}"
        )
    with open(path, encoding="utf-8") as file:
        described = json.load(file)
    labels = tuple(described["labels"])
    kind = registry.lookup("transfer_task", config.transfer.task).kind
    model, tokenizer = None, None
    if config.encoder in build.LEARNED:
        tokenizer = Tokenizer.load(os.path.join(workdir, VOCABULARY))
    else:
        if config.encoder == JOINT:
            model = encoders.load(f"run:{os.path.join(workdir, ENCODER)}", described["languages"])
        else:
            model = encoders.of_run(config.encoder, described["languages"], workdir)
        tokenizer = encoders.tokenizer_of(model)
        maps = os.path.join(workdir, projected.FILE)
        if os.path.exists(maps):  # of `config.transfer.align`
            found = projected.load(maps, model.objective, tokenizer.language_id)
            model = dataclasses.replace(model, projection=found)
    make = _tuned if config.transfer.mode == "tune" else _frozen
    predictor, seed = make(config, workdir, described, model, tokenizer)
    glossaries = {x: Glossary(**given) for x, given in described.get("translated", {}).items()}
    return TransferModel(
        config, labels, kind, described["texts"], predictor, seed, model, tokenizer, glossaries
    )


def _frozen(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: Loaded | None,
    tokenizer: Tokenizer | None,
) -> tuple[Frozen, int]:
    name = described["chosen"] or "head"
    path = os.path.join(workdir, HEADS, f"{name}.npz")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no trained head ({path}): start the run again with the same command"
        )
    with open(path.removesuffix(".npz") + ".json", encoding="utf-8") as file:
        history = np.array(json.load(file)["history"])
    layers = described["chosen"].removeprefix("layer") or config.transfer.layers
    layers = "mix" if layers == "each" else layers
    source: Vectors | PieceTable
    if model is None:
        source, size = PieceTable(tokenizer), tokenizer.vocabulary.size
    else:
        whole = encoders.whole(config.transfer.head, described["tags"])
        encoder = encoders.text_encoder(
            model, config.transfer.reduce, config.transfer.pivot_probability
        )
        source, size = Vectors(encoder, layers, config.transfer.words, whole), 0
    labels, tags = described["labels"], described["tags"]
    centers, path = None, os.path.join(workdir, HEADS, CENTERS)
    if config.transfer.center:
        part = slice(int(layers), int(layers) + 1) if name != "head" else slice(None)
        with np.load(path, allow_pickle=False) as file:
            centers = {language: file[language][part] for language in file.files}
    return Frozen(
        source, build.labeller(config.transfer, config.encoder, labels, tags, size),
        heads.load(os.path.join(workdir, HEADS, f"{name}.npz")), labels, centers,
    ), int(history.max(0).argmax())  # fmt: skip


def _tuned(
    config: TransferRun,
    workdir: str,
    described: dict[str, Any],
    model: Loaded | None,
    tokenizer: Tokenizer | None,
) -> tuple[Tuned, int]:
    base = encoders.tunable(model, config.encoder).objective
    objective = build.tuned(config.transfer, described["labels"], described["tags"], base)
    metric = f"dev/{described['metric']}"
    folders = [fine_tuned.folder(workdir, k) for k in range(config.transfer.seeds)]
    highest = [max(fine_tuned.history(folder, metric).values()) for folder in folders]
    seed = int(np.argmax(highest))
    length = min(config.transfer.length, objective.max_length)
    variables = [fine_tuned.best(folders[seed], objective, metric)]  # the seed that answers alone
    types = described["texts"] == 2 and objective.model.backbone.options.types > 1
    return Tuned(objective, tokenizer, variables, described["labels"], length, types), 0

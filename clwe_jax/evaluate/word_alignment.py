"""Word alignment by the vectors of any encoder, and its error rate against gold links.

A link of the answer A is right where it is possible (P); the sure links S are to be found:
precision |A & P| / |A|, recall |A & S| / |S|, and the alignment error rate
1 - (|A & S| + |A & P|) / (|A| + |S|) (Och and Ney 2003, section 5).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import numpy as np

from clwe_jax import pocket
from clwe_jax.align import word_links
from clwe_jax.encoders.encode import MEAN_OF_LAST_LAYERS
from clwe_jax.encoders.features import EncodesPieces, EncodesWords
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.evaluate import word_alignment_page
from clwe_jax.evaluate.context import Context
from clwe_jax.models.pooling import last_layers
from clwe_jax.options.evaluators import WordAlignerOptions, WordAlignmentEvaluation
from clwe_jax.options.section import ByIdentity
from clwe_jax.text.corpus import alignment_files
from clwe_jax.text.corpus.alignment_files import Linked

_PART = 128  # sentences whose vectors are in memory at once
_SHOWN = 12  # words of a longest sentence in a picture
_KEPT = 20  # short sentences of a language pair, of which the report shows one
_SEED = "links"

Words = Sequence[str]
Side = tuple[np.ndarray, np.ndarray]  # vectors [pieces, layers, D]; the word of each piece, int


@dataclasses.dataclass(frozen=True)
class WordAligner(WordAlignerOptions):
    """Links the words of sentences by the vectors of an encoder."""

    def links(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Links of two sentences' pieces or words, bool [M, N], of [M, D] and [N, D]."""
        if self.method == "softmax":
            scores = np.asarray(source, np.float32) @ np.asarray(target, np.float32).T
            scores = scores / max(self.temperature, 1e-9)
            linked = word_links.softmax_intersection(scores, self.threshold)
        else:
            similarity = word_links.cosines(source, target)
            if self.method == "itermax":
                linked = word_links.itermax(similarity, self.rounds)
            else:
                linked = word_links.mutual_argmax(similarity)
        # A word without a vector is as near to one word as to any other: it has no link.
        return linked & source.any(1)[:, None] & target.any(1)

    def link_words(self, source: Side, target: Side, layers: Sequence[int]) -> np.ndarray:
        """Links of the words of two sentences by the mean of some layers, bool [words, words]."""
        if not len(source[1]) or not len(target[1]):
            return np.zeros((len(set(source[1])), len(set(target[1]))), bool)
        vectors = (side[0][:, list(layers)].mean(1) for side in (source, target))
        return word_links.from_pieces(self.links(*vectors), source[1], target[1])

    def align(
        self,
        model: Encoder,
        source: Sequence[Words],
        target: Sequence[Words],
        languages: tuple[str, str],
    ) -> Iterator[np.ndarray]:
        """Yields the links of each pair of sentences, bool [words, words].

        Args:
          source, target: the words of parallel sentences.

        Raises:
          ValueError: the encoder has no vectors of given words, or not the layers.
        """
        view = model.pairwise_space(*languages)
        layers = layers_of(self.layers, view.layers)
        for left, right in sides(view, source, target, languages, self.level):
            yield self.link_words(left, right, layers)


def layers_of(wanted: str | int, count: int) -> list[int]:
    """The layers that `WordAligner.layers` names, of an encoder with `count` layers (0: embeddings).

    Raises:
      ValueError: there are no such layers.
    """
    deepest = count - 1
    if wanted == "":
        return [round(2 * deepest / 3)]
    if wanted == MEAN_OF_LAST_LAYERS:
        return [int(layer) for layer in last_layers(deepest)] if deepest else [0]
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", str(wanted))
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last <= deepest:
        raise ValueError(
            f"layers={wanted!r}: expected a layer from 0 (the embeddings) to {deepest}, a range such as "
            f"'1-{deepest}', {MEAN_OF_LAST_LAYERS!r}, or '' for the layer at two thirds of the depth"
        )
    return list(range(first, last + 1))


def sides(
    view: Encoder,
    source: Sequence[Words],
    target: Sequence[Words],
    languages: tuple[str, str],
    level: str = "pieces",
    pool: str = "mean",
) -> Iterator[tuple[Side, Side]]:
    """Yields the vectors of both sides of each pair of sentences; arguments as of `align`, and the pool
    of a word's pieces with the level 'words'."""
    if not isinstance(view, EncodesWords):
        raise ValueError(
            "This encoder has no vectors of given words, which word alignment needs: take a language "
            "model or static vectors"
        )
    for start in range(0, len(source), _PART):
        part = slice(start, start + _PART)
        texts = zip((source, target), languages)
        yield from zip(*(_encode_side(view, text[part], x, level, pool) for text, x in texts))


def _encode_side(
    view: Any, sentences: Sequence[Words], language: str, level: str, pool: str
) -> list[Side]:
    full = [words for words in sentences if len(words)]
    if not full:
        encoded = []
    elif level == "pieces" and isinstance(view, EncodesPieces):
        encoded = view.pieces_of_words(full, language)
    else:
        vectors = view.of_words(full, language, pool)
        encoded = [(x, np.arange(len(x), dtype=np.int32)) for x in vectors]
    # Encoders take no sentence without words; such a one has no pieces.
    empty = np.zeros((0, view.layers, 1), np.float32), np.zeros(0, np.int32)
    rest = iter(encoded)
    return [next(rest) if len(words) else empty for words in sentences]


@dataclasses.dataclass
class LinkCounts:
    """Counts over sentences, from which the figures are made."""

    links: int = 0
    sure: int = 0
    found_sure: int = 0
    found_possible: int = 0

    def add(self, links: np.ndarray, gold: Linked) -> None:
        """Counts the links of one pair of sentences, bool [words, words]."""
        answer = set(zip(*(side.tolist() for side in np.nonzero(links))))
        self.links += len(answer)
        self.sure += len(gold.sure)
        self.found_sure += len(answer & gold.sure)
        self.found_possible += len(answer & gold.possible)

    def figures(self) -> dict[str, float]:
        """'aer', 'precision', 'recall' and 'f1', the harmonic mean of both; an empty answer has the
        precision 1."""
        precision = self.found_possible / self.links if self.links else 1.0
        recall = self.found_sure / self.sure if self.sure else 1.0
        total = self.links + self.sure
        error = 1 - (self.found_sure + self.found_possible) / total if total else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return {"aer": error, "precision": precision, "recall": recall, "f1": f1}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordAlignment(ByIdentity, WordAligner, WordAlignmentEvaluation):
    """Alignment error rate of the words of parallel sentences, for any encoder of words.

    Attributes:
      examples: the first short sentences of each pair with gold and found links, for the report.
    """

    headlines = word_alignment_page.HEADLINES
    section = staticmethod(word_alignment_page.section)

    context: Context
    examples: list[Mapping[str, Any]] = dataclasses.field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context.layers is not None:
            try:
                layers_of(self.layers, self.context.layers)
            except ValueError as error:
                raise ValueError(self.context.option(self.name, str(error))) from error
        languages = self.context.languages
        if self.data == "pocket" and len(set(languages) & set(pocket.LANGUAGES)) < 2:
            raise ValueError(
                f"{self._option}='pocket': the embedded world has no two of {', '.join(languages)}"
            )
        if self.has_data and self.data != "pocket":
            _ = self.pairs  # an error in the folder is raised before training starts

    def run(self, model: Encoder) -> Iterator[tuple[str, float]]:
        """Yields word_alignment/{src}-{trg}/{aer,precision,recall,f1}, their means over the pairs
        word_alignment/{aer,...}, word_alignment/{src}-{trg}/sentences, and
        word_alignment/{src}-{trg}/layer{k}/aer where a model has several layers."""
        self.examples.clear()
        totals: list[dict[str, float]] = []
        for (source, target), rows in self.pairs.items():
            view = model.pairwise_space(source, target)
            chosen_layers = layers_of(self.layers, view.layers)
            by_layer = {f"layer{k}": [k] for k in range(view.layers)} if view.layers > 1 else {}
            counts = {name: LinkCounts() for name in ("", *by_layer)}
            texts = [row.source for row in rows], [row.target for row in rows]
            pairs = sides(view, *texts, (source, target), self.level)
            for row, (left, right) in zip(rows, pairs):
                links = self.link_words(left, right, chosen_layers)
                counts[""].add(links, row)
                self._show(row, links, (source, target))
                for name, layers in by_layer.items():
                    counts[name].add(self.link_words(left, right, layers), row)
            path = f"word_alignment/{source}-{target}"
            totals.append(counts.pop("").figures())
            for name, value in totals[-1].items():
                yield f"{path}/{name}", value
            yield f"{path}/sentences", float(len(rows))
            for name, link_counts in counts.items():
                yield f"{path}/{name}/aer", link_counts.figures()["aer"]
        for name in totals[0] if totals else ():
            yield f"word_alignment/{name}", float(np.mean([x[name] for x in totals]))

    def _show(self, row: Linked, links: np.ndarray, languages: tuple[str, str]) -> None:
        """Keeps a short sentence for the report."""
        shown_count = sum(x["languages"] == list(languages) for x in self.examples)
        if shown_count < _KEPT and 3 < max(len(row.source), len(row.target)) <= _SHOWN:
            self.examples.append(
                {
                    "languages": list(languages),
                    "source": list(row.source),
                    "target": list(row.target),
                    "sure": sorted(map(list, row.sure)),
                    "possible": sorted(map(list, row.possible)),
                    "found": np.argwhere(links).tolist(),
                }
            )

    @property
    def _option(self) -> str:
        return self.context.option(self.name, "data")

    @functools.cached_property
    def pairs(self) -> dict[tuple[str, str], Sequence[Linked]]:
        """(source, target) -> sentences with gold links."""
        languages = self.context.languages
        if self.data == "pocket":
            spoken = [x for x in languages if x in pocket.LANGUAGES]
            hub = "en" if "en" in spoken else spoken[0]
            count = self.max_sentences or 500
            among = tuple(self.context.domains)
            linked = {}
            for x in spoken:
                if x != hub and self.context.measures(x, hub):
                    rows = pocket.link_sentences(x, hub, count, _SEED, among=among)
                    linked[x, hub] = [Linked(*row) for row in rows]
            return linked
        found = alignment_files.find(self.data, languages, self._option)
        files = [x for x in found if self.context.measures(x.source, x.target)]
        if not files:
            logging.warning(
                "%s: word alignment is left out: %s",
                self.data,
                "config.static.pairs asks for none of its pairs"
                if found
                else f"no pair has both languages among {', '.join(languages)}",
            )
        return {(x.source, x.target): alignment_files.read(x, self.max_sentences) for x in files}

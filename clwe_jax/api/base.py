"""The methods that all models with vectors share, and the checks of their arguments."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any, Iterable, Self, Sequence

import numpy as np

from clwe_jax import terminal
from clwe_jax.align import documents, mining, search
from clwe_jax.align.documents import Bead
from clwe_jax.api.loaded import WORDS, LoadedModel, Translation, WordLink
from clwe_jax.encoders.checks import check_count, check_strings, check_texts
from clwe_jax.encoders.encode import Layer
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.evaluate import tokens
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.options.evaluators import METHODS as METHODS_OF_WORDS
from clwe_jax.options.section import check_keys, nearest
from clwe_jax.text.corpus.frequencies import FILE
from clwe_jax.text.corpus.repeats import find_distinct


class Loaded(LoadedEncoder, LoadedModel):
    """A loaded encoder with the methods of `LoadedModel`; a kind's class extends its loaded encoder."""

    @classmethod
    def of(cls, loaded: LoadedEncoder) -> Self:
        """The model of a loaded encoder of its kind."""
        return cls(
            **{x.name: getattr(loaded, x.name) for x in dataclasses.fields(loaded) if x.init}
        )

    def encode(
        self,
        texts: Iterable[str],
        lang: str,
        layer: Layer | None = None,
        pool: str | None = "mean",
        normalize: bool = False,
        batch_size: int = 64,
        show_progress: bool | None = None,
    ) -> np.ndarray | list[np.ndarray]:
        self._check_languages(lang=lang)
        check_count(batch_size=batch_size)
        with terminal.progress(show_progress):
            encoded = self._encode(check_texts(texts), lang, layer, pool, batch_size)
        if not normalize:
            return encoded
        if pool is None:
            return [np.asarray(search.unit(vectors)) for vectors in encoded]
        return np.asarray(search.unit(encoded))

    @abc.abstractmethod
    def _encode(
        self,
        texts: Sequence[str],
        lang: str,
        layer: Layer | None,
        pool: str | None,
        batch_size: int,
    ) -> np.ndarray | list[np.ndarray]:
        """`encode` for checked sentences and a known language."""

    def align(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str],
        lang: str,
        to: str,
        layers: int | str = "",
        **options: Any,
    ) -> list[WordLink]:
        return self.align_all([source], [target], lang, to, layers, **options)[0]

    def align_all(
        self,
        sources: Sequence[str] | Sequence[Sequence[str]],
        targets: Sequence[str] | Sequence[Sequence[str]],
        lang: str,
        to: str,
        layers: int | str = "",
        **options: Any,
    ) -> list[list[WordLink]]:
        self._check_languages(lang=lang, to=to)
        between_spaces = takes_spaces(options.pop("words", "own"))
        known = [x.name for x in dataclasses.fields(WordAligner)]
        check_keys(known, options, "align")
        if options.get("method", METHODS_OF_WORDS[0]) not in METHODS_OF_WORDS:
            raise ValueError(
                f"There is no method {options['method']!r}. "
                f"{nearest(str(options['method']), METHODS_OF_WORDS)}"
            )
        model = self.encoder()
        if isinstance(sources, str) or isinstance(targets, str) or len(sources) != len(targets):
            raise ValueError(
                "sources, targets: expected two lists of sentences, each with its translation"
            )
        sides: list[list[Sequence[str]]] = []
        for name, texts, code in (("source", sources, lang), ("target", targets, to)):
            cut = [
                model.words(text, code) if isinstance(text, str) else list(text)
                for text in ([x.split() for x in texts] if between_spaces else texts)
            ]
            for words in cut:
                check_strings(**{f"{name}[{place}]": word for place, word in enumerate(words)})
            sides.append(cut)
        aligner = WordAligner(layers=layers, **options)
        if between_spaces:
            links = tokens.align(aligner, model, *sides, (lang, to))
        else:
            links = aligner.align(model, *sides, (lang, to))
        return [
            [WordLink(left[i], right[j], int(i), int(j)) for i, j in np.argwhere(linked)]
            for left, right, linked in zip(*sides, links, strict=True)
        ]

    def similarity(
        self, a: str, b: str, lang: str, to: str | None = None, layer: Layer | None = None
    ) -> float:
        to = lang if to is None else to
        self._check_languages(lang=lang, to=to)
        check_strings(a=a, b=b)
        x, y = (self.encode([t], x, layer, normalize=True)[0] for t, x in ((a, lang), (b, to)))
        return float(x @ y)

    def translate_word(
        self, word: str, lang: str, to: str, k: int = 5, method: str = "csls"
    ) -> list[Translation]:
        self._check_languages(lang=lang, to=to)
        check_strings(word=word)
        if lang == to:
            others = ", ".join(language for language in self.languages if language != lang)
            raise ValueError(
                f"to={to!r} is the word's own language: name another one of {others}, or call "
                f"neighbours({word!r}, lang={lang!r})"
            )
        neighbours = self.neighbours(word, lang, k, to, method=method)
        return [Translation(near.word, near.score) for near in neighbours]

    def sentence_vectors(self, texts: Sequence[str], lang: str) -> np.ndarray:
        return self.encode(texts, lang)

    def mine(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str, least: float = 1.05
    ) -> list[tuple[int, int, float]]:
        given = check_texts(texts), check_texts(others)
        if not all(given):
            raise ValueError("texts, others: expected sentences on both sides")
        rows = [find_distinct(side) for side in given]
        sides = [[side[row] for row in kept] for side, kept in zip(given, rows)]
        mined = mining.mine(
            self.sentence_vectors(sides[0], lang), self.sentence_vectors(sides[1], to)
        )
        places = zip(rows[0][mined.source], rows[1][mined.target], mined.scores)
        return [(int(i), int(j), float(x)) for i, j, x in places if x >= least]

    def align_documents(
        self, texts: Sequence[str], lang: str, others: Sequence[str], to: str
    ) -> list[Bead]:
        given = check_texts(texts), check_texts(others)
        if not all(given):
            raise ValueError("texts, others: expected sentences on both sides")
        sides = [self._windows(lines, x) for lines, x in zip(given, (lang, to), strict=True)]
        first, second = (np.array([len(line) for line in lines]) for lines in given)
        return documents.align(*sides, (first, second))

    def _windows(self, lines: Sequence[str], lang: str) -> list[np.ndarray]:
        """The vectors of every one, two and three neighbouring lines joined."""
        return [
            self.sentence_vectors(
                [" ".join(lines[i : i + size]) for i in range(len(lines) - size + 1)], lang
            )
            for size in range(1, min(documents.MOST_LINES, len(lines)) + 1)
        ]


def takes_spaces(words: str) -> bool:
    """Whether words are those between spaces, and not those that a model cuts.

    Raises:
      ValueError: neither 'spaces' nor 'own'.
    """
    if words not in WORDS:
        raise ValueError(f"words={words!r}: expected {' or '.join(map(repr, WORDS))}")
    return words == "spaces"


def lacks_counts(pool: str) -> ValueError:
    """The error for a pooling that needs counts of words, which the run has not kept."""
    return ValueError(
        f"pool={pool!r}: this run has kept no counts of words (WORKDIR/{FILE}), because it is older "
        "than they are or its text is in no files: pool='mean'"
    )

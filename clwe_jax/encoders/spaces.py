"""Static vectors of several languages and the maps between their spaces, as a folder holds them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from clwe_jax import atomic
from clwe_jax.align.alignment import Alignment
from clwe_jax.align.retriever import Retriever
from clwe_jax.embeddings import vectors as stored
from clwe_jax.embeddings.ngrams import Spelling
from clwe_jax.embeddings.packed import Packed
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import dictionary_entries
from clwe_jax.encoders.checks import check_languages, check_search, check_strings
from clwe_jax.encoders.dictionary_entries import DictionaryEntries
from clwe_jax.encoders.encode import Layer, select
from clwe_jax.encoders.loaded import BATCH, LoadedEncoder
from clwe_jax.encoders.nearest import Neighbour, Ranked, rank
from clwe_jax.encoders.static import SpellingCache, StaticEncoder, known_parts
from clwe_jax.text.corpus import frequencies
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words.characters import has_letter_or_digit
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Spellings
from clwe_jax.text.words.similar_words import did_you_mean, near_words
from clwe_jax.text.words.words import Phrases, Segmenter

_DESCRIPTION = "spaces.json"
_RAW = "spaces"
_ALIGNMENTS = "alignments"
_SPELLING = "spelling.npz"
_MAX_LETTERS = 24  # maximum characters of a cached piece of text: longer pieces seldom repeat
_MAX_CACHED = 1_000_000  # maximum number of cached pieces of a language
_MAX_WIDENED = 2  # languages whose narrower vectors are held in float32


def _cache() -> Any:
    """A field for what was computed so far."""
    return dataclasses.field(default_factory=dict, init=False, repr=False)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class StaticSpaces(LoadedEncoder):
    """The vectors of several languages and the maps between their spaces.

    `common_vectors` is a language in the hub's space, `vectors` the same in float32; `space` is two languages
    where their aligner compares them, `word_space` the same as single words are compared.

    Attributes:
      raw: language -> its vectors before alignment, most frequent word first; narrow ones become
        float32 when they are asked for.
      shared: language -> the words that it shares with the hub, which its map does not move
        (joint-align, section 3.3); empty where each language was trained alone.
      alignments: language -> its map to the hub's space; no entry for the hub, and none at all
        without refinement, because joint training yields one space.
      hub: the language whose space the other languages are mapped to.
      normalizer: the normalizer of words.
      frequencies: counts of the words of the text, which weigh the words of a sentence; None where none was read.
      spelling: vectors of words that the model lacks, from their n-grams; None: they have none.
      spellings: how words are written, where `raw` has their keys alone.
      entries: of the dictionary that the vectors were trained with, and pairs that it rejects.
    """

    raw: Mapping[str, Vectors]
    shared: Mapping[str, frozenset[str]]
    alignments: Mapping[str, Alignment]
    hub: str
    normalizer: Normalizer = Normalizer()
    frequencies: Frequencies | None = None
    spelling: Spelling | None = None
    spellings: Spellings = dataclasses.field(default_factory=dict)
    entries: DictionaryEntries = dataclasses.field(default_factory=DictionaryEntries)
    kind_name = "Static vectors"
    tokenizer = None
    _phrases: dict[str, Phrases] = _cache()
    # Language -> a piece of text between spaces -> its words.
    _pieces: dict[str, dict[str, list[str]]] = _cache()
    _widened: dict[str, Vectors] = _cache()
    _hub_spaces: dict[str, Vectors] = _cache()
    _common_spaces: dict[str, tuple[Vectors, Vectors]] = _cache()
    # (language, searched language, method) -> what a search needs of all their words.
    _retrievers: dict[tuple[str, str, str], Retriever] = _cache()

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages with vectors."""
        return tuple(self.raw)

    def vectors(self, lang: str, layer: Layer | None = None) -> Vectors:
        """All words of a language, most frequent first, in the hub's space."""
        vectors = self._in_hub_space(lang)
        select(vectors.vectors[:1, None], layer)  # refuses a layer other than 0
        return vectors

    def common_vectors(self, language: str) -> Vectors:
        """The language's vectors in the hub's space; in the type of the file where nothing maps them, as a
        reader of few rows need not wait, nor hold memory, until all are float32."""
        return self._in_hub_space(language) if language in self.alignments else self.raw[language]

    def knows(self, word: str, lang: str) -> bool:
        """Whether a word has a vector."""
        check_strings(word=word)
        return self._find(word, lang, self.raw[lang]) is not None

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        """The vectors of two languages in the space where their aligner compares them, as `common_vectors`.

        Raises:
          ValueError: a language without vectors.
        """
        check_languages(self.languages, source=source, target=target)
        if source == target and source in self.alignments:
            return self.raw[source], self.raw[source]  # its own space, which no map has changed
        for language, other in ((source, target), (target, source)):
            if other == self.hub and language in self.alignments:
                mapped, hub = self._aligner_space(language)
                return (mapped, hub) if language == source else (hub, mapped)
        return self.common_vectors(source), self.common_vectors(target)

    def word_space(
        self, source: str, target: str, max_words: int | None = None
    ) -> tuple[Vectors, Vectors]:
        """The most frequent words of two languages with the vectors by which single words are compared.

        Args:
          max_words: number of words of each language; None: all.
        """
        x, y = (vectors.top(max_words) for vectors in self.space(source, target))
        source_words = dataclasses.replace(x, vectors=self.as_words(x.vectors))
        if source == target:
            return source_words, source_words
        return source_words, dataclasses.replace(y, vectors=self.as_words(y.vectors))

    def vector(self, word: str, lang: str, layer: Layer | None = None) -> np.ndarray:
        """The vector of a word in the hub's space, float32 [D], or one from its spelling.

        `neighbours` shortens guesses from spelling before it compares words; this vector has the whole.

        Raises:
          ValueError: a layer other than 0, or a word without a vector (the message names similar words).
        """
        select(np.zeros((1, 1)), layer)  # refuses a layer other than 0
        return self._vector(word, lang, self.common_vectors(lang))

    def neighbours(
        self,
        word: str,
        lang: str,
        k: int = 10,
        to: str | None = None,
        layer: Layer | None = None,
        method: str = "cosine",
    ) -> list[Neighbour]:
        """The words nearest to a word, without itself; the first call for two languages is slow.

        The entries of a word in the dictionary that the vectors were trained with come first, by their
        cosine. A pair that it rejects is left out, and so is punctuation, which stands beside many words.
        The scores of 'csls' and 'inverted_softmax' are not comparable between languages.

        Raises:
          ValueError: an unknown method, a word without a vector (the message names similar words),
            or a layer other than 0.
        """
        select(np.zeros((1, 1)), layer)
        ranked: list[Ranked] = []
        for other in self.languages if to is None else (to,):
            ranked += self._nearest(word, lang, other, k, method)
        return [neighbour for _, neighbour in sorted(ranked, key=lambda x: x[0])[:k]]

    def _nearest(self, word: str, lang: str, to: str, k: int, method: str) -> list[Ranked]:
        """The entries of a word in a language and the nearest words, without the word itself."""
        method = check_search(k, method)
        x, y = self.space(lang, to)
        if not len(y):
            return []
        query = self.as_words(self._vector(word, lang, x)[None])[0]
        row = self._find(word, lang, x)
        if (lang, to, method) not in self._retrievers:
            pool, keys = self.word_space(lang, to)
            self._retrievers[lang, to, method] = Retriever(keys.vectors, pool.vectors, method)
        retriever = self._retrievers[lang, to, method]
        key = "" if row is None else x.own_keys[row]
        entries, excluded = self.entries.of(key, lang, to)
        if has_letter_or_digit(word):
            excluded = excluded + y.signs
        return rank(retriever, query, k, y, to, entries, excluded, row if lang == to else None)

    def as_words(self, vectors: np.ndarray | Packed) -> np.ndarray:
        """The vectors by which single words are compared, float32, made from those of `space`."""
        spelling = self.spelling
        return np.asarray(vectors, np.float32) if spelling is None else spelling.as_words(vectors)

    def encoder(
        self, batch_size: int = BATCH, split: Callable[[str, str], Sequence[str]] | None = None
    ) -> StaticEncoder:
        """The vectors as an encoder of text.

        Args:
          batch_size: not used; nothing is computed by rows.
          split: (text, language) -> its words; None: text is cut into words at spaces; in scripts without spaces,
            by longest match of words with vectors. A word without a vector is lower-cased.
        """
        return StaticEncoder(
            self,
            split or self._split_text,
            frequencies=self.frequencies,
            spell_words=SpellingCache(self._spell_words) if self.spelling else None,
            as_words=self.as_words,
        )

    def phrases(self, language: str) -> Phrases:
        """The phrases of a language that have a vector."""
        if language not in self._phrases:
            self._phrases[language] = Phrases(self.raw[language].own_keys)
        return self._phrases[language]

    def segmenter(self, lang: str) -> Segmenter:
        return self._segmenter

    @functools.cached_property
    def _segmenter(self) -> Segmenter:
        return Segmenter({name: vectors.own_keys for name, vectors in self.raw.items()})

    def _split_text(self, text: str, language: str) -> list[str]:
        check_languages(self.languages, language=language)
        return self._split_texts([text], language)[0]

    def _split_texts(self, texts: Sequence[str], language: str) -> list[list[str]]:
        index = self.raw[language].index
        phrases = self.phrases(language)
        # Most pieces between spaces repeat, so each is normalised and segmented once.
        words_of = self._pieces.setdefault(language, {})
        word_lists = []
        for text in texts:
            text_words: list[str] = []
            for piece in text.split():
                words = words_of.get(piece)
                if words is None:
                    words = self._segmenter.words(self.normalizer(piece, language), language)
                    parts = (known_parts(word, index) for word in words)
                    words = list(itertools.chain.from_iterable(parts))
                    if len(piece) <= _MAX_LETTERS and len(words_of) < _MAX_CACHED:
                        words_of[piece] = words
                text_words += words
            word_lists.append(phrases(text_words))
        return word_lists

    def save(self, workdir: str, packed: bool = False) -> None:
        """Writes spaces/{lang}.npz, alignments/{lang}-{hub}.npz and the other parts, then spaces.json.

        Args:
          workdir: the run's folder.
          packed: whether the vectors are packed, at 3.2 bits a number.
        """
        for folder in (_RAW, _ALIGNMENTS):
            os.makedirs(os.path.join(workdir, folder), exist_ok=True)
        for language, vectors in self.raw.items():
            vectors = vectors.with_spellings(self.spellings.get(language, {}))
            if packed:
                vectors = dataclasses.replace(vectors, vectors=Packed.of(vectors.vectors))
            vectors.save(os.path.join(workdir, _RAW, f"{language}.npz"))
        for language, alignment in self.alignments.items():
            alignment.save(os.path.join(workdir, _ALIGNMENTS, f"{language}-{self.hub}.npz"))
        if self.frequencies is not None:
            self.frequencies.save(workdir)
        if self.spelling is not None:
            self.spelling.save(os.path.join(workdir, _SPELLING))
        self.entries.save(workdir)
        description: dict[str, Any] = {
            "languages": list(self.languages),
            "hub": self.hub,
            "aligned": sorted(self.alignments),
            "shared": {language: sorted(words) for language, words in self.shared.items()},
            "lower_case": self.normalizer.lower_case,
            "simplify_chinese": self.normalizer.simplify_chinese,
            "spelling": self.spelling is not None,
        }
        atomic.write_json(os.path.join(workdir, _DESCRIPTION), description, indent=None)

    def _find(self, word: str, language: str, vectors: Vectors) -> int | None:
        """The row of a word as it is written, or of its key; None for a word without a vector."""
        row = vectors.index.get(word)
        return vectors.index.get(self.normalizer.key(word, language)) if row is None else row

    def _spell_words(self, words: Sequence[str], language: str) -> np.ndarray:
        """The vectors of words by their spelling, zeros where there are none: float32 [words, D]."""
        if language in self.spelling.regressions:
            return self.spelling.vectors(words, language)
        return np.zeros((len(words), self.spelling.width), np.float32)

    def _vector(self, word: str, language: str, vectors: Vectors) -> np.ndarray:
        """The vector of a word among a language's, or by its spelling: float32 [D]."""
        check_strings(word=word)
        row = self._find(word, language, vectors)
        if row is not None:
            return np.asarray(vectors.vectors[row], np.float32)
        if self.spelling is not None:
            [spelled] = self._spell_words([self.normalizer.key(word, language)], language)
            if spelled.any():
                return spelled
        hint = did_you_mean(near_words(word, vectors.words))
        raise ValueError(
            f"{word!r} has no vector among the {len(vectors):,} words of {language!r}.{hint}"
        )

    def _in_hub_space(self, language: str) -> Vectors:
        """The language's vectors in the hub's space, in which shared words keep their vectors."""
        if language not in self.alignments:
            return self._as_float32(language)
        if language not in self._hub_spaces:
            raw = self._as_float32(language).vectors
            mapped = self.alignments[language].to_target_space(raw)
            self._hub_spaces[language] = self._keep_shared(language, mapped, raw)
        return self._hub_spaces[language]

    def _as_float32(self, language: str) -> Vectors:
        """The language's vectors before alignment, in float32."""
        vectors = self.raw[language]
        if vectors.vectors.dtype == np.float32:
            return vectors
        if language not in self._widened:
            while len(self._widened) >= _MAX_WIDENED:  # the oldest goes first
                del self._widened[next(iter(self._widened))]
            wide = vectors.vectors.astype(np.float32)
            self._widened[language] = dataclasses.replace(vectors, vectors=wide)
        return self._widened[language]

    def _aligner_space(self, language: str) -> tuple[Vectors, Vectors]:
        """The language and the hub in the aligner's space; shared words move with the hub."""
        if language not in self._common_spaces:
            alignment = self.alignments[language]
            vectors = self._as_float32(language)
            mapped = alignment.apply(vectors.vectors)
            untouched = None
            if self.shared.get(language):
                untouched = alignment.apply_target(vectors.vectors)
            hub = self._as_float32(self.hub)
            self._common_spaces[language] = (
                self._keep_shared(language, mapped, untouched),
                dataclasses.replace(hub, vectors=alignment.apply_target(hub.vectors)),
            )
        return self._common_spaces[language]

    def _keep_shared(self, language: str, rows: np.ndarray, common: np.ndarray | None) -> Vectors:
        """The language with the vectors `rows` [N, K], and `common` [N, K] for shared words."""
        vectors = self.raw[language]
        shared = self.shared.get(language)
        if shared and common is not None:
            mask = np.fromiter((word in shared for word in vectors.own_keys), bool, len(rows))
            rows = np.where(mask[:, None], common, rows)
        return dataclasses.replace(vectors, vectors=rows)


def load(
    workdir: str | os.PathLike[str], step: int | None = None, open_run: Any = None
) -> StaticSpaces:
    """The static vectors in a run's folder; `step` and `open_run` have no effect.

    Raises:
      FileNotFoundError: the folder holds no vectors, or its run has not written them yet.
      ValueError: a damaged file.
    """
    del step, open_run
    workdir = os.fspath(workdir)
    path = os.path.join(workdir, _DESCRIPTION)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{workdir} holds no aligned vectors: it lacks {_DESCRIPTION}. Start the run again "
            f"with the same command, which resumes it: --workdir={workdir}"
        )
    with atomic.naming_damage(path, "Delete it and run again"):
        description = atomic.read_json(path)
        hub = description["hub"]
        languages, aligned = (list(description[x]) for x in ("languages", "aligned"))
        shared = {language: frozenset(x) for language, x in description["shared"].items()}
        normalizer = Normalizer(description["lower_case"], description["simplify_chinese"])
    in_folder = functools.partial(os.path.join, workdir)
    raw = {x: stored.load(in_folder(_RAW, f"{x}.npz"), narrow=True)[0] for x in languages}
    return StaticSpaces(
        raw=raw,
        shared=shared,
        alignments={x: Alignment.load(in_folder(_ALIGNMENTS, f"{x}-{hub}.npz")) for x in aligned},
        hub=hub,
        normalizer=normalizer,
        frequencies=frequencies.load(workdir),
        spelling=Spelling.load(in_folder(_SPELLING)) if description.get("spelling") else None,
        entries=dictionary_entries.load(workdir, raw),
    )

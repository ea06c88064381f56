"""The tokenizer of a run: text to words to piece ids, with all settings that text depends on."""

from __future__ import annotations

import collections
import json
import os
from typing import Iterable, Mapping, Sequence

from absl import logging

from clwe_jax import atomic, time_parts
from clwe_jax.text.words.languages import hint
from clwe_jax.text.corpus import corpora
from clwe_jax.text.vocab import base_vocab, vocab
from clwe_jax.text.vocab.laser import LaserSegmenter
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.json_vocab import JsonVocabulary
from clwe_jax.text.vocab.subword_vocab import SentencePieceVocabulary
from clwe_jax.text.words.words import Segmenter
from clwe_jax.text.vocab.xlm import MosesSegmenter

_SETTINGS = "text.json"
_LEXICON = "lexicon.{}.txt"
_MAX_WORDS = 4_000_000  # most frequent words of all languages that a vocabulary is trained on


class Tokenizer:
    """Normalises text, cuts it into words and encodes each word independently.

    Attributes:
      languages: languages of the model; language ids are indices into them.
      normalizer, segmenter, vocabulary: the three steps of tokenization.
      whole_text: whether `encode` gives raw text to the vocabulary, as XLM-R does, whose pieces of
        a punctuation mark or a Han character depend on the spaces before it. Words that are encoded
        one at a time each get a space before them.
    """

    def __init__(
        self,
        languages: Sequence[str],
        normalizer: Normalizer,
        segmenter: Segmenter | MosesSegmenter,
        vocabulary: base_vocab.Vocabulary,
        whole_text: bool = False,
    ):
        """Raises:
        ValueError: `whole_text` with a vocabulary that reads single words alone.
        """
        if whole_text and not isinstance(vocabulary, (SentencePieceVocabulary, JsonVocabulary)):
            raise ValueError(
                f"Only SentencePiece and tokenizer.json encode whole texts, not {vocabulary.kind}"
            )
        self.whole_text = whole_text
        self.languages = tuple(languages)
        self.normalizer = normalizer
        self.segmenter = segmenter
        self.vocabulary = vocabulary

    def language_id(self, language: str) -> int:
        """The number of a language.

        Raises:
          ValueError: the model lacks the language; the message names its languages.
        """
        if language not in self.languages:
            raise ValueError(
                f"{language!r} is not a language of this model. {hint(language, self.languages)}"
            )
        return self.languages.index(language)

    def words(self, text: str, language: str) -> list[str]:
        """The normalised words of raw text."""
        if not self.segmenter.raw:
            text = self.normalizer(text, language)
        return self.segmenter.words(text, language)

    def encode_words(self, words: Iterable[str]) -> tuple[list[int], list[int]]:
        """The piece ids of normalised words, and the index of each piece's word."""
        ids: list[int] = []
        index: list[int] = []
        for number, word in enumerate(words):
            pieces = self.vocabulary.encode_word(word)
            ids += pieces
            index += [number] * len(pieces)
        return ids, index

    def encode_given(self, word: str, language: str) -> list[int]:
        """The piece ids of a given word, at least one. Of whole text a word has a space before it, in Chinese
        too, as `is_split_into_words` of transformers does."""
        if self.whole_text:  # raw text of one word would be that at the start of a text
            return self.vocabulary.encode_word(word)
        return self.encode(word, language)[0] or [self.vocabulary.unk_id]

    def encode(self, text: str, language: str) -> tuple[list[int], list[int]]:
        """The piece ids of raw text without special pieces, and the index of each piece's word.

        With `whole_text` the words of the index are those between spaces.
        """
        if self.whole_text:
            return self.vocabulary.encode_text(text)
        return self.encode_words(self.words(text, language))

    def save(self, directory: str) -> None:
        """Writes text.json, lexicon.{language}.txt and the vocabulary's file."""
        os.makedirs(directory, exist_ok=True)
        self.vocabulary.save(directory)
        for language, words in self.segmenter.lexicons.items():
            if words:
                text = "".join(f"{word}\n" for word in sorted(words))
                atomic.write(os.path.join(directory, _LEXICON.format(language)), text)
        settings = {
            "languages": self.languages,
            "lower_case": self.normalizer.lower_case,
            "simplify_chinese": self.normalizer.simplify_chinese,
            "bert": self.normalizer.bert,
            "strip_accents": self.normalizer.strip_accents,
            "whole_text": self.whole_text,
            "moses": self.segmenter.raw,
            "laser": self.segmenter.raw and self.segmenter.laser,
            "lexicons": sorted(x for x, words in self.segmenter.lexicons.items() if words),
        }
        # Written last: a folder with this file is complete.
        atomic.write(os.path.join(directory, _SETTINGS), json.dumps(settings, indent=2) + "\n")

    @classmethod
    def load(cls, directory: str) -> "Tokenizer":
        """Reads what `save` wrote.

        Raises:
          FileNotFoundError: the folder holds no saved tokenizer, or one of its files is missing.
          ValueError: a file is damaged.
        """
        path = os.path.join(directory, _SETTINGS)
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{directory} is not a saved tokenizer: it has no {_SETTINGS}. A run keeps its own "
                "in WORKDIR/vocab"
            )
        with atomic.naming_damage(path):
            settings = atomic.read_json(path)
            languages = settings["languages"]
            lexicons = {}
            # Older runs have none of these options.
            bert, strip, whole_text, moses, laser = (
                settings.get(name, False)
                for name in ("bert", "strip_accents", "whole_text", "moses", "laser")
            )
            normalizer = Normalizer(
                settings["lower_case"], settings["simplify_chinese"], bert, strip, moses
            )
            for language in settings["lexicons"]:
                name = os.path.join(directory, _LEXICON.format(language))
                with open(name, encoding="utf-8") as file:
                    lexicons[language] = file.read().split("\n")[:-1]
        segmenter = MosesSegmenter(strip) if moses else Segmenter(lexicons, bert)
        if laser:
            segmenter = LaserSegmenter()
        return cls(languages, normalizer, segmenter, vocab.load(directory), whole_text)

    @classmethod
    @time_parts.part(time_parts.VOCABULARY)
    def build(
        cls,
        *,
        languages: Sequence[str],
        normalizer: Normalizer,
        corpus: corpora.Countable | None,
        dictionary: Dictionary | None,
        kind: str = "wordpiece",
        size: int = 8_192,
        path: str = "",
        temperature: float = 5.0,
        sample_bytes: int | None = 20_000_000,
        min_count: int = 1,
        dictionary_share: float = 0.0,
    ) -> "Tokenizer":
        """Loads the vocabulary at `path`, or trains one from the corpus.

        Args:
          corpus: text whose words are counted; None where `path` names a vocabulary.
          dictionary: dictionary, or None. The segmenter knows its words in scripts without spaces,
            and a trained vocabulary covers the characters of its words.
          kind, size: kind and size of a trained vocabulary, as of `vocab.train`.
          path: path of a BERT `vocab.txt`, a SentencePiece `.model`, a list of words that begins
            with `<S>`, or a folder with one of them; '' trains a vocabulary.
          temperature: temperature of the training mixture, which weighs the counts of languages.
          sample_bytes: bytes of each language in which words are counted; None means all.
          min_count: smallest count, over all languages, of a word that the training uses.
          dictionary_share: share of the vocabulary, at most, for frequent words of the dictionary
            that would be cut, in 'wordpiece' and 'unigram'.

        Raises:
          ValueError: there is neither a path nor a corpus, or the kind is unknown.
          FileNotFoundError: there is no file at `path`.
        """
        lexicons: dict[str, Iterable[str]] = {}
        if dictionary is not None:
            lexicons = {language: dictionary.lexicon(language) for language in languages}
        segmenter = Segmenter(lexicons)
        if path:
            return cls(languages, normalizer, segmenter, vocab.load(path))
        if corpus is None:
            raise ValueError(
                "There is no text to train a vocabulary from: name one with --config.vocab.path, "
                "such as the folder vocab of a run"
            )
        counts = {}
        for language in languages:
            counter, _ = corpus.count_words(
                language,
                lambda text: segmenter.words(normalizer(text, language), language),
                sample_bytes,
            )
            max_words = max(50_000, _MAX_WORDS // len(languages))
            counts[language] = dict(corpora.by_count(counter)[:max_words])
        if min_count > 1:
            counts = _frequent(counts, min_count)
        dictionary_words = dictionary.words() if dictionary is not None else ()
        logging.info("Training a %s vocabulary of %d pieces", kind, size)
        vocabulary = vocab.train(
            kind, mixed_counts(counts, temperature), size, dictionary_words, dictionary_share
        )
        return cls(languages, normalizer, segmenter, vocabulary)


def mixed_counts(counts: Mapping[str, Mapping[str, int]], temperature: float) -> dict[str, float]:
    """The counts of words, summed over languages that are weighed by their training shares.

    Args:
      counts: language -> word -> count.
      temperature: 1 keeps the languages' proportions; a larger one makes their shares more equal.
    """
    sizes = {language: sum(counter.values()) for language, counter in counts.items()}
    shares = corpora.temperature_shares(sizes, temperature)
    total = sum(sizes.values())
    weighted_counts: collections.Counter[str] = collections.Counter()
    for language, counter in counts.items():
        if not sizes[language]:
            continue
        weight = shares[language] * total / sizes[language]
        for word, count in counter.items():
            weighted_counts[word] += count * weight
    return dict(weighted_counts)


def _frequent(counts: Mapping[str, Mapping[str, int]], min_count: int) -> dict[str, dict[str, int]]:
    """The counts of words that occur at least `min_count` times over all languages."""
    totals: collections.Counter[str] = collections.Counter()
    for counter in counts.values():
        totals.update(counter)
    return {
        language: {word: n for word, n in counter.items() if totals[word] >= min_count}
        for language, counter in counts.items()
    }

"""Vocabularies of all kinds, read from files or trained on counted words.

The pieces of a word depend only on the word, so that words are the unit of masking and switching
with every vocabulary.
"""

from __future__ import annotations

import glob
import os
from typing import Iterable, Mapping

from clwe_jax import atomic
from clwe_jax.text import unpacking
from clwe_jax.text.corpus import corpora
from clwe_jax.text.vocab import json_vocab, laser, subword_vocab, whole_words, word_vocab, xlm
from clwe_jax.text.vocab.base_vocab import LONGEST_WORD, SPECIALS, Vocabulary

_CODES = ".fcodes"
KINDS = (*subword_vocab.KINDS, "word")
_FILES = (
    subword_vocab.WORDPIECE_FILE,
    subword_vocab.SENTENCEPIECE_FILE,
    json_vocab.FILE,
    word_vocab.FILE,
    xlm.FILE,
)


def load(path: str) -> Vocabulary:
    """Reads a vocabulary.

    Args:
      path: path of a saved vocabulary's folder, a BERT `vocab.txt`, a SentencePiece `.model`, a list
        of words, or fastBPE's codes, `NAME.fcodes` beside `NAME.fvocab`. A list of words begins
        with `<S>`, like ELMo's vocabularies.

    Raises:
      FileNotFoundError: no vocabulary at `path`.
      ValueError: the content of the file does not fit its name.
    """
    if os.path.isdir(path):
        inside = [os.path.join(path, name) for name in _FILES]
        inside += sorted(glob.glob(os.path.join(glob.escape(path), f"*{_CODES}")))
        path = next((name for name in inside if os.path.exists(name)), path)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"{path} is no vocabulary: --config.vocab.path takes a BERT vocab.txt, a SentencePiece "
            ".model, a word list that begins with <S>, NAME.fcodes beside NAME.fvocab, a folder with "
            "one of them, or '' to train one"
        )
    if path.endswith(_CODES):
        return laser.read(path, path.removesuffix(_CODES) + ".fvocab")
    with unpacking.unpack(path) as file:
        content = file.read()
    try:
        if os.path.basename(path) == xlm.FILE:
            return xlm.load(path)
        if os.path.basename(path) == json_vocab.FILE:
            return json_vocab.read(content.decode())
        if unpacking.strip_compression(path).endswith(".model"):
            return subword_vocab.SentencePieceVocabulary(content)
        lines = [x.removesuffix("\r") for x in content.decode("utf-8-sig").split("\n")]
        if word_vocab.is_word_list(lines):
            return word_vocab.parse(lines)
        # A line is an id of the model's weights, also an empty one.
        while lines and not lines[-1]:
            lines.pop()
        return subword_vocab.WordPieceVocabulary(lines, _splits_han(os.path.dirname(path)))
    except RuntimeError as error:
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not a vocab.txt (one piece a line, UTF-8): {error}. A SentencePiece model "
            "has to be named .model"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _splits_han(folder: str) -> bool:
    """Whether pieces in a folder take Han characters as words, as those of BERT, which has no settings."""
    settings = os.path.join(folder, subword_vocab.SETTINGS_FILE)
    if not os.path.exists(settings):
        return True
    return atomic.read_json(settings).get("split_han", True)  # or RoBERTa's pieces, of this name


def train(
    kind: str,
    counts: Mapping[str, float],
    size: int,
    listed: Iterable[str] = (),
    listed_share: float = 0.0,
) -> Vocabulary:
    """Trains a vocabulary; the same counts give the same vocabulary, byte for byte.

    A WordPiece vocabulary consists of characters, at most half of `size`, and of merges of byte
    pair encoding. Its characters are those of ASCII and the most frequent ones of `counts` and
    `listed`, each as the first and as an inner piece of a word; a Han character gets only the forms
    that occur. SentencePiece encodes rare characters as bytes. A word-level vocabulary is a list of
    the most frequent words.

    Args:
      kind: 'wordpiece', 'unigram', 'bpe' or 'word'.
      counts: normalised word -> count; counts may be fractions.
      size: number of pieces, special ones included; a small corpus gives fewer.
      listed: further words, such as a dictionary's, whose characters are covered.
      listed_share: share of the vocabulary, at most, that is listed words which would be cut
        otherwise, the most frequent ones; of 'wordpiece' and 'unigram'.

    Raises:
      ValueError: an unknown kind, no words, a size that leaves no room for pieces, or a share of
        listed words in another kind of vocabulary.
    """
    if kind not in KINDS:
        raise ValueError(f"config.vocab.kind={kind!r}: one of {', '.join(KINDS)}")
    words = {
        word: count
        for word, count in counts.items()
        if count > 0 and 0 < len(word) <= LONGEST_WORD and word not in SPECIALS
    }
    if not words:
        raise ValueError(
            "There are no words to train a vocabulary from: is the text empty, or config.vocab.min_count "
            "above the count of every word?"
        )
    if listed_share and kind not in whole_words.KINDS:
        raise ValueError(
            f"config.vocab.dictionary_share={listed_share} puts whole words into a vocabulary of "
            f"{' or '.join(whole_words.KINDS)}, not of {kind} (config.vocab.kind): set it to 0"
        )
    if kind == "word":
        return word_vocab.train(words, size)
    listed = list(listed)
    frequent = {word: words[word] for word in listed if word in words}
    room = min(int(listed_share * size), len(frequent))
    if kind == "wordpiece":
        vocabulary = subword_vocab.train_wordpiece(words, size - room, listed)
    else:
        vocabulary = subword_vocab.train_sentencepiece(kind, words, size - room)
    if not room:
        return vocabulary
    ordered = [word for word, _ in corpora.by_count(frequent)]
    return whole_words.add(vocabulary, ordered, size - len(vocabulary))

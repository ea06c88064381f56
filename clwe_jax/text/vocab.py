"""Vocabularies: WordPiece and SentencePiece (unigram, BPE), trained here or brought along.

A word's pieces depend on the word alone, so that words are the unit of masking and switching
whatever the vocabulary. Word-level ones are in `word_vocab`.
"""

from __future__ import annotations

import abc
import collections
import functools
import hashlib
import io
import json
import os
import re
import string
from typing import Iterable, Mapping, Sequence

import numpy as np
import sentencepiece as spm
from absl import logging

from clwe_jax.config import padded_rows
from clwe_jax.text import characters

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIALS = (PAD, UNK, CLS, SEP, MASK)
SUBWORD_KINDS = ("wordpiece", "unigram", "bpe")
KINDS = (*SUBWORD_KINDS, "word")
LONGEST_WORD = 100  # characters of a WordPiece word, as BERT; a longer one is [UNK]
_CACHED_WORDS = 1 << 20
_SPACE_MARK = "▁"  # what SentencePiece writes for a space
# The names of the special pieces in other people's SentencePiece models.
_OTHER_NAMES = {PAD: "<pad>", UNK: "<unk>", CLS: "<s>", SEP: "</s>", MASK: "<mask>"}
_FILES = ("vocab.txt", "sentencepiece.model", "words.txt")
_SETTINGS = "vocab.json"
# Bounds of SentencePiece's character coverage: the lower is its own; above the upper one stands
# what bytes serve as well.
_COVERAGE = (0.98, 0.9998)
_UNIGRAM_SUM = 4e6  # words, by count, that a unigram model is trained on


class Vocabulary(abc.ABC):
    """Words to piece ids and back.

    Attributes:
      kind: 'wordpiece', 'sentencepiece' or 'word'.
      pieces: the piece of every id.
      size: len(pieces) rounded up to a multiple of 128; ids from len(pieces) on never occur.
      pad_id, unk_id, cls_id, sep_id, mask_id: the special pieces.
    """

    kind: str

    def __init__(self, pieces: Sequence[str], specials: Mapping[str, int]):
        self.pieces = list(pieces)
        self.size = padded_rows(len(self.pieces))
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            specials[name] for name in SPECIALS
        )
        self._cache: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Pad, unk, cls, sep and mask; sorted."""
        return tuple(sorted((self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id)))

    def encode_word(self, word: str) -> list[int]:
        """The piece ids of one normalised word; never empty, never a special piece but [UNK]."""
        ids = self._cache.get(word)
        if ids is None:
            ids = self._encode(word) or [self.unk_id]
            if len(self._cache) < _CACHED_WORDS:
                self._cache[word] = ids
        return ids

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that another vocabulary does not share."""
        text = "\n".join([self.kind, *self.pieces])
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]

    @abc.abstractmethod
    def _encode(self, word: str) -> list[int]: ...

    @abc.abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Readable text; special pieces are shown."""

    @abc.abstractmethod
    def save(self, directory: str) -> None:
        """Writes the files that `load` reads."""


class WordPieceVocabulary(Vocabulary):
    """Greedy longest match first, '##' before pieces within a word (Wu et al. 2016, BERT)."""

    kind = "wordpiece"

    def __init__(self, pieces: Sequence[str], split_han: bool = False):
        """Args:
          pieces: in the order of their ids.
          split_han: encode Han characters one by one, as BERT's own vocabularies expect.

        Raises:
          ValueError: a special piece is missing.
        """
        self._ids: dict[str, int] = {}
        for number, piece in enumerate(pieces):
            self._ids.setdefault(piece, number)
        missing = [name for name in SPECIALS if name not in self._ids]
        if missing:
            raise ValueError(
                f"The vocabulary has no {', '.join(missing)}: a BERT vocab.txt has them, a piece a "
                "line"
            )
        super().__init__(pieces, self._ids)
        self.split_han = split_han
        self._longest = max(map(len, self.pieces))

    def _encode(self, word: str) -> list[int]:
        if not self.split_han:
            return self._longest_match(word)
        return [i for part in _han_pattern().findall(word) for i in self._longest_match(part)]

    def _longest_match(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD or word in SPECIALS:
            return [self.unk_id]
        found, start, prefix = [], 0, ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while end > start:
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
                end -= 1
            else:
                return [self.unk_id]
            found.append(number)
            start, prefix = end, "##"
        return found

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(self.pieces[i] for i in ids).replace(" ##", "")

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        text = "".join(f"{piece}\n" for piece in self.pieces)
        _write(os.path.join(directory, _FILES[0]), text.encode("utf-8"))
        settings = json.dumps({"split_han": self.split_han}) + "\n"
        _write(os.path.join(directory, _SETTINGS), settings.encode("utf-8"))


class SentencePieceVocabulary(Vocabulary):
    """A SentencePiece model; every word is encoded as if a space stood before it.

    Special pieces that the model lacks are added after its own.
    """

    kind = "sentencepiece"

    def __init__(self, model: bytes):
        """Raises: RuntimeError, the bytes are no model."""
        self.model = model
        self.processor = spm.SentencePieceProcessor(model_proto=model)
        pieces = [self.processor.id_to_piece(i) for i in range(len(self.processor))]
        specials = {}
        for name in SPECIALS:
            known = [piece for piece in (name, _OTHER_NAMES[name]) if piece in pieces]
            if name == UNK:
                known = [self.processor.id_to_piece(self.processor.unk_id())]
            if not known:
                pieces.append(name)
            specials[name] = pieces.index(known[0] if known else name)
        super().__init__(pieces, specials)

    def _encode(self, word: str) -> list[int]:
        return self.processor.encode(word)

    def decode(self, ids: Sequence[int]) -> str:
        text: list[str] = []
        run: list[int] = []
        for i in map(int, ids):
            if i in self.special_ids:
                text += [self.processor.decode(run)] * bool(run) + [self.pieces[i]]
                run = []
            else:
                run.append(i)
        return " ".join(text + [self.processor.decode(run)] * bool(run))

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        _write(os.path.join(directory, _FILES[1]), self.model)


def load(path: str) -> Vocabulary:
    """A folder that a vocabulary was saved in, a BERT `vocab.txt`, a SentencePiece `.model`, or words.

    A file that begins with `<S>` is a word-level vocabulary, as ELMo's.

    Raises:
      FileNotFoundError: nothing of the kind is there.
      ValueError: the file is not what its name says.
    """
    from clwe_jax.text import word_vocab  # its classes are made of those here

    split_han = True
    if os.path.isdir(path):
        settings = os.path.join(path, _SETTINGS)
        if os.path.exists(settings):
            with open(settings, encoding="utf-8") as file:
                split_han = json.load(file)["split_han"]
        inside = [os.path.join(path, name) for name in _FILES]
        path = next((name for name in inside if os.path.exists(name)), path)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"There is no vocabulary at {path}: --config.vocab.path takes a BERT vocab.txt, a "
            "SentencePiece .model, a list of words that begins with <S>, a folder with one of "
            "them, or '' to train one"
        )
    with open(path, "rb") as file:
        content = file.read()
    try:
        if path.endswith(".model"):
            return SentencePieceVocabulary(content)
        lines = content.decode("utf-8-sig").split("\n")
        lines = [x.removesuffix("\r") for x in lines if x]
        if word_vocab.is_word_list(lines):
            return word_vocab.parse(lines)
        return WordPieceVocabulary(lines, split_han)
    except RuntimeError as error:
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not a vocab.txt (a piece a line, UTF-8): {error}. A SentencePiece model "
            "has to be named .model"
        ) from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def train(
    kind: str, counts: Mapping[str, float], size: int, listed: Iterable[str] = ()
) -> Vocabulary:
    """Trains a vocabulary; the same counts give the same vocabulary, byte for byte.

    WordPiece gets its characters first, the most frequent ones up to half of `size`: those of words
    and of `listed`, as they stand first or later in a word (others than Han in both forms), and
    those of ASCII; then the merges of byte pair encoding. SentencePiece falls back to bytes for
    rare characters. A word-level vocabulary is a list of the most frequent words.

    Args:
      kind: 'wordpiece', 'unigram', 'bpe' or 'word'.
      counts: normalised words and how often each occurs; fractions (weighted counts) are fine.
      size: pieces, special ones included. Small corpora give fewer.
      listed: further words, as of a dictionary, whose characters should be covered.

    Raises:
      ValueError: an unknown kind, no words, or a size that leaves no room for pieces.
    """
    from clwe_jax.text import word_vocab  # its classes are made of those here

    if kind not in KINDS:
        raise ValueError(f"config.vocab.kind={kind!r}: one of {', '.join(KINDS)}")
    words = {
        word: count
        for word, count in counts.items()
        if count > 0 and 0 < len(word) <= LONGEST_WORD and word not in SPECIALS
    }
    if not words:
        raise ValueError("There are no words to train a vocabulary from: is the text empty?")
    if kind == "word":
        return word_vocab.train(words, size)
    if kind == "wordpiece":
        return _train_wordpiece(words, size, listed)
    return SentencePieceVocabulary(_train_model(kind, words, size, byte_fallback=True))


def _train_wordpiece(
    words: Mapping[str, float], size: int, listed: Iterable[str]
) -> WordPieceVocabulary:
    forms = _character_forms(words, listed)
    room = (size - len(SPECIALS)) // 2
    if room < 1:
        raise ValueError(f"config.vocab.size={size} leaves no room for pieces: make it larger")
    if len(forms) > room:
        total = sum(forms.values())
        lost = sum(count for _, count in list(forms.items())[room:])
        logging.warning(
            "config.vocab.size=%d has no room for all %d characters: the %d rarest forms, %.3f%% "
            "of the characters of the text, are [UNK]. Make it larger, or take bpe or unigram, "
            "which fall back to bytes (config.vocab.kind)",
            size, len(forms), len(forms) - room, 100 * lost / total,
        )  # fmt: skip
    pieces = [*SPECIALS, *sorted(list(forms)[:room])]
    seen = set(pieces)
    # A merge with the mark of the word's beginning only makes a first character, which is there.
    wanted = size + len({word[0] for word in words}) + len(forms)
    processor = spm.SentencePieceProcessor(model_proto=_train_model("bpe", words, wanted, False))
    for number in range(len(processor)):
        piece = processor.id_to_piece(number)
        if processor.is_control(number) or processor.is_unknown(number) or piece == _SPACE_MARK:
            continue
        piece = piece[1:] if piece.startswith(_SPACE_MARK) else "##" + piece
        if len(piece.removeprefix("##")) > 1 and piece not in seen and len(pieces) < size:
            seen.add(piece)
            pieces.append(piece)
    return WordPieceVocabulary(pieces)


def _character_forms(words: Mapping[str, float], listed: Iterable[str]) -> dict[str, float]:
    """Characters as pieces ('x' first in a word, '##x' later) with counts, most frequent first."""
    forms: collections.Counter[str] = collections.Counter()
    for word, count in words.items():
        forms[word[0]] += count
        for character in word[1:]:
            forms["##" + character] += count
    # What people type, even where the text has none of it.
    found = {*string.punctuation, *string.digits, *string.ascii_lowercase}
    for word in listed:
        for part in word.split():
            found.add(part[0])
            found.update("##" + character for character in part[1:])
    for form in [*forms, *found]:
        forms.setdefault(form, 0)
        if not characters.han_table()[ord(form[-1])]:
            forms.setdefault(form[-1], 0)
            forms.setdefault("##" + form[-1], 0)
    return dict(sorted(forms.items(), key=lambda item: (-item[1], item[0])))


def _train_model(kind: str, words: Mapping[str, float], size: int, byte_fallback: bool) -> bytes:
    """The bytes of a SentencePiece model trained on counted words."""
    # Whole numbers; a rare word still counts as one. Unigram's time grows with their sum.
    if kind == "unigram":
        scale = min(_UNIGRAM_SUM, 100 * len(words)) / sum(words.values())
    else:
        scale = 1e7 / max(words.values())
    whole = {word: max(1, round(count * scale)) for word, count in words.items()}
    lines = (f"{word}\t{count}" for word, count in sorted(whole.items()))
    model = io.BytesIO()
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=lines,  # rather than a file, whose name would stand in the model
            input_format="tsv",
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=_coverage(whole, size) if byte_fallback else 1.0,
            byte_fallback=byte_fallback,
            normalization_rule_name="identity",
            split_by_unicode_script=False,
            split_by_number=False,
            num_threads=1,
            pad_id=0,
            unk_id=1,
            bos_id=-1,
            eos_id=-1,
            pad_piece=PAD,
            unk_piece=UNK,
            control_symbols=[CLS, SEP, MASK],
            minloglevel=2,
        )
    except RuntimeError as error:
        raise ValueError(
            f"config.vocab.size={size} does not work for this text ({len(words):,} distinct "
            f"words): {error}"
        ) from error
    return model.getvalue()


def _coverage(words: Mapping[str, int], size: int) -> float:
    """The share of characters that get pieces of their own, at most about half of all pieces."""
    totals: collections.Counter[str] = collections.Counter()
    for word, count in words.items():
        for character in word:
            totals[character] += count
    reached = np.cumsum(sorted(totals.values(), reverse=True)) / sum(totals.values())
    room = max(1, (size - len(SPECIALS) - 256) // 2)
    return float(np.clip(reached[min(room, len(reached)) - 1], *_COVERAGE))


@functools.cache
def _han_pattern() -> re.Pattern[str]:
    """One Han character, or what stands between them."""
    han = characters.character_class(np.flatnonzero(characters.han_table()))
    return re.compile(f"[{han}]|[^{han}]+")


def _write(path: str, content: bytes) -> None:
    with open(path + ".tmp", "wb") as file:
        file.write(content)
    os.replace(path + ".tmp", path)

"""WordPiece and SentencePiece (unigram, BPE) vocabularies, trained or read from files."""

from __future__ import annotations

import collections
import functools
import io
import itertools
import json
import os
import re
import string
from typing import Iterable, Mapping, Sequence

import numpy as np
import sentencepiece as spm
from absl import logging

from clwe_jax import atomic
from clwe_jax.text.words import characters
from clwe_jax.text.vocab.base_vocab import (
    CLS,
    LONGEST_WORD,
    MASK,
    PAD,
    SEP,
    SPECIALS,
    UNK,
    Vocabulary,
)

KINDS = ("wordpiece", "unigram", "bpe")
WORDPIECE_FILE = "vocab.txt"
SENTENCEPIECE_FILE = "sentencepiece.model"
SETTINGS_FILE = "vocab.json"
SPACE_MARK = "▁"  # SentencePiece's character for a space
INSIDE_MARK = "##"  # before a piece of WordPiece that goes on with a word
# The usual names of special pieces in SentencePiece models of other programs.
_OTHER_NAMES = {PAD: "<pad>", UNK: "<unk>", CLS: "<s>", SEP: "</s>", MASK: "<mask>"}
# Bounds of SentencePiece's character coverage. SentencePiece itself demands the lower bound. The
# characters beyond the coverage are encoded as bytes, so nothing is lost.
_COVERAGE = (0.98, 0.9998)
_UNIGRAM_SUM = 4e6  # sum of the word counts that a unigram model is trained on


class WordPieceVocabulary(Vocabulary):
    """Greedy longest match; pieces inside a word begin with '##' (Wu et al. 2016, BERT)."""

    kind = "wordpiece"

    def __init__(self, pieces: Sequence[str], split_han: bool = False):
        """Args:
          pieces: pieces in the order of their ids.
          split_han: whether each Han character is a word, as BERT's own vocabularies expect.

        Raises:
          ValueError: `pieces` lacks a special piece.
        """
        # Of equal pieces the last is found, as in transformers; the others keep their ids.
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        missing = [name for name in SPECIALS if name not in self._ids]
        if missing:
            raise ValueError(
                f"The vocabulary has no {', '.join(missing)}: a BERT vocab.txt has them, one piece "
                "a line"
            )
        super().__init__(pieces, self._ids)
        self.split_han = split_han
        self._longest = max(map(len, self.pieces))

    def _encode(self, word: str) -> list[int]:
        if not self.split_han:
            return self._longest_match(word)
        parts = _han_pattern().findall(word)
        return list(itertools.chain.from_iterable(map(self._longest_match, parts)))

    def _longest_match(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD or word in SPECIALS:
            return [self.unk_id]
        ids = []
        start = 0
        prefix = ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while end > start:
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
                end -= 1
            else:
                return [self.unk_id]
            ids.append(number)
            start = end
            prefix = INSIDE_MARK
        return ids

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        text = "".join(f"{piece}\n" for piece in self.pieces)
        atomic.write(os.path.join(directory, WORDPIECE_FILE), text)
        settings = json.dumps({"split_han": self.split_han}) + "\n"
        atomic.write(os.path.join(directory, SETTINGS_FILE), settings)


class SentencePieceVocabulary(Vocabulary):
    """A SentencePiece model, which encodes each word as if a space preceded it.

    Special pieces that the model lacks get the ids after its own pieces.
    """

    kind = "sentencepiece"

    def __init__(self, model: bytes):
        """Raises RuntimeError where the bytes are not a SentencePiece model."""
        self.model = model
        self.processor = spm.SentencePieceProcessor(model_proto=model)
        pieces = [self.processor.id_to_piece(i) for i in range(len(self.processor))]
        specials = {}
        for name in SPECIALS:
            names = [piece for piece in (name, _OTHER_NAMES[name]) if piece in pieces]
            if name == UNK:
                names = [self.processor.id_to_piece(self.processor.unk_id())]
            if not names:
                pieces.append(name)
            specials[name] = pieces.index(names[0] if names else name)
        super().__init__(pieces, specials)

    def _encode(self, word: str) -> list[int]:
        return self.processor.encode(word)

    def encode_text(self, text: str) -> tuple[list[int], list[int]]:
        """The piece ids of raw text, and the number of each piece's string between spaces."""
        ids = self.processor.encode(text)
        begins = [self.pieces[i].startswith(SPACE_MARK) for i in ids]
        # Pieces before the first space mark join word 0.
        return ids, [max(0, number - 1) for number in itertools.accumulate(begins)]

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        atomic.write(os.path.join(directory, SENTENCEPIECE_FILE), self.model)


def train_sentencepiece(
    kind: str, words: Mapping[str, float], size: int
) -> SentencePieceVocabulary:
    """Trains a 'unigram' or 'bpe' vocabulary, which encodes rare characters as bytes."""
    return SentencePieceVocabulary(_train_model(kind, words, size, byte_fallback=True))


def train_wordpiece(
    words: Mapping[str, float], size: int, listed: Iterable[str]
) -> WordPieceVocabulary:
    """Trains a WordPiece vocabulary of `size` pieces, special ones included, from words and their counts.

    Args:
      words: word -> its count, or weight.
      size: number of pieces.
      listed: words whose characters get pieces, also where no word has them.

    Raises:
      ValueError: a size that leaves no room for pieces.
    """
    forms = _character_forms(words, listed)
    room = (size - len(SPECIALS)) // 2
    if room < 1:
        raise ValueError(f"config.vocab.size={size} leaves no room for pieces: make it larger")
    if len(forms) > room:
        total = sum(forms.values())
        lost_count = sum(count for _, count in list(forms.items())[room:])
        logging.warning(
            "%d pieces have no room for all %d characters: the %d rarest forms, %.3f%% of the "
            "characters of the text, are [UNK]. Make config.vocab.size larger or "
            "config.vocab.dictionary_share smaller, or take bpe or unigram, which fall back to "
            "bytes (config.vocab.kind)",
            size,
            len(forms),
            len(forms) - room,
            100 * lost_count / total,
        )
    pieces = [*SPECIALS, *sorted(list(forms)[:room])]
    seen = set(pieces)
    # Merges of the space mark with one character yield pieces that `forms` already has.
    bpe_size = size + len({word[0] for word in words}) + len(forms)
    processor = spm.SentencePieceProcessor(model_proto=_train_model("bpe", words, bpe_size, False))
    for number in range(len(processor)):
        piece = processor.id_to_piece(number)
        if processor.is_control(number) or processor.is_unknown(number) or piece == SPACE_MARK:
            continue
        piece = piece[1:] if piece.startswith(SPACE_MARK) else INSIDE_MARK + piece
        if len(piece.removeprefix(INSIDE_MARK)) > 1 and piece not in seen and len(pieces) < size:
            seen.add(piece)
            pieces.append(piece)
    return WordPieceVocabulary(pieces)


def _character_forms(words: Mapping[str, float], listed: Iterable[str]) -> dict[str, float]:
    """Counts of characters as pieces ('x' first in a word, '##x' inside), by falling count."""
    forms: collections.Counter[str] = collections.Counter()
    for word, count in words.items():
        forms[word[0]] += count
        for character in word[1:]:
            forms[INSIDE_MARK + character] += count
    # Users type ASCII even where the text has none.
    required = {*string.punctuation, *string.digits, *string.ascii_lowercase}
    for word in listed:
        for part in word.split():
            required.add(part[0])
            required.update(INSIDE_MARK + character for character in part[1:])
    for form in [*forms, *required]:
        forms.setdefault(form, 0)
        if not characters.han_table()[ord(form[-1])]:
            forms.setdefault(form[-1], 0)
            forms.setdefault(INSIDE_MARK + form[-1], 0)
    return dict(sorted(forms.items(), key=lambda item: (-item[1], item[0])))


def _train_model(kind: str, words: Mapping[str, float], size: int, byte_fallback: bool) -> bytes:
    """The bytes of a SentencePiece model trained on counted words."""
    # SentencePiece takes positive whole counts; the time of unigram training grows with their sum.
    if kind == "unigram":
        scale = min(_UNIGRAM_SUM, 100 * len(words)) / sum(words.values())
    else:
        scale = 1e7 / max(words.values())
    counts = {word: max(1, round(count * scale)) for word, count in words.items()}
    # Sorted, so that the same counts give the same model.
    lines = (f"{word}\t{count}" for word, count in sorted(counts.items()))
    model = io.BytesIO()
    try:
        spm.SentencePieceTrainer.train(
            sentence_iterator=lines,  # a file's name would become part of the model
            input_format="tsv",
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=_coverage(counts, size) if byte_fallback else 1.0,
            byte_fallback=byte_fallback,
            # The run's normalizer has normalised the words.
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
    """The coverage at which about half of all pieces, at most, are single characters."""
    totals: collections.Counter[str] = collections.Counter()
    for word, count in words.items():
        for character in word:
            totals[character] += count
    reached = np.cumsum(sorted(totals.values(), reverse=True)) / sum(totals.values())
    # 256 pieces are the bytes of the fallback.
    room = max(1, (size - len(SPECIALS) - 256) // 2)
    return float(np.clip(reached[min(room, len(reached)) - 1], *_COVERAGE))


@functools.cache
def _han_pattern() -> re.Pattern[str]:
    """Matches one Han character, or a run of other characters."""
    han = characters.character_class(np.flatnonzero(characters.han_table()))
    return re.compile(f"[{han}]|[^{han}]+")

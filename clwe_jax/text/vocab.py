"""Subword vocabularies: WordPiece and SentencePiece (unigram, BPE), trained here or brought along.

A word's pieces depend on the word alone, so that words are the unit of masking and switching
whatever the vocabulary.
"""

from __future__ import annotations

import abc
import hashlib
import io
import os
import tempfile
from typing import Mapping, Sequence

from absl import logging
import sentencepiece as spm

PAD, UNK, CLS, SEP, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
SPECIALS = (PAD, UNK, CLS, SEP, MASK)
KINDS = ("wordpiece", "unigram", "bpe")
PAD_TO = 128  # the embedding table's rows: a multiple that shards
_LONGEST_WORD = 100  # characters of a WordPiece word, as BERT; a longer one is [UNK]
_CACHED_WORDS = 1 << 20


class Vocabulary(abc.ABC):
    """Words to piece ids and back.

    Attributes:
      pieces: the piece of every id.
      size: len(pieces) rounded up to a multiple of 128; ids from len(pieces) on never occur.
      pad_id, unk_id, cls_id, sep_id, mask_id: the special pieces.
    """

    kind: str

    def __init__(self, pieces: Sequence[str]):
        self.pieces = list(pieces)
        self.size = -(-len(self.pieces) // PAD_TO) * PAD_TO
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        missing = [name for name in SPECIALS if self._special(name) is None]
        if missing:
            raise ValueError(f"The vocabulary has no {', '.join(missing)}; a BERT vocab.txt has.")
        self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
            self._special(name) for name in SPECIALS
        )
        self._cache: dict[str, list[int]] = {}

    def _special(self, name: str) -> int | None:
        return self._ids.get(name)

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def special_ids(self) -> tuple[int, ...]:
        """Pad, unk, cls, sep and mask; sorted."""
        return tuple(sorted((self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id)))

    @property
    def first_ordinary_id(self) -> int:
        """Ids from here to len(self) - 1 are ordinary pieces: what a random piece is drawn from."""
        return max(self.special_ids) + 1

    def encode_word(self, word: str) -> list[int]:
        """The piece ids of one word (never empty)."""
        ids = self._cache.get(word)
        if ids is None:
            ids = self._encode(word) or [self.unk_id]
            if len(self._cache) < _CACHED_WORDS:
                self._cache[word] = ids
        return ids

    @abc.abstractmethod
    def _encode(self, word: str) -> list[int]: ...

    @abc.abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Readable text; special pieces are shown."""

    @abc.abstractmethod
    def save(self, directory: str) -> None:
        """Writes the file that `load` reads."""

    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that another vocabulary does not share."""
        text = "\n".join([self.kind, *self.pieces])
        return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


class WordPieceVocabulary(Vocabulary):
    """Greedy longest match first, '##' before pieces within a word (Wu et al. 2016, BERT)."""

    kind = "wordpiece"

    def __init__(self, pieces: Sequence[str], split_han: bool = False):
        """Args:
        pieces: in order of their ids.
        split_han: encode Han characters one by one, as BERT's own vocabularies expect.
        """
        self.split_han = split_han
        super().__init__(pieces)
        self._longest = max(map(len, self.pieces), default=1)

    def _encode(self, word: str) -> list[int]:
        if self.split_han and any(_is_han(ord(c)) for c in word):
            return [i for part in _around_han(word) for i in self._longest_match(part)]
        return self._longest_match(word)

    def _longest_match(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD or word in SPECIALS:
            return [self.unk_id]
        found, start, prefix = [], 0, ""
        while start < len(word):
            end = min(len(word), start + self._longest)
            while end > start:
                piece = self._ids.get(prefix + word[start:end])
                if piece is not None:
                    break
                end -= 1
            else:
                return [self.unk_id]
            found.append(piece)
            start, prefix = end, "##"
        return found

    def decode(self, ids: Sequence[int]) -> str:
        text = " ".join(self.pieces[i] for i in ids)
        return text.replace(" ##", "")

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        _write(os.path.join(directory, "vocab.txt"), "".join(f"{p}\n" for p in self.pieces).encode())


class SentencePieceVocabulary(Vocabulary):
    """A SentencePiece model; every word is encoded as if a space stood before it."""

    def __init__(self, model: bytes):
        self.model = model
        self.processor = spm.SentencePieceProcessor(model_proto=model)
        pieces = [self.processor.id_to_piece(i) for i in range(len(self.processor))]
        self.added = [s for s in (CLS, SEP, MASK) if s not in pieces]
        self.kind = "sentencepiece"
        super().__init__(pieces + self.added)

    def _special(self, name: str) -> int | None:
        for piece in {PAD: (PAD, "<pad>"), UNK: (UNK, "<unk>")}.get(name, (name,)):
            if piece in self._ids:
                return self._ids[piece]
        return None

    def _encode(self, word: str) -> list[int]:
        return self.processor.encode(word)

    def decode(self, ids: Sequence[int]) -> str:
        real = len(self.processor)
        text, run = [], []
        for i in [*ids, -1]:
            if 0 <= i < real:
                run.append(int(i))
                continue
            if run:
                text.append(self.processor.decode(run))
            run = []
            if i >= 0:
                text.append(self.pieces[i])
        return " ".join(text)

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        _write(os.path.join(directory, "sentencepiece.model"), self.model)


def load(path: str) -> Vocabulary:
    """A saved folder, a BERT `vocab.txt` or a SentencePiece `.model`.

    Raises:
      FileNotFoundError: nothing of the kind is there.
      ValueError: the file is not what its name says.
    """
    if os.path.isdir(path):
        for name in ("vocab.txt", "sentencepiece.model"):
            if os.path.exists(os.path.join(path, name)):
                # What we trained holds whole Han words; only vocabularies of BERT's make split them.
                return _load_file(os.path.join(path, name), split_han=False)
        raise FileNotFoundError(f"{path} holds neither vocab.txt nor sentencepiece.model")
    return _load_file(path, split_han=True)


def _load_file(path: str, split_han: bool) -> Vocabulary:
    if not os.path.exists(path):
        raise FileNotFoundError(f"There is no vocabulary {path} (config.vocab.path)")
    with open(path, "rb") as file:
        content = file.read()
    if not path.endswith(".model"):
        try:
            lines = content.decode("utf-8").splitlines()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not a vocab.txt (a piece a line, UTF-8): {error}. A SentencePiece model "
                "has to be named .model"
            ) from error
        return WordPieceVocabulary([line.rstrip("\r") for line in lines], split_han)
    try:
        return SentencePieceVocabulary(content)
    except RuntimeError as error:
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error


def train(kind: str, counts: Mapping[str, float], size: int) -> Vocabulary:
    """Trains a vocabulary; the same counts give the same vocabulary.

    Args:
      kind: 'wordpiece', 'unigram' or 'bpe'.
      counts: words and how often each occurs; fractions are fine (temperature-weighted counts).
      size: pieces, special ones included. Small corpora give fewer.

    Raises:
      ValueError: an unknown kind, no words, or a size that the characters alone exceed.
    """
    if kind not in KINDS:
        raise ValueError(f"config.vocab.kind={kind!r}: one of {', '.join(KINDS)}")
    # Whole numbers, largest 10 million; a rare word of a large corpus still counts as one.
    counts = {w: c for w, c in counts.items() if c > 0 and "\t" not in w and w not in SPECIALS}
    if not counts:
        raise ValueError("There are no words to train a vocabulary from: is the text empty?")
    scale = min(1.0, 1e7 / max(counts.values())) if max(counts.values()) > 1e7 else 1.0
    if max(counts.values()) < 1e5:
        scale = 100.0
    whole = {w: max(1, round(c * scale)) for w, c in counts.items()}
    if kind != "wordpiece":
        return SentencePieceVocabulary(_train_model(kind, whole, size, byte_fallback=True))
    # Every character gets a piece in both forms, so that nothing that was seen is unknown.
    alphabet = sorted({c for word in whole for c in word})
    room = size - len(SPECIALS) - 2 * len(alphabet)
    if room < len(alphabet):
        alphabet = _most_frequent(whole, max(1, (size - len(SPECIALS)) // 4))
        logging.warning(
            "config.vocab.size=%d is small for this alphabet: %d characters kept, rarer ones are "
            "[UNK]",
            size,
            len(alphabet),
        )
    model = _train_model("bpe", whole, size, byte_fallback=False)
    processor = spm.SentencePieceProcessor(model_proto=model)
    pieces = list(SPECIALS)
    pieces += alphabet + ["##" + c for c in alphabet]
    seen = set(pieces)
    for i in range(len(processor)):
        piece = processor.id_to_piece(i)
        if processor.is_control(i) or processor.is_unknown(i) or processor.is_byte(i):
            continue
        piece = piece[1:] if piece.startswith("▁") else "##" + piece
        if piece.removeprefix("##") and piece not in seen and len(pieces) < size:
            seen.add(piece)
            pieces.append(piece)
    return WordPieceVocabulary(pieces)


def _train_model(kind: str, counts: Mapping[str, int], size: int, byte_fallback: bool) -> bytes:
    """The bytes of a SentencePiece model trained on words and counts."""
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.tsv")
        with open(path, "w", encoding="utf-8") as file:
            for word in sorted(counts):
                file.write(f"{word}\t{counts[word]}\n")
        try:
            spm.SentencePieceTrainer.train(
                input=path,
                input_format="tsv",
                model_writer=model,
                model_type=kind,
                vocab_size=size,
                hard_vocab_limit=False,
                character_coverage=0.9998 if byte_fallback else 1.0,
                byte_fallback=byte_fallback,
                normalization_rule_name="identity",
                max_sentence_length=1 << 16,
                num_threads=1,
                pad_id=0,
                unk_id=1,
                bos_id=-1,
                eos_id=-1,
                pad_piece=PAD,
                unk_piece=UNK,
                control_symbols=[CLS, SEP, MASK],
                split_by_unicode_script=False,
                split_by_number=False,
                minloglevel=2,
            )
        except RuntimeError as error:
            raise ValueError(
                f"config.vocab.size={size} does not work for this text "
                f"({len(counts):,} distinct words): {error}"
            ) from error
    return model.getvalue()


def _most_frequent(counts: Mapping[str, int], most: int) -> list[str]:
    totals: dict[str, int] = {}
    for word, count in counts.items():
        for character in word:
            totals[character] = totals.get(character, 0) + count
    return sorted(sorted(totals, key=lambda c: (-totals[c], c))[:most])


def _is_han(code: int) -> bool:
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2FA1F
    )


def _around_han(word: str) -> list[str]:
    parts, run = [], ""
    for character in word:
        if _is_han(ord(character)):
            parts += [run] * bool(run) + [character]
            run = ""
        else:
            run += character
    return parts + [run] * bool(run)


def _write(path: str, content: bytes) -> None:
    with open(path + ".tmp", "wb") as file:
        file.write(content)
    os.replace(path + ".tmp", path)

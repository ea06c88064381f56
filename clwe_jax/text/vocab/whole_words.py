"""Adds whole words to a subword vocabulary, such as the frequent words of a dictionary."""

from __future__ import annotations

import itertools
from typing import Any, Mapping, Sequence

import sentencepiece as spm

from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.vocab.subword_vocab import (
    SPACE_MARK,
    SentencePieceVocabulary,
    WordPieceVocabulary,
)

KINDS = ("wordpiece", "unigram")  # BPE reaches a piece by merges only
_MARGIN = 0.01  # by which a word's log-probability exceeds that of its pieces
_UNKNOWN = 10.0  # SentencePiece's penalty of a character that is in no piece


def add(vocabulary: Vocabulary, words: Sequence[str], max_words: int) -> Vocabulary:
    """The vocabulary with the first `max_words` of the words that are no pieces of it as further pieces.

    A piece is also the beginning of longer words: with WordPiece always, in a unigram model, where its
    score is slightly above that of the word's old pieces, where longer words were cut at its end.

    Args:
      vocabulary: of WordPiece, or a unigram model; its pieces keep their ids.
      words: normalised words, in the order of their preference.
    """
    distinct = dict.fromkeys(words)
    new = [x for x in distinct if not vocabulary.is_piece(x) and SPACE_MARK not in x][:max_words]
    if isinstance(vocabulary, WordPieceVocabulary):
        return WordPieceVocabulary([*vocabulary.pieces, *new], vocabulary.split_han)
    return SentencePieceVocabulary(_with_pieces(vocabulary.model, new)) if new else vocabulary


def _with_pieces(model: bytes, words: Sequence[str]) -> bytes:
    """The unigram model with each word as a piece that its segmentation prefers.

    A word's other segmentations have shorter pieces, new ones among them. So shorter words come first, and
    each gets the score of its best segmentation by then, and `_MARGIN` more: a tie would be decided by
    rounding, which differs between programs.
    """
    from sentencepiece import sentencepiece_model_pb2  # protobuf is needed here alone

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    grown = sentencepiece_model_pb2.ModelProto.FromString(model)
    # Of the given model: long new words have lower scores, with which unknown characters would cost more.
    processor = spm.SentencePieceProcessor(model_proto=model)
    unknown_score = min(processor.get_score(i) for i in range(len(processor))) - _UNKNOWN
    scores: dict[str, float] = {}
    for _, group in itertools.groupby(sorted(words, key=len), len):
        batch = list(group)
        processor = spm.SentencePieceProcessor(model_proto=grown.SerializeToString())
        new_scores = {word: _score(processor, word, unknown_score) + _MARGIN for word in batch}
        _add(grown, new_scores)
        scores |= new_scores
    _add(proto, {word: scores[word] for word in words})
    return proto.SerializeToString(deterministic=True)


def _add(proto: Any, scores: Mapping[str, float]) -> None:
    """Adds words with their scores to a model as pieces, in their order."""
    # A word may be a piece already that its segmentation does not prefer.
    piece_of = {piece.piece: piece for piece in proto.pieces}
    for word, score in scores.items():
        piece = SPACE_MARK + word
        (piece_of.get(piece) or proto.pieces.add(piece=piece)).score = score


def _score(processor: spm.SentencePieceProcessor, word: str, unknown: float) -> float:
    """The log-probability of a word's pieces, with that of an unknown character."""
    total = 0.0
    for number, piece in zip(processor.encode(word), processor.encode(word, out_type=str)):
        if processor.is_byte(number):
            # The first byte of a character, such as <0xE2>, stands for the character.
            total += unknown * (int(piece[3:5], 16) & 0xC0 != 0x80)
        elif processor.is_unknown(number):
            total += unknown * len(piece)
        else:
            total += processor.get_score(number)
    return total

"""Adds whole words to a subword vocabulary, such as the frequent words of a dictionary."""

from __future__ import annotations

from typing import Sequence

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
    """The vocabulary with the first `max_words` of the words that it cuts as further pieces.

    A piece of WordPiece is also the beginning of longer words. A piece of a unigram model gets a
    score slightly above that of the word's old pieces, so that other words change little.

    Args:
      vocabulary: of WordPiece, or a unigram model; its pieces keep their ids.
      words: normalised words, in the order of their preference.
    """
    distinct = dict.fromkeys(words)
    cut = [x for x in distinct if len(vocabulary.encode_word(x)) > 1 and SPACE_MARK not in x]
    cut = cut[:max_words]
    if isinstance(vocabulary, WordPieceVocabulary):
        return WordPieceVocabulary([*vocabulary.pieces, *cut], vocabulary.split_han)
    return SentencePieceVocabulary(_with_pieces(vocabulary.model, cut)) if cut else vocabulary


def _with_pieces(model: bytes, words: Sequence[str]) -> bytes:
    """The unigram model with each word as a piece that its segmentation prefers."""
    from sentencepiece import sentencepiece_model_pb2  # protobuf is needed here alone

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    processor = spm.SentencePieceProcessor(model_proto=model)
    lowest = min(processor.get_score(i) for i in range(len(processor))) - _UNKNOWN

    def score(word: str) -> float:
        """The log-probability of a word's pieces, somewhat more."""
        ids = processor.encode(word)
        scores = (lowest if processor.is_byte(i) else processor.get_score(i) for i in ids)
        return sum(scores) + _MARGIN

    # A word may be a piece already that its segmentation does not prefer.
    known = {piece.piece: piece for piece in proto.pieces}
    pieces = {}
    for word in words:
        piece = SPACE_MARK + word
        pieces[word] = known[piece] if piece in known else proto.pieces.add(piece=piece)
        pieces[word].score = score(word)
    while True:
        processor = spm.SentencePieceProcessor(model_proto=proto.SerializeToString())
        # A new piece may be a part of a better segmentation of a longer word.
        cut = [word for word in words if len(processor.encode(word)) > 1]
        if not cut:
            return proto.SerializeToString(deterministic=True)
        for word in cut:
            pieces[word].score = score(word)

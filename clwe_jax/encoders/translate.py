"""Translation of raw text by a model that generates, in batches of few shapes."""

from __future__ import annotations

import functools
from typing import Iterable, Sequence

from absl import logging
import numpy as np

from clwe_jax import terminal
from clwe_jax.encoders import batching
from clwe_jax.encoders.protocols import Encoder, HasObjective
from clwe_jax.encoders.sharded_call import ShardedCall
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.vocab.subword_vocab import INSIDE_MARK, SPACE_MARK
from clwe_jax.text.words.words import is_unspaced
from clwe_jax.text.vocab.xlm import END_MARK
from clwe_jax.types import Generates

_SHORTEST = 8  # positions of the shortest row
_STATIC = ("width", "penalty", "length")


def generates(model: Encoder) -> bool:
    """Whether the encoder is a model that writes text."""
    return isinstance(model, HasObjective) and isinstance(model.objective, Generates)


def translate(
    model: HasObjective,
    texts: Sequence[str],
    source: str,
    target: str,
    width: int = 1,
    penalty: float = 1.0,
    batch_size: int = 64,
) -> list[str]:
    """The translations of texts, in words with spaces between them as the vocabulary spells them.

    A text that is longer than the model's rows loses its end, and the log counts such texts. A text
    without words has the translation ''.

    Args:
      model: a model that `generates`.
      texts: raw texts.
      source, target: their language, and that of the translations.
      width: number of beams; 1: greedy search.
      penalty: exponent of the length, by which a beam's scores are divided.
      batch_size: texts that are translated at once.

    Raises:
      ValueError: a language that the model lacks, or the same one twice.
    """
    tokenizer = model.tokenizer
    objective = model.objective
    numbers = tokenizer.language_id(source), tokenizer.language_id(target)
    if source == target:
        raise ValueError(f"The translation from {source!r} to itself: name another language")
    vocabulary = tokenizer.vocabulary
    max_length = objective.max_length
    ids = [tokenizer.encode(text, source)[0] for text in texts]
    cut_count = sum(len(x) >= max_length for x in ids)
    if cut_count:
        logging.warning(
            "%d of %d texts (%s) are longer than %d pieces; their ends are not translated",
            cut_count,
            len(ids),
            source,
            max_length - 1,
        )
    translations = [""] * len(texts)
    program = _program(objective)
    # By length, so that batches have little padding; texts without pieces are left out.
    order = sorted((x for x in range(len(ids)) if ids[x]), key=lambda x: len(ids[x]))
    with terminal.task("translations", len(order)) as advance:
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            longest = min(max_length, len(ids[places[-1]]) + 1)
            length = batching.width(longest, _SHORTEST, max_length)
            # The last batch has rows of padding: the number of rows is a shape of the program.
            inputs = np.full((batch_size, length), vocabulary.pad_id, np.int32)
            for row, place in enumerate(places):
                text = [*ids[place][: max_length - 1], vocabulary.sep_id]
                inputs[row, : len(text)] = text
            sources, targets = (np.full(batch_size, x, np.int32) for x in numbers)
            batch = {"inputs": inputs, "source_language_ids": sources, "language_ids": targets}
            outputs = np.asarray(
                program(model.variables, batch, width=width, penalty=penalty, length=max_length)
            )
            for row, place in enumerate(places):
                translations[place] = spell_pieces(outputs[row].tolist(), vocabulary)
            advance(len(places))
    return translations


@functools.lru_cache(maxsize=4)
def _program(objective: Generates) -> ShardedCall:
    return ShardedCall(objective.decode, static_argnames=_STATIC)


def spell_pieces(ids: Sequence[int], vocabulary: Vocabulary) -> str:
    """The words of pieces up to the end of the text, with spaces between them.

    Words in scripts without spaces are written together.
    """
    words: list[str] = []
    data: list[int] = []  # bytes of a character that is no piece
    ended = True  # whether fastBPE's last piece is the last one of its word

    def close() -> None:
        if data:
            words[-1] += bytes(data).decode("utf-8", errors="replace")
            data.clear()

    for number in ids:
        if number in (vocabulary.sep_id, vocabulary.pad_id):
            break
        piece = vocabulary.pieces[number]
        if len(piece) == 6 and piece.startswith("<0x"):
            # A character as bytes may begin the text, where there is no word to add it to.
            words = words or [""]
            data.append(int(piece[3:5], 16))
            continue
        close()
        letters = piece
        if vocabulary.kind == "sentencepiece":
            inside = not piece.startswith(SPACE_MARK)
            letters = piece.removeprefix(SPACE_MARK)
        # fastBPE marks the ends of words, the other kinds their beginnings or insides.
        elif vocabulary.kind == "fastbpe":
            inside = not ended
            ended = piece.endswith(END_MARK)
            letters = piece.removesuffix(END_MARK)
        else:
            inside = piece.startswith(INSIDE_MARK)
            letters = piece.removeprefix(INSIDE_MARK) if vocabulary.kind == "wordpiece" else piece
        if inside and words:
            words[-1] += letters
        else:
            words.append(letters)
    close()
    return join_words(filter(None, words))


def join_words(words: Iterable[str]) -> str:
    """A text of words, with spaces between them where the script has spaces."""
    text = ""
    for word in words:
        together = not text or (is_unspaced(word[0]) and is_unspaced(text[-1]))
        text += word if together else f" {word}"
    return text

"""Texts to vectors: for every layer, the mean over the word pieces of a sentence or of a word."""

from __future__ import annotations

import collections
import dataclasses
import functools
import time
from typing import Iterator, Sequence

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.evaluate.sharded_call import ShardedCall
from clwe_jax.models.pooling import last_layers
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.types import Array, Batch, EncodeFn, Variables, piece_batch

_SHORTEST = 8  # pieces of the shortest rows
_FEW = 8  # rows of a batch where no more are asked for
_LOG_SECONDS = 10.0
_AHEAD = 2  # batches that are computed while another one is fetched

Layer = int | str  # a layer's number (0: the embeddings), or 'mean_last4'
MEAN_LAST4 = "mean_last4"


def select_layer(vectors: np.ndarray, layer: Layer) -> np.ndarray:
    """One vector from those of all layers.

    Args:
      vectors: [..., layers + 1, D].
      layer: a layer's number, or 'mean_last4' for the mean of `last_layers`.

    Returns:
      [..., D].

    Raises:
      ValueError: there is no such layer.
    """
    layers = vectors.shape[-2] - 1
    if layer == MEAN_LAST4:
        if layers == 0:
            return vectors[..., 0, :]  # no copy: static vectors may fill the memory
        return vectors[..., last_layers(layers), :].mean(-2)
    if isinstance(layer, str) or not 0 <= layer <= layers:
        raise ValueError(f"There is no layer {layer!r}: 0 ... {layers}, or {MEAN_LAST4!r}")
    return vectors[..., layer, :]


@dataclasses.dataclass(frozen=True)
class Row:
    """A text as pieces, and the means to take over them.

    Attributes:
      ids: piece ids, without [CLS] and [SEP].
      groups: for each piece the number of the mean that it enters, from 0; -1 for none.
      language: the language's number.
    """

    ids: Sequence[int]
    groups: Sequence[int]
    language: int


class RowEncoder:
    """Encodes texts in batches of few distinct shapes, so that few programs are compiled.

    Attributes:
      cut: sentences that were longer than a row and lost their end, by language.
      seen: sentences encoded, by language.
    """

    def __init__(
        self, encode_fn: EncodeFn, tokenizer: Tokenizer, max_length: int, batch_size: int = 64
    ):
        """Args:
        encode_fn: function from variables and a batch to hidden states.
        tokenizer: the run's.
        max_length: of a row in pieces, [CLS] and [SEP] included; at most the model's.
        batch_size: rows computed at once.

        Raises:
          ValueError: a length that leaves no room for a piece.
        """
        if max_length < 3:
            raise ValueError(f"max_length={max_length}: [CLS], a piece and [SEP] take 3")
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.batch_size = batch_size
        self.cut: collections.Counter[str] = collections.Counter()
        self.seen: collections.Counter[str] = collections.Counter()
        self._warned: set[str] = set()
        self._encode_fn = encode_fn
        self._pool = _program(encode_fn)

    def sentences(
        self, variables: Variables, texts: Sequence[str], language: str, pool: bool = True
    ) -> np.ndarray | list[np.ndarray]:
        """Vectors of sentences, each with its own language's embedding at the input.

        A sentence longer than a row loses its end; that is counted in `cut` and logged once.

        Args:
          variables: the model's.
          texts: sentences.
          language: of the sentences.
          pool: whether to average over the pieces, [CLS] and [SEP] left out; else each piece has
            its vector.

        Returns:
          float32 [N, layers + 1, D], zeros for a text without words; without `pool` a list of
          float32 [pieces, layers + 1, D].
        """
        number, room = self.tokenizer.language_id(language), self.max_length - 2
        rows, cut = [], 0
        for text in texts:
            ids, _ = self.tokenizer.encode(text, language)
            cut += len(ids) > room
            ids = ids[:room]
            rows.append(Row(ids, [0] * len(ids) if pool else range(len(ids)), number))
        self.cut[language] += cut
        self.seen[language] += len(rows)
        if cut and language not in self._warned:
            self._warned.add(language)
            logging.warning(
                "%d of %d sentences (%s) are longer than %d pieces; their ends are left out",
                cut, len(rows), language, room,
            )  # fmt: skip
        if not pool:
            return self.means(variables, rows)
        result = np.zeros((len(rows), *self.shape(variables)), np.float32)
        for place, vectors in self.stream(variables, rows):
            if len(vectors):
                result[place] = vectors[0]
        return result

    def words(
        self, variables: Variables, texts: Sequence[str], language: str
    ) -> list[tuple[list[str], np.ndarray]]:
        """The words of each text, with their vectors in its context.

        A text longer than a row is read in several, cut between words; nothing is left out, except
        the end of a word that alone is longer.

        Returns:
          For each text its words, and float32 [words, layers + 1, D]: a word's vector is the mean
          of those of its pieces.
        """
        number, room = self.tokenizer.language_id(language), self.max_length - 2
        shape = self.shape(variables)
        found, rows, targets = [], [], []
        for text in texts:
            words = self.tokenizer.words(text, language)
            vectors = np.zeros((len(words), *shape), np.float32)
            found.append((words, vectors))
            for start, end in self.windows(words):
                ids, groups = self.tokenizer.encode_words(words[start:end])
                rows.append(Row(ids[:room], groups[:room], number))
                targets.append(vectors[start:end])
        for place, vectors in self.stream(variables, rows):
            targets[place][:] = vectors
        return found

    def windows(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Cuts words into runs [start, end) that fit a row; a longer word is a run by itself."""
        start, size = 0, 0
        for place, word in enumerate(words):
            length = len(self.tokenizer.vocabulary.encode_word(word))
            if size and size + length > self.max_length - 2:
                yield start, place
                start, size = place, 0
            size += length
        if size:
            yield start, len(words)

    def means(self, variables: Variables, rows: Sequence[Row]) -> list[np.ndarray]:
        """For each row the means over its groups, float32 [groups, layers + 1, D]."""
        found: list[np.ndarray | None] = [None] * len(rows)
        for place, vectors in self.stream(variables, rows):
            found[place] = vectors.copy()  # a view would hold the whole batch
        return found

    def stream(self, variables: Variables, rows: Sequence[Row]) -> Iterator[tuple[int, np.ndarray]]:
        """Pairs of a row's place and its `means`, as batches are done, in no order."""
        pending: collections.deque[tuple[list[int], Array]] = collections.deque()
        logged, done = time.monotonic(), 0
        for places, length, slots, size in self._batches(rows):
            batch = self._batch([rows[i] for i in places], size, length)
            pending.append((places, self._pool(variables, batch, slots=slots)))
            if len(pending) > _AHEAD:
                yield from _fetch(rows, *pending.popleft())
            done += len(places)
            if time.monotonic() - logged > _LOG_SECONDS:
                logged = time.monotonic()
                logging.info("encoded %d of %d texts", done, len(rows))
        while pending:
            yield from _fetch(rows, *pending.popleft())

    def _batches(self, rows: Sequence[Row]) -> Iterator[tuple[list[int], int, int, int]]:
        """Rows of similar length together: their places, length, means a row, and batch size.

        A length is a power of two or max_length; a row has 1 mean, or as many as it has positions.
        """
        size = min(_FEW, self.batch_size) if len(rows) <= _FEW else self.batch_size
        buckets: dict[tuple[int, int], list[int]] = {}
        for place, row in enumerate(rows):
            length = max(_SHORTEST, 1 << (len(row.ids) + 1).bit_length())
            length = min(length, self.max_length)
            slots = 1 if max(row.groups, default=0) <= 0 else length
            buckets.setdefault((length, slots), []).append(place)
        for (length, slots), places in sorted(buckets.items()):
            for start in range(0, len(places), size):
                yield places[start : start + size], length, slots, size

    def _batch(self, rows: Sequence[Row], size: int, length: int) -> Batch:
        vocabulary = self.tokenizer.vocabulary
        shapes = piece_batch(size, length)
        arrays = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
        arrays["inputs"][:] = vocabulary.pad_id
        arrays["groups"] = np.full((size, length), -1, np.int32)
        for place, row in enumerate(rows):
            end = len(row.ids) + 2
            arrays["inputs"][place, :end] = [vocabulary.cls_id, *row.ids, vocabulary.sep_id]
            arrays["segment_ids"][place, :end] = 1
            arrays["positions"][place, :end] = np.arange(end)
            arrays["language_ids"][place, :end] = row.language
            arrays["source_language_ids"][place, :end] = row.language
            arrays["groups"][place, 1 : end - 1] = row.groups
        arrays["targets"] = arrays["inputs"]
        return arrays

    def shape(self, variables: Variables) -> tuple[int, int]:
        """(layers + 1, D), from shapes alone."""
        batch = self._batch([], 1, min(_SHORTEST, self.max_length))
        batch.pop("groups")
        hidden = jax.eval_shape(self._encode_fn, variables, batch)
        return len(hidden.layers), hidden.last.shape[-1]


@functools.lru_cache(maxsize=4)  # the encoders of one model share the compiled programs
def _program(encode_fn: EncodeFn) -> ShardedCall:
    return ShardedCall(_pooling(encode_fn), static_argnames=("slots",))


def _pooling(encode_fn: EncodeFn):
    """A function from variables and a batch with 'groups' to [B, slots, layers + 1, D]."""

    def pool(variables: Variables, batch: Batch, slots: int) -> Array:
        batch = dict(batch)
        groups = batch.pop("groups")
        hidden = encode_fn(variables, batch)
        member = groups[:, None, :] == jnp.arange(slots)[None, :, None]
        sums = [
            jnp.einsum(
                "bsl,bld->bsd",
                member.astype(layer.dtype),
                layer,
                precision=jax.lax.Precision.HIGHEST,
                preferred_element_type=jnp.float32,
            )
            for layer in hidden.layers
        ]
        counts = jnp.maximum(member.sum(-1), 1).astype(jnp.float32)
        return jnp.stack(sums, axis=2) / counts[:, :, None, None]

    return pool


def _fetch(
    rows: Sequence[Row], places: list[int], vectors: Array
) -> Iterator[tuple[int, np.ndarray]]:
    vectors = np.asarray(vectors)
    for row, place in enumerate(places):
        yield place, vectors[row, : max(rows[place].groups, default=-1) + 1]

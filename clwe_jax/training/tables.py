"""Tables with a row for every token: start vectors of tokens, and the rows of other runs."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Mapping, Sequence

from absl import logging
import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.training import paths

# logical axes
TOKENS = "vocab"
LANGUAGES = "language"
WIDTH = "embed"
# the last names of tables that read tokens
_INPUTS = ("token_embedding", "source_pieces", "target_pieces")
Axes = Mapping[str, Sequence[str | None]]  # path of a parameter -> its logical axes
Names = Mapping[str, Sequence[str]]  # logical axis -> the names of its entries
# Logical axis -> the places of the entries that two runs have in common, here and there.
Common = Mapping[str, tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class TokenVectors:
    """Vectors of tokens that rows of the tables start from.

    Attributes:
      values: float32 [V, width], rows of unit length; V is the tables' number of rows.
      has_vector: bool [V]; the rows of other tokens keep the initialiser's draw.
      tables: 'both', 'input' (the table that reads tokens) or 'output' (the one that scores them;
        all senses of a word start from its vector).
      scale: length of a row, in units of the mean length of the initialiser's rows.
      record: facts for metadata and report, JSON-able.
    """

    values: np.ndarray
    has_vector: np.ndarray
    tables: str = "both"
    scale: float = 1.0
    record: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def apply_to(self, params: Any, axes: Axes) -> tuple[Any, dict[str, Any]]:
        """The parameters with the vectors in their place, and `record` with 'tables' and 'rows'.

        Args:
          params: initialised parameters, placed on their devices.
          axes: path -> logical axes, from `partition.axes_of`.

        Raises:
          ValueError: the model has no such table.
        """
        table_paths = tables(axes, self.tables)

        def one(path: str, old: jax.Array) -> jax.Array:
            if path not in table_paths:
                return old
            shape = [1] * (old.ndim - 1)
            shape[axes[path].index(TOKENS)] = -1
            values = self.values.reshape(*shape, old.shape[-1])
            has_vector = self.has_vector.reshape(*shape, 1)

            def mix_rows(old: jax.Array, values: Any, has_vector: Any) -> jax.Array:
                # Rows without a vector keep their draw, so that both kinds have the same length.
                length = jnp.linalg.norm(old, axis=-1).mean() * self.scale
                return jnp.where(has_vector, values * length, old).astype(old.dtype)

            return jax.jit(mix_rows, out_shardings=old.sharding)(old, values, has_vector)

        params = paths.map_paths(one, params)
        rows = int(self.has_vector.sum())
        logging.info(
            "%s of %s rows of %s start from word vectors",
            f"{rows:,}",
            f"{len(self.has_vector):,}",
            " and ".join(table_paths),
        )
        return params, {**self.record, "tables": " and ".join(table_paths), "rows": rows}


def tables(axes: Axes, which: str = "both") -> list[str]:
    """The paths of the tables with a vector for every token.

    Args:
      axes: path -> logical axes.

    Raises:
      ValueError: the model has no such table; the message says why.
    """
    matrices = [path for path, names in axes.items() if TOKENS in names[:-1]]
    inputs = [path for path in matrices if path.split("/")[-1] in _INPUTS]
    scores = [path for path in matrices if path not in inputs]
    outputs = [path for path in scores if axes[path][-1] == WIDTH]
    table_paths = {"both": inputs + outputs, "input": inputs, "output": outputs}[which]
    # The vectors of a tied table start the output, too, which 'input' excludes.
    if not table_paths or (which == "input" and not scores):
        scorer = "rows of another width" if scores else "the table that reads them"
        why = f"scores tokens with {scorer}" if inputs else "reads characters"
        raise ValueError(
            f"config.init.tables={which!r}: this model {why}: --config.init.tables=both"
        )
    return table_paths


def in_common(workdir: str, names: Names) -> Common:
    """The tokens and languages that a run and this one have in common, where they differ.

    Args:
      workdir: the folder of the other run, whose tokenizer is in vocab/.
      names: of this run, by logical axis; {}: nothing differs.

    Raises:
      FileNotFoundError: the folder has no tokenizer.
    """
    if not names:
        return {}
    tokenizer = Tokenizer.load(os.path.join(workdir, "vocab"))
    theirs = {TOKENS: tokenizer.vocabulary.pieces, LANGUAGES: tokenizer.languages}
    return common(workdir, theirs, names)


def common(source: str, theirs: Names, names: Names) -> Common:
    """The entries that a source and this run have in common, along the axes where they differ.

    Args:
      theirs, names: the names of the entries of the source and of this run, by logical axis.
    """
    common_rows = {}
    for axis, ours in names.items():
        if list(ours) != list(theirs[axis]):
            places = {name: place for place, name in enumerate(theirs[axis])}
            pairs = [(row, places[name]) for row, name in enumerate(ours) if name in places]
            common_rows[axis] = tuple(np.array(pairs, np.int32).reshape(-1, 2).T)
            logging.info(
                "%s has %s of this run's %s entries of the axis %r",
                source,
                f"{len(pairs):,}",
                f"{len(ours):,}",
                axis,
            )
    return common_rows


def with_rows(
    old: jax.Array, theirs: jax.Array, axes: Sequence[str | None], common: Common
) -> jax.Array:
    """The parameter with the rows of another run's along the axes that have entries in common.

    Args:
      old: the parameter.
      theirs: the other run's, of the same shape except along these axes.
      axes: their logical axes.
    """
    all_rows = [np.arange(size) for size in old.shape]
    our_rows = [common.get(axis, (places,) * 2)[0] for axis, places in zip(axes, all_rows)]
    their_rows = [common.get(axis, (places,) * 2)[1] for axis, places in zip(axes, all_rows)]

    def copy_common(old: jax.Array, theirs: jax.Array) -> jax.Array:
        return old.at[jnp.ix_(*our_rows)].set(theirs[jnp.ix_(*their_rows)].astype(old.dtype))

    return jax.jit(copy_common, out_shardings=old.sharding)(old, theirs)

"""Initial parameters from a model of Hugging Face."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from absl import logging

from clwe_jax.interop import huggingface
from clwe_jax.interop.configuration import describe
from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.training import paths, tables


def arrays(
    directory: str, params: Any, axes: tables.Axes, names: tables.Names
) -> tuple[dict[str, jax.Array | np.ndarray], tables.Common, frozenset[str]]:
    """The parameters of a model, by our paths, with this run's rows of tokens and languages.

    Args:
      params: initialised parameters of this run, placed on their devices.
      axes: path -> their logical axes.
      names: this run's tokens and languages, by logical axis.

    Returns:
      The arrays; the entries in common with this run along the axes where they differ; and the
      paths of the MLM head where the folder has none, which the log says.

    Raises:
      FileNotFoundError, ValueError: as of `huggingface.parameters`.
    """
    ours = paths.flat(params)
    length = ours[huggingface.POSITIONS].shape[0] if huggingface.POSITIONS in ours else 0
    weights: dict[str, Any] = dict(huggingface.parameters(directory, length))
    described = describe(directory)
    vocabulary = hf_tokenizer.tokenizer(directory, ()).vocabulary
    by_axis = {tables.TOKENS: vocabulary.pieces}
    if described.languages:
        by_axis[tables.LANGUAGES] = described.languages
    if list(names.get(tables.TOKENS, ())) != vocabulary.pieces:
        # Models spell special pieces in their own way, so that these are matched by our names.
        special = {number: name for name, number in vocabulary.specials.items()}
        by_axis[tables.TOKENS] = [special.get(n, x) for n, x in enumerate(vocabulary.pieces)]
    differ = tables.common(directory, by_axis, {x: y for x, y in names.items() if x in by_axis})
    # Also where the names agree: our tables are padded, and have more rows than the source.
    rows = {axis: (np.arange(len(x)),) * 2 for axis, x in by_axis.items()} | differ
    for path in weights.keys() & ours.keys():
        if tables.TOKENS in axes[path] or tables.LANGUAGES in axes[path]:
            weights[path] = tables.with_rows(ours[path], weights[path], axes[path], rows)
    for path in weights.keys() - ours.keys():
        if "pooler" in path:
            del weights[path]
            logging.info("%s is left out: --config.model.pooler=True keeps it", path)
    if huggingface.BIAS in weights:
        return weights, differ, frozenset()
    absent = frozenset(path for path in ours if path.startswith("head/"))
    logging.warning(
        "%s has no MLM head: %s keep their initial values", directory, ", ".join(sorted(absent))
    )
    return weights, differ, absent

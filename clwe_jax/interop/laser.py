"""The released encoder of LASER (Artetxe and Schwenk 2019) as ours.

    objective, tokenizer, variables = laser.load("laser", languages=("en", "de"))

The folder holds `bilstm.93langs.2018-12-26.pt` and `93langs.fcodes`. The file of PyTorch is read
without running its pickle. Vectors of sentences equal the reference's to 1e-5.
"""

from __future__ import annotations

import glob
import os
from typing import Any, Mapping, Sequence

from flax import traverse_util
import jax
import numpy as np

from clwe_jax.interop import arrays
from clwe_jax.interop.configuration import LASER, LASER_WEIGHTS
from clwe_jax.interop.huggingface import Loaded
from clwe_jax.models.laser import LaserEncoder
from clwe_jax.models.sentence_encoder import SentenceEncoder
from clwe_jax.options.models import LaserOptions
from clwe_jax.options.section import OptionError
from clwe_jax.text.vocab import laser as text
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

_CODES = "*.fcodes"
_GATES = (0, 2, 1, 3)  # PyTorch's i, f, g, o in our order i, j, f, o
LONGEST = 512  # pieces of a row; the reference has no limit


def load(directory: str, languages: Sequence[str], max_length: int = 0) -> Loaded:
    """The released encoder in a folder. It does not depend on the language of a text.

    Args:
      directory: the folder, with or without 'laser:' before it.
      languages: codes of the languages of the text.
      max_length: pieces of the longest row, special pieces included; 0: `LONGEST`.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: a file is damaged or does not fit the other one.
    """
    directory = directory.removeprefix(LASER)
    path = _only(directory, LASER_WEIGHTS)
    saved = arrays.unpickle(path)
    try:
        sizes, weights, ids = (saved[name] for name in ("params", "model", "dictionary"))
        rows = int(sizes["num_embeddings"])
        layers = int(sizes["num_layers"])
        width = int(sizes["embed_dim"])
        cells = int(sizes["hidden_size"])
        if not sizes["bidirectional"]:
            raise ValueError("its LSTM has one direction; expected two")
        if len(ids) != rows:
            raise ValueError(f"its dictionary has {len(ids):,} pieces, its table {rows:,} rows")
        options = LaserOptions(
            width=width, cells=cells, layers=layers, dropout=0.0, dtype="float32"
        )
        params = parameters(weights, rows, width, cells, layers)
        for name, array in params.items():
            arrays.refuse_nan(array, name, path)
    except OptionError as error:
        raise ValueError(f"{path}: {error.at('config.model')}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no encoder of LASER: {error}") from error
    codes = _only(directory, _CODES)
    try:
        with open(codes, encoding="utf-8") as file:
            vocabulary = text.vocabulary(ids, text.lines(file.read()))
    except ValueError as error:  # of UTF-8, too
        raise ValueError(f"{codes}: {error}") from error
    tokenizer = Tokenizer(languages, Normalizer(moses=True), text.LaserSegmenter(), vocabulary)
    table = params["source_pieces"]
    params["source_pieces"] = np.pad(table, ((0, vocabulary.size - rows), (0, 0)))
    encoder = LaserEncoder(options, vocabulary.size, max_length or LONGEST)
    objective = SentenceEncoder(model=encoder, vocab_size=rows, specials=vocabulary.specials)
    params = jax.device_put({name: np.float32(array) for name, array in params.items()})
    return Loaded(objective, tokenizer, {"params": traverse_util.unflatten_dict(params, sep="/")})


def parameters(
    weights: Mapping[str, Any], rows: int, width: int, cells: int, layers: int
) -> dict[str, np.ndarray]:
    """The parameters of `models.laser.LaserEncoder` by path, from those of the reference by name.

    Raises:
      ValueError: a parameter is missing or has another shape than the sizes say.
    """

    def take(name: str, *shape: int) -> np.ndarray:
        if name not in weights:
            raise ValueError(f"it has no {name}")
        if np.shape(weights[name]) != shape:
            raise ValueError(f"{name} has the shape {np.shape(weights[name])}; expected {shape}")
        return np.asarray(weights[name], np.float32)

    def two_ways(name: str, layer: int, *size: int) -> np.ndarray:
        """[2, ..., 4, C]: forward, backward."""
        sides = (take(f"lstm.{name}_l{layer}{end}", 4 * cells, *size) for end in ("", "_reverse"))
        return np.stack([side.reshape(4, cells, *size)[list(_GATES)] for side in sides])

    params = {"source_pieces": take("embed_tokens.weight", rows, width)}
    for layer in range(layers):
        size = 2 * cells if layer else width
        kernel = two_ways("weight_ih", layer, size)
        recurrent = two_ways("weight_hh", layer, cells)
        params[f"encoder/kernel_{layer}"] = kernel.transpose(0, 3, 1, 2)
        params[f"encoder/recurrent_{layer}"] = recurrent.transpose(0, 3, 1, 2)
        params[f"encoder/bias_{layer}"] = two_ways("bias_ih", layer) + two_ways("bias_hh", layer)
    return params


def _only(directory: str, pattern: str) -> str:
    """The path of the one file of a name."""
    paths = sorted(glob.glob(os.path.join(glob.escape(directory), pattern)))
    if not paths:
        raise FileNotFoundError(
            f"{directory} has no {pattern}: expected bilstm.93langs.2018-12-26.pt and 93langs.fcodes "
            "of LASER's release"
        )
    if len(paths) > 1:
        raise ValueError(f"{directory} has {len(paths)} files {pattern}: leave one")
    return paths[0]

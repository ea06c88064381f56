"""How the authors of a downloaded encoder make a sentence's vector: the files of sentence-transformers."""

from __future__ import annotations

import dataclasses
import os
import re
from typing import Any, Mapping, Sequence
from urllib import parse

from absl import logging

import numpy as np

from clwe_jax.align import search
from clwe_jax.encoders.encode import Reduce, select_layer
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.interop import arrays
from clwe_jax.interop.sentence_files import LENGTH, MODULES, PROMPTS, list_modules
from clwe_jax.text.vocab.base_vocab import Vocabulary
from clwe_jax.text.vocab.hf_tokenizer import CONFIG_FILE, read_optional
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.types import Objective, Variables

# Options of an address -> the pattern of their values.
_VALUES = {
    "pool": "mean|cls|last",
    "layer": r"last|mean_last4|\d+",
    "prompt": "(?s:.*)",
    "length": r"\d+",
    "normalize": "|0|1",
}
# Entries of a Pooling module's config.json, or their values -> our names.
_POOLS = {
    "mean_tokens": "mean",
    "cls_token": "cls",
    "lasttoken": "last",
    "mean": "mean",
    "cls": "cls",
}
_ACTIVATIONS = {"Identity": np.asarray, "Tanh": np.tanh, "ReLU": lambda x: np.maximum(x, 0)}
_KNOWN = re.compile(
    r"\be5\b|\bgte\b|\bbge\b|labse|embed|minilm|harrier|sentence|sbert", re.IGNORECASE
)


@dataclasses.dataclass(frozen=True)
class DenseModule:
    """A dense layer behind the pooling: its matrix [D, E], bias [E] and activation."""

    kernel: np.ndarray
    bias: np.ndarray
    activation: str

    def __call__(self, x: np.ndarray) -> np.ndarray:
        # x: [N, D].
        return _ACTIVATIONS[self.activation](x @ self.kernel + self.bias)


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """The steps from a text to its vector.

    Attributes:
      pool: 'mean', of all positions, special pieces included; 'cls', the first; 'last', the last one.
      layer: 'last', 'mean_last4' or a layer's number.
      prompt: what stands before every text.
      lower: whether text is put into lower case.
      max_length: pieces of a text, special ones included; 0: as many as the model takes.
      dense: layers behind the pooling.
      normalize: whether vectors have length 1.
      origin: what says so, for messages.
    """

    pool: str = "mean"
    layer: str = "last"
    prompt: str = ""
    lower: bool = False
    max_length: int = 0
    dense: Sequence[DenseModule] = ()
    normalize: bool = False
    origin: str = ""

    def __str__(self) -> str:
        parts = [f"pool={self.pool}", f"layer={self.layer}", f"prompt={self.prompt!r}"]
        parts += ["dense"] * len(self.dense) + ["length 1"] * self.normalize
        return ", ".join(parts) + f" ({self.origin})" * bool(self.origin)

    def text(self, text: str) -> str:
        """The text as the model reads it."""
        text = self.prompt + text
        return text.lower() if self.lower else text

    def groups(self, pieces: int, vocabulary: Vocabulary) -> tuple[list[int], tuple[int, int]]:
        """The groups of a row's pieces, and of its first and last special piece."""
        if self.pool == "mean":
            return [0] * pieces, (0, 0)
        piece_groups = [-1] * pieces
        end = self.pool == "last"
        if vocabulary.ends if end else vocabulary.begins:
            return piece_groups, (-1, 0) if end else (0, -1)
        if pieces:
            piece_groups[-1 if end else 0] = 0
        return piece_groups, (-1, -1) if pieces else (0, 0)

    def finish(self, pooled: np.ndarray) -> np.ndarray:
        """The vectors of pooled ones, [N, D]."""
        for module in self.dense:
            pooled = module(pooled)
        return np.asarray(search.unit(pooled)) if self.normalize else pooled


def read(directory: str, query: str = "") -> Reading | None:
    """How the vectors of the model in a folder of Hugging Face are made; None: nothing says it.

    Args:
      query: 'pool=mean&layer=last&prompt=query: &length=512': what goes before the folder's files;
        a prompt is one of the folder's by its name, or text.

    Raises:
      ValueError: a step, an option or a pooling that is unknown here.
    """
    options = dict(parse.parse_qsl(query, keep_blank_values=True))
    prompts: Mapping[str, Any] = {}
    fields: dict[str, Any] = {}
    says = []
    if os.path.exists(os.path.join(directory, MODULES)):
        says.append("its folder")
        settings = read_optional(directory, PROMPTS) or {}
        prompts = settings.get("prompts") or {}
        fields = _modules(directory)
        fields["prompt"] = prompts.get(settings.get("default_prompt_name") or "", "")
    elif not options:
        name = str((read_optional(directory, "config.json") or {}).get("_name_or_path") or "")
        if _KNOWN.search(name) or _KNOWN.search(os.path.basename(os.path.abspath(directory))):
            logging.warning(
                "%s seems to be a model of sentence vectors, and has no %s that says how they are made: "
                "they are the mean of the last four layers, which is worse than its authors' way; "
                "name it, such as hf:%s?pool=mean&layer=last&prompt=query: ",
                directory,
                MODULES,
                directory,
            )
        return None
    if any(not re.fullmatch(_VALUES.get(name, "(?!)"), value) for name, value in options.items()):
        raise ValueError(
            f"hf:{directory}?{query}: expected pool={_VALUES['pool']}, layer=last|mean_last4|NUMBER, "
            "prompt=NAME|TEXT, length=NUMBER or normalize=1, with & between them"
        )
    if "prompt" in options:
        fields["prompt"] = prompts.get(options["prompt"], options["prompt"])
    fields |= {name: options[name] for name in ("pool", "layer") if name in options}
    if "length" in options:
        fields["max_length"] = int(options["length"])
    if "normalize" in options:
        fields["normalize"] = options["normalize"] == "1"
    if fields.pop("excludes_prompt", False) and fields["prompt"] and fields["pool"] == "mean":
        raise ValueError(
            f"{directory}: include_prompt=false, a mean without the prompt's pieces, is not supported: "
            f"hf:{directory}?prompt="
        )
    says += ["the address"] * bool(options)
    return Reading(**fields, origin=f"by {' and '.join(says)}")


def _modules(directory: str) -> dict[str, Any]:
    """The fields of `Reading` by modules.json and the folders that it names."""
    fields: dict[str, Any] = {"dense": []}
    for module in list_modules(directory):
        kind = module["type"].rpartition(".")[2]
        folder = os.path.join(directory, module.get("path") or "")
        if kind == "Transformer":
            settings = read_optional(folder, LENGTH) or {}
            # The library's version 6 keeps the length with the tokenizer alone.
            length = (read_optional(folder, CONFIG_FILE) or {}).get("model_max_length", 0)
            fields["max_length"] = settings.get("max_seq_length") or length
            fields["lower"] = bool(settings.get("do_lower_case"))
        elif kind == "Pooling":
            settings = read_optional(folder, "config.json") or {}
            names = [x.removeprefix("pooling_mode_") for x, on in settings.items() if on is True]
            names = [settings["pooling_mode"]] if "pooling_mode" in settings else names
            names = [x for x in names if x != "include_prompt"]
            if len(names) != 1 or names[0] not in _POOLS:
                raise ValueError(
                    f"{folder}: the pooling {', '.join(names)} is unknown here; one of {', '.join(_POOLS)}"
                )
            fields["pool"] = _POOLS[names[0]]
            fields["excludes_prompt"] = settings.get("include_prompt") is False
        elif kind == "Dense":
            fields["dense"].append(_dense(folder))
        elif kind == "Normalize":
            fields["normalize"] = True
        else:
            raise ValueError(f"{directory}/{MODULES}: the module {kind} is unknown here")
    return fields


def _dense(folder: str) -> DenseModule:
    settings = read_optional(folder, "config.json") or {}
    weights = arrays.read(folder)
    activation = settings.get("activation_function", "Identity").rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise ValueError(f"{folder}: the activation {activation} is unknown here")
    kernel = weights["linear.weight"].T
    return DenseModule(
        kernel, weights.get("linear.bias", np.zeros(kernel.shape[1], np.float32)), activation
    )


class ReadingEncoder(ModelEncoder):
    """A downloaded model whose sentences have one vector, as its authors make it (`encode.ReadsSentences`).

    Words and pieces have vectors by layer, as of `ModelEncoder`.
    """

    def __init__(
        self,
        objective: Objective,
        tokenizer: Tokenizer,
        variables: Variables,
        step: int = 0,
        *,
        reading: Reading,
        batch_size: int = 64,
    ):
        """`reading`: how the vectors are made; the other arguments are those of `ModelEncoder`."""
        max_length = objective.max_length
        if reading.max_length:
            # A row has a place for both special pieces, also for one that the tokenizer lacks.
            lacks = 2 - tokenizer.vocabulary.begins - tokenizer.vocabulary.ends
            max_length = min(max_length, reading.max_length + lacks)
        super().__init__(
            objective, tokenizer, variables, step, max_length=max_length, batch_size=batch_size
        )
        self._options = dict(reading=reading, batch_size=batch_size)
        self.reading = reading
        self.pools = ("own",)

    @property
    def sentence_reading(self) -> str:
        return str(self.reading)

    def by_layer(self) -> ModelEncoder:
        batch_size = self._options["batch_size"]
        parts = self.objective, self.tokenizer, self.variables, self.step
        return ModelEncoder(*parts, batch_size=batch_size)

    def sentences(
        self, texts: Sequence[str], language: str, reduce: Reduce = np.asarray
    ) -> np.ndarray:
        """float32 [N, 1, E], reduced."""
        rows = self._sentence_rows([self.reading.text(text) for text in texts], language)
        vocabulary = self.tokenizer.vocabulary
        for place, row in enumerate(rows):
            groups, ends = self.reading.groups(len(row.ids), vocabulary)
            rows[place] = dataclasses.replace(row, groups=groups, ends=ends)
        layer = self.reading.layer
        own_layer = self.layers - 1 if layer == "last" else int(layer) if layer.isdigit() else layer
        [pooled] = self._pool(rows, 1, lambda vectors: select_layer(vectors, own_layer))
        return reduce(self.reading.finish(pooled)[:, None])

    def pool_in_all_ways(
        self, texts: Sequence[str], language: str, reduce: Reduce = np.asarray
    ) -> dict[str, np.ndarray]:
        return {"own": self.sentences(texts, language, reduce)}

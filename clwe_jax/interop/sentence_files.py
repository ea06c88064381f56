"""The files of sentence-transformers in a folder of Hugging Face, which say how a text becomes a vector."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping

from clwe_jax import atomic
from clwe_jax.text.vocab.hf_tokenizer import read_json

MODULES = "modules.json"
PROMPTS = "config_sentence_transformers.json"
LENGTH = "sentence_bert_config.json"


def list_modules(directory: str) -> list[Mapping[str, Any]]:
    """The steps from a text to its vector, in their order; [] for a folder without modules.json.

    Raises:
      ValueError: modules.json is damaged.
    """
    path = os.path.join(directory, MODULES)
    modules = read_json(path, list) if os.path.exists(path) else []
    if not all(isinstance(x, Mapping) and {"idx", "type"} <= x.keys() for x in modules):
        raise ValueError(f'{path} is damaged: expected modules with "idx", "path" and "type"')
    return sorted(modules, key=lambda x: x["idx"])


def copy(
    directory: str, out: str, keeps: Callable[[str], bool] = (MODULES, PROMPTS, LENGTH).__contains__
) -> None:
    """Copies the folders that modules.json names, and those of the other files whose paths `keeps` accepts."""
    folders = {os.path.normpath(x.get("path") or ".") for x in list_modules(directory)} - {"."}
    for above, _, names in os.walk(directory):
        for name in names:
            path = os.path.relpath(os.path.join(above, name), directory)
            if path.startswith(tuple(x + os.sep for x in folders)) or keeps(path):
                os.makedirs(os.path.dirname(os.path.join(out, path)), exist_ok=True)
                with open(os.path.join(directory, path), "rb") as file:
                    atomic.write(os.path.join(out, path), file.read())

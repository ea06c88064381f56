"""A model of Hugging Face with the methods of our models."""

from __future__ import annotations

from typing import Mapping, Sequence

from clwe_jax import config as options
from clwe_jax.api.model import Model
from clwe_jax.interop import configuration, huggingface


def load(
    directory: str, languages: Sequence[str] = (), words: Mapping[str, Sequence[str]] | None = None
) -> Model:
    """The model in a folder of Hugging Face; see `api.load`."""
    directory = directory.removeprefix(configuration.PREFIX)
    described = configuration.describe(directory)
    # A folder does not say which languages a model was trained on, except XLM's.
    known = described.languages or tuple(options.MBERT_LANGUAGES.split(","))
    chosen = tuple(languages or known)
    unknown = sorted(set(words or {}) - set(chosen))
    if unknown:
        raise ValueError(f"words: {', '.join(map(repr, unknown))} is in none of the languages")
    objective, tokenizer, variables = huggingface.load(directory, chosen)
    config = options.base_config()
    config.data.languages = ",".join(chosen)
    config.data.sequence_length = objective.max_length
    config.init.parameters = f"{configuration.PREFIX}{directory}"
    configuration.set_options(config, described)
    frequent: dict[str, list[str]] = {}
    for language, given in (words or {}).items():
        spelled = (" ".join(tokenizer.words(word, language)) for word in given)
        frequent[language] = [word for word in dict.fromkeys(spelled) if word]
    return Model(config, tokenizer, objective, variables, frequent)

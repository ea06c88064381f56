"""A model of Hugging Face, or LASER's released encoder, as a language model."""

from __future__ import annotations

import dataclasses
from typing import Mapping, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.encoders import reading
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.interop import configuration, huggingface, laser
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.text.vocab.hf_tokenizer import own_languages


def load(
    directory: str,
    languages: Sequence[str] = (),
    words: Mapping[str, Sequence[str]] | None = None,
    beside: Sequence[str] = (),
) -> LanguageModel:
    """The model in a folder of Hugging Face, or of LASER's release.

    Without `languages` it has its own. If it names none, it has `beside`, or those of multilingual BERT.
    """
    config = PretrainRun()
    others = beside or options.MBERT_LANGUAGES.split(",")
    sentence_reading = None
    if configuration.is_laser(directory):
        codes = tuple(languages or others)
        loaded = laser.load(directory, codes)
    else:
        directory, _, query = directory.removeprefix(configuration.PREFIX).partition("?")
        described = configuration.describe(directory)
        # A folder does not say which languages a model was trained on, except XLM's and ours.
        described_languages = described.languages or own_languages(directory)
        codes = tuple(languages or described_languages or others)
        sentence_reading = reading.read(directory, query)
        loaded = huggingface.load(directory, codes)
        start = {"init": {"parameters": f"{configuration.PREFIX}{directory}"}}
        config = options.with_values(configuration.with_architecture(config, described), start)
    model = _model(config, loaded, codes, words or {})
    if sentence_reading is not None:
        logging.info("sentences of %s: %s", directory, sentence_reading)
    return dataclasses.replace(model, reading=sentence_reading)


def _model(
    config: options.Run,
    loaded: huggingface.Loaded,
    chosen: Sequence[str],
    words: Mapping[str, Sequence[str]],
) -> LanguageModel:
    objective, tokenizer, variables = loaded
    unknown = sorted(set(words) - set(chosen))
    if unknown:
        raise ValueError(f"words: {', '.join(map(repr, unknown))} is in none of the languages")
    data = {"languages": ",".join(chosen), "sequence_length": objective.max_length}
    config = options.with_values(config, {"data": data})
    frequent: dict[str, list[str]] = {}
    for language, language_words in words.items():
        spelled = (" ".join(tokenizer.words(word, language)) for word in language_words)
        frequent[language] = [word for word in dict.fromkeys(spelled) if word]
    return LanguageModel(config, tokenizer, objective, variables, frequent)

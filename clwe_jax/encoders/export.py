"""The writers of `interop.export`, for runs of all kinds."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from absl import logging
import numpy as np

from clwe_jax.embeddings import files
from clwe_jax.encoders import load, static_folders
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.interop import to_huggingface
from clwe_jax.text.corpus.frequencies import INFORMATION


_BYTES_OF_NUMBER = 11  # of the shortest decimals of a float32, and a space
_LARGE = 100  # megabytes of a file that the log says how to make smaller


def huggingface(workdir: str, out: str, language: str = "") -> list[str]:
    """Writes the language model of a run as a folder of Hugging Face."""
    return write_huggingface(load.of_folder(workdir), out, language)


def vec(workdir: str, out: str, language: str = "", words: int = 0, dim: int = 0) -> list[str]:
    """Writes the frequent words of a run and their vectors."""
    return write_vec(load.of_folder(workdir), out, language, words, dim)


def write_huggingface(model: LoadedEncoder, out: str, language: str = "") -> list[str]:
    """Writes a language model as a folder of Hugging Face.

    Raises:
      ValueError: static vectors, a projected pair or run, and as of `to_huggingface.write`.
    """
    if not isinstance(model, LanguageModel):
        raise ValueError(
            f"{model.kind_name} are no model of transformers: --format=vec writes the vectors of words"
        )
    if model.projection is not None:
        raise ValueError(
            "transformers has no projected models: --format=vec writes the projected vectors"
        )
    return to_huggingface.write(model.objective, model.tokenizer, model.variables, out, language)


def write_vec(
    model: LoadedEncoder, out: str, language: str = "", words: int = 0, dim: int = 0
) -> list[str]:
    """Writes OUT/{language}.vec, the frequent words of each language and their vectors.

    A word's vector in a language model is that of the word without context, `LoadedEncoder.vectors`. The
    size of each file is said before it is written.

    Args:
      words: most words of a language, the most frequent ones; 0: all.
      dim: dimensions, of random directions, the same ones for all languages; 0: all.

    Raises:
      ValueError: an unknown language, a run without a list of frequent words, or more dimensions than the
        vectors'.
    """
    languages = _languages(model, language)
    notes = []
    for code in languages:
        vectors = model.vectors(code).top(words or None)
        static_folders.check_size(vectors.dim, words, dim)
        if dim:
            rows = static_folders.reduce_dim(np.asarray(vectors.vectors, np.float32), dim)
            vectors = dataclasses.replace(vectors, vectors=rows)
        os.makedirs(out, exist_ok=True)
        megabytes = len(vectors) * vectors.dim * _BYTES_OF_NUMBER / 1e6
        smaller = ["--dim=256"] * (vectors.dim > 256) + ["--words=20000"] * (len(vectors) > 20_000)
        advice = f"; {' or '.join(smaller)} makes it smaller" if megabytes > _LARGE else ""
        logging.info(
            "%s.vec: %s words of %s numbers, about %s MB of text%s",
            code,
            f"{len(vectors):,}",
            f"{vectors.dim:,}",
            f"{megabytes:,.0f}",
            advice,
        )
        files.write(os.path.join(out, f"{code}.vec"), vectors)
        notes.append(f"{code}.vec: {len(vectors):,} words of {vectors.dim} dimensions.")
    return notes


def sentence_transformers(workdir: str, out: str, language: str = "", **size: Any) -> list[str]:
    """Writes static vectors as a StaticEmbedding."""
    return write_static(load.of_folder(workdir), out, "sentence-transformers", language, **size)


def model2vec(workdir: str, out: str, language: str = "", **size: Any) -> list[str]:
    """Writes static vectors for model2vec."""
    return write_static(load.of_folder(workdir), out, "model2vec", language, **size)


def write_static(
    model: LoadedEncoder, out: str, form: str, language: str = "", **size: Any
) -> list[str]:
    """Writes static vectors for another library; `size` is dtype, words and dim of `static_folders.write`.

    Raises:
      ValueError: a model that is no static one, an unknown language, and as of `static_folders.write`.
    """
    if not isinstance(model, StaticSpaces):
        raise ValueError(f"--format={form} holds static vectors, and this is: {model.kind_name}")
    languages = _languages(model, language)
    counts = model.frequencies
    weights = {code: counts.word_weights(code, INFORMATION) for code in languages} if counts else {}
    spaces = {code: model.vectors(code) for code in languages}
    notes = static_folders.write(spaces, weights, model.normalizer, out, form, **size)
    if model.spelling is not None:
        notes.append(
            "Words that the run's text lacks have no vector there; in this project their letters give one."
        )
    if model.normalizer.simplify_chinese and "zh" in languages:
        notes.append("Traditional Chinese characters are not made simplified ones there.")
    return notes


def _languages(model: LoadedEncoder, language: str) -> tuple[str, ...]:
    """The language that is asked for, or all of the model's.

    Raises:
      ValueError: an unknown language.
    """
    if language and language not in model.languages:
        raise ValueError(f"--language={language}: the run has {', '.join(model.languages)}")
    return (language,) if language else model.languages

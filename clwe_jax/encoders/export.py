"""The writers of `interop.export`, for runs of all kinds."""

from __future__ import annotations

import os

from clwe_jax.embeddings import files
from clwe_jax.encoders import load
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.loaded import LoadedEncoder
from clwe_jax.interop import to_huggingface


def huggingface(workdir: str, out: str, language: str = "") -> list[str]:
    """Writes the language model of a run as a folder of Hugging Face; see `write_huggingface`."""
    return write_huggingface(load.of_folder(workdir), out, language)


def vec(workdir: str, out: str, language: str = "") -> list[str]:
    """Writes the frequent words of a run and their vectors; see `write_vec`."""
    return write_vec(load.of_folder(workdir), out, language)


def write_huggingface(model: LoadedEncoder, out: str, language: str = "") -> list[str]:
    """Writes a language model as a folder of Hugging Face; see `to_huggingface.write`.

    Raises:
      ValueError: static vectors, a projected pair or run, and as of `to_huggingface.write`.
    """
    if not isinstance(model, LanguageModel):
        raise ValueError(
            f"{model.described} are no model of transformers: --format=vec writes the vectors of words"
        )
    if model.projection is not None:
        raise ValueError(
            "transformers has no projected models: --format=vec writes the projected vectors"
        )
    return to_huggingface.write(model.objective, model.tokenizer, model.variables, out, language)


def write_vec(model: LoadedEncoder, out: str, language: str = "") -> list[str]:
    """Writes OUT/{language}.vec, the frequent words of each language and their vectors.

    A word's vector in a language model is that of the word without context, `LoadedEncoder.vectors`.

    Raises:
      ValueError: an unknown language, or a run without a list of frequent words.
    """
    if language and language not in model.languages:
        raise ValueError(f"--language={language}: the run has {', '.join(model.languages)}")
    os.makedirs(out, exist_ok=True)
    notes = []
    for code in (language,) if language else model.languages:
        vectors = model.vectors(code)
        files.write(os.path.join(out, f"{code}.vec"), vectors)
        notes.append(f"{code}.vec: {len(vectors):,} words of {vectors.dim} dimensions.")
    return notes

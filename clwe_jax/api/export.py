"""The writers of `interop.export`, for loaded models of all kinds."""

from __future__ import annotations

import os

from clwe_jax.api import static_folders
from clwe_jax.api.base import Loaded
from clwe_jax.api.model import Model
from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings import files
from clwe_jax.interop import to_huggingface


def huggingface(model: Loaded, out: str, language: str = "") -> list[str]:
    """Writes a folder of Hugging Face; see `to_huggingface.write`.

    Raises:
      ValueError: static vectors, a projected pair or run, and as of `to_huggingface.write`.
    """
    if not isinstance(model, Model):
        raise ValueError(
            f"{model.kind} are no model of transformers: --format=vec writes the vectors of words"
        )
    if model.projection is not None:
        raise ValueError(
            "transformers has no projected models: --format=vec writes the projected vectors"
        )
    return to_huggingface.write(model.objective, model.tokenizer, model.variables, out, language)


def vec(model: Loaded, out: str, language: str = "") -> list[str]:
    """Writes OUT/{language}.vec, the frequent words of each language and their vectors.

    A word's vector in a language model is that of the word without context, `Loaded.vectors`.

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


def sentence_transformers(
    model: Loaded, out: str, language: str = "", dtype: str = "float32"
) -> list[str]:
    """Writes static vectors as a StaticEmbedding; see `static_folders.write`.

    Raises:
      ValueError: a model that is no static one, an unknown language or dtype.
    """
    return _static(model, out, language, dtype, "sentence-transformers")


def model2vec(model: Loaded, out: str, language: str = "", dtype: str = "float32") -> list[str]:
    """Writes static vectors for model2vec; as `sentence_transformers`."""
    return _static(model, out, language, dtype, "model2vec")


def _static(model: Loaded, out: str, language: str, dtype: str, form: str) -> list[str]:
    if not isinstance(model, StaticModel):
        raise ValueError(f"--format={form} holds static vectors, and this is: {model.kind}")
    if language and language not in model.languages:
        raise ValueError(f"--language={language}: the run has {', '.join(model.languages)}")
    languages = (language,) if language else model.languages
    counts = model.frequencies
    weights = {code: counts.word_weights(code) for code in languages} if counts else {}
    spaces = {code: model.vectors(code) for code in languages}
    return static_folders.write(spaces, weights, model.normalizer, out, form, dtype)

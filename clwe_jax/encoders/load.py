"""The encoder that `config.encoder` names: a run, another program's weights, or files of vectors."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Sequence

from clwe_jax import options, registry
from clwe_jax.embeddings import files
from clwe_jax.encoders import beside_weights
from clwe_jax.encoders.concatenated import ConcatenatedModels
from clwe_jax.encoders.loaded import LoadedEncoder, PoolsTexts, Reduces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.transfer import BESIDE, ENCODERS, encoder_folder, encoder_parts
from clwe_jax.text.words.normalize import Normalizer

if TYPE_CHECKING:
    from clwe_jax.encoders.language_model import LanguageModel

_DOWNLOADED = ("hf:", "laser:")


def load(
    encoder: str,
    languages: Sequence[str],
    option: str = "config.encoder",
    beside: Sequence[str] = (),
) -> LoadedEncoder:
    """The model that `config.encoder` names.

    Args:
      encoder: run:DIR, hf:DIR, laser:DIR or vec:en=FILE,de=FILE; or two of them, as hf:DIR+run:DIR.
      languages: languages that are asked for; of files of vectors each needs one.
      option: as of `of_vectors`.
      beside: where none are asked for, the languages of a downloaded model that names none itself.

    Raises:
      ValueError, FileNotFoundError: no such model, or one that cannot be read.
    """
    parts, weight = encoder_parts(encoder)
    if len(parts) == 2:
        models: dict[str, LoadedEncoder] = {}
        # Runs and files of vectors first: they know their languages.
        for part in sorted(parts, key=lambda part: part.startswith(_DOWNLOADED)):
            models[part] = load(part, languages, option, beside)
            beside = beside or models[part].languages
        first, second = (models[part] for part in parts)
        if weight is not None:
            return ConcatenatedModels(first, second, weight)
        beside = beside_weights.of_run(first, second, parts)
        return ConcatenatedModels(first, second, BESIDE, *beside)
    kind, _, address = encoder.partition(":")
    if kind not in ENCODERS or not address:
        hint = f", such as --config.encoder=run:{encoder}" if os.path.isdir(encoder) else ""
        raise ValueError(
            f"The encoder {encoder!r} has no kind: expected run:DIR, hf:DIR, laser:DIR or "
            f"vec:en=FILE,de=FILE{hint}"
        )
    if kind == "vec":
        return of_vectors(address, languages, option)
    if encoder.startswith(_DOWNLOADED):
        from clwe_jax.encoders import hf_model  # imports optax and orbax, which vectors do without

        return hf_model.load(encoder, languages, beside=beside)
    return of_folder(address)


def of_folder(workdir: str, step: int | None = None) -> LoadedEncoder:
    """The encoder of the run in a folder.

    Args:
      workdir: the run's folder.
      step: of a language model, the step of a checkpoint of its pretraining; None: its final parameters.

    Raises:
      ValueError, FileNotFoundError: no run that is an encoder, or one that cannot be read.
    """
    job = options.read_config(workdir).job
    if job not in registry.TABLES["loader"]:
        raise ValueError(
            f"{workdir} holds a run of the job {job!r}, which is no encoder: name the encoder that it "
            "was trained with"
        )
    return registry.lookup("loader", job)(workdir, step, of_run)


def of_vectors(files_of: str, languages: Sequence[str] = (), option: str = "vec") -> StaticSpaces:
    """Files of word vectors in one space.

    Args:
      languages: those of the text, for which names are searched first; of one file that is not LANGUAGE=FILE,
        its own. With option='vec' or without languages, those of multilingual BERT and all named ones may be there.
      option: the option that names the files, for messages.

    Raises:
      ValueError, FileNotFoundError: files that cannot be read, or have no language or other widths.
    """
    named_files = options.named_files(files_of)
    if len(languages) == len(named_files) == 1 and not named_files[0][0]:
        paths = {languages[0]: named_files[0][1]}
    else:
        others: Sequence[str] = ()
        if option == "vec" or not languages:
            others = [*options.MBERT_LANGUAGES.split(","), *filter(None, dict(named_files))]
        paths = options.vector_files(files_of, languages, option, others)
    normalizer = Normalizer(lower_case=False)
    vectors = {
        language: file_vectors.with_keys(functools.partial(normalizer.key, language=language))
        for language, file_vectors in files.read_space(paths, option).items()
    }
    return StaticSpaces(vectors, {}, {}, next(iter(vectors)), normalizer)


def of_run(encoder: str, languages: Sequence[str], workdir: str) -> LoadedEncoder:
    """`load` for the encoder that `config.encoder` of the run in `workdir` names.

    Raises:
      ValueError, FileNotFoundError: as of `load`; the encoder is not where it was.
    """
    parts, weight = encoder_parts(encoder)
    places = [_find_part(part, encoder, workdir) for part in parts]
    between = "+" if weight is None else f"+{weight:f}*"
    return load(between.join(places), languages)


def _find_part(part: str, encoder: str, workdir: str) -> str:
    """One of the encoders that `of_run` is asked for, where it is now."""
    kind, _, address = part.partition(":")
    files = options.named_files(address) if kind == "vec" else [("", address)]
    files = [(language, options.resolve_path(path, workdir)) for language, path in files]
    for _, path in files:
        if not os.path.exists(encoder_folder(path)):
            raise FileNotFoundError(
                f"{workdir} needs its encoder, config.encoder={encoder}, and {path} is missing: move the "
                f"run and its encoder together, or copy {os.path.basename(path)} into {workdir}"
            )
    places = (f"{language}={path}" if language else path for language, path in files)
    return f"{kind}:{','.join(places)}"


def tunable(model: LoadedEncoder, encoder: str) -> LanguageModel:
    """The model, if its backbone can be fine-tuned.

    Raises:
      ValueError: the model is neither a masked language model nor LASER's.
    """
    from clwe_jax.encoders.language_model import LanguageModel

    if isinstance(model, LanguageModel) and model.tunable:
        return model
    raise ValueError(
        f"config.encoder={encoder}: only masked language models and LASER are fine-tuned; for this "
        "model set --config.transfer.mode=frozen"
    )


def text_encoder(model: LoadedEncoder, reduce: str, probability: float = 0.0) -> PoolsTexts:
    """The encoder of a model's texts.

    Args:
      reduce: `config.transfer.reduce`: '', every word; 'extract' or 'extract,reorder', the pivots of
        a CLCR run, in their own or in the target's order.
      probability: `config.transfer.pivot_probability`, with `reduce`; 0: the CLCR run's.

    Raises:
      ValueError: `reduce` is set, and the model is no CLCR run.
    """
    if not reduce:
        return model.encoder()
    if not isinstance(model, Reduces):
        raise ValueError(
            f"config.transfer.reduce={reduce!r} keeps the pivots of a CLCR run (configs/clcr.py), and "
            "config.encoder is none: --config.transfer.reduce=''"
        )
    return model.reduced(extract=True, reorder="reorder" in reduce, threshold=probability or None)

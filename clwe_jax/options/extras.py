"""The libraries that the core of the package works without."""

from __future__ import annotations

_BEAM = {"apache_beam", "array_record"}  # of the extra 'beam'
# Libraries of the extra 'train'. XLM's and LASER's tokenizers name their own extras.
TRAIN = {
    "clu",
    "importlib_resources",
    "optuna",
    "sacrebleu",
    "seqio",
    "tensorboard",
    "tensorflow",
    "tensorflow_datasets",
    "tensorflow_text",
}


def explain_error(error: ImportError) -> str:
    """The error's message; of a library of an extra, with the command that installs it."""
    library = (error.name or "").partition(".")[0]
    if library not in TRAIN | _BEAM:
        return str(error)
    extra = "beam" if library in _BEAM else "train"
    return f"this needs {library}, which the core has not: pip install 'clwe_jax[{extra}]'"

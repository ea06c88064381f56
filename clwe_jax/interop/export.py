"""Exports the model of a run for other programs.

    python -m clwe_jax.interop.export --workdir=RUN --format=huggingface --out=DIR [--language=de]
    python -m clwe_jax.interop.export --workdir=RUN --format=vec --out=DIR

`huggingface` is a folder that AutoModel and AutoTokenizer of transformers open (masked language
models); `vec` is a text file of word vectors for each language (all models).
"""

from __future__ import annotations

import sys

from absl import app, flags, logging

from clwe_jax import config as options
from clwe_jax import registry, terminal

_RUN = flags.DEFINE_string("workdir", None, "The folder of a finished run.")
_FORMAT = flags.DEFINE_string("format", "huggingface", "huggingface or vec.")
_OUT = flags.DEFINE_string("out", None, "The folder to write.")
_LANGUAGE = flags.DEFINE_string(
    "language", "", "huggingface: the language that the model is for; '' keeps all, as token types."
)


def export(workdir: str, kind: str, out: str, language: str = "") -> list[str]:
    """Writes the model of a run in a format of the registry's table 'export'.

    Args:
      workdir: the run's folder.
      kind: name of the format.
      out: the folder to write.
      language: see `to_huggingface.write`; a language of the run for 'vec', '' for all.

    Returns:
      Remarks for the user.

    Raises:
      FileNotFoundError, ValueError: no run, an unknown format, or a model that it cannot hold.
    """
    writer = registry.lookup("export", kind)
    model = registry.lookup("loader", options.read_config(workdir).job)(workdir)
    return writer(model, out, language)


def main(argv: list[str]) -> None:
    """The command line."""
    if len(argv) > 1 or not _RUN.value or not _OUT.value:
        sys.exit("usage: python -m clwe_jax.interop.export --workdir=RUN --format=FORMAT --out=DIR")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    try:
        notes = export(_RUN.value, _FORMAT.value, _OUT.value, _LANGUAGE.value)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print("\n".join([f"{_OUT.value}: written.", *notes]))


if __name__ == "__main__":
    app.run(main)

"""Exports the model of a run for other programs.

    python -m clwe_jax.interop.export --workdir=RUN --format=huggingface --out=DIR [--language=de]
    python -m clwe_jax.interop.export --workdir=RUN --format=vec --out=DIR

`huggingface` is a folder that AutoModel and AutoTokenizer of transformers open (masked language
models); `vec` is a text file of word vectors for each language (all models); `sentence-transformers` and
`model2vec` are folders of static vectors that these libraries open, with --dtype=float16 or, for
model2vec, int8.
"""

from __future__ import annotations

import sys

from absl import app, flags, logging

from clwe_jax import registry, terminal

_NARROWED = ("sentence-transformers", "model2vec")  # formats whose numbers may be narrower


def export(
    workdir: str, kind: str, out: str, language: str = "", dtype: str = ""
) -> list[str]:
    """Writes the model of a run in a format of the registry's table 'export'.

    Args:
      workdir: the run's folder.
      kind: name of the format.
      language: see `to_huggingface.write`; a language of the run for other formats, '' for all.
      dtype: of sentence-transformers and model2vec; '': float32.

    Returns:
      Remarks for the user.

    Raises:
      FileNotFoundError, ValueError: no run, an unknown format, or a model that it cannot hold.
    """
    writer = registry.lookup("export", kind)
    if not dtype:
        return writer(workdir, out, language)
    if kind not in _NARROWED:
        raise ValueError(f"--dtype goes with --format={' or '.join(_NARROWED)}")
    return writer(workdir, out, language, dtype)


def main(argv: list[str]) -> None:
    """The command line."""
    given = flags.FLAGS
    if len(argv) > 1 or not given.workdir or not given.out:
        sys.exit("usage: python -m clwe_jax.interop.export --workdir=RUN --format=FORMAT --out=DIR")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    try:
        notes = export(given.workdir, given.format, given.out, given.language, given.dtype)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print("\n".join([f"{given.out}: written.", *notes]))


if __name__ == "__main__":
    # Here, so that one process can import two commands that share the name of a flag.
    flags.DEFINE_string("workdir", None, "The folder of a finished run.")
    flags.DEFINE_string("format", "huggingface", "huggingface, vec, sentence-transformers or model2vec.")
    flags.DEFINE_string("out", None, "The folder to write.")
    flags.DEFINE_string(
        "language",
        "",
        "huggingface: the language that the model is for; '' keeps all, as token types.",
    )
    flags.DEFINE_string("dtype", "", "float32, float16 or int8, of the latter two formats.")
    app.run(main)

"""Exports the model of a run for other programs.

    clwe-jax export --workdir=RUN --format=huggingface --out=DIR [--language=de]
    clwe-jax export --workdir=RUN --format=vec --out=DIR

  huggingface                        a folder that AutoModel and AutoTokenizer open (masked language models)
  vec                                a text file of word vectors for each language (all models)
  sentence-transformers, model2vec   a folder of static vectors that this library opens

--words=20000 (the most frequent words of each language) and --dim=256 (random directions) make vectors smaller.
--dtype=float16, or int8 for model2vec, does so for the last two formats.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from absl import app, flags, logging

from clwe_jax import registry, terminal

# Options that make files smaller -> the formats that they are for.
_STATIC = ("sentence-transformers", "model2vec")
_SMALLER = {"dtype": _STATIC, "words": ("vec", *_STATIC), "dim": ("vec", *_STATIC)}


def export(workdir: str, kind: str, out: str, language: str = "", **size: Any) -> list[str]:
    """Writes the model of a run in a format of the registry's table 'export'.

    Args:
      workdir: the run's folder.
      kind: name of the format.
      out: the folder to write, a new one.
      language: the only language of the export; '': all. For Hugging Face its embedding joins the model.
      size: words and dim, and of sentence-transformers and model2vec dtype.

    Returns:
      Remarks for the user.

    Raises:
      FileNotFoundError, ValueError: no run, an unknown format, a model that it cannot hold, or
        something stands at `out`.
    """
    writer = registry.lookup("export", kind)
    for name in size:
        if kind not in _SMALLER[name]:
            raise ValueError(f"--{name} goes with --format={' or '.join(_SMALLER[name])}")
    if os.path.exists(out):
        raise ValueError(f"--out={out} exists: name a new folder")
    return writer(workdir, out, language, **size)


def main(argv: list[str]) -> None:
    """The command line."""
    args = flags.FLAGS
    if len(argv) > 1 or not args.workdir or not args.out:
        sys.exit("usage: clwe-jax export --workdir=RUN --format=FORMAT --out=DIR")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    try:
        size = {name: args[name].value for name in ("dtype", "words", "dim") if args[name].value}
        notes = export(args.workdir, args.format, args.out, args.language, **size)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print("\n".join([f"{args.out}: written.", *notes]))


if __name__ == "__main__":
    # Here, so that one process can import two commands that share the name of a flag.
    flags.DEFINE_string("workdir", None, "The folder of a finished run.")
    flags.DEFINE_string(
        "format", "huggingface", "huggingface, vec, sentence-transformers or model2vec."
    )
    flags.DEFINE_string("out", None, "The folder to write, a new one.")
    flags.DEFINE_string(
        "language",
        "",
        "The language to write; '': all. With huggingface, the language that the model is for; '' keeps all, as token types.",
    )
    flags.DEFINE_string(
        "dtype", "", "float32, float16 or int8, for sentence-transformers and model2vec."
    )
    flags.DEFINE_integer(
        "words", 0, "Most frequent words of each language to keep (not for huggingface); 0: all.", 0
    )
    flags.DEFINE_integer(
        "dim", 0, "Dimensions, random directions (not for huggingface); 0: all.", 0
    )
    app.run(main)

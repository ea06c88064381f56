"""Writes the page on which a person judges proposed entries: clwe-jax lexicon RUN --languages=kab,en.

    clwe-jax lexicon runs/kab --languages=kab,en [--out=lexicon.html]

The page opens offline in any browser. It shows the frequent words of the first language that the run's dictionary
lacks, with likely translations in the second one, and saves what you accept (kab-en.txt) and reject
(kab-en.not.txt). Put both into a folder and run again with --config.data.dictionaries=FOLDER.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Sequence

from absl import logging

from clwe_jax import options, terminal
from clwe_jax.static import lexicon
from clwe_jax.static.job import Static
from clwe_jax.static.open_run import open_run


def main(argv: Sequence[str]) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="clwe-jax lexicon",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", help="folder of a run of static vectors")
    parser.add_argument(
        "--languages", required=True, help="language of the words, language of the translations"
    )
    parser.add_argument("--out", default="", help="file to write; default: RUN/lexicon-xx-yy.html")
    arguments = parser.parse_args(argv)
    terminal.command_log(logging.INFO)
    try:
        write(arguments.run, arguments.languages.split(","), arguments.out)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")


def write(run: str, languages: Sequence[str], out: str = "") -> str:
    """Writes the page and returns its path.

    Raises:
      FileNotFoundError: no run, or the text and dictionaries of the run are not where they were.
      ValueError: the run has no static vectors, or not the languages.
    """
    workdir = os.path.abspath(run)
    config, model = open_run(run)
    unknown = [x for x in languages if x not in model.languages]
    if len(languages) != 2 or unknown or languages[0] == languages[1]:
        raise ValueError(
            f"--languages={','.join(languages)}: expected two of {', '.join(model.languages)}"
        )
    pair = languages[0], languages[1]
    path = os.path.abspath(out) if out else os.path.join(workdir, lexicon.file_name(pair))
    os.chdir(options.start_folder(workdir))  # where relative paths of the options begin
    trainer = Static(config, workdir).read_dictionaries().trainer
    proposals = lexicon.propose(trainer, model, workdir, pair)
    lexicon.write(path, pair, proposals, workdir)
    return path


if __name__ == "__main__":
    main(sys.argv[1:])

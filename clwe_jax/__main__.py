"""The command clwe-jax, which `python -m clwe_jax` is too: trains a system, or runs another command."""

from __future__ import annotations

import ast
import importlib.util
import runpy
import sys

from clwe_jax import __version__, registry, terminal
from clwe_jax.options.section import nearest

# Command -> its module, which `python -m` runs as well, and a line on it.
COMMANDS = {
    "list": ("clwe_jax.listed", "list the systems, each with its minutes and a line on it"),
    "data": ("clwe_jax.text.data", "fetch test sets, dictionaries and text, with their licences"),
    "leaks": ("clwe_jax.text.leaks", "find test sentences in the text that a run learns from"),
    "dictionary": ("clwe_jax.text.dictionary", "show dictionaries and count their pairs"),
    "prepare": ("clwe_jax.data.prepare", "prepare batches once, for training without TensorFlow"),
    "align": ("clwe_jax.api.over_files", "link the words of two files of parallel sentences"),
    "mine": ("clwe_jax.api.over_files", "find the translations among the sentences of two files"),
    "align-documents": (
        "clwe_jax.api.over_files",
        "pair the sentences of two translated documents",
    ),
    "explore": ("clwe_jax.static.explore", "write a page that answers words and sentences offline"),
    "lexicon": (
        "clwe_jax.static.lexicon_command",
        "write a page on which a person judges proposed dictionary entries",
    ),
    "tag": ("clwe_jax.api.over_files", "label the words of a file"),
    "export": ("clwe_jax.interop.export", "write a model for other programs"),
    "teach": ("clwe_jax.interop.teach", "teach a downloaded encoder the words of a dictionary"),
    "trim": ("clwe_jax.interop.trim", "drop the pieces of a downloaded encoder that no text uses"),
    "guide": ("clwe_jax.guide", "list the guides, or read one"),
}
_HELP = """Trains, aligns, measures and uses cross-lingual models of words and sentences.

  clwe-jax --config=NAME [--workdir=DIR] [--config.OPTION=VALUE ...]   train a system
  clwe-jax --config=NAME --dry_run     say what it reads and trains, and how long that takes
  clwe-jax --config=NAME --help        list its options
{commands}

NAME is a system of `clwe-jax list`, with a scale after a colon (warm_dict_mlm:small), or a config file.
Each command has --help. In Python, clwe_jax.load("runs/NAME") opens what a training wrote."""


def entry() -> None:
    """Runs the command that the arguments name, or the training of a system."""
    with terminal.closed_pipe():
        _run()


def _run() -> None:
    first, *arguments = [*sys.argv[1:], ""]
    if first == "--version":
        print(f"clwe_jax {__version__}")
    elif first in COMMANDS:
        sys.argv = [f"clwe-jax {first}", *arguments[:-1]]
        module = COMMANDS[first][0]
        # absl's --help prints the docstring of the program that was started.
        source = importlib.util.find_spec(module).loader.get_source(module)
        sys.modules["__main__"].__doc__ = ast.get_docstring(ast.parse(source))
        runpy.run_module(module, run_name="__main__")
    elif first in ("", "help", "-h", "--help"):
        lines = [f"  clwe-jax {name:<15} {about}" for name, (_, about) in COMMANDS.items()]
        print(_HELP.format(commands="\n".join(lines)))
    elif not first.startswith("-"):
        sys.exit(f"error: there is no command {first!r}. {nearest(first, list(COMMANDS))}")
    else:
        registry.import_target("clwe_jax.main:entry")()


if __name__ == "__main__":
    entry()

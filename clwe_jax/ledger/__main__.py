"""The ledger's command: python -m clwe_jax.ledger add RUN ... | render | check."""

from __future__ import annotations

import argparse
import sys

from clwe_jax.ledger import render, rows


def main() -> None:
    """Adds runs to the ledger, renders its pages or checks them."""
    parser = argparse.ArgumentParser(prog="python -m clwe_jax.ledger", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser(
        "add", help="add finished runs and benchmarks by their record.json"
    )
    adding.add_argument("folders", nargs="+", metavar="RUN", help="folder of a run or a benchmark")
    commands.add_parser("render", help=f"write {' and '.join(render.PAGES)}")
    commands.add_parser(
        "check",
        help="compare the pages with the ledger, and list rows that are to be measured again",
    )
    arguments = parser.parse_args()
    try:
        if arguments.command == "add":
            for name in rows.add(arguments.folders):
                print(name)
        elif arguments.command == "render":
            render.write()
        else:
            for line in render.stale():
                print(line)
            if wrong := render.differing():
                sys.exit("\n".join([*wrong, "Write them: python -m clwe_jax.ledger render"]))
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()

"""The ledger's command: python -m benchmarks.ledger add RUN ... | measure | render | check."""

from __future__ import annotations

import argparse
import sys

from benchmarks.ledger import measure, render, rows


def main() -> None:
    """Adds runs to the ledger, measures rows again, renders the pages or checks them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ledger", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser(
        "add", help="add finished runs and benchmarks by their record.json"
    )
    adding.add_argument("folders", nargs="+", metavar="RUN", help="folder of a run or a benchmark")
    again = commands.add_parser(
        "measure", help="run the commands of rows again, the oldest first, and print what differs"
    )
    again.add_argument("--rows", default="*", metavar="PATTERN", help="names of rows, with stars")
    again.add_argument("--hours", type=float, default=3.0, help="processor hours in all")
    again.add_argument(
        "--cores", default="0", help="cores by commas; each measures a row at a time"
    )
    again.add_argument("--peer-python", default="", help="interpreter that has the other programs")
    commands.add_parser("render", help=f"write {' and '.join(render.PAGES)}")
    commands.add_parser("check", help="compare the pages with the ledger")
    arguments = parser.parse_args()
    try:
        if arguments.command == "add":
            for name in rows.add(arguments.folders):
                print(name)
        elif arguments.command == "measure":
            cores = [int(core) for core in arguments.cores.split(",")]
            asked = measure.Asked(arguments.rows, arguments.hours, cores, arguments.peer_python)
            if not measure.measure(asked):
                sys.exit(1)
        elif arguments.command == "render":
            render.write()
        elif wrong := render.differing():
            sys.exit("\n".join([*wrong, "Write them: python -m benchmarks.ledger render"]))
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()

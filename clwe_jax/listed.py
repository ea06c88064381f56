"""Lists the systems: clwe-jax list."""

from __future__ import annotations

import re
import shutil

from clwe_jax.options import shipped


def lines(width: int) -> list[str]:
    """A line on each system that is at most `width` columns long."""
    measured = shipped.minutes()
    known = shipped.configs()
    names = max(map(len, known))
    made = [f"{'config':<{names}}  minutes  system"]
    for name, about in known.items():
        about = re.sub(r" \((?:[A-E]\d+[,; -]*)+\)", "", about)  # sections of the papers
        time = measured[name]["minutes"] if name in measured else ""
        line = f"{name:<{names}}  {time:>7}  {about}"
        made.append(line if len(line) <= width else line[: width - 1] + "…")
    return made


def main() -> None:
    """Prints the list, and what its minutes are."""
    print("\n".join(lines(shutil.get_terminal_size((120, 24)).columns)))
    print(
        "\nMinutes: processor time of the default run, on the embedded world; blank where it was not measured. "
        "Start one with\n  clwe-jax --config=NAME        its options: clwe-jax --config=NAME --help"
    )


if __name__ == "__main__":
    main()

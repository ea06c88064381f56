"""Lists the systems: clwe-jax list."""

from __future__ import annotations

import re
import shutil

from clwe_jax.options import shipped


# What a config gives -> the presets of such configs; the last group has the others.
_GROUPS = {
    "Vectors of words and sentences": {"static"},
    "Language models": {"bert", "word_model"},
    "Labels of one language, for the others": {"transfer", "laser_tagger"},
    "Translation": {"translation"},
    "Two language models made one, and comparisons": {""},
}


def lines(width: int) -> list[str]:
    """The systems in groups, a line of at most `width` columns each."""
    measured = shipped.minutes()
    known = shipped.configs()
    families = shipped.families()
    names = max(map(len, known))
    made = [f"{'config':<{names}}  minutes  system"]
    for group, presets in _GROUPS.items():
        made += ["", f"{group}:"]
        for name, about in known.items():
            if families[name] not in presets:
                continue
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

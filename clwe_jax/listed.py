"""Lists the systems: clwe-jax list."""

from __future__ import annotations

import re
import shutil

from clwe_jax.options import shipped


# What people come for -> the one command; README.md has the same.
WANTED = {
    "vectors of a language": "clwe-jax --config=bible:small --config.data.pairs=DIR --config.data.languages=en,xx",
    "a lexicon": "clwe-jax lexicon RUN --languages=xx,en",
    "a tagger of names": "clwe-jax --config=ner_bilstm_crf",
    "a translator": "clwe-jax --config=unsupervised_mt",
    "a paper's system": "clwe-jax --config=dict_mlm_50",
}
# What a config gives -> the presets of such configs; the last group has the others.
_GROUPS = {
    "Vectors of words and sentences": {"static"},
    "Language models": {"masked_model", "word_model"},
    "Labels in one language, tests in others": {"transfer", "laser_tagger"},
    "Translation": {"translation"},
    "Joining two language models, and comparing systems": {""},
}


def lines(width: int) -> list[str]:
    """The systems in groups, a line of at most `width` columns each."""
    minutes_of = shipped.minutes()
    configs = shipped.configs()
    families = shipped.families()
    names = max(map(len, configs))
    rows = [f"{'config':<{names}}  minutes  system"]
    for group, presets in _GROUPS.items():
        rows += ["", f"{group}:"]
        for name, about in configs.items():
            if families[name] not in presets:
                continue
            about = re.sub(r" \((?:[A-E]\d+[,; -]*)+\)", "", about)  # sections of the papers
            time = minutes_of[name]["minutes"] if name in minutes_of else ""
            line = f"{name:<{names}}  {time:>7}  {about}"
            rows.append(line if len(line) <= width else line[: width - 1] + "…")
    return rows


def main() -> None:
    """Prints the commands that people come for, the list, and what its minutes are."""
    for purpose, command in WANTED.items():
        print(f"{purpose:<22} {command}")
    print()
    print("\n".join(lines(shutil.get_terminal_size((120, 24)).columns)))
    print(
        "\nMinutes: processor time of the default run on the embedded world; blank if not measured.\n"
        "A letter with a number (E3) is a part of one of five papers:  clwe-jax guide index\n"
        "Start a system:  clwe-jax --config=NAME        List its options:  clwe-jax --config=NAME --help"
    )


if __name__ == "__main__":
    main()

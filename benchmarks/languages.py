"""Many languages with dictionaries in one command: processor time by stage, memory and disk of each number.

Command:
  python benchmarks/languages.py --counts=5,10,20,40,100

Made-up languages (`many_languages.py`) whose n-th words translate the n-th word of English, made up
too: text and a dictionary of the most frequent words for each, and sentences that say the same. Runs of
configs/joint_dictionary.py:small with as many of them beside English as --counts says; then one
language more is added to the last run's space. Finished runs of a commit stay in --out and are not repeated.
"""

from __future__ import annotations

import argparse
import os

import many_languages
import numpy as np
from side_by_side import record
import tables

from clwe_jax.runs import record as records

HUB = "en"
ADDED = "added"  # folder of the run that adds a language
SENTENCES, LENGTH = 200, 8  # of the test set of a language


def code(number: int) -> str:
    """A code that ISO 639 leaves free: qaa, qab, ..."""
    return f"q{chr(97 + number // 26)}{chr(97 + number % 26)}"


def write(out: str, count: int, megabytes: float, entries: int) -> None:
    """Writes the text, dictionaries and test sentences of `count` languages and English."""
    for folder in ("text", "dictionaries", "tests"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    said = np.random.default_rng(0).integers(0, 2 * entries, (SENTENCES, LENGTH))
    hub = many_languages.lexicon(np.random.default_rng(0), "abcdefghijklmnopqrstuvwxyz")
    for number in range(count + 1):
        draw = np.random.default_rng(number)
        language = code(number - 1) if number else HUB
        alphabet = many_languages.ALPHABETS[number % len(many_languages.ALPHABETS)]
        words = many_languages.lexicon(draw, alphabet) if number else hub
        path = os.path.join(out, "text", f"{language}.txt")
        if os.path.exists(path):
            continue
        if number:
            pairs = zip(hub[:entries], words)
            _lines(f"{out}/dictionaries/{HUB}-{language}.txt", (f"{a}\t{b}" for a, b in pairs))
            for side, spoken in ((HUB, hub), (language, words)):
                test = f"{out}/tests/{language}-{HUB}.{side}"
                _lines(test, (" ".join(spoken[row]) for row in said))
        many_languages.write(path, words, int(megabytes * 1e6), draw)


def _lines(path, lines) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def options_of(out: str, languages: list[str]) -> dict[str, str]:
    """The options of a run of some languages beside English."""
    return {
        "data.source": f"text:{out}/text",
        "data.languages": ",".join([HUB, *languages]),
        "data.dictionaries": f"{out}/dictionaries",
        "evals.bli.data": "",
        "evals.retrieval.data": f"{out}/tests",
    }


def figures(folder: str, name: str, count: int) -> dict[str, float]:
    """What a run cost, and how many test sentences find their translation."""
    found, made = records.read(folder), {}
    sizes = [os.path.getsize(os.path.join(x, y)) for x, _, files in os.walk(folder) for y in files]
    report = os.path.getsize(os.path.join(folder, "report.html"))
    made["seconds"] = found["seconds"]["processor"]
    made["seconds a language"] = made["seconds"] / count
    made |= {
        x.removeprefix("stage/"): y for x, y in found["figures"].items() if x.startswith("stage/")
    }
    made["GB"] = found["memory"]["host_peak"] / 1e9
    made["MB a language"] = sum(sizes) / 1e6 / count
    made["report, MB"] = report / 1e6
    made["CSLS"] = found["figures"]["retrieval/mean_csls"]
    made["CSLS"] = made["CSLS"][0] if isinstance(made["CSLS"], list) else made["CSLS"]
    return {f"{name}, {x}": y for x, y in made.items()}


def main() -> None:
    """Measures each number of languages and writes the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--counts", default="5,10,20,40", help="languages beside English")
    parser.add_argument("--megabytes", type=float, default=0.4, help="text of a language")
    parser.add_argument("--entries", type=int, default=2_000, help="of a dictionary")
    parser.add_argument("--out", default="runs/languages")
    parser.add_argument(
        "--option", action="append", default=[], help="of the runs: static.mine=False"
    )
    args = parser.parse_args()
    counts = [int(count) for count in args.counts.split(",")]
    # Texts and dictionaries of other sizes have other folders.
    data = os.path.join(args.out, f"{args.megabytes:g}MB-{args.entries}")
    write(data, counts[-1] + 1, args.megabytes, args.entries)
    given = dict(option.split("=", 1) for option in args.option)
    last = os.path.join(args.out, str(counts[-1]))
    runs = {str(count): range(count) for count in counts}
    runs[ADDED] = range(counts[-1], counts[-1] + 1)
    found: dict[str, float] = {}
    for name, numbers in runs.items():
        options = options_of(data, [code(number) for number in numbers]) | given
        if name == ADDED:
            options["static.add_to"] = last
        folder = os.path.join(args.out, name)
        tables.measured("joint_dictionary:small", folder, options)
        new = figures(folder, name, len(numbers))
        print({name: round(value, 3) for name, value in new.items()}, flush=True)
        found |= new
    record(found, args)


if __name__ == "__main__":
    main()

"""Many languages with dictionaries in one command: processor time by stage, memory and disk of each number.

Command:
  python benchmarks/languages.py --counts=5,10,20,40,100

Made-up languages (`many_languages.py`) whose n-th words translate the n-th word of English, made up
too: text and a dictionary of the most frequent words for each, and sentences that say the same. Runs of
configs/joint_dictionary.py:small with as many of them beside English as --counts says; then one
language more is added to the last run's space. Finished runs stay in --out and are not repeated.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import many_languages
import numpy as np
from side_by_side import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from clwe_jax.runs import record as records  # noqa: E402
from clwe_jax.static import job  # noqa: E402 (whose code the figures come from)

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


def run(out: str, name: str, languages: list[str], options: list[str]) -> str:
    """The folder of a run, which is made where it is not finished."""
    folder = os.path.join(out, name)
    if not os.path.exists(os.path.join(folder, job.FIGURES)):
        command = [
            sys.executable,
            "-m",
            "clwe_jax.main",
            "--config=configs/joint_dictionary.py:small",
            f"--workdir={folder}",
            f"--config.data.source=text:{out}/text",
            f"--config.data.languages={','.join([HUB, *languages])}",
            f"--config.data.dictionaries={out}/dictionaries",
            "--config.evals.bli.data=",
            f"--config.evals.retrieval.data={out}/tests",
            *options,
        ]
        with open(f"{folder}.log", "w", encoding="utf-8") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)
    return folder


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
    write(args.out, counts[-1] + 1, args.megabytes, args.entries)
    options = [f"--config.{option}" for option in args.option]
    found: dict[str, float] = {}
    runs = []
    for count in [*counts, 1]:
        name, start, more = str(count), 0, options
        if len(runs) == len(counts):  # one language more
            name, start, more = ADDED, counts[-1], [*options, f"--config.static.add_to={runs[-1]}"]
        runs.append(run(args.out, name, [code(start + x) for x in range(count)], more))
        new = figures(runs[-1], name, count)
        print({name: round(value, 3) for name, value in new.items()}, flush=True)
        found |= new
    record(found, args)


if __name__ == "__main__":
    main()

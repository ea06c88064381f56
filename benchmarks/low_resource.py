"""Eight languages of little text, with each part of a word's vector on and off: sentences that find English.

Command, for each part of PARTS:
  python benchmarks/low_resource.py --part=default

A run of configs/joint_dictionary.py:small for each language, beside English, with the dictionaries and
tests of --data; each takes one to two minutes of one core. Finished runs stay in --out and are not
repeated, so that a command that was stopped goes on. Figures are fractions of the test sentences of
Tatoeba, by CSLS and by plain cosine, and of the dictionary's test words.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

from side_by_side import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from clwe_jax.static import job  # noqa: E402 (whose code the figures come from)

LANGUAGES = "hsb,kab,tt,sw,cy,gl,hy,eu"
_WORDS = "--config.static.words."
_OFF = {
    "guesses": ["unknown=beginnings"],
    "loans": ["loans=False"],
    "spelling": ["spelling_dim=0"],
    "phrases": ["phrases=False"],
    "meanings": ["meanings="],
}
PARTS = {
    "default": [],
    **{f"no_{part}": options for part, options in _OFF.items()},
    "none": [option for options in _OFF.values() for option in options],
}


def corpora(data: str, out: str, languages: list[str]) -> str:
    """A folder with links to the text of the languages and of English; its path."""
    folder = os.path.join(out, "text")
    os.makedirs(folder, exist_ok=True)
    texts = {x: os.path.join(data, "low_resource", "text", x) for x in languages}
    for language, text in {"en": os.path.join(data, "text", "en"), **texts}.items():
        link = os.path.join(folder, language)
        if not os.path.exists(link):
            os.symlink(os.path.abspath(text), link)
    return folder


def folder_of(language: str, part: str, out: str, seed: int) -> str:
    return os.path.join(out, f"{part}-{language}-{seed}")


def measured(language: str, part: str, data: str, out: str, seed: int) -> dict[str, float]:
    """The figures of a run, which is made where it is not finished."""
    folder = folder_of(language, part, out, seed)
    results, low = os.path.join(folder, job.FIGURES), os.path.join(data, "low_resource")
    if not os.path.exists(results):
        command = [
            sys.executable,
            "-m",
            "clwe_jax.main",
            "--config=configs/joint_dictionary.py:small",
            f"--workdir={folder}",
            f"--config.seed={seed}",
            f"--config.data.source=text:{corpora(data, out, [language])}",
            f"--config.data.languages=en,{language}",
            f"--config.data.dictionaries={low}/dictionaries",
            f"--config.data.exclude_dictionaries={low}/dictionary_tests",
            f"--config.evals.bli.data={low}/dictionary_tests",
            f"--config.evals.retrieval.data={low}/tatoeba",
            "--config.static.induced_words=0",
            "--config.static.write_text=False",
            *(_WORDS + option for option in PARTS[part]),
        ]
        with open(f"{folder}.log", "w", encoding="utf-8") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)
    with open(results, encoding="utf-8") as file:
        found = json.load(file)
    pair = f"retrieval/{language}-en"
    figures = {
        "CSLS": found[f"{pair}/mean_csls"],
        "plain": found[f"{pair}/mean"],
        "floor": found[f"floor/{pair}/mean_csls"],
    }
    if "bli/p@1_csls_covered" in found:  # two languages have no test words
        figures["induction"] = found["bli/p@1_csls_covered"]
    return {f"{language}, {name}": value for name, value in figures.items()}


def main() -> None:
    """Measures one part in all languages and writes its record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default="default", choices=PARTS)
    parser.add_argument("--languages", default=LANGUAGES)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--out", default="runs/low_resource")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    figures: dict[str, float] = {}
    languages = args.languages.split(",")
    for language in languages:
        found = measured(language, args.part, args.data, args.out, args.seed)
        print({name: f"{100 * value:.1f}" for name, value in found.items()}, flush=True)
        figures |= found
    record(figures, args)


if __name__ == "__main__":
    main()

"""Eight languages of little text, with each part of a word's vector on and off: sentences that find English.

Command, for each part of PARTS:
  python benchmarks/low_resource.py --part=default

A run of configs/joint_dictionary.py:small for each language, beside English, with the dictionaries and
tests of --data; each takes one to two minutes of one core. Finished runs of a commit stay in --out and are not
repeated, so that a command that was stopped goes on. Figures are fractions of the test sentences of
Tatoeba, by CSLS and by plain cosine, and of the dictionary's test words.
"""

from __future__ import annotations

import argparse
import os

from side_by_side import record
import tables

LANGUAGES = "hsb,kab,tt,sw,cy,gl,hy,eu"
# Part of a word's vector -> the option of `static.words` that takes it away, and its value.
_OFF = {
    "guesses": ("unknown", "beginnings"),
    "loans": ("loans", False),
    "spelling": ("spelling_dim", 0),
    "phrases": ("phrases", False),
    "meanings": ("meanings", ""),
}
PARTS = {
    "default": [],
    **{f"no_{part}": [option] for part, option in _OFF.items()},
    "none": list(_OFF.values()),
}


def corpora(data: str, out: str, languages: list[str]) -> str:
    """A folder with links to the text of the languages and of English; its path."""
    folder = os.path.join(out, "text")
    os.makedirs(folder, exist_ok=True)
    texts = {x: os.path.join(data, "low_resource", "text", x) for x in languages}
    for language, text in {"en": os.path.join(data, "text", "en"), **texts}.items():
        link = os.path.join(folder, language)
        text = os.path.abspath(text)
        if os.path.lexists(link) and os.readlink(link) != text:
            os.remove(link)  # to the text of another --data
        if not os.path.lexists(link):
            os.symlink(text, link)
    return folder


def tests(data: str) -> dict[str, str]:
    """The options of the dictionaries, of their test words and of Tatoeba's sentences."""
    low = os.path.join(data, "low_resource")
    return {
        "data.dictionaries": f"{low}/dictionaries",
        "data.exclude_dictionaries": f"{low}/dictionary_tests",
        "evals.bli.data": f"{low}/dictionary_tests",
        "evals.retrieval.data": f"{low}/tatoeba",
    }


def measure(language: str, part: str, data: str, out: str, seed: int) -> dict[str, float]:
    """The figures of a run, which is made where it is not finished."""
    folder = os.path.join(out, f"{part}-{language}-{seed}")
    options = {
        "seed": seed,
        "data.source": f"text:{corpora(data, out, [language])}",
        "data.languages": f"en,{language}",
        **tests(data),
        "static.induced_words": 0,
        "static.write_text": False,
        **{f"static.words.{option}": value for option, value in PARTS[part]},
    }
    found = tables.measured("joint_dictionary:small", folder, options)
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
        found = measure(language, args.part, args.data, args.out, args.seed)
        print({name: f"{100 * value:.1f}" for name, value in found.items()}, flush=True)
        figures |= found
    record(figures, args)


if __name__ == "__main__":
    main()

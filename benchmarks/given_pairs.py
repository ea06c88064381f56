"""Languages of a New Testament: verses of John that find English, alone, together and beside text and dictionary.

Commands:
  python benchmarks/given_pairs.py --part=alone       # configs/bible.py for each of 24 languages
  python benchmarks/given_pairs.py --part=together    # configs/bible.py for all of them
  python benchmarks/given_pairs.py --part=tatoeba     # configs/joint_dictionary.py with pairs, four languages
  python benchmarks/given_pairs.py --part=verses      # configs/bible.py with a dictionary, these four
  python benchmarks/given_pairs.py --part=proposals   # the entries that this run proposes (clwe-jax lexicon)

A run alone takes less than a minute of one core, that of all languages some minutes, one beside text
three. John is left out of all of them. Finished runs of a commit stay in --out and are not repeated, so that a
command that was stopped goes on. Figures are fractions of the verses of John (of the sentences of
Tatoeba) by CSLS and by plain cosine, of the dictionary's covered test words, and processor seconds from
the files to the report.

Proposals are judged by the held-out test dictionaries, those of Kabyle, which has none, by the half of its dictionary that
the run does not see. Of the first 500 proposals, of all words that are tested: how often the first translation,
and one of the five, is in the test. A right translation that the test lacks counts as wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import zlib

from low_resource import corpora, tests
import numpy as np
from side_by_side import record
import tables

from clwe_jax.runs import record as records
from clwe_jax.static import lexicon
from clwe_jax.text.dictionary import pair_files
from clwe_jax.text.words.normalize import Normalizer

LANGUAGES = "acu,ake,cak,ch,chr,din,djk,dop,ee,eu,gbi,gu,gv,hy,jiv,kab,nah,qu,quc,rom,sw,uma,wo,zu"
_TESTED = "kab,sw,hy,eu"  # with a dictionary, text and Tatoeba
PARTS = {
    "alone": LANGUAGES,
    "together": LANGUAGES,
    "tatoeba": _TESTED,
    "verses": _TESTED,
    "proposals": _TESTED,
}
_FIRST = 500  # proposals that are judged
_UNTESTED = "kab"


def options_of(part: str, languages: str, data: str, out: str, seed: int) -> dict[str, object]:
    """The options of a run."""
    options: dict[str, object] = {
        "seed": seed,
        "data.pairs": f"{data}/verses",
        "data.held_out": "JHN",
        "data.languages": f"en,{languages}",
        "static.induced_words": 0,
    }
    if part in ("tatoeba", "verses", "proposals"):
        options |= tests(data)
    if part == "proposals" and languages == _UNTESTED:
        options["data.dictionaries"], _ = halve(f"{data}/low_resource/dictionaries", languages, out)
    if part == "tatoeba":
        options["data.source"] = f"text:{corpora(data, out, languages.split(','))}"
    return options


def halve(dictionaries: str, language: str, out: str) -> tuple[str, str]:
    """Writes the two halves of a dictionary, all pairs of a word in one of them: folders in `out`."""
    pairs = pair_files.read_pairs(f"{dictionaries}/en-{language}.txt")
    folders = tuple(os.path.join(out, x) for x in ("half", "held"))
    for number, folder in enumerate(folders):
        os.makedirs(folder, exist_ok=True)
        with open(f"{folder}/en-{language}.txt", "w", encoding="utf-8") as file:
            for english, word in zip(pairs.left, pairs.right):
                if zlib.crc32(word.encode()) % 2 == number:
                    file.write(f"{english}\t{word}\n")
    return folders


def judge(folder: str, language: str, data: str, out: str) -> dict[str, float]:
    """The precision of a run's first proposals, and how many of them are tested."""
    normalizer = Normalizer(True, False)
    if language == _UNTESTED:
        _, held = halve(f"{data}/low_resource/dictionaries", language, out)
        test = f"{held}/en-{language}.txt"
    else:
        test = f"{data}/low_resource/dictionary_tests/en-{language}.5000-6500.txt"
    pairs = pair_files.read_pairs(test)
    right: dict[str, set[str]] = {}
    for english, word in zip(pairs.left, pairs.right):
        known = right.setdefault(normalizer.key(word, language), set())
        known.add(normalizer.key(english, "en"))
    with open(os.path.join(folder, lexicon.file_name((language, "en"))), encoding="utf-8") as file:
        page = re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL)[1]
    first = best = tested = 0
    for word, _, translations, *_ in json.loads(page)["proposals"][:_FIRST]:
        known = right.get(normalizer.key(word, language))
        if known:
            tested += 1
            keys = [normalizer.key(x[0], "en") for x in translations]
            first += keys[0] in known
            best += not known.isdisjoint(keys)
    return {
        f"{language}, tested proposals": tested,
        f"{language}, first translation": first / max(1, tested),
        f"{language}, one of five": best / max(1, tested),
    }


def measure(part: str, languages: str, data: str, out: str, seed: int) -> dict[str, float]:
    """The figures of a run, which is made where it is not finished."""
    name = "all" if "," in languages else languages
    folder = os.path.join(out, f"{part}-{name}-{seed}")
    config = "joint_dictionary:small" if part == "tatoeba" else "bible:small"
    found = tables.measured(config, folder, options_of(part, languages, data, out, seed))
    cost = records.read(folder)
    figures = {f"{name}, processor seconds": cost["seconds"]["processor"]}
    if name == "all":
        figures["all, gigabytes"] = cost["memory"]["host_peak"] / 2**30
    for language in languages.split(","):
        pair = f"retrieval/{language}-en"
        figures[f"{language}, CSLS"] = found[f"{pair}/mean_csls"]
        figures[f"{language}, plain"] = found[f"{pair}/mean"]
        if f"bli/en-{language}/p@1_csls_covered" in found:
            figures[f"{language}, induction"] = found[f"bli/en-{language}/p@1_csls_covered"]
        if part == "proposals":
            figures |= judge(folder, language, data, out)
    return figures


def main() -> None:
    """Measures one part and writes its record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", default="alone", choices=PARTS)
    parser.add_argument("--languages", default="", help="'': all of the part")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--out", default="runs/given_pairs")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.languages = args.languages or PARTS[args.part]
    runs = [args.languages] if args.part == "together" else args.languages.split(",")
    figures: dict[str, float] = {}
    for languages in runs:
        found = measure(args.part, languages, args.data, args.out, args.seed)
        print({name: f"{value:.3f}" for name, value in found.items()}, flush=True)
        figures |= found
    of_csls = [value for name, value in figures.items() if name.endswith("CSLS")]
    figures |= {"CSLS, mean": float(np.mean(of_csls)), "CSLS, least": min(of_csls)}
    print(f"CSLS: {figures['CSLS, mean']:.3f} in the mean, {figures['CSLS, least']:.3f} at least")
    record(figures, args)


if __name__ == "__main__":
    main()

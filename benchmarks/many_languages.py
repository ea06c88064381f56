"""Writes text of 104 made-up languages with sizes as uneven as Wikipedias', and prints their codes.

Command:
  codes=$(python benchmarks/many_languages.py --out=DIR --megabytes=500)
  python benchmarks/input_pipeline.py --text=DIR --languages=$codes
  python benchmarks/input_pipeline.py --text=DIR --languages=${codes%%,*}
"""

from __future__ import annotations

import argparse
import os

import numpy as np

LANGUAGES = 104
WORDS = 20_000  # words of a language; their frequencies follow Zipf's law
ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзиклмнопрстуфхцчшыя", "αβγδεζηθικλμνξοπρστυφχψω")


def lexicon(draw: np.random.Generator, alphabet: str) -> np.ndarray:
    """WORDS made-up words; frequent words are shorter."""
    letters = np.array(list(alphabet))
    lengths = 2 + draw.poisson(np.linspace(2.0, 7.0, WORDS))
    ends = np.cumsum(lengths)
    text = "".join(letters[draw.integers(0, len(letters), ends[-1])])
    return np.array([text[end - n : end] for end, n in zip(ends, lengths)], dtype=object)


def write(path: str, words: np.ndarray, size: int, draw: np.random.Generator) -> None:
    """About `size` bytes of text, a sentence a line."""
    share = 1.0 / np.arange(1, len(words) + 1)
    share /= share.sum()
    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            count = min(50_000, 100 + (size - written) // 6)
            text = words[draw.choice(len(words), count, p=share)]
            cuts = np.cumsum(draw.integers(5, 40, 2_000))
            lines = [" ".join(part) + " ." for part in np.split(text, cuts[cuts < len(text)])]
            block = "\n".join(lines) + "\n"
            file.write(block)
            written += len(block.encode())


def main() -> None:
    """Writes the files and prints the codes, the largest language first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", required=True)
    parser.add_argument("--megabytes", type=float, default=200.0, help="of all languages together")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    shares = 1.0 / np.arange(1, LANGUAGES + 1)
    shares /= shares.sum()
    codes = [f"x{number:03}" for number in range(LANGUAGES)]
    for number, code in enumerate(codes):
        draw = np.random.default_rng(number)
        words = lexicon(draw, ALPHABETS[number % len(ALPHABETS)])
        path = os.path.join(args.out, f"{code}.txt")
        write(path, words, int(args.megabytes * 1e6 * shares[number]), draw)
    print(",".join(codes))


if __name__ == "__main__":
    main()

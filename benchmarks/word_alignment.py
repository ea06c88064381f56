"""Alignment error rates of a trained model or a model of Hugging Face, by method and layer.

    python benchmarks/word_alignment.py --encoder=hf:e5 --data=../shared/data/alignment \\
      --languages=en,fr --layers=5-7
    python benchmarks/word_alignment.py --encoder=run:RUN --data=pocket --languages=en,de,zh

It runs the evaluator `word_alignment` once for each method and prints a table, then the error rate
of every layer alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from clwe_jax.api import encoders
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.word_alignment import WordAlignment

_SPECS: tuple[dict, ...] = (
    dict(method="mutual_argmax"),
    dict(method="mutual_argmax", level="words"),
    dict(method="itermax"),
    dict(method="softmax", threshold=0.001),
    dict(method="softmax", threshold=0.1),
    dict(method="softmax", threshold=0.3),
)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encoder", required=True, help="run:DIR, hf:DIR or vec:en=FILE,...")
    parser.add_argument("--data", default="pocket", help="a folder of links, or pocket")
    parser.add_argument("--languages", required=True, help="codes with commas between them")
    parser.add_argument("--layers", default="", help="a layer, or a range such as 5-7")
    parser.add_argument("--sentences", type=int, default=0, help="of a pair; 0: all")
    options = parser.parse_args()
    languages = tuple(options.languages.split(","))
    model = encoders.load(options.encoder, languages).encoder()
    by_layer: dict[str, float] = {}
    print("pair, method, AER, precision, recall, F1, seconds")
    for spec in _SPECS:
        evaluator = WordAlignment(
            data=options.data, layers=options.layers, max_sentences=options.sentences,
            context=Context(languages=languages), **spec,
        )  # fmt: skip
        begin = time.perf_counter()
        figures = dict(evaluator.run(model))
        seconds = time.perf_counter() - begin
        pairs = dict.fromkeys(name.split("/")[1] for name in figures if name.count("/") > 1)
        for pair in pairs:
            found = [figures[f"word_alignment/{pair}/{x}"] for x in ("aer", "precision", "recall", "f1")]
            named = " ".join(str(value) for value in spec.values())
            print(pair, named, *(f"{100 * x:.1f}" for x in found), f"{seconds:.0f}", flush=True)
        by_layer = by_layer or {x: y for x, y in figures.items() if "/layer" in x}
    for name, value in by_layer.items():
        print(name.removeprefix("word_alignment/"), f"{100 * value:.1f}")


if __name__ == "__main__":
    main()

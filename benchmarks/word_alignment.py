"""Alignment error rates of a trained model or a model of Hugging Face, by method and layer.

    python benchmarks/word_alignment.py --encoder=hf:e5 --data=../shared/data/alignment \\
      --languages=en,fr --layers=5-7
    python benchmarks/word_alignment.py --encoder=run:RUN --data=pocket --languages=en,de,zh

Every method reads the chosen layers; then mutual argmax reads every layer alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from side_by_side import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from clwe_jax.encoders import load as encoders
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.word_alignment import (
    LinkCounts,
    WordAligner,
    WordAlignment,
    layers_of,
    sides,
)

_SPECS: tuple[dict, ...] = (
    dict(method="mutual_argmax"),
    dict(method="itermax"),
    dict(method="softmax", threshold=0.001),
    dict(method="softmax", threshold=0.1),
    dict(method="softmax", threshold=0.3),
    dict(method="softmax", threshold=0.1, temperature=0.1),
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
    evaluator = WordAlignment(
        data=options.data, max_sentences=options.sentences, context=Context(languages=languages)
    )
    print("pair, method, AER, precision, recall, F1")
    figures = {}
    for pair, rows in evaluator.pairs.items():
        begin = time.perf_counter()
        texts = [row.source for row in rows], [row.target for row in rows]
        vectors = list(sides(model.pairwise_space(*pair), *texts, pair))
        seconds = time.perf_counter() - begin
        chosen = layers_of(options.layers, model.layers)
        runs = [(" ".join(map(str, x.values())), WordAligner(**x), chosen) for x in _SPECS]
        runs += [(f"layer {k}", WordAligner(), [k]) for k in range(model.layers)]
        for name, aligner, layers in runs:
            counts = LinkCounts()
            for row, (left, right) in zip(rows, vectors):
                counts.add(aligner.link_words(left, right, layers), row)
            numbers = " ".join(f"{100 * x:.1f}" for x in counts.figures().values())
            print(f"{'-'.join(pair)} {name}: {numbers}", flush=True)
            figures[f"{'-'.join(pair)} {name}, AER"] = counts.figures()["aer"]
        print(f"{len(rows)} sentences, encoded in {seconds:.0f} s")
    record(figures, options)


if __name__ == "__main__":
    main()

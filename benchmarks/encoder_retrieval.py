"""Sentence retrieval of a model that one would download, by this project's own evaluator.

    python benchmarks/encoder_retrieval.py --encoder=hf:e5 --data=../shared/data/retrieval/tatoeba \
      --languages=de,es,fr,ru,zh,ja

Each language with English; the files are named as XTREME's, tatoeba.xxx-eng.{xxx,eng}. The figures stand
beside those that the MTEB results publish (benchmarks/ledger/published.csv).
"""

from __future__ import annotations

import argparse
import os
import sys

from side_by_side import record

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from clwe_jax.encoders import load as encoders
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.retrieval import SentenceRetrieval


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--encoder",
        required=True,
        help="hf:DIR, run:DIR, hf:DIR+run:DIR, ...; {language} and {seed} in it are filled in",
    )
    parser.add_argument("--data", required=True, help="a folder of parallel sentences")
    parser.add_argument(
        "--languages", required=True, help="codes with commas between them, without en"
    )
    parser.add_argument("--sentences", type=int, default=1_000, help="of a pair")
    parser.add_argument("--seed", type=int, default=0, help="of the runs that --encoder names")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    for language in options.languages.split(","):
        languages = (language, "en")
        evaluator = SentenceRetrieval(
            data=options.data, max_sentences=options.sentences, context=Context(languages=languages)
        )
        name = options.encoder.format(language=language, seed=options.seed)
        model = encoders.load(name, languages).encoder()
        shown = f"retrieval/{language}-en/mean", f"retrieval/{language}-en/layer{model.layers - 1}/"
        for name, value in evaluator.run(model):
            if name.startswith(shown):
                figures[name] = value
                if name.endswith(("/mean", "/acc@1")):
                    print(f"{name} {100 * value:.1f}", flush=True)
    record(figures, options)


if __name__ == "__main__":
    main()

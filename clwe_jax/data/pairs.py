"""Writes parallel text of TensorFlow Datasets as files, which every option for such text reads.

  python -m clwe_jax.data.pairs --name=wmt19_translate/de-en --out=DIR

Each pair of languages becomes a table DIR/xx-yy.tsv: a sentence, a tab, its translation.
"""

from __future__ import annotations

import argparse
import sys
from typing import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m clwe_jax.data.pairs", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--name", required=True, help="the data set and its config: NAME/CONFIG")
    parser.add_argument("--out", required=True, help="folder to write")
    parser.add_argument("--split", default="train", help="its split (default: train)")
    parser.add_argument("--languages", default="", help="languages to write: de,en (default: all)")
    parser.add_argument("--most", type=int, default=0, help="most rows to read (default: all)")
    parser.add_argument("--tfds_dir", default="", help="folder of data sets (default: TFDS's own)")
    args = parser.parse_args(arguments)
    from clwe_jax.data.graph import tfds_sets  # the only use of TensorFlow

    languages = [x.strip() for x in args.languages.split(",") if x.strip()]
    try:
        counts = tfds_sets.write_pairs(
            args.name, args.split, languages, args.most, args.tfds_dir, args.out
        )
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    for path, count in counts.items():
        print(f"{path}: {count:,} sentence pairs")


if __name__ == "__main__":
    main()

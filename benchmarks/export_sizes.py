"""What a smaller export of static vectors costs: its size, and the sentences that it finds by model2vec.

    python benchmarks/export_sizes.py --run=runs/large --data=../shared/data/retrieval/tatoeba \
      --sizes=0x0xfloat16,20000x0xint8,20000x256xint8 --peer-python=peer/bin/python

A size is words of a language x dimensions x numbers; 0 means all. Sentences are encoded in the library that
the export is for (README.md says how to make its interpreter), xx to English: accuracy by cosine and by CSLS.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
from side_by_side import HERE, record

sys.path.insert(0, os.path.dirname(HERE))
from clwe_jax.encoders import export, load  # noqa: E402
from clwe_jax.evaluate.retrieval import nearest_is_translation  # noqa: E402
from clwe_jax.text.corpus import parallel  # noqa: E402

HUB = "en"


def main() -> None:
    """Exports, encodes by the peer, measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", required=True, help="a finished static run")
    parser.add_argument("--data", required=True, help="a folder of parallel sentences")
    parser.add_argument("--sizes", required=True, help="WORDSxDIMxDTYPE, with commas between them")
    parser.add_argument("--sentences", type=int, default=1_000, help="of a pair")
    parser.add_argument("--peer-python", required=True, help="an interpreter with model2vec")
    options = parser.parse_args()
    model = load.of_folder(options.run)
    tests = [
        x
        for x in parallel.test_pairs(options.data, model.languages, "data")
        if HUB in (x.source, x.target)
    ]
    figures: dict[str, float] = {}
    for size in options.sizes.split(","):
        words, dim, dtype = size.split("x")
        with tempfile.TemporaryDirectory() as folder:
            export.write_static(
                model, folder, "model2vec", words=int(words), dim=int(dim), dtype=dtype
            )
            held = sum(entry.stat().st_size for entry in os.scandir(folder))
            figures[f"{size}, MB"] = round(held / 1e6, 1)
            for files in tests:
                pairs = parallel.read(files, options.sentences)
                sides = [
                    _encoded(options.peer_python, folder, x) for x in (pairs.source, pairs.target)
                ]
                if files.source == HUB:
                    sides.reverse()
                other = files.target if files.source == HUB else files.source
                found = nearest_is_translation(*sides)
                for how, suffix in (("cosine", ""), ("csls", "_csls")):
                    figures[f"{size}, {other}, {how}"] = float(found[suffix][0].mean())
        print({name: value for name, value in figures.items() if name.startswith(size)}, flush=True)
    record(figures, options)


def _encoded(python: str, folder: str, texts: list[str]) -> np.ndarray:
    """The library's vectors of sentences, [N, D]."""
    text, out = os.path.join(folder, "texts"), os.path.join(folder, "vectors.npy")
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in texts)
    script = os.path.join(HERE, "peer_whole_jobs.py")
    subprocess.run([python, script, "encode_static", folder, text, out], check=True)
    return np.load(out)


if __name__ == "__main__":
    main()

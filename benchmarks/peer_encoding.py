"""The peer's side of encoding.py: model2vec or sentence-transformers opens the exported folder."""

from __future__ import annotations

import gzip
from importlib import metadata
import itertools
import os
from typing import Any, Callable

import side_by_side


def lines_of(path: str, count: int) -> list[str]:
    """The first lines of a file in UTF-8, also .gz."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in itertools.islice(file, count)]


def setup(options: dict[str, Any]) -> tuple[dict[str, Any], Callable[[], float]]:
    """Facts, and a function that encodes all sentences and returns the rate."""
    threads = str(options["threads"])
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = threads
    lines = lines_of(options["text"], options["sentences"])
    clock = side_by_side.CLOCKS[options["clock"]]
    if options["peer"] == "model2vec":
        from model2vec import StaticModel

        model = StaticModel.from_pretrained(options["folder"])
        encode = lambda texts: model.encode(texts, use_multiprocessing=False)  # noqa: E731
    else:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(options["threads"])
        model = SentenceTransformer(options["folder"], device="cpu")
        encode = lambda texts: model.encode(texts, batch_size=1_024)  # noqa: E731

    def measure() -> float:
        start = clock()
        encode(lines)
        return len(lines) / (clock() - start)

    name = options["peer"]
    return {"peer": name, name: metadata.version(name)}, measure


if __name__ == "__main__":
    side_by_side.serve(setup)

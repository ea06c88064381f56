"""The peer's side of encoding.py: model2vec, sentence-transformers or transformers opens the exported folder."""

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


def transformers_encode(folder: str, batch: int) -> Callable[[list[str]], Any]:
    """Means of pieces over the last four layers, of sentences in batches of similar lengths."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    model.eval()

    def encode(texts: list[str]) -> Any:
        ids = tokenizer(texts)["input_ids"]
        order = sorted(range(len(texts)), key=lambda place: len(ids[place]))
        vectors = torch.zeros(len(texts), model.config.hidden_size)
        for start in range(0, len(order), batch):
            places = order[start : start + batch]
            given = tokenizer.pad({"input_ids": [ids[x] for x in places]}, return_tensors="pt")
            with torch.inference_mode():
                layers = model(**given, output_hidden_states=True).hidden_states[1:][-4:]
                # The mask without the first and the last special piece.
                mask = given["attention_mask"][:, 1:]
                mask = torch.nn.functional.pad(mask[:, 1:], (1, 1))[:, :, None]
                means = (sum(layers) / len(layers) * mask).sum(1) / mask.sum(1).clamp(min=1)
            vectors[places] = means
        return vectors.numpy()

    return encode


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

        torch.set_num_threads(options["threads"])
        if options["peer"] == "transformers":
            import numpy as np

            encode = transformers_encode(options["folder"], options["batch"])
            np.save(options["vectors"], encode(lines[: options["compared"]]))
        else:
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(options["folder"], device="cpu")
            encode = lambda texts: model.encode(texts, batch_size=options["batch"])  # noqa: E731

    def measure() -> float:
        start = clock()
        encode(lines)
        return len(lines) / (clock() - start)

    name = options["peer"]
    return {"peer": name, name: metadata.version(name)}, measure


if __name__ == "__main__":
    side_by_side.serve(setup)

"""Sentences a second of `encode`, beside model2vec, sentence-transformers or transformers.

    python benchmarks/encoding.py --text=FILE --peer-python=peer/bin/python --peer=model2vec --threads=1
    XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1" \\
      python benchmarks/encoding.py --layers=2 --dim=128 --peer=transformers ...

Both sides have the same numbers, random ones, which the peer opens from our export. With --layers=0 these
are static vectors of the text's words and of made-up ones up to --words, else a masked language model with
8,192 pieces, or with --folder a downloaded one; transformers makes the same vectors as our side, sentence-transformers its own mean. A round
encodes all sentences with a model that has seen none of them before; programs are compiled before. --threads
is the peer's number, XLA_FLAGS and `taskset` decide ours.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import shutil
import sys
import tempfile
from typing import Callable

import peer_encoding
import side_by_side

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import jax
import numpy as np

from clwe_jax import api
from clwe_jax.api.model import Model
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import export, static_folders
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.text.vocab import vocab
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import partition

_PIECES = 8_192
_LENGTH = 128  # pieces of the longest row
_HEAD = 32  # dimensions of an attention head
_COMPARED = 500  # sentences whose vectors of both sides are compared
_MOST = 1e-4  # largest difference of a number, of vectors of some 1 a number

Make = Callable[[], Model]
Write = Callable[[str], object]


def counts_of(lines: list[str], normalizer: Normalizer) -> collections.Counter[str]:
    """The words of the lines with their counts."""
    segmenter = Segmenter()
    return collections.Counter(
        word for line in lines for word in segmenter.words(normalizer(line, "en"), "en")
    )


def random_vectors(counts: collections.Counter[str], words: int, dim: int) -> Vectors:
    """Random vectors of words, most frequent first, and of made-up words."""
    names = [word for word, _ in counts.most_common(words)]
    names += [f"word{number}" for number in range(words - len(names))]
    names = list(dict.fromkeys(names))
    return Vectors(names, np.random.default_rng(0).standard_normal((len(names), dim), np.float32))


def static(
    counts: collections.Counter[str], normalizer: Normalizer, words: int, dim: int, peer: str
) -> tuple[Make, Write]:
    """Random vectors: a new model, and its export."""
    given = random_vectors(counts, words, dim)
    return (
        lambda: Model(StaticSpaces({"en": given}, {}, {}, "en", normalizer)),
        lambda folder: static_folders.write({"en": given}, {}, normalizer, folder, peer),
    )


def contextual(
    counts: collections.Counter[str], normalizer: Normalizer, layers: int, width: int
) -> tuple[Make, Write]:
    """A masked language model with random parameters: a new model, and its export."""
    trained = vocab.train("wordpiece", counts, _PIECES)
    sizes = TransformerOptions(
        layers=layers, width=width, heads=max(1, width // _HEAD), mlp_dim=4 * width
    )
    backbone = Transformer(sizes, trained.size, 1, _LENGTH)
    objective = MlmObjective(model=backbone, vocab_size=len(trained), max_predictions=1)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in objective.batch_shapes(1, 8).items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(0), batch))

    def make() -> Model:
        pieces = type(trained)(trained.pieces)  # it has cut no word yet
        tokenizer = Tokenizer(("en",), normalizer, Segmenter(), pieces)
        return Model(LanguageModel(None, tokenizer, objective, variables))

    return make, lambda folder: export.write_huggingface(make().loaded, folder)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", required=True, help="a file, a sentence a line, also .gz")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=135_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument(
        "--layers", type=int, default=0, help="of a language model; 0: static vectors"
    )
    parser.add_argument(
        "--folder",
        default="",
        help="a model of Hugging Face that both sides open, in place of ours",
    )
    parser.add_argument(
        "--peer-batch", type=int, default=1_024, help="sentences of the peer's batch"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=side_by_side.CLOCKS, default="wall")
    parser.add_argument(
        "--peer",
        choices=("model2vec", "sentence-transformers", "transformers"),
        default="model2vec",
    )
    parser.add_argument(
        "--peer-python", default="", help="interpreter with the peer; '': this side alone"
    )
    options = parser.parse_args()
    clock, normalizer = side_by_side.CLOCKS[options.clock], Normalizer()
    lines = peer_encoding.lines_of(options.text, options.sentences)
    counts = counts_of(lines, normalizer)
    if options.folder:
        loaded = api.load(f"hf:{options.folder}", languages=("en",)).loaded
        # A new model with the same objective, whose programs are compiled.
        make = lambda: Model(dataclasses.replace(loaded))  # noqa: E731
        write = lambda out: shutil.copytree(options.folder, out)  # noqa: E731
        facts = {"folder": os.path.basename(os.path.normpath(options.folder))}
    elif options.layers:
        make, write = contextual(counts, normalizer, options.layers, options.dim)
        facts = {"layers": options.layers, "pieces": f"{_PIECES:,}"}
    else:
        make, write = static(counts, normalizer, options.words, options.dim, options.peer)
        facts = {"words": f"{max(len(counts), options.words):,}"}
    facts |= {"dimensions": options.dim, "threads": options.threads}

    def ours() -> float:
        model = make()
        model.encode(["a"], "en")
        start = clock()
        model.encode(lines, "en")
        return len(lines) / (clock() - start)

    with tempfile.TemporaryDirectory() as above:
        folder, theirs = (os.path.join(above, name) for name in ("model", "vectors.npy"))
        if options.peer_python:
            write(folder)
        wanted = dict(
            folder=folder,
            text=options.text,
            sentences=len(lines),
            clock=options.clock,
            peer=options.peer,
            threads=options.threads,
            batch=options.peer_batch,
            vectors=theirs,
            compared=_COMPARED,
        )
        found, of_peer = side_by_side.compare(options, ours, "peer_encoding.py", wanted)
        if os.path.exists(theirs):  # of transformers
            own = make().encode(lines[:_COMPARED], "en")
            difference = float(np.abs(own - np.load(theirs)).max())
            if difference > _MOST:
                sys.exit(f"The two sides' vectors differ by {difference:.1e}")
            facts["largest difference of a number"] = f"{difference:.0e}"
    side_by_side.publish(found, options.peer, facts | of_peer, options, "sentences/s")


if __name__ == "__main__":
    main()

"""Sentences a second of `encode` with static vectors, beside model2vec or sentence-transformers.

    python benchmarks/encoding.py --text=FILE --peer-python=peer/bin/python --peer=model2vec --threads=1

Both sides have the same words and numbers: random vectors of the text's words and of made-up ones up to
--words, which the peer opens from our export. A round encodes all sentences with a model that has seen
none of them before.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
import tempfile

import peer_encoding
import side_by_side

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import numpy as np

from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import static_folders
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


def vectors(lines: list[str], normalizer: Normalizer, words: int, dim: int) -> Vectors:
    """Random vectors of the lines' words, most frequent first, and of made-up words."""
    segmenter = Segmenter()
    counts = collections.Counter(
        word for line in lines for word in segmenter.words(normalizer(line, "en"), "en")
    )
    names = [word for word, _ in counts.most_common(words)]
    names += [f"word{number}" for number in range(words - len(names))]
    names = list(dict.fromkeys(names))
    return Vectors(names, np.random.default_rng(0).standard_normal((len(names), dim), np.float32))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", required=True, help="a file, a sentence a line, also .gz")
    parser.add_argument("--sentences", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=135_000)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=side_by_side.CLOCKS, default="wall")
    parser.add_argument("--peer", choices=("model2vec", "sentence-transformers"), default="model2vec")
    parser.add_argument("--peer-python", default="", help="interpreter with the peer; '': this side alone")
    options = parser.parse_args()
    clock, normalizer = side_by_side.CLOCKS[options.clock], Normalizer()
    lines = peer_encoding.lines_of(options.text, options.sentences)
    given = vectors(lines, normalizer, options.words, options.dim)

    def ours() -> float:
        model = StaticModel({"en": given}, {}, {}, "en", normalizer)
        model.encode(["a"], "en")
        start = clock()
        model.encode(lines, "en")
        return len(lines) / (clock() - start)

    facts = {"words": f"{len(given):,}", "dimensions": options.dim, "threads": options.threads}
    if not options.peer_python:
        ours()
        side_by_side.publish_alone(
            [ours() for _ in range(options.rounds)], facts, options, "sentences/s"
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        static_folders.write({"en": given}, {}, normalizer, folder, options.peer)
        wanted = dict(folder=folder, text=options.text, sentences=len(lines), clock=options.clock, peer=options.peer, threads=options.threads)
        with side_by_side.Peer(options.peer_python, "peer_encoding.py", wanted) as peer:
            found = side_by_side.alternate(ours, peer, options.rounds)
            facts |= peer.facts
    side_by_side.publish(found, options.peer, facts, options, "sentences/s")


if __name__ == "__main__":
    main()

"""CSLS of test words: all scores beside the plain matrix product, and the bounded search.

    python benchmarks/csls.py --words=200000 --tested=1500 [--peer-python=peer/bin/python]

CSLS of a test word needs r(y) of every candidate y: the mean cosine with its nearest words of the
whole source language, a words x words product. The first figure compares the rate of that product
and its top-k selection with the rate of the plain product in the same process. The second figure
compares the time of `csls.nearest`, which computes r only for candidates that a bound does not
exclude, with the time for all scores. Both must give the same answers. The peer computes r(y) of all
candidates by products and topk in PyTorch. Times of single searches include compiling. The made-up
vectors are clusters of unequal density and their noisy copies, which have hubs, as word vectors do.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from typing import Any, Callable

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.align import bounded, csls, search
import compiled_step
import side_by_side

_GEMM = 8_192  # rows and columns of the plain product


def made_up(words: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of clusters of unequal spread, and a noisy permutation of them."""
    r = np.random.default_rng(0)
    centers = r.standard_normal((max(1, words // 100), width), np.float32)
    scale = r.gamma(2, 0.5, (words, 1)).astype("f4")
    x = centers[r.integers(len(centers), size=words)] * scale
    x += r.standard_normal(x.shape, np.float32)
    y = x[r.permutation(words)] + 0.6 * r.standard_normal(x.shape, np.float32)
    return x, y


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds and the result of a call."""
    start = time.perf_counter()
    found = jax.block_until_ready(function())
    return time.perf_counter() - start, found


def gemm_rate(width: int) -> float:
    """The best FLOP/s of several large products in float32."""
    left = jnp.ones((_GEMM, width), jnp.float32)
    product = jax.jit(lambda a, b: jnp.dot(a, b.T, precision=jax.lax.Precision.HIGHEST))
    jax.block_until_ready(product(left, left))
    seconds = min(timed(lambda: product(left, left))[0] for _ in range(8))
    return 2 * _GEMM**2 * width / seconds


def beside_torch(
    options: argparse.Namespace, x: np.ndarray, y: np.ndarray
) -> tuple[dict[str, float], dict[str, Any]]:
    """Words/s of r(y), beside PyTorch's, and facts of PyTorch."""
    threads = len(os.sched_getaffinity(0))
    keys, pool = search.unit(y), search.unit(x)

    def ours() -> float:
        return len(y) / timed(lambda: search.means(keys, pool, 10, csls.MEMORY_BYTES))[0]

    with tempfile.TemporaryDirectory() as folder:
        words = os.path.join(folder, "words.npy")
        np.save(words, np.stack([x, y]))
        device = compiled_step.torch_device()
        given = dict(words=words, neighbourhood=10, device=device, threads=threads)
        with side_by_side.Peer(options.peer_python, "peer_csls.py", given) as peer:
            found = side_by_side.alternate(ours, peer, options.rounds)
            print(found.table("torch", peer.facts, "words/s"))
            return found.figures("torch", "words/s"), peer.facts


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--words", type=int, default=200_000, help="words per side")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--tested", type=int, default=1_500)
    parser.add_argument("--tops", default="1,10", help="answers per test word")
    parser.add_argument("--rounds", type=int, default=3, help="of either side, beside a peer")
    parser.add_argument("--peer-python", help="interpreter that has torch")
    options = parser.parse_args()
    x, y = made_up(options.words, options.dim)
    queries = x[5_000 : 5_000 + options.tested] if options.words > 10_000 else x[: options.tested]
    print(
        f"{options.words:,} x {options.dim}, {options.tested} test words, "
        f"{len(os.sched_getaffinity(0))} cores"
    )
    before = gemm_rate(options.dim)
    keys, pool = search.unit(y), search.unit(x)
    seconds, hubness = timed(lambda: search.means(keys, pool, 10, csls.MEMORY_BYTES))
    after = gemm_rate(options.dim)
    rate = 2 * options.words**2 * options.dim / seconds
    gemm = (before + after) / 2
    print(f"plain product: {before / 1e9:.1f} before, {after / 1e9:.1f} GFLOP/s after")
    print(
        f"r(y) of all words: {seconds:.1f} s, {rate / 1e9:.1f} GFLOP/s, "
        f"{rate / gemm:.0%} of the plain product"
    )
    figures = {"all scores, GFLOP/s": rate / 1e9, "share of the plain product": rate / gemm}
    unit = search.unit(queries)
    for top in map(int, options.tops.split(",")):
        last, full = timed(
            lambda: search.search(
                unit, search.chunk_keys(keys, hubness, top), 2.0, top, csls.MEMORY_BYTES
            )
        )
        less, found = timed(lambda: csls.nearest(queries, y, top, "csls", pool=x))
        same = float((np.asarray(found[0]) == np.asarray(full[0])).mean())
        print(
            f"k={top}: all scores {seconds + last:.1f} s, bounded {less:.1f} s, "
            f"{(seconds + last) / less:.1f} times less; {same:.2%} of the answers are the same, "
            f"bounded: {bounded.is_worthwhile(len(queries), len(y))}"
        )
        figures |= {
            f"k={top}, all scores, s": seconds + last,
            f"k={top}, bounded, s": less,
            f"k={top}, ratio": (seconds + last) / less,
            f"k={top}, same answers": same,
        }
    facts = {"jax": f"{jax.__version__} on {jax.devices()[0].device_kind}"}
    if options.peer_python:
        rates, of_torch = beside_torch(options, x, y)
        figures, facts = figures | rates, facts | of_torch
    side_by_side.record(figures, options, facts)


if __name__ == "__main__":
    main()

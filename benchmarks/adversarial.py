"""Adversarial training of a map: ours beside MUSE in PyTorch, in map steps per second.

    git clone https://github.com/facebookresearch/MUSE
    python -m venv peer && peer/bin/pip install torch scipy
    python benchmarks/adversarial.py --muse=MUSE --peer-python=peer/bin/python

A step is five steps of the discriminator (2 x 2048 units) and one of the map, each on 32 words of
either made-up vocabulary, the defaults of MUSE's unsupervised.py. The peer runs MUSE's unmodified
`Trainer`. `--clock=processor` counts processor seconds, for a busy machine (use one thread per
side: OMP_NUM_THREADS=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false).
"""

from __future__ import annotations

import argparse

import jax
import jax.numpy as jnp
from side_by_side import CLOCKS, Peer, alternate, publish

from clwe_jax.align import adversarial


def main() -> None:
    """Measures in turns and prints the rates and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--muse", required=True, help="a checkout of facebookresearch/MUSE")
    parser.add_argument("--peer-python", required=True, help="an interpreter that has torch")
    parser.add_argument("--words", type=int, default=75_000, help="words per side")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=2_048)
    parser.add_argument("--steps", type=int, default=100, help="steps per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    aligner = adversarial.Adversarial(hidden=options.hidden)
    keys = jax.random.split(jax.random.key(0), 4)
    pools = [
        jax.random.normal(key, (options.words, options.dim)) / options.dim**0.5 for key in keys[:2]
    ]
    weights = adversarial.initial_weights(keys[2], options.dim, options.hidden)
    state = adversarial.AdversarialState(jnp.eye(options.dim), weights)

    def ours() -> float:
        nonlocal state
        start = clock()
        state, _ = adversarial._train(state, *pools, keys[3], options.steps, 0.1, aligner)
        jax.block_until_ready(state)
        return options.steps / (clock() - start)

    with Peer(options.peer_python, "peer_adversarial.py", vars(options)) as peer:
        found = alternate(ours, peer, options.rounds)
    facts = {"clock": options.clock, "words": options.words, "hidden": options.hidden}
    publish(found, "MUSE", facts | peer.facts, options, "steps/s")


if __name__ == "__main__":
    main()

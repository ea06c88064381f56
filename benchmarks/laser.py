"""Pieces/s of training LASER, beside the same encoder and decoder of nn.LSTM in PyTorch.

Command (see README.md for the peer's interpreter):
  python benchmarks/laser.py --peer-python=peer/bin/python
  python benchmarks/laser.py --config=configs/laser.py:small --set=model.layers=2

Both sides have the same sizes and a batch without padding, Adam, clipping and float32 on the CPU. A
piece of the translation counts; the text has as many.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Callable

import run_config
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="laser", help="a system, or a file of configs/")
    parser.add_argument("--set", action="append", default=[], help="an option: model.layers=2")
    parser.add_argument("--length", type=int, default=16, help="pieces of a text, its end included")
    parser.add_argument("--seconds", type=float, default=4.0, help="of a round of either side")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--clock",
        choices=sorted(side_by_side.CLOCKS),
        default="wall",
        help="processor: processor seconds of all threads, for a busy machine",
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-python", help="interpreter that has torch")
    return parser.parse_args()


def our_step(config: Any, length: int, clock: Callable[[], float]):
    """Our side, built with the functions of a training run.

    Returns:
      A function that runs a number of steps and returns their seconds; the number of parameters.
    """
    import jax
    import numpy as np

    from clwe_jax.options.training import MeshOptions
    from clwe_jax.text.vocab.base_vocab import SPECIALS
    from clwe_jax.training import allocator, build, optim, partition, train, train_state

    allocator.keep_freed_memory()
    specials = {name: place for place, name in enumerate(SPECIALS)}
    size = config.vocab.size
    objective = build.build_objective(config, size, size, specials=specials)
    optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
    mesh = partition.make_mesh(MeshOptions())
    shapes = objective.batch_shapes(config.train.batch_size, length)
    draw = np.random.RandomState(0)
    languages = objective.model.languages
    batch = {
        key: draw.randint(*((0, languages) if key.endswith("language_ids") else (5, size)), x.shape)
        for key, x in shapes.items()
    }
    batch = {key: value.astype(np.int32) for key, value in batch.items()}
    tx = optimizer.build(config.train.steps)
    target = train_state.plan(objective, tx, shapes, mesh, seed=0)
    state = train_state.start(objective, tx, shapes, mesh, seed=0)
    traced = train.trace_step(
        objective, optimizer, config.train.steps, config.train.microbatches, mesh, target, shapes
    )
    step = traced.lower().compile()
    arrays = partition.global_batch(batch, mesh)

    def run(steps: int) -> float:
        nonlocal state
        begin = clock()
        for _ in range(steps):
            state, metrics = step(state, arrays)
        jax.block_until_ready((state, metrics))
        return clock() - begin

    return run, train_state.count_parameters(state.params)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    path, _, scale = args.config.partition(":")
    config = run_config.load(path, scale or "laptop", run_config.changes_of(args.set))
    import jax

    clock = side_by_side.CLOCKS[args.clock]
    run, parameters = our_step(config, args.length, clock)
    run(2)
    steps = max(2, round(args.seconds / (run(2) / 2)))
    rows, model = config.train.batch_size, config.model

    def ours() -> float:
        return steps * rows * args.length / run(steps)

    facts = {
        "sizes": f"{model.layers} x {model.cells}, decoder {model.decoder_cells}, width "
        f"{model.width}, vocabulary {config.vocab.size}, batch {rows} x {args.length}, {steps} steps "
        "a round",
        "parameters, ours": f"{parameters:,}",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
    }
    if args.peer_python:
        keys = ("layers", "cells", "decoder_cells", "width", "language_width", "dropout")
        options = {key: getattr(model, key) for key in keys}
        options.update(
            vocab=config.vocab.size, languages=len(config.data.languages.split(",")), rows=rows,
            length=args.length, learning_rate=config.optimizer.learning_rate,
            clip=config.optimizer.clip, seconds=args.seconds, threads=args.threads,
            clock=args.clock,
        )  # fmt: skip
        with side_by_side.Peer(args.peer_python, "peer_laser.py", options) as peer:
            found = side_by_side.alternate(ours, peer, args.rounds)
            side_by_side.publish(found, "nn.LSTM", {**facts, **peer.facts}, args, "pieces/s")
    else:
        rates = [ours() for _ in range(args.rounds)]
        side_by_side.publish_alone(rates, facts, args, "pieces/s")


if __name__ == "__main__":
    main()

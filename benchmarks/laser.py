"""Pieces/s of training on translations: LASER or a Transformer, beside nn.LSTM or nn.Transformer in PyTorch.

Command (see README.md for the peer's interpreter):
  python benchmarks/laser.py --peer-python=peer/bin/python
  python benchmarks/laser.py --config=configs/laser.py:small --set=model.layers=2
  python benchmarks/laser.py --config=configs/supervised_mt.py --peer-python=peer/bin/python

Both sides have the same sizes and a batch without padding, Adam and clipping; float32 on a CPU, bfloat16
on a GPU (PyTorch's autocast may take float16 for nn.LSTM). A piece of the translation counts; the text
has as many.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from typing import Any, Callable

import compiled_step
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


def our_step(config: Any, length: int, clock: Callable[[], float]) -> compiled_step.Step:
    """Our side, built with the functions of a training run."""
    import numpy as np

    from clwe_jax.training import build, optim

    size, train = config.vocab.size, config.train
    objective = build.build_objective(config, size, size)
    draw = np.random.RandomState(0)
    languages = objective.model.languages
    batch = {
        key: draw.randint(*((0, languages) if key.endswith("language_ids") else (5, size)), x.shape)
        for key, x in objective.batch_shapes(train.batch_size, length).items()
    }
    batch = {key: value.astype(np.int32) for key, value in batch.items()}
    optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
    return compiled_step.build(objective, optimizer, batch, train.steps, train.microbatches, clock)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    path, _, scale = args.config.partition(":")
    config = run_config.load(path, scale or "laptop", run_config.changes_of(args.set))
    import jax

    run, parameters, _ = our_step(config, args.length, side_by_side.CLOCKS[args.clock])
    steps = compiled_step.steps_a_round(run, args.seconds)
    rows, model = config.train.batch_size, dataclasses.asdict(config.model)

    def ours() -> float:
        return steps * rows * args.length / run(steps)

    facts = {
        "sizes": ", ".join(f"{name} {size}" for name, size in model.items())
        + f", vocabulary {config.vocab.size}, batch {rows} x {args.length}, {steps} steps a round",
        "parameters, ours": f"{parameters:,}",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
    }
    if args.peer_python:
        options = dict(
            model,
            vocab=config.vocab.size,
            languages=len(config.data.languages.split(",")),
            rows=rows,
            length=args.length,
            learning_rate=config.optimizer.learning_rate,
            clip=config.optimizer.clip,
            seconds=args.seconds,
            threads=args.threads,
            clock=args.clock,
            device=compiled_step.torch_device(),
        )
        with side_by_side.Peer(args.peer_python, "peer_laser.py", options) as peer:
            found = side_by_side.alternate(ours, peer, args.rounds)
            facts.update(peer.facts)
            side_by_side.publish(found, facts["peer"], facts, args, "pieces/s")
    else:
        rates = [ours() for _ in range(args.rounds)]
        side_by_side.publish_alone(rates, facts, args, "pieces/s")


if __name__ == "__main__":
    main()

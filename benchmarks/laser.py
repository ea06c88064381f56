"""Pieces/s of training on translations: LASER or a Transformer, beside nn.LSTM or nn.Transformer in PyTorch.

Command (README.md says how to make the peer's interpreter):
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
import sys
from typing import Any

import compiled_step
import run_config
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = side_by_side.parser(__doc__)
    parser.add_argument("--config", default="laser", help="a system, or a file of configs/")
    parser.add_argument("--set", action="append", default=[], help="an option: model.layers=2")
    parser.add_argument("--length", type=int, default=16, help="pieces of a text, its end included")
    return parser.parse_args()


def our_step(config: Any, length: int) -> compiled_step.Step:
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
    return compiled_step.build(objective, optimizer, batch, train.steps, train.microbatches)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    path, _, scale = args.config.partition(":")
    config = run_config.load(path, scale or "laptop", run_config.changes_of(args.set))
    step = our_step(config, args.length)
    rows = config.train.batch_size
    model = dataclasses.asdict(config.model)
    ours = side_by_side.rounds_of(step.run, rows * args.length, args.seconds, args.clock)
    sizes = ", ".join(f"{name} {size}" for name, size in model.items())
    sizes += f", vocabulary {config.vocab.size}, batch {rows} x {args.length}"
    peer_options = dict(
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
    found, theirs = side_by_side.compare(args, ours.measure, "peer_laser.py", peer_options)
    facts = compiled_step.facts(step, sizes, ours.steps) | theirs
    side_by_side.publish(found, theirs.get("peer", ""), facts, args, "pieces/s")


if __name__ == "__main__":
    main()

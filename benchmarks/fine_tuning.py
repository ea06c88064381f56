"""Tokens/s of fine-tuning a BERT on words with labels, beside Hugging Face's in PyTorch.

Command (see README.md for the peer's interpreter; --trainer also needs accelerate):
  python benchmarks/fine_tuning.py --peer-python=peer/bin/python
  python benchmarks/fine_tuning.py --peer-python=peer/bin/python --trainer

Both sides have the same sizes, batch, dropout, a linear layer on the first piece of every word,
AdamW and clipping by the global norm 1; float32 on a CPU, bfloat16 on a GPU. The peer is
BertForTokenClassification in a plain loop, or in Hugging Face's Trainer.
"""

from __future__ import annotations

import argparse
import os
import sys

import compiled_step
import run_config
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocab", type=int, default=30_522, help="rows of the table of pieces")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--length", type=int, default=64, help="pieces of a row, none is padding")
    parser.add_argument("--labels", type=int, default=9)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seconds", type=float, default=8.0, help="of a round of either side")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--clock",
        choices=sorted(side_by_side.CLOCKS),
        default="wall",
        help="processor: processor seconds of all threads, for a busy machine",
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-python", help="interpreter that has torch and transformers")
    parser.add_argument("--trainer", action="store_true", help="the peer uses Trainer")
    return parser.parse_args()


def our_step(args: argparse.Namespace) -> compiled_step.Step:
    """Our side, built as a transfer run builds it."""
    import numpy as np

    from clwe_jax.training import build, optim

    encoder = run_config.load(
        "mbert",
        changes={
            "model.layers": args.layers,
            "model.width": args.width,
            "model.heads": args.heads,
            "model.mlp_dim": 4 * args.width,
            "model.dropout": args.dropout,
            "data.sequence_length": args.length,
        },
    )
    config = run_config.load("finetune_ner", "small", {"transfer.head.dropout": args.dropout})
    labels = tuple(f"B-{number}" for number in range(args.labels))
    objective = build.tuned_objective(
        config.transfer, labels, True, build.build_objective(encoder, args.vocab, args.vocab)
    )
    draw = np.random.RandomState(0)
    shape = (args.rows, args.length)
    words = np.broadcast_to(np.arange(args.length), shape)
    given = dict(
        inputs=draw.randint(5, args.vocab, shape),
        positions=words,
        segment_ids=np.ones(shape),
        language_ids=np.zeros(shape),
        words=words,
        gold=np.where(words > 0, draw.randint(0, args.labels, shape), -1),
    )
    batch = {key: given[key].astype(x.dtype) for key, x in objective.batch_shapes(*shape).items()}
    optimizer = optim.from_config(config.optimizer, args.length)
    clock = side_by_side.CLOCKS[args.clock]
    return compiled_step.build(objective, optimizer, batch, 1_000, clock=clock)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    import jax

    run, parameters, _ = our_step(args)
    steps = compiled_step.steps_a_round(run, args.seconds)
    tokens = args.rows * args.length

    def ours() -> float:
        return steps * tokens / run(steps)

    facts = {
        "sizes": f"{args.layers} x {args.width}, {args.heads} heads, {args.vocab} pieces, "
        f"batch {args.rows} x {args.length}, {steps} steps a round",
        "parameters, ours": f"{parameters:,}",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
        "clock": args.clock,
    }
    if args.peer_python:
        options = {key: value for key, value in vars(args).items() if key != "peer_python"}
        options["device"] = compiled_step.torch_device()
        with side_by_side.Peer(args.peer_python, "peer_fine_tuning.py", options) as peer:
            found = side_by_side.alternate(ours, peer, args.rounds)
            name = "Trainer" if args.trainer else "torch loop"
            side_by_side.publish(found, name, {**facts, **peer.facts}, args)
    else:
        side_by_side.publish_alone([ours()], facts, args)


if __name__ == "__main__":
    main()

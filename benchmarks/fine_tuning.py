"""Tokens/s of fine-tuning a BERT on words with labels, beside Hugging Face's in PyTorch.

Command (README.md says how to make the peer's interpreter; --trainer also needs accelerate):
  python benchmarks/fine_tuning.py --peer-python=peer/bin/python
  python benchmarks/fine_tuning.py --peer-python=peer/bin/python --trainer

Both sides have the same sizes, batch, dropout, a linear layer on the first piece of every word,
AdamW and clipping by the global norm 1; float32 on a CPU, bfloat16 on a GPU. The peer is
BertForTokenClassification in a plain loop, or in Hugging Face's Trainer.
"""

from __future__ import annotations

import argparse
import sys

import compiled_step
import run_config
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = side_by_side.parser(__doc__, 8.0, rounds=5, packages="torch and transformers")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocab", type=int, default=30_522, help="rows of the table of pieces")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--length", type=int, default=64, help="pieces of a row, none is padding")
    parser.add_argument("--labels", type=int, default=9)
    parser.add_argument("--dropout", type=float, default=0.1)
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
    return compiled_step.build(objective, optimizer, batch, 1_000)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    step = our_step(args)
    ours = side_by_side.rounds_of(step.run, args.rows * args.length, args.seconds, args.clock)
    sizes = (
        f"{args.layers} x {args.width}, {args.heads} heads, {args.vocab} pieces, "
        f"batch {args.rows} x {args.length}"
    )
    peer_options = {**vars(args), "device": compiled_step.torch_device()}
    found, theirs = side_by_side.compare(args, ours.measure, "peer_fine_tuning.py", peer_options)
    facts = compiled_step.facts(step, sizes, ours.steps) | {"clock": args.clock} | theirs
    side_by_side.publish(found, "Trainer" if args.trainer else "torch loop", facts, args)


if __name__ == "__main__":
    main()

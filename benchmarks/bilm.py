"""Words/s of training a bidirectional language model, beside nn.LSTM(proj_size=...) in PyTorch.

Command (README.md says how to make the peer's interpreter):
  python benchmarks/bilm.py --peer-python=peer/bin/python
  python benchmarks/bilm.py --cells=1024 --width=256 --rows=64 --peer-python=peer/bin/python

Both sides have the same sizes, words and batch, float32 on a CPU and bfloat16 on a GPU (PyTorch's
autocast may take float16 for nn.LSTM), the character CNN once per distinct word, sampled softmax with
the same number of log-uniform negatives, Adagrad and clipping. A word counts once for both directions
together.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from typing import Any

import compiled_step
import side_by_side

# Proportions of the filters of 1 to 7 characters, as in ELMo.
_SHARES = (1, 1, 2, 4, 8, 16, 32)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = side_by_side.parser(__doc__)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--cells", type=int, default=512)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--features", type=int, default=256, help="filters of 1 to 7 characters")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--window", type=int, default=16)
    parser.add_argument("--vocab", type=int, default=10_000)
    parser.add_argument("--negatives", type=int, default=1024)
    parser.add_argument("--senses", type=int, default=1, help="senses of our model only")
    parser.add_argument("--dropout", type=float, default=0.1)
    return parser.parse_args()


def filters(features: int) -> list[tuple[int, int]]:
    """(characters, number of filters) of about `features` filters in ELMo's proportions."""
    return [(k + 1, max(1, features * share // 64)) for k, share in enumerate(_SHARES)]


def made_up_batch(args: argparse.Namespace) -> dict[str, Any]:
    """A batch of made-up words with the frequencies and lengths of words in text."""
    import numpy as np

    draw = np.random.RandomState(0)
    frequency = 1.0 / np.arange(1, args.vocab + 1)
    words, reverse = draw.choice(
        args.vocab, (2, args.rows, args.window + 1), p=frequency / frequency.sum()
    )
    distinct, which = np.unique(np.stack([words, reverse])[:, :, :-1], return_inverse=True)
    which = which.reshape(2, args.rows, args.window)
    room = -len(distinct) % 128
    characters = np.full((len(distinct) + room, 50), 260, np.int32)
    # Frequent words are short.
    sizes = np.clip(draw.gamma(6.0, (2.0 + np.log1p(distinct)) / 8.0), 1, 48).astype(int)
    for row, size in enumerate(sizes):
        characters[row, : size + 2] = [258, *draw.randint(97, 123, size), 259]
    ones = np.ones((args.rows, args.window), np.float32)
    batch = dict(
        characters=characters,
        spelling=which[0],
        spelling_reverse=which[1],
        words=words[:, :-1],
        words_reverse=reverse[:, :-1],
        target_forward=words[:, 1:],
        target_reverse=reverse[:, 1:],
    )
    batch = {key: value.astype(np.int32) for key, value in batch.items()}
    weights = ("loss_weights", "weights_forward", "weights_reverse")
    return {**batch, **{key: ones for key in weights}}


def our_step(args: argparse.Namespace, batch: dict[str, Any]) -> compiled_step.Step:
    """Our side, built with the functions of a training run."""
    import numpy as np

    from clwe_jax.models.bilm import BiLmModel
    from clwe_jax.objectives.bilm import BiLmObjective
    from clwe_jax.options.models import BiLmOptions
    from clwe_jax.options.senses import SenseOptions
    from clwe_jax.training import optim

    sizes = BiLmOptions(
        width=args.width,
        layers=args.layers,
        cells=args.cells,
        dropout=args.dropout,
        filters=filters(args.features),
    )
    objective = BiLmObjective(
        model=BiLmModel(sizes),
        vocab_size=args.vocab,
        padded_vocab_size=args.vocab,
        negatives=args.negatives,
        senses=SenseOptions(senses=args.senses, warmup_steps=1),
    )
    optimizer = optim.Optimizer(
        name="adagrad",
        learning_rate=0.2,
        schedule="constant",
        initial_accumulator=1.0,
        clip=10.0,
        scale=float(args.window),
    )
    # Both sides need the made-up arrays; the other keys of our batches are constant here.
    batch = {
        key: batch[key] if key in batch else np.zeros(x.shape, x.dtype)
        for key, x in objective.batch_shapes(args.rows, args.window).items()
    }
    return compiled_step.build(objective, optimizer, batch, 1_000_000)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, os.path.dirname(side_by_side.HERE))
    batch = made_up_batch(args)
    step = our_step(args, batch)
    ours = side_by_side.rounds_of(step.run, args.rows * args.window, args.seconds, args.clock)
    sizes = (
        f"{args.layers} x {args.cells} cells, width {args.width}, "
        f"vocabulary {args.vocab} x {args.senses}, {args.negatives} negatives, "
        f"batch {args.rows} x {args.window}, {len(batch['characters'])} words spelt, "
        f"{sum(n for _, n in filters(args.features))} filters"
    )
    facts = compiled_step.facts(step, sizes, ours.steps)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({key: value.tolist() for key, value in batch.items()}, file)
        file.flush()
        peer_options = {
            **vars(args),
            "character_dim": 16,
            "filters": filters(args.features),
            "device": compiled_step.torch_device(),
            "batch": file.name,
        }
        found, theirs = side_by_side.compare(args, ours.measure, "peer_bilm.py", peer_options)
    side_by_side.publish(found, "nn.LSTM", {**facts, **theirs}, args, "words/s")


if __name__ == "__main__":
    main()

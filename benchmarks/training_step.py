"""Tokens/s of the training step on a constant batch, beside Hugging Face's in PyTorch.

Command (README.md says how to make the peer's interpreter):
  python benchmarks/training_step.py --peer-python=peer/bin/python
  python benchmarks/training_step.py --config=configs/dict_mlm_50.py:small --set=model.layers=3

Both sides have the same sizes, batch and number of masked positions, AdamW and clipping; float32 on
a CPU, on a GPU bfloat16 with parameters in float32. The script also compares the FLOP/s of the model's
matrix products (forward, and twice that backward) with the FLOP/s of one large product in the same process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Callable

import compiled_step
import run_config
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = side_by_side.parser(__doc__, packages="torch and transformers")
    parser.add_argument("--config", default="dict_mlm_50", help="a system, or a file of configs/")
    parser.add_argument("--set", action="append", default=[], help="an option: model.layers=2")
    parser.add_argument("--peer-compile", action="store_true", help="torch.compile the peer")
    return parser.parse_args()


def read_config(name: str, overrides: list[str]):
    """The config of a file with its scale after a colon; the optimizer becomes AdamW."""
    path, _, scale = name.partition(":")
    changes = {"optimizer.name": "adamw", **run_config.changes_of(overrides)}
    return run_config.load(path, scale or "laptop", changes)


def product_flops(config, predictions: int) -> float:
    """FLOPs of a step's matrix products: forward, and twice that backward."""
    model, rows, length = config.model, config.train.batch_size, config.data.sequence_length
    width, tokens = model.width, rows * length
    layer = 2 * tokens * (4 * width * width + 2 * width * model.mlp_dim)
    attention = 2 * 2 * tokens * length * width
    joined = 2 * width if model.condition_on_language else width
    head = 2 * rows * predictions * (joined * width + width * config.vocab.size)
    return 3.0 * (model.layers * (layer + attention) + head)


def product_rate(
    dtype: str, repeats: int = 8, clock: Callable[[], float] = time.perf_counter
) -> float:
    """FLOP/s of one large product of square matrices in a model's type, `config.model.dtype`."""
    import jax
    import jax.numpy as jnp

    from clwe_jax.models.transformer import compute_dtype

    size = 2_048 if jax.default_backend() == "cpu" else 8_192
    a = jax.random.normal(jax.random.key(0), (size, size), compute_dtype(dtype))
    multiply = jax.jit(jnp.matmul)
    multiply(a, a).block_until_ready()
    rates = []
    for _ in range(repeats):
        start = clock()
        multiply(a, a).block_until_ready()
        rates.append(2 * size**3 / (clock() - start))
    return max(rates)


def our_step(config) -> tuple[compiled_step.Step, int]:
    """Our side, built with the functions of a training run, and the masked positions of a row."""
    import numpy as np

    from clwe_jax import options
    from clwe_jax.training import build, optim

    rows, length = config.train.batch_size, config.data.sequence_length
    predictions = options.max_predictions(config.data)
    languages = len(options.languages(config))
    draw = np.random.RandomState(0)
    masked = draw.rand(rows, length).argsort(1) < predictions
    language = np.broadcast_to(draw.randint(0, languages, (rows, 1)), (rows, length))
    pieces = draw.randint(5, config.vocab.size, (rows, length))
    batch = dict(
        inputs=np.where(masked, 4, pieces),
        targets=pieces,
        loss_weights=masked,
        positions=np.broadcast_to(np.arange(length), (rows, length)),
        segment_ids=np.ones((rows, length)),
        language_ids=language,
        source_language_ids=language,
        entries=masked,
    )
    objective = build.build_objective(config, config.vocab.size, config.vocab.size)
    shapes = objective.batch_shapes(rows, length)
    batch = {key: batch[key].astype(x.dtype) for key, x in shapes.items()}
    optimizer = optim.from_config(config.optimizer, length)
    train = config.train
    step = compiled_step.build(objective, optimizer, batch, train.steps, train.microbatches)
    return step, predictions


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    config = read_config(args.config, args.set)
    step, predictions = our_step(config)
    rows, length = config.train.batch_size, config.data.sequence_length
    ours = side_by_side.rounds_of(step.run, rows * length, args.seconds, args.clock)
    sizes = (
        f"{config.model.layers} x {config.model.width}, vocabulary {config.vocab.size}, "
        f"batch {rows} x {length}, {predictions} masked a row"
    )
    peer_options = dict(
        layers=config.model.layers,
        width=config.model.width,
        heads=config.model.heads,
        mlp_dim=config.model.mlp_dim,
        vocab_size=config.vocab.size,
        length=length,
        batch_size=rows,
        predictions=predictions,
        dropout=config.model.dropout,
        learning_rate=config.optimizer.learning_rate,
        weight_decay=config.optimizer.weight_decay,
        seconds=args.seconds,
        clock=args.clock,
        threads=args.threads,
        compile=args.peer_compile,
        device=compiled_step.torch_device(),
    )
    found, theirs = side_by_side.compare(args, ours.measure, "peer_training_step.py", peer_options)
    facts = compiled_step.facts(step, sizes, ours.steps) | theirs
    print(found.table("BertForMaskedLM", facts))
    figures = found.figures("BertForMaskedLM", "tokens/s")
    rates = found.ours
    achieved = product_flops(config, predictions) * statistics.median(rates) / (rows * length)
    plain = product_rate(config.model.dtype)
    figures |= {"products, FLOP/s": achieved, "of a plain product": achieved / plain}
    print(
        f"{statistics.median(rates):,.0f} tokens/s; matrix products: {achieved / 1e9:,.1f} GFLOP/s, "
        f"{achieved / plain:.0%} of a plain product's {plain / 1e9:,.1f} GFLOP/s in this process"
    )
    side_by_side.record(figures, args, facts)


if __name__ == "__main__":
    main()

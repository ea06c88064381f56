"""Sentences/s of training a BiLSTM-CRF on frozen vectors, beside PyTorch with pytorch-crf.

Command (see README.md for the peer's interpreter; it also needs pytorch-crf):
  python benchmarks/tagger.py --peer-python=peer/bin/python

Both sides have the same vectors, sentences, sizes, dropout, SGD and clipping, float32 on CPU. The
peer packs its sentences by length. Then five seeds at once are measured beside one. --decode measures
predictions instead: BiLSTM, scores and the best sequence of each sentence as lists of labels.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from typing import Any, Callable

import numpy as np
import side_by_side


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dim", type=int, default=300, help="of the frozen vectors")
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--labels", type=int, default=9)
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--copies", type=int, default=32, help="of the rows, with --decode")
    parser.add_argument("--shortest", type=int, default=6, help="words of a sentence")
    parser.add_argument("--longest", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--decode", action="store_true", help="measure predictions (Viterbi)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a round of either side")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--clock",
        choices=sorted(side_by_side.CLOCKS),
        default="wall",
        help="processor: processor seconds of all threads, for a busy machine",
    )
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--peer-python", help="interpreter that has torch and pytorch-crf")
    return parser.parse_args()


def made_up_batch(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """Sentences of different lengths, their vectors and labels; lengths as in one bucket."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(args.shortest, args.longest + 1, args.rows)
    lengths[0] = args.longest
    real = np.arange(args.longest) < lengths[:, None]
    table = rng.normal(size=(args.rows * args.longest + 1, 1, args.dim)).astype(np.float32)
    table[0] = 0
    words = np.where(real, 1 + np.arange(real.size).reshape(real.shape), 0).astype(np.int32)
    gold = np.where(real, rng.integers(0, args.labels, real.shape), -1).astype(np.int32)
    return {"table": table, "words": words, "gold": gold}


def our_step(
    args: argparse.Namespace, given: dict[str, np.ndarray], seeds: int
) -> Callable[[int], float]:
    """The function steps -> seconds, for so many seeds at once."""
    import jax
    import jax.numpy as jnp

    from clwe_jax.models.heads import BiLstmCrf
    from clwe_jax.models.labelling import Labeller, Labelling, Mix
    from clwe_jax.training import heads

    labeller = Labeller(Mix(), Labelling(BiLstmCrf(args.labels, True, cells=args.cells)))
    recipe = heads.Recipe(name="sgd", learning_rate=0.1, clip=5.0)
    table = jnp.asarray(given["table"])
    batch = heads.stacked([{key: given[key] for key in ("words", "gold")}] * seeds)
    keys = jnp.stack([jax.random.key(seed) for seed in range(seeds)])
    step = heads.step(labeller, recipe, 1_000)
    params = heads.start(labeller, table, batch, keys)
    state = jax.jit(jax.vmap(recipe.build(1_000).init))(params)
    rates = jnp.full(seeds, 0.1, jnp.float32)
    clock = side_by_side.CLOCKS[args.clock]

    def run(steps: int) -> float:
        nonlocal params, state
        begin = clock()
        for number in range(steps):
            params, state, found = step(
                params, state, table, batch, keys, rates, np.int32(number)
            )
        jax.block_until_ready((params, found))
        return clock() - begin

    return run


def our_predictions(
    args: argparse.Namespace, given: dict[str, np.ndarray], copies: int
) -> Callable[[int], float]:
    """The function rounds -> seconds of labelling the sentences, as a finished run labels them.

    A run labels a whole test set, whose batches are nearly full: here so many copies of the batch.
    """
    import jax
    import jax.numpy as jnp

    from clwe_jax.evaluate.features import Table
    from clwe_jax.evaluate.labeller import Frozen
    from clwe_jax.models.heads import BiLstmCrf
    from clwe_jax.models.labelling import Labeller, Labelling, Mix
    from clwe_jax.training import heads

    labeller = Labeller(Mix(), Labelling(BiLstmCrf(args.labels, True, cells=args.cells)))
    batch = heads.stacked([{key: given[key] for key in ("words", "gold")}])
    params = heads.start(
        labeller, jnp.asarray(given["table"]), batch, jnp.stack([jax.random.key(0)])
    )
    labels = [str(number) for number in range(args.labels)]
    table = Table(given["table"], [[row[row > 0]] for row in given["words"]] * copies)
    frozen = Frozen(None, labeller, params, labels)
    clock = side_by_side.CLOCKS[args.clock]

    def run(rounds: int) -> float:
        begin = clock()
        for _ in range(rounds):
            frozen.of_table(table, params)
        return clock() - begin

    return run


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, os.path.dirname(side_by_side.HERE))
    import jax

    batch = made_up_batch(args)
    copies = args.copies if args.decode else 1
    if args.decode:
        run = our_predictions(args, batch, copies)
    else:
        run = our_step(args, batch, 1)
    run(2)
    steps = max(2, round(args.seconds / (run(4) / 4)))

    def ours() -> float:
        return steps * copies * args.rows / run(steps)

    facts: dict[str, Any] = {
        "sizes": f"{args.cells} cells, vectors of {args.dim}, {args.labels} labels, {args.rows} "
        f"sentences of {args.shortest} to {args.longest} words, {steps} steps a round",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
    }
    if args.peer_python:
        options = {key: value for key, value in vars(args).items() if key != "peer_python"}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({key: value.tolist() for key, value in batch.items()}, file)
            file.flush()
            options["batch"] = file.name
            with side_by_side.Peer(args.peer_python, "peer_tagger.py", options) as peer:
                found = side_by_side.alternate(ours, peer, args.rounds)
                print(found.table("pytorch-crf", {**facts, **peer.facts}, "sentences/s"))
    if args.decode:
        return
    together = our_step(args, batch, args.seeds)
    together(2)
    ratios = []
    for _ in range(args.rounds):
        few = max(2, steps // args.seeds)
        ratios.append((together(few) / few) / (run(steps) / steps))
    print(
        f"{args.seeds} seeds at once take {statistics.median(ratios):.2f} times the time of one "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()

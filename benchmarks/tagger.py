"""Sentences/s of training a BiLSTM-CRF on frozen vectors, beside PyTorch with pytorch-crf.

Command (README.md says how to make the peer's interpreter; it also needs pytorch-crf):
  python benchmarks/tagger.py --peer-python=peer/bin/python

Both sides have the same vectors, sentences, sizes, dropout, SGD and clipping, float32 on CPU, and pass
through all sentences in an order of their own: ours in batches of similar lengths, as a transfer run
does, the peer in random batches that it packs, as flair does. Then five seeds at once are measured
beside one. --decode measures predictions instead: BiLSTM, scores and the best sequence of each sentence
as lists of labels.
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
    parser = side_by_side.parser(__doc__, 3.0, packages="torch and pytorch-crf")
    parser.add_argument("--dim", type=int, default=300, help="of the frozen vectors")
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--labels", type=int, default=9)
    parser.add_argument("--rows", type=int, default=32, help="of a batch")
    parser.add_argument("--sentences", type=int, default=1_024)
    parser.add_argument("--shortest", type=int, default=6, help="words of a sentence")
    parser.add_argument("--longest", type=int, default=24)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--decode", action="store_true", help="measure predictions (Viterbi)")
    return parser.parse_args()


def made_up_sentences(args: argparse.Namespace) -> dict[str, Any]:
    """Sentences of equally frequent lengths as rows of a table of vectors, and their labels."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(args.shortest, args.longest + 1, args.sentences)
    table = rng.normal(size=(2_001, 1, args.dim)).astype(np.float32)
    table[0] = 0
    words = [rng.integers(1, len(table), n).astype(np.int32) for n in lengths]
    gold = [rng.integers(0, args.labels, n).astype(np.int32) for n in lengths]
    return {"table": table, "words": words, "gold": gold}


def our_tagger(args: argparse.Namespace, table: np.ndarray, seeds: int) -> tuple[Any, Any]:
    """The tagger, and the parameters of so many seeds."""
    import jax
    import jax.numpy as jnp

    from clwe_jax.models.heads import BiLstmCrf
    from clwe_jax.models.labelling import Labeller, Labelling, Mix
    from clwe_jax.options.models import BiLstmCrfHead
    from clwe_jax.training import heads

    head = BiLstmCrf(BiLstmCrfHead(cells=args.cells), args.labels, True)
    labeller = Labeller(Mix(), Labelling(head))
    one = {key: np.zeros((seeds, args.rows, args.longest), np.int32) for key in ("words", "gold")}
    keys = jnp.stack([jax.random.key(seed) for seed in range(seeds)])
    return labeller, heads.start(labeller, table, one, keys)


def our_epochs(
    args: argparse.Namespace, given: dict[str, Any], seeds: int
) -> Callable[[int], None]:
    """The function that passes through the sentences a number of times, for so many seeds at once."""
    import jax
    import jax.numpy as jnp

    from clwe_jax import allocator
    from clwe_jax.data.arrays import ArraySource
    from clwe_jax.training import heads
    from clwe_jax.transfer import frozen as transfer_frozen

    allocator.keep_freed_memory()
    recipe = heads.Recipe(name="sgd", learning_rate=0.1, clip=5.0, batch_size=args.rows)
    table = jnp.asarray(given["table"])
    labeller, params = our_tagger(args, table, seeds)
    columns = {key: given[key] for key in ("words", "gold")}
    widths = transfer_frozen.widths(columns, recipe.batch_size)
    sources = [
        ArraySource(
            columns, args.rows, seed=seed, buckets=widths, padding={"gold": -1}, width_seed=0
        )
        for seed in range(seeds)
    ]
    keys = jnp.stack([jax.random.key(seed) for seed in range(seeds)])
    step = heads.step(labeller, recipe, 1_000)
    state = jax.jit(jax.vmap(recipe.build(1_000).init))(params)
    rates = jnp.full(seeds, 0.1, jnp.float32)

    def run(epochs: int) -> None:
        nonlocal params, state
        for number in range(epochs * -(-args.sentences // args.rows)):
            batch = heads.stack_batches([next(source) for source in sources])
            params, state, found = step(params, state, table, batch, keys, rates, np.int32(number))
        jax.block_until_ready((params, found))

    return run


def our_predictions(args: argparse.Namespace, given: dict[str, Any]) -> Callable[[int], None]:
    """The function that labels the sentences a number of times, as a finished run labels them."""
    from clwe_jax.encoders.features import FeatureTable
    from clwe_jax.transfer.labeller import Frozen

    labeller, params = our_tagger(args, given["table"], 1)
    labels = [str(number) for number in range(args.labels)]
    table = FeatureTable(given["table"], [[row] for row in given["words"]])
    frozen = Frozen(None, labeller, params, labels)

    def run(epochs: int) -> None:
        for _ in range(epochs):
            frozen.label_table(table, params)

    return run


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, os.path.dirname(side_by_side.HERE))
    import jax

    given = made_up_sentences(args)
    run = our_predictions(args, given) if args.decode else our_epochs(args, given, 1)
    ours = side_by_side.rounds_of(run, args.sentences, args.seconds, args.clock, least=1)
    facts = {
        "sizes": f"{args.cells} cells, vectors of {args.dim}, {args.labels} labels, "
        f"{args.sentences} sentences of {args.shortest} to {args.longest} words, {args.rows} a "
        f"batch, {ours.steps} epochs a round",
        "jax": f"{jax.__version__} on {jax.devices()[0].device_kind}",
        "clock": args.clock,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({key: [x.tolist() for x in column] for key, column in given.items()}, file)
        file.flush()
        peer_options = {**vars(args), "data": file.name}
        found, theirs = side_by_side.compare(args, ours.measure, "peer_tagger.py", peer_options)
    side_by_side.publish(found, "pytorch-crf", facts | theirs, args, "sentences/s")
    if args.decode:
        return
    together = our_epochs(args, given, args.seeds)
    rounds = [
        side_by_side.rounds_of(x, args.sentences, 0, args.clock, least=1) for x in (together, run)
    ]
    ratios = []
    for _ in range(args.rounds):
        all_seeds, one_seed = (each.measure() for each in rounds)
        ratios.append(one_seed / all_seeds)
    print(
        f"{args.seeds} seeds at once take {statistics.median(ratios):.2f} times the time of one "
        f"({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    main()

"""The cost of senses: time and FLOPs of a training step of a sense-aware model and its twin.

    python benchmarks/senses_cost.py                                       # SaELMo and ELMo
    python benchmarks/senses_cost.py --config=bi_saelmo --twin=joint_elmo
    python benchmarks/senses_cost.py --config=sabert_tiny --twin=bert_tiny

Both models run in turns at the laptop scale, on the batches of a real run, with seeded senses as
after the warm-up. FLOPs count matrix products and convolutions, loops as often as they run, without
work that is done once in many steps. The update of the sense state is also timed alone.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from typing import Any, Callable

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from clwe_jax import allocator  # noqa: E402  before jax
import jax  # noqa: E402
import run_config  # noqa: E402
from side_by_side import CLOCKS, record, spread  # noqa: E402

from clwe_jax.runs import inputs  # noqa: E402
from clwe_jax.training import (  # noqa: E402
    build,
    compiled_steps,
    flops,
    optim,
    partition,
    train_state,
)

_BATCHES = 8


class Model:
    """A config's training step and batches of its run."""

    def __init__(self, name: str, changes: list[str], workdir: str):
        warm = {"objective.senses.warmup_steps": 1, **run_config.changes_of(changes)}
        config = run_config.load(name, changes=warm)
        config.resolve().check_all()
        world = inputs.open_run_text(config, os.path.join(workdir, name))
        vocabulary = world.tokenizer.vocabulary
        self.objective = build.build_objective(
            config,
            len(vocabulary),
            vocabulary.size,
            inputs.translations(config.objective, world),
            vocabulary.specials,
        )
        optimizer = optim.from_config(config.optimizer, config.data.sequence_length)
        mesh, total = partition.make_mesh(config.mesh), config.train.steps
        batches = list(itertools.islice(inputs.build(config, world).source, _BATCHES))
        self.words = len(vocabulary)
        self.tokens = config.train.batch_size * config.data.sequence_length
        shapes = {
            key: jax.ShapeDtypeStruct(value.shape, value.dtype) for key, value in batches[0].items()
        }
        tx = optimizer.build(total)
        target = train_state.plan(self.objective, tx, shapes, mesh, config.seed)
        self.state = train_state.start(self.objective, tx, shapes, mesh, config.seed)
        self.batches = [
            partition.global_batch(batch, mesh)
            for batch in batches
            if all(batch[key].shape == shapes[key].shape for key in batch)
        ]
        traced = compiled_steps.trace_step(
            self.objective, optimizer, total, config.train.microbatches, mesh, target, shapes
        )
        self.flops = flops.matrix_flops(traced.jaxpr)
        self._step = traced.lower().compile()

    def run(self, count: int) -> None:
        """Runs `count` steps."""
        for number in range(count):
            self.state, metrics = self._step(self.state, self.batches[number % len(self.batches)])
        jax.block_until_ready((self.state, metrics))

    def update(self) -> Callable[[], None]:
        """The update of the sense state at the end of a step, as a function to time."""
        state, key = self.state, jax.random.key(0)
        variables = {"params": state.params, **state.collections}

        def observe(variables: Any, batch: Any) -> Any:
            rngs = {"dropout": key}
            return self.objective.loss(variables, batch, step=0, rngs=rngs, train=True)[1]

        observed = jax.jit(observe)(variables, self.batches[0])
        # The tables are donated, as in the step, so that the update writes in place.
        update = jax.jit(self.objective.update, donate_argnums=0)
        held = [jax.tree.map(lambda x: x.copy(), variables)]

        def run() -> None:
            held[0] = update(held[0], observed, state.step)
            jax.block_until_ready(held[0])

        return run


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="saelmo")
    parser.add_argument("--twin", default="elmo")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="for both configs"
    )
    parser.add_argument("--steps", type=int, default=50, help="steps of a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall")
    arguments = parser.parse_args()
    clock = CLOCKS[arguments.clock]
    allocator.keep_freed_memory()

    def seconds(run: Callable[[], Any]) -> float:
        begin = clock()
        run()
        return clock() - begin

    with tempfile.TemporaryDirectory() as workdir:
        both = [Model(name, arguments.set, workdir) for name in (arguments.config, arguments.twin)]
        for model in both:
            model.run(5)
        times = [
            [seconds(lambda: model.run(arguments.steps)) / arguments.steps for model in both]
            for _ in range(arguments.rounds)
        ]
        update = both[0].update()
        update()
        updates = [seconds(update) for _ in range(arguments.rounds * 5)]
    aware, plain = (statistics.median(column) for column in zip(*times))
    ratio = statistics.median(a / b for a, b in times)
    predicted = both[0].flops / both[1].flops
    print(f"{both[0].words:,} words, {both[0].tokens:,} running words a step")
    print(f"{'':14}{'ms a step':>12}{'words/s':>12}{'GFLOP a step':>14}")
    for name, model, found in zip((arguments.config, arguments.twin), both, (aware, plain)):
        print(f"{name:14}{1e3 * found:12.1f}{model.tokens / found:12,.0f}{model.flops / 1e9:14.3f}")
    print(
        f"ratio {ratio:.2f} (rounds: {min(a / b for a, b in times):.2f} to "
        f"{max(a / b for a, b in times):.2f}); FLOPs predict {predicted:.2f}: "
        f"{ratio / predicted:.2f} times that\n"
        f"the update of the sense state: {1e3 * statistics.median(updates):.1f} ms, "
        f"{100 * statistics.median(updates) / aware:.1f}% of a step"
    )
    figures = {
        f"{arguments.config}, ms a step": 1e3 * aware,
        f"{arguments.twin}, ms a step": 1e3 * plain,
        **dict(spread("ratio", [a / b for a, b in times])),
        "ratio by FLOPs": predicted,
        "share of the update": statistics.median(updates) / aware,
    }
    record(figures, arguments)


if __name__ == "__main__":
    main()

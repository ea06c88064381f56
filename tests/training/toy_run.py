"""A run of seconds for the tests of training: a tiny model on made-up batches.

In a test: `toy = runpy.run_path(...)`. As a program, `python toy_run.py WORKDIR '{"steps": 8}'`
trains and writes WORKDIR/final.npz (every array of the state, by path) and WORKDIR/result.json.
"""

import dataclasses
import json
import os
import sys
import time

from absl import logging
import jax
import numpy as np

from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.sharded_call import ShardedCall
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.mlm import MlmEvaluator
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.options.section import Count, option
from clwe_jax.options.training import CheckpointOptions, MeshOptions, TrainOptions
from clwe_jax.text.dictionary.label_table import LabelTable
from clwe_jax.training import optim, partition, train
from clwe_jax.types import piece_shapes

VOCAB, PADDED, LENGTH, ROWS = 60, 64, 12, 8
ENTRIES = 6


class Source:
    """Batch k is a function of k: sentences that count, from a random start, some pieces masked."""

    def __init__(self, host=0, hosts=1, rows=ROWS, slow=0.0, entries=False):
        self.place, self.rows, self.slow, self.entries = 0, rows, slow, entries
        self._mine = slice(host * rows // hosts, (host + 1) * rows // hosts)

    def __iter__(self):
        return self

    def __next__(self):
        time.sleep(self.slow)
        r = np.random.RandomState(self.place)
        self.place += 1
        shape = (self.rows, LENGTH)
        targets = 5 + (r.randint(0, 50, (self.rows, 1)) + np.arange(LENGTH)) % 50
        masked = r.rand(*shape) < 0.2
        masked &= np.cumsum(masked, 1) <= 4
        language = np.broadcast_to(r.randint(0, 3, (self.rows, 1)), shape)
        batch = dict(
            inputs=np.where(masked, 4, targets),
            targets=targets,
            loss_weights=masked,
            positions=np.broadcast_to(np.arange(LENGTH), shape),
            segment_ids=np.ones(shape),
            language_ids=language,
            source_language_ids=language,
            entries=np.where(masked, 1 + targets % ENTRIES, 0),
        )
        shapes = piece_shapes(*shape, self.entries)
        return {key: batch[key][self._mine].astype(x.dtype) for key, x in shapes.items()}

    def get_state(self):
        return str(self.place).encode()

    def set_state(self, state):
        self.place = int(state)


def labels():
    """A table of `ENTRIES` entries with up to four labels each."""
    r = np.random.RandomState(0)
    splits = np.concatenate([[0], np.cumsum(r.randint(1, 5, ENTRIES))]).astype(np.int32)
    pieces = r.randint(5, VOCAB, splits[-1]).astype(np.int32)
    languages = (pieces % 3).astype(np.int32)
    members = np.arange(VOCAB)[:, None] % 3 == np.arange(3)
    weights = r.rand(splits[-1]).astype(np.float32)
    return LabelTable(splits, pieces, languages, weights, members)


def objective(labels=None, **model):
    sizes = dict(layers=1, width=16, heads=2, mlp_dim=32, dropout=0.1)
    backbone = Transformer(TransformerOptions(**{**sizes, **model}), PADDED, 3, LENGTH)
    return MlmObjective(model=backbone, vocab_size=VOCAB, max_predictions=4, label_table=labels)


@dataclasses.dataclass(frozen=True)
class Steps(TrainOptions):
    """Options of a small training, which may end before its first step."""

    steps: Count = option(8, "")
    batch_size: int = option(ROWS, "")
    log_every_steps: int = option(2, "")
    max_skipped_in_row: int = option(3, "")


def fit(workdir, source=None, mesh=None, checkpoint=None, model=None, optimizer=None, **options):
    """`train.fit` with everything small; options override `config.train` or go to `fit`."""
    known = {field.name for field in dataclasses.fields(TrainOptions)}
    settings = {key: options.pop(key) for key in list(options) if key in known}
    given = dict(
        objective=objective(**(model or {})),
        optimizer=optim.Optimizer(
            **{**dict(name="lamb", learning_rate=0.02, warmup_steps=2), **(optimizer or {})}
        ),
        source=source or Source(jax.process_index(), jax.process_count()),
        workdir=str(workdir),
    )
    fitting = train.FitOptions(
        Steps(**settings),
        MeshOptions(**(mesh or {})),
        CheckpointOptions(**{"every_steps": 3, **(checkpoint or {})}),
        seed=0,
    )
    return train.fit(fitting, **{**given, **options})


class HeldOut:
    """Held-out loss of batches that each host has some rows of, and an encoding.

    Raises AssertionError where a device holds more than `limit` bytes of an array that is as large
    as the table of pieces, the evaluators' own copies included.
    """

    every_steps = 4

    def __init__(self, objective, host=0, hosts=1, limit=0):
        source = Source(host, hosts)
        source.set_state(b"1000000")
        context = Context(languages=("en",), heldout={"en": [next(source), next(source)]})
        self._mlm, self._objective, self._limit = MlmEvaluator(context=context), objective, limit
        self._text = dict(next(Source()))  # the same on every host
        self._encode = ShardedCall(lambda v, batch: objective.encode(v, batch).last)

    def run(self, variables, step):
        yield from self._mlm.run(ModelEncoder(self._objective, None, variables))
        encoded = np.asarray(self._encode(variables, self._text))
        yield "eval/encoded", float(np.abs(encoded).mean())
        table = variables["params"]["backbone"]["token_embedding"]
        yield "eval/table_bytes", table.nbytes
        if self._limit:
            for array in jax.live_arrays():
                if array.shape == table.shape:
                    held = max(shard.data.nbytes for shard in array.addressable_shards)
                    assert held <= self._limit, f"{held} bytes of a table on one device"


def arrays(state):
    """Every array of a state by its path, as NumPy, gathered from all devices of this process."""
    leaves = jax.tree_util.tree_flatten_with_path(state)[0]
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def main():
    workdir, options = sys.argv[1], json.loads(sys.argv[2])
    logging.set_verbosity(logging.INFO)
    coordinator = options.pop("coordinator", None)
    if coordinator:
        jax.distributed.initialize(
            coordinator, num_processes=2, process_id=int(os.environ["TOY_PROCESS"])
        )
    slow, limit = options.pop("slow", 0.0), options.pop("limit", 0)
    host, hosts = partition.row_share(partition.make_mesh(MeshOptions(**options.get("mesh", {}))))
    evaluators = [HeldOut(objective(), host, hosts, limit)]
    result = fit(workdir, source=Source(host, hosts, slow=slow), evaluators=evaluators, **options)
    everywhere = jax.sharding.NamedSharding(
        jax.tree.leaves(result.state.params)[0].sharding.mesh, jax.sharding.PartitionSpec()
    )
    state = jax.jit(lambda state: state, out_shardings=everywhere)(result.state)
    if jax.process_index() == 0:
        np.savez(os.path.join(workdir, "final.npz"), **arrays(state))
        summary = dict(step=result.step, finished=result.finished, train=result.train)
        with open(os.path.join(workdir, "result.json"), "w", encoding="utf-8") as file:
            json.dump(summary, file)


if __name__ == "__main__":
    main()

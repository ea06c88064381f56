"""Tiny sense-aware models and made-up batches for them.

As a program, on 8 simulated devices, prints how much a step's result depends on the mesh, as JSON.
"""

import dataclasses
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

from clwe_jax.models.bilm import BiLmModel
from clwe_jax.models.senses import selection, translation
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.bilm import BiLmObjective
from clwe_jax.objectives.sense_mlm import SenseMlmObjective
from clwe_jax.options.models import BiLmOptions, TransformerOptions
from clwe_jax.options.senses import SenseOptions
from clwe_jax.options.training import MeshOptions
from clwe_jax.training import optim, partition, train_state
from clwe_jax.training.step import make_step
from clwe_jax.types import Sums

WORDS, PADDED, ROWS, LENGTH, DISTINCT, FRAME = 30, 32, 8, 6, 16, 7
FIRST = 370  # seed of batch 0, such that no sense of the first batches is chosen by a near tie
# Much noise: centers are far apart, and rounding does not decide which sense a word has.
SENSES = SenseOptions(
    senses=3,
    projected=3,
    queue=64,
    refresh_every=2,
    warmup_steps=2,
    prune_every=0,
    alpha=0.1,
    noise=3.0,
)
ONE = SenseOptions(senses=1)


def translations():
    """Word k translates to k + 10 in the second language; some words also to k + 11 or themselves,
    the first five to nothing, 20 only to itself. Two words have a translation in the first one."""
    table = np.full((WORDS, 2, 2), -1, np.int32)
    table[5:15, 1, 0] = np.arange(15, 25)
    table[8:12, 1, 1] = np.arange(19, 23)
    table[12:14, 1, 1] = table[12:14, 1, 0]
    table[12:14, 1, 0] = np.arange(12, 14)
    table[20, 1, 0] = 20
    table[5:7, 0, 0] = np.arange(27, 29)
    return table


def languages():
    """The languages of a batch's words: two rows are in the second language."""
    return np.repeat(np.arange(ROWS) >= ROWS - 2, LENGTH).reshape(ROWS, LENGTH).astype(np.int32)


def bilm(senses=SENSES, dropout=0.0, **options):
    sizes = BiLmOptions(
        width=6,
        layers=2,
        cells=8,
        dropout=dropout,
        character_dim=4,
        filters=((1, 3), (2, 3)),
        highways=1,
    )
    return BiLmObjective(
        model=BiLmModel(sizes),
        vocab_size=WORDS,
        padded_vocab_size=PADDED,
        senses=senses,
        **{"translations": translations(), **options},
    )


def context(senses=SENSES, **options):
    """Context senses."""
    return bilm(senses, sense_input="context", backward="window", **options)


def sense_mlm(senses=SENSES, dropout=0.0, **options):
    sizes = TransformerOptions(
        layers=1,
        width=8,
        heads=2,
        mlp_dim=16,
        dropout=dropout,
        language_embeddings=False,
        condition_on_language=False,
    )
    return SenseMlmObjective(
        model=Transformer(sizes, PADDED, 1, LENGTH),
        vocab_size=WORDS,
        padded_vocab_size=PADDED,
        max_predictions=3,
        senses=senses,
        **{"translations": translations(), **options},
    )


def bilm_batch(seed=0):
    r = np.random.RandomState(FIRST + seed)
    text = r.randint(3, WORDS, (ROWS, LENGTH + 1)).astype(np.int32)
    back = r.randint(3, WORDS, (ROWS, LENGTH + 1)).astype(np.int32)
    characters = np.random.RandomState(7).randint(0, 260, (DISTINCT, FRAME)).astype(np.int32)
    weights = (r.rand(2, ROWS, LENGTH) < 0.8).astype(np.float32)
    return {
        "words": text[:, :-1],
        "target_forward": text[:, 1:],
        "words_reverse": back[:, :-1],
        "target_reverse": back[:, 1:],
        "weights_forward": weights[0],
        "weights_reverse": weights[1],
        "loss_weights": np.ones((ROWS, LENGTH), np.float32),
        "reset": np.zeros((ROWS, LENGTH), np.float32),
        "language_ids": languages(),
        "spelling": text[:, :-1] % DISTINCT,
        "spelling_reverse": back[:, :-1] % DISTINCT,
        "characters": characters,
    }


def window_batch(seed=0):
    """One stream, that the backward model reads from the window's end."""
    batch = bilm_batch(seed)
    before = np.roll(batch["words"], 1, axis=1)
    batch["target_backward"], batch["weights_backward"] = before, batch["weights_reverse"]
    return {name: x for name, x in batch.items() if not name.endswith("_reverse")}


def mlm_batch(seed=0):
    r = np.random.RandomState(FIRST + seed)
    targets = r.randint(5, WORDS, (ROWS, LENGTH)).astype(np.int32)
    masked = r.rand(ROWS, LENGTH) < 0.3
    masked &= np.cumsum(masked, 1) <= 3
    zeros = np.zeros((ROWS, LENGTH), np.int32)
    return {
        "inputs": np.where(masked, 4, targets).astype(np.int32),
        "targets": targets,
        "loss_weights": masked.astype(np.float32),
        "positions": np.tile(np.arange(LENGTH, dtype=np.int32), (ROWS, 1)),
        "segment_ids": zeros + 1,
        "language_ids": languages(),
        "source_language_ids": zeros,
    }


MARGIN = 1e-3  # far more than rounding changes a cosine by


def near_ties(cosines, weights):
    """How many of [N, K, S] have a best sense less than MARGIN ahead of the second best."""
    best = jax.lax.top_k(cosines.reshape(len(cosines), -1), 2)[0]
    near = (best[:, 0] - best[:, 1] < MARGIN) & (weights > 0)
    return Sums(near.sum().astype(jnp.float32), jnp.float32(1.0))


def counting(objective):
    """The objective with the metric 'near_ties', of assigned senses and of chosen translations."""

    class Counting(type(objective)):
        def loss(self, variables, batch, **options):
            sums, observed = super().loss(variables, batch, **options)
            found = {name: x for name, x in observed.items() if name in variables.get("senses", {})}
            if not found and "senses" in variables:
                found = dict.fromkeys(variables["senses"], observed)
            ties = Sums(jnp.float32(0.0), jnp.float32(0.0))
            for name, seen in found.items():
                state = variables["senses"][name]
                words, h, weights, languages = (
                    seen[key].reshape(-1, *seen[key].shape[2:])
                    for key in ("words", "h", "weights", "languages")
                )
                ties += near_ties(selection.cosines(state, words[:, None], h), weights)
                if "translations" in variables:
                    into = 1 - languages
                    rows = variables["translations"]["ids"][words, into]
                    rows = jnp.where(rows == words[:, None], -1, rows)
                    cosines = translation.cosines(state, self.senses, rows, into, h)
                    ties += near_ties(cosines, weights)
            return {**sums, "near_ties": ties}, observed

    fields = {x.name: getattr(objective, x.name) for x in dataclasses.fields(objective)}
    return Counting(**fields)


def run(objective, make_batch, steps=5, microbatches=1, mesh_sizes=None, devices=1):
    """The states after each of some steps of Adam, from the first one's on.

    No sense was chosen by less than MARGIN: else rounding, which depends on the cut of a batch, the
    mesh and the machine, could decide it.
    """
    objective = counting(objective)
    mesh = partition.make_mesh(MeshOptions(**mesh_sizes or {}), jax.devices()[:devices])
    tx = optim.Optimizer(name="adam", learning_rate=0.01, clip=0.0).build(steps)
    state = train_state.start(objective, tx, make_batch(), mesh, 0)
    step = make_step(objective, tx, lambda step: jnp.float32(0.01), microbatches)
    states = []
    with partition.use(mesh):
        step = jax.jit(step)
        for number in range(steps):
            state, metrics = step(state, partition.global_batch(make_batch(number), mesh))
            ties = int(metrics["near_ties"].value)
            assert not ties, f"{ties} near ties in step {number}: take another FIRST"
            states.append(jax.device_get(state))
    return states


def difference(a, b):
    """The largest difference of two states, relative to each array's largest value."""
    worst = 0.0
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
        worst = max(worst, float(np.abs(x - y).max(initial=0) / (np.abs(y).max(initial=0) + 1e-6)))
    return worst


def main(kinds):
    """The kinds on 2 devices, and on 8 with microbatches; most of the time is compilation."""
    two, eight = (dict(data=2), 2, 1), (dict(data=2, fsdp=2, tensor=2), 8, 2)
    tensor, both_axes = (dict(tensor=2), 2, 1), (dict(data=2, tensor=2), 4, 1)
    found = {}
    for name, objective, batch, cuts in (
        ("bilm", bilm(translation_share=0.5), bilm_batch, (two,)),
        ("context", context(translation_share=0.5), window_batch, (tensor,)),
        ("sampled", bilm(translation_share=0.5, negatives=8), bilm_batch, (both_axes,)),
        ("sense_mlm", sense_mlm(translation_share=0.5), mlm_batch, (eight,)),
    ):
        if name not in kinds:
            continue
        alone = run(objective, batch)[-1]
        for sizes, devices, parts in cuts:
            other = run(objective, batch, 5, parts, sizes, devices)[-1]
            found[f"{name}, {devices} devices, {parts} parts"] = difference(
                (other.params, other.collections), (alone.params, alone.collections)
            )
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1:])

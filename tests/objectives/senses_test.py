"""Objectives over senses: brute force, independence of the batch's cut, streams, translations."""

import dataclasses
import functools
import itertools
import json
import pathlib
import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options
from clwe_jax.objectives import sense_loss
from clwe_jax.training import build, partition

HERE = pathlib.Path(__file__).parent


class Toy:
    """tests/objectives/toy_words.py, by attribute."""

    def __init__(self):
        self.__dict__.update(runpy.run_path(str(HERE / "toy_words.py")))


toy = Toy()
KINDS = [
    ("bilm", toy.bilm, toy.bilm_batch),
    ("context", toy.context, toy.window_batch),
    ("sense_mlm", toy.sense_mlm, toy.mlm_batch),
]
each_kind = pytest.mark.parametrize(
    "make, make_batch", [kind[1:] for kind in KINDS], ids=[kind[0] for kind in KINDS]
)


@functools.cache
def states(kind, microbatches=1):
    """The toy's states after each of five steps."""
    _, make, make_batch = next(each for each in KINDS if each[0] == kind)
    return toy.run(make(translation_share=0.5), make_batch, microbatches=microbatches)


def variables_of(objective, batch, seed=0):
    return partition.unbox(initial(objective)(jax.random.key(seed), batch))


# Compiled whole: to compile their operations one by one takes seconds.
@functools.cache
def initial(objective):
    """`objective.init`."""
    return jax.jit(objective.init)


@functools.cache
def program(objective, train):
    """`objective.loss`."""
    rngs = {"dropout": jax.random.key(0)} if train else None
    return jax.jit(functools.partial(objective.loss, step=0, rngs=rngs, train=train))


def loss_of(objective, variables, batch, train=False):
    return program(objective, train)(variables, batch)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def numpy_assigned(state, word, h):
    """Algorithm 1 for one occurrence."""
    slots = np.flatnonzero(state.enabled[word])
    return clear_best([(cosine(state, word, slot, h), slot) for slot in slots])


def clear_best(choices):
    """The choice with the largest cosine, of (cosine, choice), by a margin beyond rounding."""
    cosines = sorted(cosine for cosine, _ in choices)
    assert len(cosines) == 1 or cosines[-1] - cosines[-2] > 1e-4, "a near tie: take another seed"
    return max(choices, key=lambda choice: choice[0])[1]


def bilm_expected(objective, variables, batch):
    """Loss of both directions, Eqs. 4 and 7, word by word."""
    found = objective.model.apply(
        {"params": variables["params"]["model"]}, batch, variables["rows"], False
    )
    total = weight = 0.0
    streams = [("words", "weights_forward"), ("words_reverse", "weights_reverse")]
    if objective.backward == "window":
        streams[1] = "words", "weights_backward"
    layers = np.asarray([found.forward, found.backward], np.float64)
    for number, (words, weights) in enumerate(streams):
        found, hidden = variables["senses"], layers[number]
        state = found["both"] if "both" in found else found[("forward", "backward")[number]]
        table = np.asarray(variables["params"]["sense_table"][number], np.float64)
        bias = np.asarray(variables["params"]["sense_bias"][number], np.float64)
        allowed = np.asarray(state.enabled).copy()
        allowed[toy.WORDS :] = False
        # A stream of its own is read from left to right by the backward model, too.
        next_one = -1 if number and objective.backward == "window" else 1
        for row in range(toy.ROWS):
            for place in range(toy.LENGTH):
                there = place + next_one
                ends = int(objective.sense_input == "context")
                if not ends <= there < toy.LENGTH - ends:
                    continue
                scores = np.where(allowed, table @ hidden[row, place] + bias, -np.inf)
                logs = log_softmax(scores.reshape(-1)).reshape(scores.shape)
                word, own = batch[words][row, there], hidden[row, there]
                if objective.sense_input == "context":
                    own = np.concatenate([layers[0, row, there - 1], layers[1, row, there + 1]])
                loss = -logs[word, numpy_assigned(state, word, own)]
                translated = []
                for into in range(objective.translations.shape[1]):
                    others = [t for t in objective.translations[word, into] if t not in (-1, word)]
                    if into == batch["language_ids"][row, there] or not others:
                        continue
                    choices = [
                        (cosine(state, other, slot, own), (other, slot))
                        for other in others
                        for slot in spoken(objective, state, other, into)
                    ]
                    translated.append(-logs[clear_best(choices)])
                if translated:
                    share = objective.translation_share
                    loss = (1 - share) * loss + share * np.mean(translated)
                total += batch[weights][row, place] * loss
                weight += batch[weights][row, place]
    return total, weight


def spoken(objective, state, word, into):
    """The slots of a word that a language uses; all of them where it uses none."""
    slots = np.flatnonzero(state.enabled[word])
    uses = np.asarray(state.counts)[word, slots, into]
    return slots[uses >= objective.senses.translated_share * uses.sum()]


def cosine(state, word, slot, h):
    p = np.asarray(state.projection, np.float64)
    center = np.asarray(state.centers[word, slot], np.float64) @ p
    return center @ (h @ p) / (np.linalg.norm(center) * np.linalg.norm(h @ p))


@pytest.mark.parametrize(
    "kind, options",
    [
        ("bilm", dict(translation_share=0.0)),
        ("bilm", dict(translation_share=0.3)),
        ("bilm", dict(translation_share=0.5)),
        ("bilm", dict(translation_share=0.5, backward="window")),
        ("context", dict(translation_share=0.5)),
    ],
    ids=lambda x: x if isinstance(x, str) else " ".join(map(str, x.values())),
)
def test_bilm_loss_by_hand(kind, options):
    make = next(made for name, made, _ in KINDS if name == kind)
    objective = make(**options)
    batch = (toy.window_batch if objective.backward == "window" else toy.bilm_batch)(3)
    # After the warm-up, so that words have several senses.
    variables = jax.tree.map(jnp.asarray, states(kind)[3].variables)
    for state in variables["senses"].values():
        assert np.asarray(state.enabled)[0].sum() == 3
    sums, _ = loss_of(objective, variables, batch, train=True)
    total, weight = bilm_expected(objective, variables, batch)
    np.testing.assert_allclose(sums["loss"].value, total, rtol=1e-5)
    np.testing.assert_allclose(sums["loss"].weight, weight)


def three_languages():
    """Of three languages the second has words 5-14, the third 8-11 as well."""
    table = np.concatenate([toy.translations(), np.full((toy.WORDS, 1, 2), -1, np.int32)], 1)
    table[8:12, 2, 0], table[8:12, 1, 1] = table[8:12, 1, 1], -1
    return table


def test_bilm_loss_of_three_languages_by_hand():
    objective = toy.bilm(translation_share=0.5, translations=three_languages())
    batch = toy.bilm_batch(3)
    batch["language_ids"] = np.int32(np.arange(toy.ROWS * toy.LENGTH) % 3).reshape(toy.ROWS, -1)
    variables = jax.tree.map(jnp.asarray, states("bilm")[3].variables)
    for name, state in variables["senses"].items():
        counts = jnp.pad(state.counts, ((0, 0), (0, 0), (0, 1)))
        variables["senses"][name] = state.replace(counts=counts)
    ids = np.pad(
        objective.translations, ((0, toy.PADDED - toy.WORDS), (0, 0), (0, 0)), constant_values=-1
    )
    variables["translations"] = {"ids": jnp.array(ids)}
    sums, _ = loss_of(objective, variables, batch, train=True)
    total, _ = bilm_expected(objective, variables, batch)
    np.testing.assert_allclose(sums["loss"].value, total, rtol=1e-5)


def test_evaluation_is_of_words_not_of_senses():
    objective, batch = toy.sense_mlm(), toy.mlm_batch(3)
    variables = states("sense_mlm")[3].variables
    sums, _ = loss_of(objective, variables, batch)
    hidden = np.asarray(objective.encode(variables, batch).last, np.float64)
    table = np.asarray(variables["params"]["sense_table"], np.float64)
    bias = np.asarray(variables["params"]["sense_bias"], np.float64)
    scores = np.einsum("bld,vsd->blvs", hidden, table) + bias
    scores = np.where(np.asarray(variables["senses"]["masked"].enabled), scores, -np.inf)
    scores[:, :, toy.WORDS :] = -np.inf
    shape = scores.shape
    probabilities = np.exp(log_softmax(scores.reshape(*shape[:2], -1))).reshape(shape).sum(-1)
    picked = np.take_along_axis(probabilities, batch["targets"][..., None], -1)[..., 0]
    expected = -(np.log(picked) * batch["loss_weights"]).sum()
    np.testing.assert_allclose(sums["loss"].value, expected, rtol=1e-5)
    best = probabilities.argmax(-1) == batch["targets"]
    np.testing.assert_allclose(sums["accuracy"].value, (best * batch["loss_weights"]).sum())


@each_kind
def test_one_sense_is_plain_cross_entropy(make, make_batch):
    """The loss in training, over one sense a word, is that of the words."""
    objective, batch = make(senses=toy.ONE), make_batch()
    variables = variables_of(objective, batch)
    assert "senses" not in variables
    train, _ = loss_of(objective, variables, batch, train=True)
    words, _ = loss_of(objective, variables, batch)
    np.testing.assert_allclose(train["loss"].mean(), words["loss"].mean(), rtol=1e-5)


@pytest.mark.parametrize(
    "kind, microbatches",
    [
        pytest.param("bilm", 2, marks=pytest.mark.slow),
        ("bilm", 4),
        pytest.param("context", 4, marks=pytest.mark.slow),
        ("sense_mlm", 4),
    ],
)
def test_a_step_does_not_depend_on_microbatches(kind, microbatches):
    whole, parts = states(kind)[-1], states(kind, microbatches)[-1]
    assert toy.difference(parts, whole) < 2e-4
    for a, b in zip(
        jax.tree.leaves(parts.collections["senses"]), jax.tree.leaves(whole.collections["senses"])
    ):
        np.testing.assert_allclose(a, b, atol=2e-4, rtol=2e-4)


@each_kind
def test_with_all_words_as_negatives_a_step_is_that_of_the_softmax_over_all(make, make_batch):
    full, sampled = (make(senses=toy.ONE, negatives=n) for n in (0, toy.WORDS))
    found, wanted = (toy.run(x, make_batch, steps=3)[-1].params for x in (sampled, full))
    for params in (found, wanted):
        for name in ("sense_table", "sense_bias"):  # rows of no word
            params[name] = params[name][..., : toy.WORDS, :]
    assert toy.difference(found, wanted) < 2e-4


@pytest.mark.parametrize(
    "kinds", [("sense_mlm",), pytest.param(("bilm", "context", "sampled"), marks=pytest.mark.slow)]
)
def test_a_step_does_not_depend_on_the_mesh(run_python, kinds):
    done = run_python(HERE / "toy_words.py", *kinds, devices=8, timeout=900)
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == len(kinds) and max(found.values()) < 1e-3, found


def test_streams_go_on_from_step_to_step():
    """Two windows one after the other are one long window."""
    objective = toy.bilm(senses=toy.ONE)
    first, second = toy.bilm_batch(1), toy.bilm_batch(2)
    variables = variables_of(objective, first)
    _, seen = loss_of(objective, variables, first)
    variables = {**variables, **objective.update(variables, seen, 0)[0]}
    _, seen = loss_of(objective, variables, second)
    long = {
        key: first[key] if key == "characters" else np.concatenate([first[key], second[key]], 1)
        for key in first
    }
    start = jax.tree.map(np.zeros_like, variables["rows"])
    _, whole = loss_of(objective, {**variables, "rows": start}, long)
    for a, b in zip(jax.tree.leaves(seen["rows"]), jax.tree.leaves(whole["rows"])):
        np.testing.assert_allclose(a, b, atol=1e-5)
        assert np.abs(b).max() > 0


@pytest.mark.parametrize("kind", [kind[0] for kind in KINDS])
def test_vectors_are_seeded_when_the_warm_up_ends(kind):
    """The warm-up's vector is the first of every sense (A6)."""
    tables = [state.params["sense_table"] for state in states(kind)]
    spread = [float(np.ptp(np.asarray(tables[n]), axis=-2).max()) for n in (0, 1, 3)]
    assert spread[0] > 0.01 and spread[1] == 0.0 and spread[2] > 0.0


SPECIALS = {"[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "[PAD]": 3, "[MASK]": 4}


@pytest.mark.parametrize("negatives", [0, 9, toy.WORDS])
@each_kind
def test_no_special_piece_that_is_never_a_target_is_scored_or_drawn(make, make_batch, negatives):
    """A masked language model predicts no `<S>` and no `</S>`; a biLM predicts both."""
    objective = make(senses=toy.ONE, negatives=negatives, specials=SPECIALS)
    batch, never = make_batch(), [0, 1, 3, 4] if make is toy.sense_mlm else [3, 4]
    for name, x in batch.items():
        if name.startswith("target"):
            weights = batch[name.replace("target_", "weights_").replace("targets", "loss_weights")]
            batch[name] = np.where(weights > 0, np.maximum(x, 5), 3)  # padding has weight 0
    variables = variables_of(objective, batch)
    loud = jax.tree.map(jnp.asarray, variables)
    bias = loud["params"]["sense_bias"]
    loud["params"] = {**loud["params"], "sense_bias": bias.at[..., np.array(never), :].set(50.0)}
    for train in (True, False):
        quiet, found = (
            loss_of(objective, x, batch, train)[0]["loss"].mean() for x in (variables, loud)
        )
        assert np.isfinite(quiet) and quiet == found


@pytest.mark.parametrize("init", ["seeded", "kmeans"])
@each_kind
def test_the_senses_of_each_run_and_direction_start_elsewhere(make, make_batch, init):
    """Everything else is equal: the words, their representations and the state."""
    senses = dataclasses.replace(toy.SENSES, init=init, sample=4)
    batch, centers = make_batch(), {}
    for seed in (0, 1):
        objective = make(senses, seed=seed)
        variables = variables_of(objective, batch)
        _, seen = loss_of(objective, variables, batch)
        first = next(iter(objective.directions))
        if first != "masked":
            seen = {**seen, **dict.fromkeys(objective.directions, seen[first])}
        for name in objective.directions:
            variables["senses"][name] = variables["senses"][first]
        after, _ = objective.update(variables, seen, senses.warmup_steps - 1)
        for name, state in after["senses"].items():
            assert not state.warm
            centers[seed, name] = np.asarray(state.centers)[: toy.WORDS, -senses.senses :]
    for one, other in itertools.combinations(centers.values(), 2):
        apart = np.abs(one - other).max((1, 2))
        assert (apart > 1e-3).all() if init == "seeded" else (apart > 1e-3).any()


def test_objectives_get_the_seed_and_the_special_pieces():
    run = options.parse(
        dict(
            seed=7,
            data=dict(languages="en"),
            model=dict(layers=1, width=8, heads=2, mlp_dim=8),
            objective=dict(name="sense_mlm", senses=dict(senses=2, projected=2)),
        )
    )
    made = build.build_objective(run, 30, 32)
    assert (made.seed, made.senses, made.model.options) == (7, run.objective.senses, run.model)
    assert build.build_objective(run, 30, 32, None, SPECIALS).specials == SPECIALS


@each_kind
def test_a_model_and_its_twin_start_alike(make, make_batch):
    batch = make_batch()
    own, twin = (variables_of(made, batch)["params"] for made in (make(), make(senses=toy.ONE)))
    for a, b in zip(jax.tree.leaves(own["model"]), jax.tree.leaves(twin["model"]), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(own["sense_table"][..., :1, :], twin["sense_table"])
    slots = np.moveaxis(np.asarray(own["sense_table"]), -2, 0).reshape(toy.SENSES.slots, -1)
    assert np.abs(np.corrcoef(slots) - np.eye(len(slots))).max() < 0.2
    assert slots.std() == pytest.approx(np.asarray(twin["sense_table"]).std(), rel=0.1)


@each_kind
def test_to_seed_the_senses_changes_no_prediction(make, make_batch):
    """With its vector a sense takes over its bias and its moments."""
    objective, batch = make(), make_batch()
    kind = next(name for name, made, _ in KINDS if made is make)
    state = states(kind)[0]
    variables = jax.tree.map(jnp.asarray, state.variables)
    bias = np.random.RandomState(0).randn(*state.params["sense_bias"].shape)
    variables["params"] = {**variables["params"], "sense_bias": jnp.float32(bias)}
    moments = jax.tree.map(
        lambda x: np.float32(np.random.RandomState(1).randn(*x.shape)), (state.params, state.params)
    )
    before, seen = loss_of(objective, variables, batch)
    last = objective.senses.warmup_steps - 1
    changed, copied = objective.update(variables, seen, last)
    after = {**variables, **changed, "params": copied(variables["params"])}
    assert not any(found.warm for found in after["senses"].values())
    of_all, _ = loss_of(objective, {**after, "rows": variables.get("rows")}, batch)
    np.testing.assert_allclose(of_all["loss"].value, before["loss"].value, rtol=1e-5)
    for old, new in zip(moments, map(copied, moments), strict=True):
        for name, axis in (("sense_table", -2), ("sense_bias", -1)):
            first = np.take(old[name], [0], axis)
            np.testing.assert_array_equal(new[name], np.broadcast_to(first, old[name].shape))
        assert jax.tree.all(jax.tree.map(np.array_equal, new["model"], old["model"]))


@each_kind
def test_a_share_of_one_trains_the_translation_alone(make, make_batch):
    objective = make(senses=toy.ONE, translation_share=1.0)
    batch = make_batch()
    batch["language_ids"] = np.zeros_like(batch["language_ids"])
    variables = variables_of(objective, batch)

    def loss(bias):
        params = {**variables["params"], "sense_bias": bias}
        rng = {"dropout": jax.random.key(0)}
        return objective.loss({**variables, "params": params}, batch, step=0, rngs=rng, train=True)[
            0
        ]["loss"].value

    bias = variables["params"]["sense_bias"]
    raised = np.asarray(jax.grad(loss)(bias)).reshape(-1, toy.PADDED) < 0
    labels = set(np.flatnonzero(raised.any(0)))
    rows = [[t for t in row if t not in (-1, n)] for n, row in enumerate(toy.translations()[:, 1])]
    translated = {int(row[0]) for row in rows if row}
    untranslated = set(range(toy.WORDS)) - set(range(5, 15))
    assert labels <= translated | untranslated and labels & translated
    assert not labels & (set(range(5, 15)) - translated)


def test_each_other_language_that_has_a_word_weighs_the_same():
    table = three_languages()
    loss = sense_loss.SenseLoss(toy.sense_mlm(senses=toy.ONE, translation_share=0.6), toy.WORDS)
    for own in range(3):
        words = jnp.arange(toy.WORDS)
        languages = jnp.full(toy.WORDS, own)
        nothing = jnp.zeros((toy.WORDS, 1))
        seen = sense_loss.Occurrences(words, nothing, nothing, words, languages)
        labels = loss.choose(seen, (toy.PADDED, 1), None, jnp.array(table)).labels
        for word in range(toy.WORDS):
            rows = [[x for x in row if x not in (-1, word)] for row in table[word]]
            others = [row[0] for n, row in enumerate(rows) if row and n != own]
            expected = (
                {word: 0.4, **dict.fromkeys(others, 0.6 / len(others))} if others else {word: 1}
            )
            found = {
                int(x): float(w)
                for x, w in zip(labels.words[:, word], labels.weights[:, word])
                if w
            }
            assert found == pytest.approx(expected)


@each_kind
def test_a_language_without_a_word_is_as_good_as_none(make, make_batch):
    empty = np.insert(toy.translations(), 1, -1, axis=1)
    batch, found = make_batch(), []
    for translations, languages in ((toy.translations(), [0, 1]), (empty, [0, 2])):
        objective = make(translation_share=0.5, translations=translations)
        variables = variables_of(objective, batch)
        rng = {"dropout": jax.random.key(0)}
        given = {**batch, "language_ids": np.array(languages)[batch["language_ids"]]}
        found.append(objective.loss(variables, given, step=0, rngs=rng, train=True)[0])
    for name, sums in found[0].items():
        np.testing.assert_allclose(found[1][name].value, sums.value, rtol=1e-6)


@each_kind
def test_sampled_negatives_tend_to_all_words(make, make_batch):
    batch = make_batch()
    full = make(senses=toy.ONE)
    variables = variables_of(full, batch)
    expected = float(loss_of(full, variables, batch, train=True)[0]["loss"].mean())

    def apart(negatives):
        sampled = make(senses=toy.ONE, negatives=negatives)
        program = jax.jit(
            lambda key: sampled.loss(variables, batch, step=0, rngs={"dropout": key})[0]["loss"]
        )
        found = [float(program(jax.random.key(n)).mean()) for n in range(50)]
        assert np.std(found) > 0
        return abs(np.mean(found) - expected) / expected

    assert apart(toy.WORDS - 1) < 0.05 < apart(5)


def test_context_senses_are_selected_by_what_predicts_the_word():
    """As in evaluation: one model has read the words before, the other the words after."""
    objective, batch = toy.context(), toy.window_batch(3)
    variables = jax.tree.map(jnp.asarray, states("context")[3].variables)
    width = objective.model.options.width
    assert set(variables["senses"]) == {"both"} == set(objective.directions)
    assert objective.directions["both"] == slice(0, 2 * width)
    alone = {name: x for name, x in variables.items() if name != "rows"}

    def inputs(changed=None):
        now = {**batch, "spelling": batch["spelling"].copy()}
        if changed is not None:
            now["spelling"][:, changed] = (now["spelling"][:, changed] + 1) % toy.DISTINCT
        seen = objective.loss(alone, now, step=0, rngs={"dropout": jax.random.key(0)}, train=True)[
            1
        ]["both"]
        assert seen["h"].shape == (toy.ROWS, toy.LENGTH - 2, 2 * width)
        np.testing.assert_array_equal(seen["words"], batch["words"][:, 1:-1])
        # The model's own sentences, framed, are such windows.
        asked = objective.encode_for_senses(alone, now).last[:, 1:-1]
        np.testing.assert_allclose(asked, seen["h"], atol=1e-6)
        return np.asarray(seen["h"])

    place, before = 3, inputs()
    changed = np.abs(inputs(place) - before).max(0) > 0
    reads = np.zeros((toy.LENGTH, 2 * width), bool)
    reads[place + 1 :, :width], reads[:place, width:] = True, True
    np.testing.assert_array_equal(changed, reads[1:-1])
    vectors = np.asarray(objective.sense_vectors(variables, "both", np.array([7])))
    table = np.asarray(variables["params"]["sense_table"])
    np.testing.assert_array_equal(vectors[0, 1], np.concatenate(table[:, 7, 1]))


def test_bad_options():
    with pytest.raises(ValueError, match="sense_input='both': must be one of own, context"):
        toy.bilm(sense_input="both")
    bilm = dict(name="bilm")
    run = options.parse(dict(task=bilm, objective=dict(bilm, sense_input="context")))
    with pytest.raises(ValueError, match="config.task.backward=window"):
        run.objective.check(run, "config.objective")
    context, batch = toy.context(), toy.window_batch()
    variables = variables_of(context, batch)
    short = {name: x if name == "characters" else x[:, :2] for name, x in batch.items()}
    with pytest.raises(ValueError, match="sequence_length=2.*at least 3"):
        context.loss(variables, short, step=0, train=False)
    with pytest.raises(ValueError, match="translation_share=1.5"):
        toy.bilm(translation_share=1.5)
    with pytest.raises(ValueError, match="needs a dictionary"):
        toy.sense_mlm().__class__(
            model=None, vocab_size=1, padded_vocab_size=1, max_predictions=1, translation_share=0.5
        )
    wide, batch = toy.bilm(senses=dataclasses.replace(toy.SENSES, projected=99)), toy.bilm_batch()
    with pytest.raises(ValueError, match="projected=99"):
        variables_of(wide, batch)

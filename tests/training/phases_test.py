"""Phases: which groups learn when, what is kept of the optimizer, and exact resumption."""

import jax
import numpy as np
import pytest

from clwe_jax.options.training import GroupOptions, TrainOptions
from clwe_jax.training import compiled_steps, optim, phases

GROUPS = {
    "table": GroupOptions(pattern="backbone/token_embedding", learning_rate=0.005),
    "head": GroupOptions(pattern="head/.*", weight_decay=0.0),
    "norms": GroupOptions(pattern="backbone/.*norm/.*", frozen=True),
}
PHASES = [
    {"steps": 4, "learn": "head"},
    {"steps": 3, "learn": "default, head"},
    {"steps": 0, "learn": "table,head"},
]
OPTIMIZER = optim.Optimizer(groups=GROUPS)


def plan(*given, steps=20, repeat=False, optimizer=OPTIMIZER):
    options = TrainOptions(steps=steps, phases=given, repeat_phases=repeat)
    return phases.from_config(options, optimizer)


def test_groups_by_step():
    found = plan(*PHASES)
    assert [found.at(step) for step in (0, 3, 4, 6, 7, 19, 999)] == [
        ("head",),
        ("head",),
        ("default", "head"),
        ("default", "head"),
        ("table", "head"),
        ("table", "head"),
        ("table", "head"),
    ]
    # The state of a checkpoint at a boundary is that of the phase that ended.
    assert [found.saved_at(step) for step in (0, 4, 5, 7)] == [
        ("head",),
        ("head",),
        ("default", "head"),
        ("default", "head"),
    ]
    assert plan().at(5) == ("default", "table", "head")
    assert plan({"steps": 0}).at(5) == ("default", "table", "head")


def test_phases_repeat():
    found = plan({"steps": 2, "learn": "table"}, {"steps": 1, "learn": "head"}, repeat=True)
    names = [found.at(step)[0] for step in range(8)]
    assert names == ["table", "table", "head"] * 2 + ["table", "table"]


@pytest.mark.parametrize(
    "given, message",
    [
        ([{"steps": 0, "learn": "tabel"}], "phases[0].learn='tabel': Did you mean 'table'?"),
        ([{"steps": 0, "learn": "norms"}], "The group 'norms' is frozen."),
        ([{"step": 3}], "config.train.phases[0] has no option 'step'. Did you mean 'steps'?"),
        ([{"steps": 0}, {"steps": 3}], "each phase needs at least one"),
        ([{"steps": 3}], "ends at step 3 of 20"),
    ],
)
def test_wrong_phases_are_answered(given, message):
    with pytest.raises(ValueError) as error:
        plan(*given)
    assert message in str(error.value)


def run(toy, workdir, source=None, steps=11, **options):
    return toy.fit(
        workdir,
        source=source,
        steps=steps,
        optimizer=dict(name="adamw", groups=GROUPS, warmup_steps=0),
        phases=options.pop("phases", PHASES),
        checkpoint=dict(every_steps=options.pop("every", 2), keep=20),
        **options,
    )


def by_group(toy, tree):
    """Group -> the arrays of `tree` (as `toy.arrays` gives them) of its parameters."""
    found = {"table": {}, "head": {}, "norms": {}, "default": {}}
    for path, value in toy.arrays(tree).items():
        names = [
            name
            for name, part in (
                ("table", "token_embedding"),
                ("head", "['head']"),
                ("norms", "norm'"),
            )
            if part in path
        ]
        found[(names or ["default"])[0]][path] = value
    return found


def moved(toy, a, b):
    """The groups of which any parameter differs."""
    ours, theirs = by_group(toy, a.params), by_group(toy, b.params)
    return {
        name
        for name in ours
        if any((ours[name][path] != theirs[name][path]).any() for path in ours[name])
    }


def short(toy, place):
    class Source(toy.Source):
        def __next__(self):
            if self.place == place:
                raise StopIteration
            return super().__next__()

    return Source()


@pytest.fixture(scope="module")
def whole(toy, tmp_path_factory):
    """steps -> the state after that many of 11 steps."""
    folder = tmp_path_factory.mktemp("whole")
    places = (1, 4, 5, 7, 8, 11)
    return {place: run(toy, folder, short(toy, place), every=0).state for place in places}


def test_only_the_groups_of_a_phase_learn(toy, whole):
    assert moved(toy, whole[1], whole[4]) == {"head"}
    assert moved(toy, whole[4], whole[7]) == {"head", "default"}
    assert moved(toy, whole[7], whole[11]) == {"head", "table"}


def counts(state):
    """Adam's count of each learning group."""
    leaves = jax.tree_util.tree_flatten_with_path(state.opt_state)[0]
    return {
        name: int(leaf)
        for name in ("default", "table", "head", "norms")
        for path, leaf in leaves
        if f"'{name}'" in jax.tree_util.keystr(path)
        and jax.tree_util.keystr(path).endswith(".inner_state[0].count")
    }


def test_a_learning_group_goes_on_and_a_new_one_starts_fresh(whole):
    assert counts(whole[4]) == {"head": 4}
    assert counts(whole[5]) == {"head": 5, "default": 1}
    assert counts(whole[8]) == {"head": 8, "table": 1}
    assert counts(whole[11]) == {"head": 11, "table": 4}


def test_schedules_extend_over_the_run(toy, whole):
    """The table begins at step 7 of 11 with the rate of that step, not with the first one's."""
    one, other = (by_group(toy, whole[step].params)["table"] for step in (7, 8))
    (change,) = (np.abs(one[path] - other[path]).max() for path in one)
    # Adam's first update is the rate (plus a decay of a hundredth of a parameter).
    assert change == pytest.approx(0.005 * (1 - 7 / 11), rel=0.05)


class Broken(Exception):
    """An error that ends a run in the middle."""


def test_interrupted_equals_uninterrupted_over_boundaries(toy, tmp_path):
    """Each stop leaves a checkpoint: at the first boundary, inside a phase, at the second one."""

    def breaking(place):
        class Source(toy.Source):
            def __next__(self):
                if self.place == place:
                    raise Broken
                return super().__next__()

        return Source()

    options = dict(microbatches=2, prefetch=0)
    whole = toy.arrays(run(toy, tmp_path / "whole", every=0, **options).state)
    for place in (4, 5, 7):  # the place of the batch that does not come
        with pytest.raises(Broken):
            run(toy, tmp_path / "parts", source=breaking(place), every=1, **options)
    parts = toy.arrays(run(toy, tmp_path / "parts", every=1, **options).state)
    assert set(parts) == set(whole)
    for path in whole:
        np.testing.assert_array_equal(parts[path], whole[path], err_msg=path)


def test_alternating_phases_compile_once_a_set(toy, tmp_path, monkeypatch):
    traced, trace = [], compiled_steps.trace_step

    def watched(*arguments):
        traced.append(arguments[-1])
        return trace(*arguments)

    monkeypatch.setattr(compiled_steps, "trace_step", watched)
    given = [{"steps": 2, "learn": "table"}, {"steps": 1, "learn": "head"}]
    result = run(toy, tmp_path, phases=given, repeat_phases=True, every=0)
    assert traced == [("table",), ("head",)]
    assert counts(result.state) == {"table": 2}  # steps 9 and 10: after a pause it starts fresh

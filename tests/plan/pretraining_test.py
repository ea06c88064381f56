"""Planning: the parsing in this process, whole plans each in a of its own."""

import importlib
import json
import pathlib
import sys

import pytest

from clwe_jax import options
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.plan import memory, slices, table

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
plans = importlib.import_module("plans")
NO_LIBTPU = "the TPU compiler is not installed: pip install -e '.[plan]'"

HLO = """
HloModule jit_step

%condition (p: (s32[], f32[8])) -> pred[] {
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] constant(3)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%inner (p: f32[4]) -> f32[4] {
  ROOT %permute = (f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%p), channel_id=9
}

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %grad = bf16[2,8]{1,0:T(8,128)(2,1)} all-reduce(%x), channel_id=1, to_apply=%add
  %done = f32[4]{0} fusion(%grad), kind=kLoop, calls=%inner
  ROOT %t = (s32[], f32[8]) tuple(%i, %done)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %w = (s32[], f32[8]) while(%init), condition=%condition, body=%body
  %v = f32[8] while(%i), condition=%x, body=%inner, backend_config={"known_trip_count":{"n":"5"}}
  %sum = (f32[100]{0}, /*index=1*/f32[]) all-reduce(%a, %b), channel_id=2, to_apply=%add
  %gather = (f32[8]{0}, f32[64]{0}) all-gather-start(%a), channel_id=3, dimensions={0}
  %gathered = f32[64]{0} all-gather-done(%gather)
  %both = ((f32[8]{0}, f32[8]{0}), (f32[64]{0}, f32[64]{0})) all-gather-start(%a, %b), dimensions={0}
  ROOT %out = f32[8] copy(%gathered)
}
"""


def test_collectives_are_counted_as_often_as_they_run():
    found = slices.collectives(HLO)
    assert found == {
        "all-reduce": slices.Traffic(1 + 3, 404 + 3 * 32),
        "all-gather": slices.Traffic(2, 256 + 512),
        "collective-permute": slices.Traffic(3 + 5, (3 + 5) * 16),
    }


def test_the_whole_run_costs_its_finish_too():
    sizes = dict.fromkeys(
        "devices chips rows_a_device microbatches parameters parameter_bytes optimizer_bytes "
        "argument_bytes temporary_bytes hbm_bytes needed_bytes flops_a_device flops flops_6nd "
        "utilisation compile_seconds".split(),
        0,
    )
    result = {**sizes, "mesh": {}, "evaluation": {}, "collectives": {}, "fits": True}
    result |= {"seconds_a_step": 1.0, "hours": 30.0, "cost": 100.0}
    config = options.with_values(PretrainRun(), {"finish.steps": 5})
    for finish, hours, cost in ((None, "30.0 h", "$100"), ({**result}, "60.0 h", "$200")):
        rows = {name: value for name, value, _ in table._rows(config, {**result, "finish": finish})}
        assert (rows["whole run"], rows["cost"]) == (hours, cost)


@pytest.mark.parametrize(
    "message, expected",
    [
        (
            "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO "
            "temporaries (10.50G) exceeds available HBM (7.48G).",
            int(10.5 * 2**30),
        ),
        (
            "RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G of 15.48G hbm.",
            20 * 2**30 - 1000,
        ),
        ("INTERNAL: something else", None),
    ],
)
def test_refusals_of_the_compiler_are_understood(message, expected):
    assert memory.temporary_bytes(message, argument_bytes=1000) == expected


@pytest.mark.parametrize(
    "topology, message",
    [("v3", "such as v3:8x16"), ("v3:8x", "such as v3:8x16"), ("v5x:2x2", "v5e|v5p")],
)
def test_bad_topologies_are_answered(topology, message):
    with pytest.raises(ValueError, match=message):
        slices.describe(topology)


# A small step with another size for every dimension, so that none stands in for another.
SMALL = """
import json, sys
from clwe_jax import options, presets
from clwe_jax.plan import pretraining as plan, slices
config = presets.start_from("mbert", "laptop")
config.model.norm = "post"
config.data.max_predictions = 0
config.data.languages = "en,de,es"
config.data.sequence_length = 32
config.vocab.size = 500
config.model.update(layers=1, width=48, heads=4, mlp_dim=80)
config.train.update(batch_size=16, steps=100)
# Its moments and operations are counted by hand; Muon's are not.
config.optimizer.name = "adamw"
config.optimizer.groups = {}

def planned(topology, **sections):
    changed = config.copy_and_resolve_references()
    for section, values in sections.items():
        changed[section].update(values)
    return plan.run(options.parse(changed), topology)
"""
V, D, F, L, T = 512, 48, 80, 1, 32  # padded vocabulary, width, mlp, layers, length
TABLES = V * D + T * D + 3 * D
LAYER = 4 * D * D + 4 * D + 2 * D * F + D + F + 4 * D
HEAD = 2 * D * D + D + 2 * D + V
PARAMETERS = TABLES + 2 * D + L * LAYER + HEAD


def run_plans(run_python, code):
    """Runs SMALL and then `code`, whose last line prints JSON; returns that and the rest."""
    done = run_python("-c", SMALL + code)
    *shown, last = done.stdout.strip().splitlines()
    return json.loads(last), "\n".join(shown)


@pytest.fixture(scope="module")
def on_cpu(run_python):
    """Plans on eight simulated CPU devices, all from one process."""
    return run_plans(
        run_python,
        """
found = dict(
    data=planned("cpu:8"),
    fsdp=planned("cpu:8", mesh=dict(data=2, fsdp=4)),
    parts=planned("cpu:8", train=dict(microbatches=2)),
    finish=planned("cpu:8", finish=dict(steps=50, batch_size=24, sequence_length=16)),
    phases=planned(
        "cpu:8",
        optimizer=dict(groups=dict(table=dict(pattern=".*/token_embedding"))),
        train=dict(phases=[dict(steps=50, learn="default"), dict(learn="table")]),
        finish=dict(steps=50, batch_size=24, sequence_length=16),
    ),
)
laser = presets.start_from("laser", "paper")
laser.data.update(languages="en,de", sequence_length=16)
laser.vocab.size = 500
laser.model.update(layers=2, width=8, cells=16, decoder_cells=24)
laser.train.update(batch_size=16, microbatches=1)
found["laser"] = plan.run(options.parse(laser), "cpu:8")
slices.has_libtpu = lambda: False
found["slice"] = planned("v3:2x2", plan=dict(utilisation=0.5, dollars_per_chip_hour=3.0))
slices.CHIPS["v3"] = slices.Chip(2**21, 1e12, devices=2)
found["tight"] = planned("v3:2x2")
try:
    planned("cpu:4")
except ValueError as error:
    found["other"] = str(error)
try:
    planned("cpu:8", train=dict(batch_size=12))
except ValueError as error:
    found["uneven"] = str(error)
print(json.dumps(found))
""",
    )


def test_parameters_and_optimizer_state_are_those_of_the_model(on_cpu):
    found = on_cpu[0]["data"]
    assert found["parameters"] == PARAMETERS
    assert found["parameter_bytes"] == 4 * PARAMETERS
    # Two moments and the counters of the steps.
    assert 0 <= found["optimizer_bytes"] - 8 * PARAMETERS < 100
    batch = 16 * T * 4 * 7 // 8  # seven arrays of four bytes, cut by eight
    assert 0 <= found["argument_bytes"] - 12 * PARAMETERS - batch < 100
    # The new state takes the place of the old one.
    rest = found["needed_bytes"] - found["argument_bytes"] - found["temporary_bytes"]
    assert 0 <= rest < 0.1 * found["argument_bytes"]


def test_flops_are_those_of_the_arithmetic(on_cpu):
    tokens, predictions = 16 * T, 16 * 8
    attention = 2 * 2 * T * D * tokens * L
    layers = 2 * (4 * D * D + 2 * D * F) * tokens * L
    head = 2 * (2 * D * D + V * D) * predictions
    taken = 2 * T * D * predictions  # of a row's positions: a choice of them has no gradient
    counted = on_cpu[0]["data"]["flops"]
    assert counted == 3 * (attention + layers + head) + 2 * taken
    assert on_cpu[0]["parts"]["flops"] == counted
    assert on_cpu[0]["data"]["flops_6nd"] == 6 * PARAMETERS * tokens


def test_the_contrastive_finish_is_planned_too(on_cpu):
    found, shown = on_cpu
    assert found["data"]["finish"] is None and found["finish"]["flops"] == found["data"]["flops"]
    pairs, length = 24, 16
    tokens = 2 * pairs * length
    layers = (2 * (4 * D * D + 2 * D * F) + 2 * 2 * length * D) * tokens * L
    means = 2 * D * tokens  # of the pieces; the share of each is constant
    cosines = 2 * D * pairs * pairs
    assert found["finish"]["finish"]["flops"] == 3 * (layers + cosines) + 2 * means
    assert found["finish"]["finish"]["parameters"] == PARAMETERS
    # Of two phases the one with more optimizer state; all groups learn in the finish.
    table = 8 * V * D
    found_phases = found["phases"]
    assert 0 <= found_phases["optimizer_bytes"] - max(table, 8 * PARAMETERS - table) < 100
    assert 0 <= found_phases["finish"]["optimizer_bytes"] - 8 * PARAMETERS < 100
    # Every device scores its sentences against the copies of all devices.
    assert "all-gather" in found["finish"]["finish"]["collectives"]
    assert "24 pairs x 16" in shown and "3 pairs a device" in shown


def test_gradients_are_summed_over_the_data_axis(on_cpu):
    [[kind, traffic]] = on_cpu[0]["data"]["collectives"].items()
    assert kind == "all-reduce"
    # The token table's gradients as input and as output are summed apart.
    assert 4 * PARAMETERS <= traffic["bytes"] < 4 * (PARAMETERS + V * D) * 1.01
    assert on_cpu[0]["data"]["fits"] is None  # nothing is known of the memory


def test_rows_of_recurrent_layers_stay_on_their_device(on_cpu):
    assert on_cpu[0]["laser"]["collectives"].keys() == {"all-reduce"}


def test_evaluation_needs_the_state_and_its_own_arrays(on_cpu):
    """The scores of a held-out batch; all layers of 64 sentences, whole on every device."""
    whole, cut = on_cpu[0]["data"], on_cpu[0]["fsdp"]
    scores = 2 * 8 * V * 4  # two rows a device, eight predictions each
    encoded = 64 * T * (L + 1) * D * 4
    state = 12 * PARAMETERS
    assert state + scores <= whole["evaluation"]["held_out"] < whole["needed_bytes"]
    assert state + encoded <= whole["evaluation"]["encoding"] < state + 4 * encoded
    assert cut["evaluation"]["held_out"] < whole["evaluation"]["held_out"]
    assert "evaluation, held out" in on_cpu[1] and "evaluation, encoding" in on_cpu[1]


def test_fsdp_cuts_the_state_and_gathers_parameters(on_cpu):
    whole, cut = on_cpu[0]["data"], on_cpu[0]["fsdp"]
    assert cut["mesh"] == {"data": 2, "fsdp": 4, "tensor": 1}
    assert cut["rows_a_device"] == whole["rows_a_device"] == 2
    # Biases and scales stay whole.
    assert 0.25 <= cut["optimizer_bytes"] / whole["optimizer_bytes"] < 0.3
    assert cut["collectives"]["all-gather"]["bytes"] > 0


def test_without_the_tpu_compiler_cpu_devices_stand_in_and_it_says_so(on_cpu):
    found, shown = on_cpu
    assert found["slice"]["simulated"] and found["slice"]["devices"] == 8
    assert found["slice"]["chips"] == 4 and found["slice"]["hbm_bytes"] == 16 * 2**30
    assert found["slice"]["fits"] is True
    assert "CPU's compiler" in shown
    assert "simulated CPU devices" in shown and "pip install 'jax[tpu]'" in shown
    assert not found["data"]["simulated"]


def test_time_and_cost_follow_from_utilisation_and_price(on_cpu):
    found = on_cpu[0]["slice"]
    seconds = found["flops"] / (4 * 123e12 * 0.5)
    assert found["seconds_a_step"] == pytest.approx(seconds)
    assert found["hours"] == pytest.approx(seconds * 100 / 3600)
    assert found["cost"] == pytest.approx(found["hours"] * 4 * 3.0)
    assert on_cpu[0]["tight"]["cost"] is None


def test_what_does_not_fit_is_answered_with_settings_that_need_less(on_cpu):
    found, shown = on_cpu
    tight = found["tight"]
    assert tight["hbm_bytes"] == 2**20 and tight["needed_bytes"] > 2**20
    assert tight["fits"] is None  # simulated: its no is not to be relied on
    by_flag = {r["flags"].split("=")[0].rpartition(".")[2]: r for r in tight["remedies"]}
    assert set(by_flag) == {"microbatches", "remat", "fsdp", "tensor"}
    assert all(flags["flags"] in shown for flags in tight["remedies"])
    assert by_flag["fsdp"]["bytes"] < tight["needed_bytes"]


def test_a_process_with_other_devices_and_an_uneven_batch_are_answered(on_cpu):
    assert "of its own" in on_cpu[0]["other"]
    assert "batch_size=8 or 16" in on_cpu[0]["uneven"]


@pytest.mark.slow
@pytest.mark.skipif(not slices.has_libtpu(), reason=NO_LIBTPU)
def test_tpu_compiler_plans_a_slice_and_refuses_what_does_not_fit(run_python):
    found, shown = run_plans(
        run_python,
        """
found = dict(
    fits=planned("v3:2x2"),
    refused=planned("v3:2x2", train=dict(batch_size=2**21)),
)
try:
    planned("v3:3x3")
except ValueError as error:
    found["layout"] = str(error)
print(json.dumps(found))
""",
    )
    fits, refused = found["fits"], found["refused"]
    assert fits["devices"] == 8 and not fits["simulated"] and fits["fits"] is True
    assert fits["parameters"] == PARAMETERS
    assert fits["collectives"]["all-reduce"]["bytes"] >= 2 * PARAMETERS
    assert fits["flops_a_device"] * 8 == pytest.approx(fits["flops"], rel=0.5)
    assert refused["fits"] is False and refused["needed_bytes"] > 15 * 2**30
    assert "DOES NOT FIT" in shown
    less = [r for r in refused["remedies"] if r["bytes"] < refused["hbm_bytes"]]
    assert any("microbatches" in r["flags"] for r in less)
    assert "3x3" in found["layout"]


# Needs a minute for every program that differs.
@pytest.mark.slow
@pytest.mark.skipif(not slices.has_libtpu(), reason=NO_LIBTPU)
@pytest.mark.parametrize("name, topology", [(x, y) for x, (y, _) in plans.programs().items()])
def test_paper_configs_compile_and_fit_their_slice(tmp_path, name, topology):
    plan = plans.planned(name, topology, str(tmp_path))
    assert plan["devices"] == {"v3:8x16": 256, "v3:4x8": 64}[topology] and not plan["simulated"]
    assert plans.figures(plan)["fits"] and plan["needed_bytes"] < plan["hbm_bytes"]
    assert max(plan["evaluation"].values()) < plan["hbm_bytes"]

"""The plan of a CLCR run: memory and arithmetic by hand."""

import jax
import pytest

from clwe_jax import options, presets
from clwe_jax.clcr import plan
from clwe_jax.plan import slices


@pytest.fixture
def config():
    found = presets.clcr("laptop")
    found.system = "CLCR"
    found.clcr.sentences = 1_000
    found.plan.utilisation = 0.5
    return options.parse(found)


def on(monkeypatch, hbm, count=1):
    place = slices.Slice(tuple(jax.devices()[:1] * count), count, hbm, 2e12, simulated=True)
    monkeypatch.setattr(slices, "describe", lambda topology: place)


def test_memory_and_arithmetic_are_those_of_the_programs(config, monkeypatch, capsys):
    on(monkeypatch, hbm=2**30)
    found = plan.run(config, "v5e:1x1")
    encoding, matching = found["parts"]
    width, hidden, layers, mlp = 128, 256, 2, 512
    pieces = 2 * 1_000 * 32
    layer = 2 * (4 * width**2 + 2 * width * mlp) + 2 * 2 * 32 * width
    assert encoding["flops"] == pytest.approx(pieces * layers * layer)
    # T forward and the gradients of its parameters and of the inner layer; the words have none.
    words = 64 * 32
    forward = 2 * words * (width**2 + 2 * width * hidden)
    inner = 2 * words * width * hidden
    attention = 2 * 2 * 64 * 32 * 32 * width
    step = 2 * forward + inner + 3 * attention - attention // 2 + attention // 2
    assert matching["flops"] == pytest.approx(2 * 3 * config.clcr.transform.steps * step, rel=0.1)
    steps = 2 * 4 * 50 * 64 * 32 * width  # the vectors of 50 steps, of both sides
    assert steps < matching["bytes"] < 3 * steps
    assert found["hours"] == pytest.approx((encoding["flops"] + matching["flops"]) / 1e12 / 3600)
    assert found["fits"] is True and "CLCR:laptop on v5e:1x1" in capsys.readouterr().out


def test_more_sentences_need_more_disk_and_no_more_of_the_device(config, monkeypatch, capsys):
    on(monkeypatch, hbm=2**30)
    few = plan.run(config, "v5e:1x1")
    many = plan.run(options.with_values(config, {"clcr.sentences": 10_000}), "v5e:1x1")
    assert many["needed_bytes"] == few["needed_bytes"]
    assert many["disk_bytes"] == 10 * few["disk_bytes"] == 10 * 2 * 1_000 * (32 + 2 * 25) * 128 * 4
    assert few["row_bytes"] == 2 * 25 * 128 * 4
    assert "for 100,000 labelled rows" in capsys.readouterr().out


def test_the_fine_tuning_is_a_part_and_what_does_not_fit_is_said(config, monkeypatch, capsys):
    on(monkeypatch, hbm=10**6)
    found = plan.run(options.with_values(config, {"clcr.faithful": True}), "v5e:1x1")
    assert [part["name"] for part in found["parts"]] == ["encoding", "matching", "fine-tuning"]
    assert found["fits"] is False and "It does not fit" in capsys.readouterr().out


def test_several_devices_are_refused(config, monkeypatch):
    on(monkeypatch, hbm=1, count=2)
    with pytest.raises(ValueError, match="has 2 devices, and CLCR runs on one: --plan=v5e:1x1"):
        plan.run(config, "v5e:1x2")

"""The papers' printed settings of the sense-aware systems (A11) stand in their `:paper` configs."""

import dataclasses
import pathlib

import pytest

from clwe_jax import options
from clwe_jax.options.senses import AS_PRINTED
from clwe_jax.training import optim

ROOT = pathlib.Path(__file__).resolve().parents[1]


def config(name, scale="paper"):
    return options.from_file(f"{ROOT / 'configs' / name}.py:{scale}")


@pytest.mark.parametrize(
    "name, window, steps, senses",
    [
        ("elmo", 16, 1_000_000, 1),
        ("saelmo", 16, 1_000_000, 5),
        ("joint_elmo", 12, 600_000, 1),
        ("bi_saelmo", 12, 600_000, 3),
    ],
)
def test_bilm(name, window, steps, senses):
    found = config(name)
    assert (found.data.sequence_length, found.train.steps) == (window, steps)
    assert found.train.batch_size == 2 * 256
    assert (found.model.width, found.model.cells, found.model.layers) == (512, 4_096, 2)
    assert found.objective.senses.senses == senses and found.objective.negatives == 8_192


BILMS = ["elmo", "saelmo", "saelmo_context", "joint_elmo", "bi_saelmo", "bi_saelmo_context"]


@pytest.mark.parametrize("name", [*BILMS, "sa_dict_mlm"])
def test_models_of_whole_words_read_simplified_chinese(name):
    """A12; also where the languages are not those of the config."""
    path = f"{ROOT / 'configs' / name}.py"
    found = options.from_file(path, {"data.languages": "en,zh"})
    assert found.resolve().data.simplify_chinese


@pytest.mark.parametrize("scale", ["laptop", "small", "base", "paper"])
@pytest.mark.parametrize("name", BILMS)
def test_adagrad_reads_a_sum_over_the_steps_of_the_window(name, scale):
    """A2; the loss itself is a mean, which the laptop's Adam reads as it is."""
    found = config(name, scale)
    assert found.optimizer.name == ("adam" if scale == "laptop" else "adagrad")
    for length in (found.data.sequence_length, 7):
        optimizer = optim.from_config(found.optimizer, length)
        assert optimizer.scale == (1 if scale == "laptop" else length)


@pytest.mark.parametrize("scale", ["laptop", "small", "base", "paper"])
@pytest.mark.parametrize("name", ["saelmo", "bi_saelmo"])
def test_with_context_senses_a_step_has_as_many_words(name, scale):
    own, context = config(name, scale), config(f"{name}_context", scale)
    words = [x.data.sequence_length * x.train.batch_size for x in (own, context)]
    assert words[0] == words[1] and context.train.batch_size % context.train.microbatches == 0
    own, context = options.to_dict(own), options.to_dict(context)
    differ = {"system", "task", "objective", "data", "train"}
    assert {key for key in own if own[key] != context[key]} == differ


@pytest.mark.parametrize("name, senses", [("bert_tiny", 1), ("sabert_tiny", 5)])
def test_bert_tiny(name, senses):
    found = config(name)
    assert (found.model.layers, found.model.width, found.model.heads) == (4, 512, 8)
    assert (found.model.mlp_dim, found.model.dropout, found.vocab.size) == (2_048, 0.1, 27_654)
    assert (found.train.batch_size, found.data.sequence_length) == (128, 128)
    assert (found.data.max_predictions, found.train.steps) == (20, 1_000_000)
    assert (found.optimizer.learning_rate, found.optimizer.warmup_steps) == (1e-4, 20_000)
    assert found.objective.senses.senses == senses


@pytest.mark.parametrize("scale", ["small", "base", "paper"])
def test_senses_are_removed_from_bilms_only(scale):
    """A7 and Table 8: SaELMo, and Bi-SaELMo with the same share; no masked language model."""
    for name in ("saelmo", "bi_saelmo"):
        senses = config(name, scale).objective.senses
        assert senses.prune_every > 0 and senses.prune_share == 0.1
    for name in ("bert_tiny", "sabert_tiny", "sa_dict_mlm"):
        assert config(name, scale).objective.senses.prune_every == 0


@pytest.mark.parametrize("scale", ["laptop", "paper"])
@pytest.mark.parametrize("name", ["saelmo", "bi_saelmo_context", "sabert_tiny", "sa_dict_mlm"])
def test_faithful_switches_off_whatever_the_paper_does_not_have(name, scale):
    usual = config(name, scale).objective.senses
    found = dataclasses.replace(usual, faithful=True)
    assert (found.init, found.fast_start, found.age_counts) == ("paper", False, False)
    assert (found.translated_share, found.prune_least) == (0.0, 1)
    before, after = options.to_dict(usual), options.to_dict(found)
    assert {x for x in before if before[x] != after[x]} == {*AS_PRINTED, "faithful"}


def test_the_guide_lists_whatever_the_paper_does_not_have():
    section = (ROOT / "docs" / "senses.md").read_text(encoding="utf-8")
    assert "faithful=True" in section
    for name in AS_PRINTED:
        assert f"| `{name}` |" in section, name


@pytest.mark.parametrize("name", ["joint_elmo", "bi_saelmo"])
def test_a_pair_has_as_many_steps_as_its_twin(name):
    assert config(name, "laptop").train.steps == 4_000

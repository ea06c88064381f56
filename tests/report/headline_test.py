"""The headlines of evaluators: their means, floors and order."""

import dataclasses

import pytest

from clwe_jax.evaluate import bli_page, retrieval_page
from clwe_jax.report import headline, overview
from clwe_jax.report.headline import Headline
from clwe_jax.report.run_folder import RunFolder

PLAIN = Headline(
    "a/*/acc",
    "Accuracy",
    floors=("floor/b/*/acc", "floor/a/*/acc"),
    chance="a/*/chance",
    sentence="{} are right",
    group="acc",
)
BETTER = Headline("a/*/acc_csls", "By CSLS", floors=("floor/a/*/acc_csls",), group="acc")


def test_a_star_is_each_pair_and_their_mean():
    assert headline.mean_of("bli/*/p@1") == "bli/p@1"
    assert headline.mean_of("bleu/*") == "bleu/mean"
    assert headline.mean_of("toy/width") == "toy/width"
    figures = ["bli/de-en/p@1", "bli/p@1", "bli/de-en/layer1/p@1", "bli/de-en/p@10"]
    assert headline.pairs_of("bli/*/p@1", figures) == ["de-en"]
    assert headline.pairs_of("bleu/*", ["bleu/en-de", "bleu/mean"]) == ["en-de"]


def test_the_last_measured_one_of_a_group_is_shown():
    assert headline.choose_shown([PLAIN, BETTER], {"a/acc": 0.5}) == [PLAIN]
    assert headline.choose_shown([PLAIN, BETTER], {"a/acc": 0.5, "a/acc_csls": 0.6}) == [BETTER]
    assert headline.choose_shown([PLAIN, BETTER], {}) == []


def test_the_verdict_leads_with_a_figure_that_has_a_floor():
    figures = {"a/acc": 0.5, "a/acc_csls": 0.6}
    said = Headline("a/*/acc_csls", "By CSLS", sentence="{}")
    assert headline.choose_leading([PLAIN, said], figures) == said
    assert headline.choose_leading([PLAIN, said], {**figures, "floor/a/acc": 0.1}) == PLAIN
    assert headline.choose_leading([PLAIN], {}) is None


def test_a_figure_and_its_floor_are_of_the_same_pairs():
    figures = {"a/acc": 0.4, "a/de-en/acc": 0.3, "a/fr-en/acc": 0.5, "floor/a/acc": 0.9}
    assert headline.compare_with_floor(PLAIN, figures) == (0.4, 0.9, 0, True)
    figures["floor/b/de-en/acc"] = 0.1  # the first floor comes first
    assert headline.compare_with_floor(PLAIN, figures) == (0.3, 0.1, 1, False)
    assert headline.compare_with_floor(BETTER, {"a/acc_csls": 0.6}) is None


def test_a_tile_names_chance_floor_and_other_runs():
    figures = {"a/acc": 0.5, "a/chance": 0.0001, "floor/a/acc": 0.25}
    run = RunFolder("runs/x", {}, figures, {}, {"vocabulary": {"size": 8_192}})
    other = RunFolder("runs/y", {"system": "Other"}, {"a/acc": 0.4}, {}, {})
    [tile] = overview.tiles(run, [other], {"a": [PLAIN]})
    assert tile.value == "50.0%"
    assert tile.notes == ["chance 0.010%", "dictionary floor 25.0%", "Other 40.0%, +10.0 points"]
    run.figures["train/loss"] = 8.0
    assert any("guessing 9.0" in x for x in overview.tiles(run, (), {})[0].notes)


def test_the_first_tile_has_the_figure_of_the_verdict():
    figures = {"a/acc": 0.5, "a/acc_csls": 0.6, "floor/a/acc": 0.1}
    run = RunFolder("runs/x", {}, figures, {}, {})
    spoken = dataclasses.replace(BETTER, sentence="{}", group="", floors=())
    labels = [tile.label for tile in overview.tiles(run, (), {"a": [spoken, PLAIN]})]
    assert labels == ["Accuracy", "By CSLS"]


@pytest.mark.parametrize(
    "measured, name",
    [
        (["", "_csls", "_softmax"], "CSLS"),
        (["", "_softmax"], "nearest neighbour"),
        (["_softmax"], "inverted softmax"),
        ([], "nearest neighbour"),
    ],
)
def test_csls_stands_for_lexicon_induction_where_it_was_measured(measured, name):
    found = bli_page.main_method({f"bli/de-en/p@1{ending}": 0.5 for ending in measured})
    assert found[0] == name


@pytest.mark.parametrize(
    "layers, name",
    [
        (1, "the only layer"),
        (2, "layers 1 and 2"),
        (4, "layers 1 to 4"),
        (12, "the last four layers"),
    ],
)
def test_the_mean_of_the_last_layers_is_named_by_their_number(layers, name):
    found = {f"retrieval/layer{i}/acc@1": 0.5 for i in range(layers + 1)}
    assert retrieval_page.describe_last_layers(found) == name

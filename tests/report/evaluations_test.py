"""What the report asks evaluators: their test sets, headlines and sections."""

import pytest

from clwe_jax.report import evaluations, overview
from clwe_jax.report.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    config = {"evals": {"bli": {"data": "/lists/muse"}, "retrieval": {"data": "pocket"}}}
    results = {
        "bli/it-en/words": 53.0,
        "bli/it-en/pairs": 61.0,
        "bli/chance": 0.01,
        "bli/p@1_csls": 0.335,
        "bli/it-en/p@1_csls": 0.335,
        "retrieval/it-en/mean": 0.5,
        "retrieval/it-en/chance": 0.001,
    }
    return RunFolder(tmp_path, config, results, {}, {})


def test_one_pair_is_named_with_its_file_and_size(run):
    said = evaluations.describe_tests(run, "bli")
    assert said == "muse/it-en.5000-6500.txt, 53 words, 61 pairs"
    said = evaluations.describe_tests(run, "retrieval")
    assert said == "the embedded world, 1,000 sentence pairs"


def test_several_pairs_are_summed(run):
    run.results.update({"bli/en-it/words": 100.0, "bli/en-it/pairs": 139.0})
    run.results.update({"retrieval/en-it/chance": 0.001, "retrieval/de-it/chance": 0.01})
    said = evaluations.describe_tests(run, "bli")
    assert said == "muse, 2 directions, 153 words, 200 pairs"
    said = evaluations.describe_tests(run, "retrieval")
    assert said == "the embedded world, 2 language pairs, 1,100 sentence pairs"


def test_a_tile_says_how_many_words_it_is_of(run):
    [tile] = overview.tiles(run, (), evaluations.headlines())
    assert tile.value == "33.5%" and "53 words" in " ".join(tile.notes)


def test_sizes_that_were_not_recorded_are_left_out(run):
    run.results.clear()
    run.results["bli/it-en/p@1"] = 0.5
    run.config["evals"] = {}
    names = ("bli", "similarity", "unheard of")
    assert [evaluations.describe_tests(run, name) for name in names] == ["", "", ""]


def test_evaluators_with_a_floor_are_those_that_a_dictionary_can_do():
    assert evaluations.names_with_floor() == ["retrieval", "bleu", "bli"]


def test_figures_of_a_comparison():
    paths = {key: x.path for key, x in evaluations.headlines_by_key().items()}
    assert paths == {
        "retrieval": "retrieval/sif/*/mean",
        "retrieval_csls": "retrieval/sif/*/mean_csls",
        "induction": "bli/*/p@1_csls_distinct",
    }

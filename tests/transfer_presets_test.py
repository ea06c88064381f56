"""The papers' settings of transfer and translation stand in their `:paper` configs (C, D, E)."""

import pathlib

import pytest

from clwe_jax import options, presets

ROOT = pathlib.Path(__file__).resolve().parents[1]


def config(name, scale="paper"):
    return options.from_file(f"{ROOT / 'configs' / name}.py:{scale}")


TRANSFER = sorted(
    path.stem
    for path in (ROOT / "configs").glob("*.py")
    if "transfer(" in path.read_text() or "laser_tagger(" in path.read_text()
)


@pytest.mark.parametrize("scale", ["laptop", "small", "base", "paper"])
@pytest.mark.parametrize("name", TRANSFER)
def test_every_recipe_is_valid(name, scale):
    config(name, scale).resolve().check_all()


def test_e9_runs_all_its_epochs():
    recipe = config("ner_mapped").recipe
    assert (recipe.epochs, recipe.batch_size, recipe.learning_rate) == (40, 10, 1e-4)
    assert (recipe.name, recipe.schedule, recipe.patience) == ("adam", "constant", 0)


@pytest.mark.parametrize("name", ["laser_top_ner", "laser_elmo_ner", "lstm_ner"])
def test_c6_of_lasers_encoders(name):
    found = config(name)
    assert (found.recipe.schedule, found.recipe.patience) == ("onecycle", 0)
    assert found.transfer.search.trials > 0 and found.transfer.words == "max"


@pytest.mark.parametrize("name", ["bpe_bow_ner", "bpe_gru_ner", "muse_ner"])
def test_c6_of_the_baselines(name):
    found = config(name)
    assert (found.recipe.name, found.recipe.learning_rate, found.recipe.l2) == ("adam", 1e-3, 1e-3)
    assert (found.recipe.epochs, found.recipe.patience) == (15, 2)
    assert (found.transfer.head.input_dropout, found.transfer.head.dropout) == (0.25, 0.15)
    assert found.transfer.search.trials == 0


def test_c6_of_bert_and_xlm():
    found = config("bert_ner")
    assert (found.train.epochs, found.train.batch_size) == (4, 16)
    assert found.optimizer.learning_rate == 5e-5 and found.transfer.head.name == "linear"


def test_c4_the_gru_starts_from_lasers_pieces():
    found = config("bpe_gru_ner")
    assert found.transfer.pieces == "run:runs/laser" and found.transfer.embedder.width == 320


@pytest.mark.parametrize("scale", options.SCALES)
@pytest.mark.parametrize("name", TRANSFER)
def test_an_encoder_is_looked_for_where_its_own_command_writes_it(name, scale):
    found = config(name, scale)
    runs = [x for x in (found.encoder, found.transfer.pieces) if x.startswith("run:")]
    written = {f"run:runs/{path.stem}" for path in (ROOT / "configs").glob("*.py")}
    assert set(runs) <= written


@pytest.mark.parametrize(
    "name", ["laser_top_ner", "bpe_bow_ner", "bert_ner", "tag_transformer_crf"]
)
def test_c7_words_are_in_lower_case(name):
    assert config(name).transfer.lower_case


@pytest.mark.parametrize("name", ["finetune_xnli", "finetune_pawsx"])
def test_d8_pairs_are_read_at_cls(name):
    assert config(name).transfer.text_vector == "cls" and config(name).train.epochs == 8


def test_a14_entailment_is_read_from_the_mean():
    assert config("nli_bilstm").transfer.head.pool == "mean"


def test_e10_the_table_of_pieces_learns():
    assert not presets.start_from("unsupervised_mt", "paper").optimizer.groups
    assert presets.start_from("unsupervised_mt", "laptop").optimizer.groups.table.frozen


def test_the_guide_lists_where_the_laptop_differs():
    guide = (ROOT / "docs" / "transfer.md").read_text(encoding="utf-8")
    [section] = guide.split("## Where the laptop differs from the papers\n")[1:]
    for number in ("A14", "C5", "C6", "C7", "D8", "E9", "E10"):
        assert number in section, number

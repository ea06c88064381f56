"""The task of a run has the options of its config."""

import pytest

from clwe_jax import registry
from clwe_jax.options.transfer import TransferOptions, TransferRun
from clwe_jax.text.labelled import labelled_files

NAMES = "Jo B-PER\nsah O\nEis B-FOOD\nvon O\nAcme B-ORG\n"


def task(name, **options):
    return labelled_files.task_of(TransferOptions(task=name, **options))


@pytest.mark.parametrize("name", ["ner", "edge/entities"])
def test_types_of_names(name, tmp_path):
    path = tmp_path / "de.tsv"
    path.write_text(NAMES)
    with pytest.raises(ValueError, match="add the type to config.transfer.types"):
        task(name).read(str(path), "de")
    found = task(name, types="PER,ORG,FOOD", ignored="ORG").read(str(path), "de")
    labels = found.rows[0].tags if name == "ner" else [row.labels[0] for row in found.rows]
    assert [x.removeprefix("B-") for x in labels if x != "O"] == ["PER", "FOOD"]


@pytest.mark.parametrize("name", ["pos", "edge/pos"])
def test_twelve_parts_of_speech(name, tmp_path):
    path = tmp_path / "de.tsv"
    path.write_text("und\tCONJ\n.\t.\n")
    with pytest.raises(ValueError, match="config.transfer.tags=12 reads it"):
        task(name).read(str(path), "de")
    assert task(name, tags=12).read(str(path), "de").rows
    assert task(name, tags=12).generate("en", "test", 2, 0).rows
    with pytest.raises(ValueError, match="config.transfer.tags=13: expected 12 or 17"):
        task(name, tags=13)


def test_every_task_has_options_of_the_preset():
    for name in registry.TABLES["transfer_task"]:
        assert task(name).name == name


@pytest.mark.parametrize("rows", ["-3", "nan", "inf", "en:-1", "x"])
def test_a_number_of_rows_that_is_none_is_refused(rows):
    with pytest.raises(ValueError, match=f"config.transfer.rows='{rows}'"):
        labelled_files.limits(rows, ("en",), 0)


@pytest.mark.parametrize(
    "encoder, made",
    [
        ("run:runs/laser", "configs/laser.py. For"),
        ("run:mine", "configs/warm_dict_mlm.py --workdir=mine. For"),
    ],
)
def test_an_absent_encoder_is_made_by_its_own_config(encoder, made, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=made):
        labelled_files.check(TransferRun(encoder=encoder), "")

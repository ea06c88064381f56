"""The rows of the transfer tables: options that their configs have, and what the tables show."""

import json
import pathlib

import pytest


@pytest.fixture(scope="module")
def tables(load_script):
    return load_script("transfer")


@pytest.fixture
def runs(tables, tmp_path, monkeypatch):
    """The commands that were started; a run's figures are those of its command line."""
    commands = []

    def run(command, cwd, **_):
        options = dict(part.split("=", 1) for part in command if part.startswith("--"))
        commands.append(options)
        folder = pathlib.Path(options["--workdir"])
        folder.mkdir(parents=True, exist_ok=True)
        figures = {
            "ner/en/f1": 0.9,
            "ner/de/f1": 0.5,
            "ner/de/f1_low": 0.4,
            "ner/de/f1_high": 0.6,
            "ner/de/precision": 0.1,
            "zero_shot/ner/mean_f1": 0.5,
            "data/coverage/de": 1.0,
        }
        (folder / "results.json").write_text(json.dumps(figures))
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(tables.tables.subprocess, "run", run)
    return commands


def test_every_row_is_a_config_that_works(tables, run_config):
    rows = [row for table in tables.EMBEDDED.values() for row in table.values()]
    assert {name for _, name, _ in rows if name} <= tables.ENCODERS.keys()
    for name, changed in [*((c, o) for c, _, o in rows), *tables.ENCODERS.values()]:
        config = run_config.load(name, changes=changed)  # an option that is absent raises
        config.resolve().check_all()


def test_a_table_has_a_column_a_language_and_runs_are_made_once(tables, tmp_path, runs, capsys):
    tables.main([f"--out={tmp_path}", "--groups=static-names", "--", "--config.seed=7"])
    assert [x.get("--config.seed") for x in runs] == [None, "7", None, "7"]
    encoder = str(tmp_path / "encoders" / "joint_align")
    assert runs[3]["--config.encoder"] == f"run:{encoder}" and runs[2]["--workdir"] == encoder
    printed = capsys.readouterr().out
    assert "| | en | de | zero-shot mean |" in printed
    assert "| joint_align | 90.0 | 50.0 (40.0-60.0) | 50.0 |" in printed
    tables.main([f"--out={tmp_path}", "--groups=static-names"])
    assert len(runs) == 4


def test_encoders_of_real_files_are_frozen_and_models_of_hugging_face_learn_too(
    tables, tmp_path, runs, capsys
):
    tables.main(
        [
            f"--out={tmp_path}",
            "--groups=real-names",
            f"--data={tmp_path}",
            "--epochs=3",
            "--encoder=words=run:w",
            "--encoder=e5=hf:e5",
        ]
    )
    assert [x.get("--config.transfer.mode") for x in runs] == [None, None, "tune"]
    assert (
        runs[2]["--config.encoder"].startswith("hf:/") and runs[2]["--config.train.epochs"] == "3"
    )
    assert "| e5, fine-tuned, 3 epochs | 90.0 |" in capsys.readouterr().out
    tables.main(
        [
            f"--out={tmp_path}/b",
            "--groups=real-names-conll",
            f"--data={tmp_path}",
            "--encoder=words=run:w",
            "--encoder=e5=hf:e5",
            "--tune=words",
        ]
    )
    modes = [x.get("--config.transfer.mode") for x in runs[3:]]
    assert modes == [None, "tune", None] and runs[4]["--config.encoder"].startswith("run:")


@pytest.mark.parametrize(
    "options, message",
    [
        (["--groups=nouns"], "--groups: nouns; known are names"),
        (["--groups=real-pos"], "--data=DIR"),
        (["--encoder=e5"], "expected NAME=run:DIR"),
        (["--encoder=e5=hf:e5", "--tune=e6"], "e6: give --encoder"),
    ],
)
def test_wrong_options_are_named(tables, options, message, capsys):
    with pytest.raises(SystemExit):
        tables.main(options)
    assert message in capsys.readouterr().err

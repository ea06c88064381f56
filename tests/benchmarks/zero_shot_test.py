"""The zero-shot tables of two papers: configs that work, encoders that are shared, and the cells."""

import json
import pathlib

import numpy as np
import pytest

from clwe_jax.objectives import projected


@pytest.fixture(scope="module")
def zero_shot(load_script):
    return load_script("zero_shot")


@pytest.fixture
def runs(zero_shot, monkeypatch):
    """The commands that were started; a run's figures grow with its seed."""
    commands = []

    def run(command, cwd, **_):
        options = dict(part.split("=", 1) for part in command if part.startswith("--"))
        commands.append(options)
        folder = pathlib.Path(options["--workdir"])
        folder.mkdir(parents=True, exist_ok=True)
        if options.get("--config.job") == "project" or "--config.projection.source" in options:
            maps = {"orthogonal": {"de": np.eye(2, dtype=np.float32)}}
            projected.save(str(folder / "projection.npz"), maps, "orthogonal")
        figures = {
            "zero_shot/ner/mean_f1": 0.5 + 0.1 * int(options["--config.seed"]),
            "retrieval/mean_last4": 0.25,
        }
        (folder / "results.json").write_text(json.dumps(figures))
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(zero_shot.tables.subprocess, "run", run)
    return commands


def test_every_row_is_a_config_that_works(zero_shot, run_config):
    for table in zero_shot.TABLES.values():
        runs = [*table.encoders.values(), *((c, o) for c, o, _ in table.tasks.values())]
        for name, changed in runs:
            config = run_config.load(name, changes=changed)  # an option that is absent raises
            config.resolve().check_all()


def test_the_six_systems_share_four_encoders(zero_shot, tmp_path, runs):
    zero_shot.main(["elmo", f"--out={tmp_path}", "--tasks=names"])
    encoders = tmp_path / "elmo" / "0" / "encoders"
    made = [pathlib.Path(x["--workdir"]).name for x in runs if "--config.encoder" not in x]
    trained = ["elmo_de", "elmo_en", "joint_elmo", "bi_saelmo"]
    assert sorted(made) == sorted(
        [*trained, "elmo_projected", "joint_elmo_projected", "bi_saelmo_projected"]
    )
    read = [pathlib.Path(x["--config.encoder"]).name for x in runs if "--config.encoder" in x]
    assert read == list(zero_shot.TABLES["elmo"].systems.values())
    pair = next(x for x in runs if "--config.projection.source" in x)
    assert pair["--config.projection.source"] == str(encoders / "elmo_de")
    assert not (encoders / "joint_elmo" / "projection.npz").exists()
    maps, applied = projected.read(encoders / "elmo" / "projection.npz")
    assert maps[applied] == {}  # German stays where it is
    maps, applied = projected.read(encoders / "elmo_projected" / "projection.npz")
    assert maps[applied].keys() == {"de"}
    started = len(runs)
    zero_shot.main(["elmo", f"--out={tmp_path}", "--tasks=names"])
    assert len(runs) == started


def test_cells_are_means_over_seeds_with_their_intervals(zero_shot, tmp_path, runs, capsys):
    zero_shot.main(
        ["dict_mlm", f"--out={tmp_path}", "--seeds=0,1,2", "--systems=mBERT", "--tasks=names"]
    )
    # Student's t with two degrees of freedom: 4.30 * 0.1 / sqrt(3).
    printed = capsys.readouterr().out
    assert "| | names | sentences found |" in printed
    assert "| mBERT | 60.0 ± 24.8 | 25.0 |" in printed
    assert len(runs) == 6


def test_a_run_that_failed_has_no_figure(zero_shot, tmp_path, capsys):
    zero_shot.main(
        ["dict_mlm", f"--out={tmp_path}", "--print-only", "--systems=mBERT", "--tasks=XNLI"]
    )
    assert "| mBERT | – | – |" in capsys.readouterr().out


def test_wrong_names_are_named(zero_shot, capsys):
    with pytest.raises(SystemExit):
        zero_shot.main(["dict_mlm", "--systems=XLM"])
    assert "--systems: XLM; known are mBERT" in capsys.readouterr().err

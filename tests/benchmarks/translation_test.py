"""Runs of the translators' tables: shared text, their own vectors, halves without a common sentence."""

import json
import pathlib

import pytest


@pytest.fixture(scope="module")
def table(load_script):
    return load_script("translation")


@pytest.fixture
def commands(table, run_config, monkeypatch):
    """The options of every run; a run leaves figures, and joint-align vectors their config."""
    made = []

    def run(command, cwd):
        options = dict(part.split("=", 1) for part in command if part.startswith("--"))
        path, _, scale = options["--config"].partition(":")
        name = pathlib.Path(path).stem
        changes = {
            path.removeprefix("--config."): value
            for path, value in options.items()
            if path.startswith("--config.")
        }
        config = run_config.load(name, scale or "laptop", changes)  # an absent option raises
        config.resolve().check_all()
        made.append({"name": name, **options})
        folder = pathlib.Path(options["--workdir"])
        (folder / "start").mkdir(parents=True)
        (folder / "spaces.json").touch()
        figures = {"bleu/mean": 4.0, "start/bleu/mean": 5.0, "bleu/de-en": 6.0}
        (folder / "results.json").write_text(json.dumps(figures))
        row = {"step": 7, "name": "bleu/mean", "value": 8.0}
        (folder / "metrics.jsonl").write_text(json.dumps(row) + "\n")
        start = {
            "data": {"languages": "en,de"},
            "embeddings": {"dim": 16},
            "evals": {"bleu": {"max_sentences": 9}},
        }
        (folder / "start" / "config.json").write_text(json.dumps(start))
        return type("Done", (), {"returncode": 0})

    monkeypatch.setattr(table.tables.subprocess, "run", run)
    return made


def test_three_starts_share_text_and_vocabulary(table, commands, tmp_path, capsys):
    arguments = ["starts", f"--out={tmp_path}", "--steps=20"]
    table.main([*arguments, "--print-only"])
    assert not commands
    table.main([*arguments, "--", "--config.train.batch_size=8"])
    table.main(arguments)  # nothing is done twice
    names = [each["name"] for each in commands]
    assert names == [
        "unsupervised_mt",
        "align_procrustes",
        "unsupervised_mt",
        "joint_align",
        "unsupervised_mt",
    ]
    first, apart, second, joint, third = commands
    assert "--config.init.embeddings" not in first
    for vectors, run in ((apart, second), (joint, third)):
        assert run["--config.init.embeddings"] == vectors["--workdir"]
        assert run["--config.vocab.path"] == f"{first['--workdir']}/vocab"
        assert run["--config.data.source"] == vectors["--config.data.source"]
        assert vectors["--config.embeddings.dim"] == "16"
        assert "--config.train.batch_size" not in vectors and "--config.train.batch_size" in run
    assert joint["--config.static.refinement"] == "False"
    assert first["--workdir"] in third["--config.report.compare_with"]
    shown = capsys.readouterr().out
    assert "| Joint-Align | 5.0 | 8.0 |" in shown and "| Joint | 4.0 | 8.0 |" in shown


def captions(tmp_path):
    folder = tmp_path / "data" / "parallel" / "multi30k"
    folder.mkdir(parents=True)
    for language in ("en", "de"):
        lines = [f"{language} {number}\u2028\n" for number in range(10)]
        (folder / f"train.{language}").write_text("".join(lines), encoding="utf-8")


def test_laser_and_its_taggers(table, commands, tmp_path, capsys):
    captions(tmp_path)
    arguments = [f"--out={tmp_path / 'out'}", f"--data={tmp_path / 'data'}"]
    table.main(["laser", *arguments])
    table.main(["multi30k", *arguments])  # with the same vectors
    vectors, laser, *taggers, translator = commands
    assert laser["--config.init.embeddings"] == translator["--config.init.embeddings"]
    assert laser["--config.init.embeddings"] == vectors["--workdir"]
    assert [each["name"] for each in taggers] == [f"{x}_ner" for x in table.TAGGERS]
    encoder = f"run:{laser['--workdir']}"
    assert [x.get("--config.encoder") for x in taggers] == [encoder, encoder, None, None]
    shown = capsys.readouterr().out
    assert "| bleu/de-en | 6.0 |" in shown and "| laser_top | – | – |" in shown


def test_captions_come_from_halves_that_do_not_overlap(table, commands, tmp_path, capsys):
    captions(tmp_path)
    table.main(["multi30k", f"--out={tmp_path / 'out'}", f"--data={tmp_path / 'data'}"])
    vectors, run = commands
    text = pathlib.Path(run["--config.data.source"].removeprefix("text:"))
    lines = {x: (text / x / "multi30k.txt").read_text().split("\n")[:-1] for x in ("en", "de")}
    numbers = {x: {line.split()[1] for line in some} for x, some in lines.items()}
    assert len(lines["en"]) == len(lines["de"]) == 5 and not numbers["en"] & numbers["de"]
    assert run["--config.init.embeddings"] == vectors["--workdir"]
    more = pathlib.Path(vectors["--config.data.source"].removeprefix("text:"))
    assert (more / "de" / "multi30k.txt").read_text() == (text / "de" / "multi30k.txt").read_text()
    shown = capsys.readouterr().out
    assert "| translator | 6.0 | – |" in shown and "7: 8.0" in shown


def test_a_run_that_fails_is_followed_by_none(table, tmp_path, monkeypatch, capsys):
    tried = []

    def run(command, cwd):
        tried.append(command)
        return type("Done", (), {"returncode": 1})

    monkeypatch.setattr(table.tables.subprocess, "run", run)
    table.main(["starts", f"--out={tmp_path}"])
    assert len(tried) == 1 and "### BLEU" in capsys.readouterr().out

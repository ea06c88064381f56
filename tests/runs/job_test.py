"""The skeleton of the jobs: stages in order, what they leave, and starting again."""

import errno
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest
from absl import logging as absl_logging

from clwe_jax import options, time_parts, presets, registry
from clwe_jax.evaluate.agreement import Outcomes
from clwe_jax.options import systems
from clwe_jax.options.compare import CompareRun
from clwe_jax.presets.base import at
from clwe_jax.pretrain import job as pretrain
from clwe_jax.runs import forecast, lock
from clwe_jax.runs.job import STOPPED, Job, Results, Stage
from clwe_jax.static import job as static


def _work(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


class Counting(Job):
    """Two stages and one figure; `done` has the stages in the order of their calls."""

    def __init__(self, config, workdir, done, stops=False):
        super().__init__(config, workdir)
        self.done, self.stops = done, stops

    def advise(self, figures, report):
        return "is finished" if figures and report else ""

    def stages(self):
        return [
            Stage("one", self._one, about=lambda: ["one is small"]),
            Stage("two", self._two, ("one", "none")),
        ]

    def _one(self):
        self.done.append("one")
        _work(0.2)
        with time_parts.part(time_parts.EVALUATION):
            _work(0.1)
        return 1.0

    def _two(self, one, absent):
        assert absent is None
        self.done.append("two")
        absl_logging.warning("two is slow")
        absl_logging.warning("two is slow")
        return STOPPED if self.stops else one + 1

    def results(self, done):
        figures = {"b": done["two"], "a": done["one"]}
        report = {"notes": self.notes, "stages": list(self.seconds)}
        return Results(
            figures, report, outcomes={"a": Outcomes(np.array([True, False, True]), np.arange(3))}
        )


@pytest.fixture
def config():
    return options.parse(presets.start_from("mbert", "laptop"))


def read(path):
    return json.loads(path.read_text())


def test_stages_are_done_in_order_and_not_twice(config, tmp_path, said):
    done = []
    assert Counting(config, str(tmp_path), done).run()
    assert done == ["one", "two"]
    assert read(tmp_path / "results.json") == {"a": 1.0, "b": 2.0}
    report = read(tmp_path / "report.json")
    assert len({id(x) for x in said.records if x.getMessage() == "two is slow"}) == 1
    assert report["notes"] == ["two is slow"] and report["stages"] == ["one", "two"]
    assert report["cores"] and report["versions"]["jax"] and report["speed"]["seconds"] > 0
    record = read(tmp_path / "record.json")
    figures = record["figures"]
    stages = {name: x for name, x in figures.items() if name.startswith("stage/")}
    assert record["finished"] and figures.keys() == {"a", "b"} | stages.keys() and record["date"]
    assert (figures["a"], figures["b"]) == (1.0, 2.0)
    # All of the processor's time is in some part.
    assert sum(stages.values()) == pytest.approx(record["seconds"]["processor"], abs=0.1)
    assert stages["stage/one"] >= 0.19 > stages.get("stage/two", 0) and stages["stage/report"] > 0
    assert stages["stage/evaluation"] >= 0.1
    assert record["outcomes"]["a"].startswith("3:") and record["items"][0]["of"] == ["a"]
    assert (tmp_path / "report.html").exists()
    page = (tmp_path / "report.html").stat().st_mtime_ns
    said.clear()
    assert Counting(config, str(tmp_path), done).run()
    assert done == ["one", "two"] and "is finished" in said.text
    assert (tmp_path / "report.html").stat().st_mtime_ns > page  # beside other runs, perhaps


def test_a_job_that_a_signal_stopped_leaves_no_figures(config, tmp_path):
    done = []
    assert not Counting(config, str(tmp_path), done, stops=True).run()
    assert (tmp_path / "config.json").exists() and not (tmp_path / "results.json").exists()
    assert not read(tmp_path / "record.json")["finished"]
    assert Counting(config, str(tmp_path), done).run() and done == ["one", "two"] * 2
    assert read(tmp_path / "record.json")["starts"] == 2


def test_a_second_process_in_the_folder_is_refused(config, tmp_path):
    class Twice(Counting):
        def _two(self, one, absent):
            with pytest.raises(lock.InUse, match=f"{os.getpid()}.*--workdir"):
                Counting(self.config, self.workdir, self.done).run()
            assert (tmp_path / "config.json").exists()
            return super()._two(one, absent)

    done = []
    assert Twice(config, str(tmp_path), done).run() and done == ["one", "two"]
    assert not (tmp_path / lock.FILE).exists()


def test_the_lock_of_a_dead_process_does_not_block(config, tmp_path):
    code = (
        "import os, sys; from clwe_jax.runs import lock; held = lock.hold(sys.argv[1]);"
        "held.__enter__(); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9 and "process" in (tmp_path / lock.FILE).read_text()
    assert Counting(config, str(tmp_path), []).run()


def test_a_folder_without_locks_is_used_with_a_warning(config, tmp_path, monkeypatch, said):
    def refuse(handle, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    job = Counting(config, str(tmp_path), [])
    assert job.run() and (tmp_path / "results.json").exists()
    assert "cannot be locked" in said.text and "No locks available" in said.text


def test_damaged_figures_are_written_again(config, tmp_path):
    done = []
    Counting(config, str(tmp_path), done).run()
    (tmp_path / "results.json").write_text("{")
    assert Counting(config, str(tmp_path), done).run() and len(done) == 4
    assert read(tmp_path / "results.json") == {"a": 1.0, "b": 2.0}


def test_the_run_of_another_config_is_refused_before_any_stage(config, tmp_path):
    Counting(config, str(tmp_path), []).run()
    other, done = options.with_values(config, {"model.width": 64}), []
    with pytest.raises(ValueError, match="config.model.width: 128 -> 64"):
        Counting(other, str(tmp_path), done).run()
    assert not done


def test_a_dry_run_describes_the_stages_and_writes_nothing(config, tmp_path, capsys):
    done = []
    assert Counting(config, str(tmp_path / "run"), done).run(dry=True)
    said = capsys.readouterr().out
    assert "one is small" in said and f"{tmp_path / 'run'} is new" in said
    assert not done and not list(tmp_path.iterdir())


def test_a_dry_run_of_a_language_model(config, tmp_path, capsys):
    config = options.with_values(
        config,
        {
            "data.languages": "en,de",
            "data.sequence_length": 16,
            "train.batch_size": 2,
            "train.steps": 100,
            "vocab.size": 64,
            "model.width": 8,
            "model.heads": 2,
            "model.layers": 1,
            "model.mlp_dim": 8,
            "data.sample_bytes": 6400,
            "data.pocket_sentences": 300,
            "init.embeddings": "joint",
            "init.joint.dim": 4,
            "init.joint.epochs": 1,
            "init.joint.buckets": 10,
            "finish.steps": 7,
            "finish.batch_size": 4,
        },
    )
    assert pretrain.run(config, str(tmp_path / "run"), dry=True)
    said = capsys.readouterr().out
    assert "in en, de, 300" in said
    assert "joint, 4 dimensions, 1 epochs" in said
    assert "7 contrastive steps of 4" in said
    assert "evaluation word_alignment: left out" in said
    assert "every 1,500 steps" in said
    assert "100 steps of 2 x 16 positions" in said and "million parameters" in said
    assert not list(tmp_path.iterdir())


def test_a_dry_run_of_static_vectors(tmp_path, capsys):
    (tmp_path / "text").mkdir()
    for language, size in (("en", 2_000_000), ("de", 1_000_000)):
        (tmp_path / "text" / f"{language}.txt").write_text("a word\n" * (size // 7))
    config = options.with_values(
        options.parse(presets.static("laptop")),
        {
            "data.source": f"text:{tmp_path / 'text'}",
            "data.languages": "de,en",
            "data.dictionaries": "",
            "embeddings.dim": 4,
            "embeddings.buckets": 10,
            "embeddings.epochs": 1,
            "evals.bli.data": "",
            "evals.retrieval.data": "",
        },
    )
    assert static.run(config, str(tmp_path / "run"), dry=True)
    said = capsys.readouterr().out
    assert "text: en, 1 file, 2.0 MB" in said and "0.5 million" in said
    assert "dictionaries: none" in said and not (tmp_path / "run").exists()
    for language in ("de", "en"):
        (tmp_path / f"some.{language}").write_text("a\n")
    given = options.with_values(config, {"data.pairs": str(tmp_path / "some")})
    assert static.run(given, str(tmp_path / "run"), dry=True)
    assert f"pairs: de-en, 2 files, 0.0 MB, in {tmp_path}/some" in capsys.readouterr().out
    (tmp_path / "muse").mkdir()
    (tmp_path / "muse" / "de-en.0-5000.txt").write_text("wort word\n")
    muse = {"data.dictionaries": str(tmp_path / "muse"), "align.split": "0-5000"}
    config = options.with_values(config, muse)
    assert static.run(config, str(tmp_path / "run"), dry=True)
    assert f"dictionaries: 1 file, 0.0 MB, in {tmp_path / 'muse'}\n" in capsys.readouterr().out


def test_the_expected_time_grows_with_the_text_and_with_the_steps(config, tmp_path):
    vectors = options.parse(presets.static("laptop"))
    words = forecast.count_work(options.to_dict(vectors))
    measured = {"minutes": 3.0, "work": words}
    assert "3.0 minutes" in forecast.expected_time(vectors, measured)
    twice = options.with_values(vectors, {"data.pocket_sentences": 40_000})
    assert "about 6 minutes" in forecast.expected_time(twice, measured)
    (tmp_path / "en.txt").write_text("a word\n" * 6_000)
    text = {"data.source": f"text:{tmp_path}", "data.languages": "en"}
    assert forecast.count_words(options.to_dict(options.with_values(vectors, text))) == 7_000
    steps = forecast.count_work(options.to_dict(config))
    longer = options.with_values(config, {"train.steps": 3 * config.train.steps})
    line = forecast.expected_time(longer, {"minutes": 2.0, "work": steps})
    assert "3.0 times its steps" in line
    assert forecast.expected_time(config, {}) == ""
    comparison = options.with_values(options.parse(at("laptop", CompareRun)), text)
    line = forecast.expected_time(comparison, {"minutes": 2.0, "work": 1})
    assert line.endswith("2.0 minutes of one processor")  # its budget does not grow with the text


class Failing(Counting):
    """Writes into the folder in its first stage, and fails in the second, perhaps in training."""

    trains = ""

    def stages(self):
        return [Stage("write", self._write_files), Stage("fail", self._fail)]

    def _write_files(self):
        (pathlib.Path(self.workdir) / "vocab").mkdir()
        (pathlib.Path(self.workdir) / "vocab" / "text.json").write_text("{}")
        if self.trains == "metrics.jsonl":
            (pathlib.Path(self.workdir) / self.trains).write_text("{}\n")
        elif self.trains:
            (pathlib.Path(self.workdir) / self.trains).mkdir(parents=True)

    def _fail(self):
        raise ValueError("the second stage fails")


@pytest.mark.parametrize("existed", [False, True])
def test_a_failed_start_leaves_nothing(config, tmp_path, existed):
    folder = tmp_path / "run"
    if existed:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="second stage"):
        Failing(config, str(folder), []).run()
    assert folder.exists() == existed
    assert [path.name for path in tmp_path.rglob("*.*")] == ["notes.txt"] * existed
    wider = options.with_values(config, {"model.width": 256})  # the folder takes other options now
    assert Counting(wider, str(folder), []).run()


@pytest.mark.parametrize("trains", ["metrics.jsonl", "checkpoints/20"])
def test_a_failure_in_training_keeps_the_run(config, tmp_path, trains):
    job = Failing(config, str(tmp_path), [])
    job.trains = trains
    with pytest.raises(ValueError, match="second stage"):
        job.run()
    assert (tmp_path / "config.json").exists() and (tmp_path / "vocab" / "text.json").exists()


def test_a_later_start_that_fails_keeps_the_run(config, tmp_path):
    assert not Counting(config, str(tmp_path), [], stops=True).run()
    with pytest.raises(ValueError, match="second stage"):
        Failing(config, str(tmp_path), []).run()
    assert (tmp_path / "config.json").exists() and (tmp_path / "vocab" / "text.json").exists()


def test_a_start_that_fails_leaves_the_record_of_a_finished_run(config, tmp_path):
    Counting(config, str(tmp_path), []).run()
    before = read(tmp_path / "record.json")
    os.remove(tmp_path / "report.json")  # so that the job does its stages again
    job = Failing(config, str(tmp_path), [])
    job.writes_config = False
    with pytest.raises(ValueError, match="second stage"):
        job.run()
    after = read(tmp_path / "record.json")
    assert after["finished"] and after["figures"] == before["figures"]
    assert after["outcomes"] == before["outcomes"] and after["items"] == before["items"]
    # The time of all starts counts.
    assert after["starts"] == 2 and after["seconds"]["wall"] > before["seconds"]["wall"]


def test_options_are_checked_before_anything_is_written(config, tmp_path):
    class Wrong(Counting):
        def check(self):
            raise ValueError("wrong options")

    done = []
    with pytest.raises(ValueError, match="wrong options"):
        Wrong(config, str(tmp_path / "run"), done).run()
    assert not done and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "path, value, expected",
    [
        ("mesh.data", 7, "config.mesh"),
        ("init.parameters", "run", "config.init.parameters"),
        ("data.source", "text:nowhere", "There is no text directory"),
        ("data.dictionaries", "nowhere", "There is no dictionary directory"),
        ("evals.retrieval.data", "nowhere", "evals.retrieval.data=nowhere names no parallel text"),
        ("evals.bli.data", "nowhere", "nowhere is not a folder .config.evals.bli.data"),
        ("data.languages", "en,itt", "does not speak itt"),
    ],
)
def test_a_language_model_starts_with_nothing_missing(config, tmp_path, path, value, expected):
    with pytest.raises((ValueError, FileNotFoundError), match=expected):
        pretrain.run(options.with_values(config, {path: value}), str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_folder_of_an_older_layout_is_refused(config, tmp_path):
    Counting(config, str(tmp_path), []).run()
    old = read(tmp_path / "config.json")
    assert old.pop("layout") == options.LAYOUT
    (tmp_path / "config.json").write_text(json.dumps(old))
    with pytest.raises(ValueError, match=r"layout 1, which clwe_jax 0\.1\.0 reads") as error:
        Counting(config, str(tmp_path), []).run()
    assert "\n" not in str(error.value)
    (tmp_path / "config.json").write_text(json.dumps({**old, "layout": options.LAYOUT + 1}))
    with pytest.raises(ValueError, match="a later version"):
        options.read_config(tmp_path)


def test_a_folder_with_an_option_that_is_gone_is_read(config, tmp_path):
    options.write_config(config, str(tmp_path), ".")
    kept = json.loads((tmp_path / "config.json").read_text())
    kept["evals"]["bli"]["bootstrap"] = 1_000
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert options.read_config(tmp_path) == config


@pytest.mark.parametrize("name", ["joint_align", "ner_mapped", "clcr", "compare", "mbert"])
def test_only_a_language_model_has_a_plan_and_older_folders_are_read(name, tmp_path):
    run = options.parse(presets.start_from(name, "laptop"))
    options.write_config(run, str(tmp_path), ".")
    kept = json.loads((tmp_path / "config.json").read_text())
    assert ("plan" in kept) == (name == "mbert")
    kept["plan"] = {"utilisation": 0.5, "dollars_per_chip_hour": 0.0}
    (tmp_path / "config.json").write_text(json.dumps(kept))
    read_again = options.read_config(tmp_path)
    expected = {"plan.utilisation": 0.5} if name == "mbert" else {}
    assert read_again == options.with_values(run, expected)


def test_a_folder_with_former_names_of_options_is_read(tmp_path):
    run = options.parse(presets.start_from("warm_dict_mlm", "laptop"))
    options.write_config(run, str(tmp_path), ".")
    text = (tmp_path / "config.json").read_text()
    names = {"stay_near_embeddings": "hold", "decay_to_start": "pull", "kept_piece": "kept"}
    for new, old in names.items():
        assert new in text
        text = text.replace(f'"{new}"', f'"{old}"')
    (tmp_path / "config.json").write_text(text)
    assert options.read_config(tmp_path) == run


@pytest.mark.parametrize("kind, share", [("none", 0.0), ("joint", 0.5), ("switch", 0.7)])
def test_a_folder_that_says_how_translations_were_predicted_is_read(tmp_path, kind, share):
    run = options.parse(presets.start_from("bi_saelmo", "laptop"))
    options.write_config(run, str(tmp_path), ".")
    kept = json.loads((tmp_path / "config.json").read_text())
    del kept["objective"]["translation_share"]
    kept["objective"].update(translation=kind, switch_share=0.7)
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert options.read_config(tmp_path).objective.translation_share == share


def test_an_option_that_stood_in_another_section_is_read(tmp_path):
    run = options.parse(presets.start_from("ner_mapped", "small"))
    options.write_config(run, str(tmp_path), ".")
    kept = json.loads((tmp_path / "config.json").read_text())
    kept["transfer"]["align"]["parallel"] = kept["data"].pop("pairs")
    (tmp_path / "config.json").write_text(json.dumps(kept))
    assert options.read_config(tmp_path) == run and run.data.pairs == "parallel/train"


def test_a_model_of_hugging_face_is_no_run(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 8}')
    with pytest.raises(ValueError, match=f"Hugging Face and no run: name it hf:{tmp_path}"):
        options.read_config(tmp_path)


@pytest.mark.parametrize("job", registry.TABLES["job"])
def test_every_job_is_an_option_and_what_it_leaves_is_loaded(job):
    assert (job in systems.JOBS) != (job in systems._KINDS)
    # Jobs that work on a finished run leave its config.json as it is.
    loaded = {**registry.TABLES["loader"], **registry.TABLES["labeller"]}
    assert (job in loaded) == (job != "evaluate")
    # A comparison that is started again measures with other options of its evaluators; CLCR keeps its stages.
    not_evaluated = ("evaluate", "compare", "clcr")
    assert (job in registry.TABLES["evaluation"]) == (job not in not_evaluated)

"""Comparisons of two tiny systems: what is kept, resumed, and refused."""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import types

import numpy as np
import pytest

from clwe_jax import api, options, terminal
from clwe_jax.compare import job, one, shared, systems, tasks
from clwe_jax.compare.measured import Measured
from clwe_jax.compare.place import RunPlace
from clwe_jax.options.compare import CompareOptions, CompareRun
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.runs import record
from clwe_jax.text.dictionary import compared_words

LANGUAGES = ("de", "en", "fr")
WORDS = 24
CONFIG = """
from clwe_jax import presets

def get_config(scale="laptop"):
    config = presets.static(scale)
    config.system = "{0}"
    config.static.update(training="{0}", refinement=False)
    config.embeddings.update(dim=8, epochs=2, buckets=50, min_count=1)
    return config
"""


def word(language, number):
    return f"{language}{'abcdefghijklmnopqrstuvwxyz'[number]}"


@pytest.fixture
def folder(tmp_path):
    """Text in three languages, dictionaries, and the configs of two systems."""
    r = np.random.RandomState(0)
    for name in ("text", "dictionaries", "tests"):
        (tmp_path / name).mkdir()
    lines = [[(n + k) % WORDS for k in r.permutation(4)] for n in r.randint(0, WORDS, 200)]
    for language in LANGUAGES:
        text = "\n".join(" ".join(word(language, n) for n in line) for line in lines)
        (tmp_path / "text" / f"{language}.txt").write_text(text + "\n")
    for language in ("de", "fr"):
        pairs = [f"{word(language, n)} {word('en', n)}\n" for n in range(WORDS)]
        (tmp_path / "dictionaries" / f"{language}-en.txt").write_text("".join(pairs))
        for side in (language, "en"):
            some = "\n".join(" ".join(word(side, n) for n in line) for line in lines[:20])
            (tmp_path / "tests" / f"{language}-en.{side}").write_text(some + "\n")
    for name in ("dictionary", "joint"):
        (tmp_path / f"{name}.py").write_text(CONFIG.format(name))
    return tmp_path


def config_of(folder, **values):
    found = options.with_values(
        CompareRun(),
        {
            "data.source": f"text:{folder / 'text'}",
            "data.languages": ",".join(LANGUAGES),
            "data.dictionaries": str(folder / "dictionaries"),
            "evals.retrieval.data": str(folder / "tests"),
            "compare.systems": f"floor,{folder / 'dictionary.py'},{folder / 'joint.py'}",
            **values,
        },
    )
    return compared_words.adopt_options(found)


class Here:
    """A process whose program runs in this one."""

    started = []

    def __init__(self, command, **_):
        self.started.append(command[-2])
        arguments, sys.argv = sys.argv, command[2:]
        try:
            one.main()
            self.code = 0
        except SystemExit as stop:
            self.code = stop.code if isinstance(stop.code, int) else 1
        finally:
            sys.argv = arguments

    def wait(self):
        return self.code


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(Here, "started", [])
    made = types.SimpleNamespace(Popen=Here, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(job, "subprocess", made)  # libraries start processes of their own
    return Here.started


def figures(workdir):
    found = json.loads((pathlib.Path(workdir) / "results.json").read_text())
    return {x: y for x, y in found.items() if not x.endswith(("/minutes", "/memory", "/disk"))}


@pytest.mark.slow
def test_an_interrupted_comparison_ends_as_an_uninterrupted_one(folder, here, monkeypatch):
    config, whole, cut = config_of(folder), str(folder / "whole"), str(folder / "cut")
    assert job.run(config, whole)
    assert len(here) == 3

    evaluated = one._evaluate

    def stop(config, place, *rest):
        if place.system.name == "dictionary":  # the first system that is trained
            sys.exit(terminal.UNFINISHED)
        return evaluated(config, place, *rest)

    with monkeypatch.context() as context:
        context.setattr(one, "_evaluate", stop)
        assert not job.run(config, cut)
    assert not os.path.exists(os.path.join(cut, "results.json"))
    assert here[3:] == ["floor", "dictionary"]
    here.clear()
    trained = folder / "cut" / "systems" / "dictionary" / "seed0" / "record.json"
    record = json.loads(trained.read_text())
    record["seconds"]["wall"] = 600.0  # of the start that was stopped
    trained.write_text(json.dumps(record))
    assert job.run(config, cut)
    assert json.loads((folder / "cut" / "report.json").read_text())["speed"]["seconds"] > 600
    assert figures(cut) == figures(whole)
    assert figures(whole)["compare/dictionary/retrieval"] > 0.3
    with pytest.raises(ValueError, match="load one of them: .*dictionary/seed0, .*joint/seed0"):
        api.load(whole)

    # A dry run says which measurements are kept.
    for changes, answer in (({}, "kept"), ({"evals.bli.max_words": 7}, "measured again")):
        compared = job.Compare(config_of(folder, **changes), whole)
        [place] = [x for x in compared._places if x.system.name == "dictionary"]
        [line] = compared._about(place)
        assert line.startswith(f"dictionary, seed 0: {answer}")

    # Measurements are kept, and a further seed joins them.
    here.clear()
    more = config_of(
        folder, **{"compare.systems": f"floor,{folder / 'joint.py'}", "compare.seeds": 2}
    )
    assert job.run(more, whole)
    assert here == ["joint"]
    report = json.loads((folder / "whole" / "report.json").read_text())
    assert report["compare"]["systems"] == {"floor": 1, "joint": 2}
    page = (folder / "whole" / "report.html").read_text()
    assert "to use which" in page and "Orders" in page
    assert "Use this model" not in page  # a comparison has none


def test_all_systems_choose_a_translation_among_equally_many_words(folder, here, monkeypatch):
    measure, chosen = one.evaluators.measure, []

    def seen(made, encoder):
        figures, rows = measure(made, encoder)
        chosen.append(
            {y for x, y in figures.items() if x.endswith("/chance") and x.startswith("bli/")}
        )
        return figures, rows

    monkeypatch.setattr(one.evaluators, "measure", seen)
    systems_ = f"floor,{folder / 'dictionary.py'}"
    config = config_of(folder, **{"compare.systems": systems_, "evals.bli.max_words": 7})
    assert job.run(config, str(folder / "run"))
    assert chosen[0] == chosen[-1] == {1 / 7}  # between them the run measures itself
    page = (folder / "run" / "report.html").read_text()
    assert '<p class="reached">Best in Retrieval' in page


def test_the_chance_levels_of_a_task_are_those_of_its_run(tmp_path):
    (tmp_path / "results.json").write_text('{"xnli/de/acc": 0.5, "xnli/de/majority": 0.3}')
    assert tasks.majorities(str(tmp_path)) == {"xnli/de/majority": 0.3}


@pytest.mark.parametrize(
    "languages, train, tested",
    [("de,en,fr", "en", "de,fr"), ("de,fr", "de", "fr"), ("deu,eng", "eng", "deu")],
)
@pytest.mark.parametrize("source", ["files", "pocket"])
def test_a_task_trains_in_a_language_of_the_comparison(
    folder, monkeypatch, languages, train, tested, source
):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    (folder / "pos").mkdir()
    for name in ("en.train", "de.train", "de.test", "fr.test"):
        (folder / "pos" / f"{name}.tsv").write_text("x\tNOUN\n")
    if source == "pocket" and "deu" in languages:
        return  # the embedded world speaks no such language
    labelled = "pocket" if source == "pocket" else str(folder)
    config = config_of(folder, **{"compare.labelled": labelled, "data.languages": languages})
    codes = languages.split(",")
    run = tasks.run_of(config, "pos", "hf:some/model", codes)
    assert run.transfer.train.partition(":")[0] == train
    assert set(tested.split(",")) == set(options.languages(run)) - {train}


def test_a_task_without_training_rows_in_the_languages_is_an_error(folder):
    (folder / "pos").mkdir()
    for name in ("en.train", "de.test", "fr.test"):
        (folder / "pos" / f"{name}.tsv").write_text("x\tNOUN\n")
    config = config_of(folder, **{"compare.labelled": str(folder), "data.languages": "de,fr"})
    with pytest.raises(ValueError, match="data.languages=de,fr: expected de.train.tsv"):
        tasks.files(config, "pos")


def test_test_words_that_nobody_gives_are_held_out_of_the_dictionaries(folder, here):
    config, workdir = config_of(folder, **{"compare.systems": "floor"}), str(folder / "run")
    place = shared.write(config.resolve(), workdir)
    asked = {
        line.split()[0]
        for line in (folder / "run" / "heldout" / "de-en.5000-6500.txt").read_text().splitlines()
    }
    assert asked and len(asked) == WORDS // 10
    system = systems.choose_systems(config_of(folder).compare)[1]
    made = shared.run_of(config.resolve(), system, 0, place)
    assert made.data.exclude_dictionaries == place["evals.bli"]
    (folder / "dictionaries" / "de-en.5000-6500.txt").write_text("dea ena\n")
    assert config_of(folder).evals["bli"].data == str(folder / "dictionaries")


def test_dictionaries_that_change_after_words_are_held_out_are_refused(folder):
    config, workdir = config_of(folder, **{"compare.systems": "floor"}).resolve(), folder / "run"
    shared.write(config, str(workdir))
    kept = {x.name: x.read_text() for x in (workdir / "heldout").iterdir()}
    shared.write(config, str(workdir))
    assert {x.name: x.read_text() for x in (workdir / "heldout").iterdir()} == kept
    changed = folder / "dictionaries" / "de-en.txt"
    changed.write_text(changed.read_text() + "neu new\n")
    with pytest.raises(ValueError, match="de-en.txt"):
        shared.write(config, str(workdir))


@pytest.mark.parametrize("changed", ["text/fr.txt", "dictionaries/de-en.txt", "tests/fr-en.fr"])
def test_data_that_change_after_a_system_is_trained_are_refused(folder, changed):
    values = {"compare.parallel": str(folder / "tests"), "evals.bli.data": ""}
    config, workdir = config_of(folder, **values).resolve(), str(folder / "run")
    shared.check(config, workdir)
    shared.write(config, workdir)
    shared.check(config, workdir)
    lines = (folder / changed).read_text().splitlines(keepends=True)
    (folder / changed).write_text("".join(lines[1:] + lines[:1]))  # of the same size
    name = os.path.basename(changed)
    with pytest.raises(ValueError, match=f"{name}.*--workdir"):
        shared.check(config, workdir)


def test_all_files_of_a_pair_are_held_out(folder, here):
    more = "".join(f"{word('de', n)}\t{word('en', n)}x\n" for n in range(WORDS))
    (folder / "dictionaries" / "de-en.wiktionary.txt").write_text(more)
    shared.write(config_of(folder, **{"compare.systems": "floor"}).resolve(), str(folder / "run"))
    lines = (folder / "run" / "heldout" / "de-en.5000-6500.txt").read_text().splitlines()
    assert (
        len(lines) == 2 * (WORDS // 10) and sum(line.endswith("x") for line in lines) == WORDS // 10
    )


def test_a_system_that_fails_leaves_the_others(folder, here, monkeypatch):
    def fail(config, place, folders, run):
        if place.system.name == "joint":
            raise ValueError("no luck")
        return Measured({}, {}, {})

    monkeypatch.setattr(one, "_evaluate", fail)
    workdir = str(folder / "run")
    assert not job.run(config_of(folder), workdir)
    report = json.loads((folder / "run" / "report.json").read_text())
    assert set(report["compare"]["failed"]) == {"joint, seed 0"}
    assert "dictionary" in report["compare"]["systems"]
    assert not record.read(workdir)["finished"]  # it is no row of the ledger


def test_a_run_that_is_started_alone_has_the_options_of_the_comparisons(folder, monkeypatch):
    seen = []
    config = config_of(folder, **{"compare.systems": "floor"})
    monkeypatch.setattr(one.options, "read_config", lambda _: config)
    monkeypatch.setattr(one, "measure", lambda _, place: seen.append(place) or Measured({}, {}, {}))
    monkeypatch.setattr(one.sys, "argv", ["one", os.path.relpath(folder), "floor", "0"])
    one.main()
    assert seen[0].workdir == str(folder)


@pytest.mark.parametrize(
    "systems_, message",
    [
        ("joint_dictionery", "Did you mean 'joint_dictionary'"),
        ("floor,floor", "twice"),
        ("laser", "compare.parallel"),
        ("run:absent", "no folder"),
        ("absent.py", "absent.py"),
        ("", "empty"),
    ],
)
def test_a_bad_system_is_an_error_before_anything_is_trained(folder, systems_, message):
    config = config_of(folder, **{"compare.systems": systems_}).resolve()
    with pytest.raises((ValueError, OSError), match=message):
        shared.check(config, str(folder / "run"))
    assert not (folder / "run").exists()


def test_names_of_files_may_hold_commas():
    found = systems.choose_systems(
        CompareOptions(systems="floor,vec:en=a.vec,de=b.vec,hf:some/model")
    )
    assert [x.name for x in found] == ["floor", "vec:en=a.vec,de=b.vec", "hf:some/model"]
    assert [x.key for x in found] == ["floor", "vec:a.vec", "hf:model"]
    read = "hf:a/e5?pool=mean&prompt=query:"
    found = systems.choose_systems(CompareOptions(systems=f"{read},{read}+0.2*run:runs/b"))
    alone = "hf:e5?pool=mean&prompt=query:"
    assert [x.key for x in found] == [alone, f"{alone}+run:b"]


def test_the_config_of_a_system_is_that_of_the_folder_or_ones_own(folder):
    own = str(folder / "joint.py")
    config = config_of(folder, **{"compare.systems": f"rcsls,{own}", "compare.configs": "there"})
    found = systems.choose_systems(config.compare)
    named = [shared.config_file(config, x) for x in found]
    assert named == [os.path.join("there", "align_rcsls.py"), own]


@pytest.mark.parametrize("name", [x for x in systems.SYSTEMS if x != systems.FLOOR])
def test_every_system_has_a_config_for_a_text_of_ones_own(folder, name, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    config = config_of(folder, **{"compare.parallel": str(folder / "tests")}).resolve()
    system = systems.SYSTEMS[name]
    place = shared.folders(config, str(folder / "run"))
    run = shared.run_of(config, system, 3, place)
    assert run.seed == 3 and run.data.source == f"text:{folder / 'text'}"
    leak = name == "dict_mlm_tests"
    assert (
        bool(run.data.exclude_dictionaries) != leak if hasattr(run.data, "exclude_tests") else True
    )
    assert system.when.endswith(".") and system.when_not.endswith(".")
    assert re.fullmatch(r".*; needs .*\.", system.what)
    if hasattr(run.data, "dictionary_pivot"):
        composed = options.with_values(config, {"data.dictionary_pivot": "en"})
        pivot = shared.run_of(composed, system, 3, place).data.dictionary_pivot
        assert pivot == "en" and run.data.dictionary_pivot == "en" * (name == "dict_mlm_all")
    if isinstance(run, PretrainRun):  # the trial that measures its speed
        options.with_values(run, one._TRIAL_VALUES).resolve().check_all()


@pytest.mark.parametrize("budget", ["5", "five minutes", "0 steps", "5 hours"])
def test_a_budget_is_a_number_of_three_units(budget):
    with pytest.raises(ValueError, match="minutes, tokens, steps"):
        options.with_values(CompareRun(), {"compare.budget": budget})


def test_a_budget_of_tokens_gives_steps(folder, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    config = config_of(folder, **{"compare.budget": "20_480 tokens"}).resolve()
    place = RunPlace(str(folder / "run"), systems.SYSTEMS["mlm"], 0)
    run = one._with_budget(config, place, shared.folders(config, place.workdir))
    assert run.train.steps * run.train.batch_size * run.data.sequence_length == 20_480
    whole = shared.run_of(config, place.system, 0, shared.folders(config, place.workdir))
    shorter = run.train.steps / whole.train.steps
    assert run.optimizer.warmup_steps == max(1, round(whole.optimizer.warmup_steps * shorter))


def test_a_budget_of_minutes_gives_steps_by_the_speed_of_one_trial(folder, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    config = config_of(folder, **{"compare.budget": "1 minutes"}).resolve()
    speeds = iter([2.0])
    monkeypatch.setattr(one, "_measure_speed", lambda run, folder: next(speeds))
    for seed in (0, 1):  # the second seed takes as many steps, without a trial of its own
        place = RunPlace(str(folder / "run"), systems.SYSTEMS["mlm"], seed)
        run = one._with_budget(config, place, shared.folders(config, place.workdir))
        assert run.train.steps == 120


def test_a_trial_that_is_stopped_is_no_failure(monkeypatch):
    monkeypatch.setattr(one.registry, "lookup", lambda table, name: lambda run, folder: False)
    with pytest.raises(SystemExit) as stop:
        one._measure_speed(PretrainRun(), "nowhere")
    assert stop.value.code == terminal.UNFINISHED


def test_a_config_that_changes_is_timed_and_reported_again(folder, monkeypatch):
    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    config = config_of(folder, **{"compare.budget": "1 minutes"}).resolve()
    before = job.Compare(config, str(folder / "run"))._report_options()
    text = (folder / "joint.py").read_text()
    (folder / "joint.py").write_text(text.replace("epochs=2", "epochs=3"))
    assert job.Compare(config, str(folder / "run"))._report_options() != before

    speeds = iter([1.0, 2.0])
    monkeypatch.setattr(one, "_measure_speed", lambda run, folder: next(speeds))
    for layers in (1, 2):
        system = dataclasses.replace(systems.SYSTEMS["mlm"], values={"model.layers": layers})
        place = RunPlace(str(folder / "run"), system, 0)
        run = one._with_budget(config, place, shared.folders(config, place.workdir))
        assert run.train.steps == 60 * layers


class Writes:
    """A process that writes empty measurements, or a log and no measurements."""

    started = 0
    text = ""

    def __init__(self, command, stdout, **_):
        type(self).started += 1
        os.write(stdout.fileno(), self.text.encode())
        _, name, seed = command[-3:]
        if not self.text:
            [system] = [x for x in systems.choose_systems(CompareOptions(name)) if x.name == name]
            path = RunPlace(command[-3], system, int(seed)).measurements_path
            os.makedirs(os.path.dirname(path), exist_ok=True)
            Measured({}, {}, {}).save(path)

    def wait(self):
        return 1 if self.text else 0


@pytest.fixture
def writes(monkeypatch):
    monkeypatch.setattr(Writes, "started", 0)
    made = types.SimpleNamespace(Popen=Writes, STDOUT=subprocess.STDOUT)
    monkeypatch.setattr(job, "subprocess", made)
    return Writes


def test_a_failure_has_the_reason_of_its_own_start(folder, writes, monkeypatch):
    config = config_of(folder, **{"compare.systems": "floor"}).resolve()
    compared = job.Compare(config, str(folder / "run"))
    [place] = compared._places
    for text, reason in (("error: old\n", "error: old"), ("Killed\n", "Killed")):
        monkeypatch.setattr(Writes, "text", text)
        with pytest.raises(job._Failure, match=f"^{reason}$"):
            compared._start(place)


@pytest.mark.parametrize("changed", ["tests/de-en.en", "model/weights", "labelled/pos/de.test.tsv"])
def test_tests_and_models_that_change_are_measured_again(folder, writes, changed):
    for name in ("model", "labelled/pos"):
        (folder / name).mkdir(parents=True)
    (folder / "model" / "weights").write_text("1 2")
    (folder / "labelled" / "pos" / "de.test.tsv").write_text("x\tNOUN\n")
    given = {
        "compare.systems": f"hf:{folder / 'model'}",
        "compare.labelled": str(folder / "labelled"),
    }
    config = config_of(folder, **given).resolve()
    compared = job.Compare(config, str(folder / "run"))
    [place] = compared._places
    for _ in range(2):
        compared._one(place, {})
    assert writes.started == 1
    lines = (folder / changed).read_text()
    (folder / changed).write_text(lines[::-1])  # of the same size
    compared._one(place, {})
    assert writes.started == 2


def test_a_task_is_trained_again_on_other_rows(folder, monkeypatch):
    trained = []

    def train(run, workdir):
        os.makedirs(workdir, exist_ok=True)
        trained.append(not os.path.exists(os.path.join(workdir, "done")))
        pathlib.Path(workdir, "done").write_text("")
        return True

    monkeypatch.chdir(pathlib.Path(__file__).parents[2])
    monkeypatch.setattr(one, "_evaluate", lambda *arguments: Measured({}, {}, {}))
    monkeypatch.setattr(one.registry, "lookup", lambda table, name: train)
    monkeypatch.setattr(one.tasks, "read_parts", lambda *arguments: {})
    monkeypatch.setattr(one.tasks, "majorities", lambda workdir: {})
    monkeypatch.setattr(one.tasks, "run_of", lambda *arguments: PretrainRun())
    monkeypatch.setattr(one, "_cost", lambda workdir: {"wall_minutes": 0.0})
    rows = folder / "labelled" / "pos"
    rows.mkdir(parents=True)
    given = {
        "compare.systems": f"vec:en={folder / 'en.vec'}",
        "compare.labelled": str(folder / "labelled"),
        "compare.tasks": "pos",
    }
    (folder / "en.vec").write_text("1 1\nx 1\n")
    config = config_of(folder, **given).resolve()
    [system] = systems.choose_systems(config.compare)
    for text in ("x\tNOUN\n", "x\tNOUN\n", "x\tVERB\n"):
        (rows / "de.test.tsv").write_text(text)
        one.measure(config, RunPlace(str(folder / "run"), system, 0))
    assert trained == [True, False, True]

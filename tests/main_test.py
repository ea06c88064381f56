"""The command line: quick and helpful answers, and the check of the run's folder."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from clwe_jax import main, options, presets
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.text import BatchesOptions

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run_main(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "clwe_jax.main", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    "arguments, expected",
    [
        (["--help"], ["--config", "--workdir", "--plan"]),
        (["--config=configs/dict_mlm50.py"], ["no config file", "configs/dict_mlm_50.py'?"]),
        ([], ["which system", "clwe-jax list", "mbert"]),
        (["--config=dict_mlm_5"], ["no config file", "Did you mean 'dict_mlm_50'?"]),
        (["--config=configs/mbert.py", "--help"], ["model.width=128", "rows, over all hosts"]),
        (["--config=configs/mbert.py", "--config.train.step=5"], ["Did you mean", "steps"]),
        (["--config=configs/mbert.py", "--config.steps=5"], ["--config.train.steps or"]),
        (["--config=configs/joint_align.py", "--config.train.steps=5"], ["embeddings.epochs?"]),
        (["--config=configs/mbert.py:tiny"], ["Unknown scale 'tiny'"]),
        (["--config=configs/mbert.py", "--workdir=README.md"], ["README.md is a file"]),
        (["--config=configs/mbert.py", "--config.model.heads=5"], ["heads=5 does not divide"]),
        (
            ["--config=configs/mbert.py", "--config.data.source=text:README.md"],
            ["README.md is a file"],
        ),
        (["--config=configs/mbert.py", "--config.trian.steps=5"], ["Did you mean", "train"]),
        (
            ["--config=configs/mbert.py", "--config.init.parameters=hf:README.md"],
            ["README.md holds no model of Hugging Face", "save_pretrained"],
        ),
        (["--config=configs/mbert.py:smal"], ["Unknown scale", "laptop, small, base, paper"]),
    ],
)
def test_answers_at_once_and_helps(arguments, expected):
    clock = time.monotonic()
    done = run_main(*arguments)
    seconds = time.monotonic() - clock
    said = done.stdout + done.stderr
    assert all(part in said for part in expected), said
    assert "Traceback" not in said
    assert (done.returncode == 0) == ("--help" in arguments)
    # No jax and no TensorFlow is imported; far under 2 s where nothing else runs.
    assert seconds < 20


@pytest.mark.parametrize(
    "key, value, expected",
    [
        ("data.source", "txt:DIR", "expected pocket, text:DIR"),
        ("data.languages", "en,de,en", "names 'en' twice"),
        ("data.languages", "", "is empty"),
        ("data.languages", "EN,de", "lower case, --config.data.languages=en,de"),
        ("data.languages", "en", "config.data.dictionaries needs two languages or more"),
        ("train.steps", 0, "at least 1"),
        ("train.steps", -5, "at least 0"),
        ("train.microbatches", 7, "not divisible"),
        ("data.heldout_share", 0.9, "heldout_share"),
        ("vocab.dictionary_share", 0.95, r"dictionary_share=0.95.*\[0, 0.9\]"),
    ],
)
def test_settings_that_cannot_work(key, value, expected):
    with pytest.raises(ValueError, match=expected):
        options.with_values(
            options.parse(presets.start_from("mbert", "laptop")), {key: value}
        ).check_all()


@pytest.mark.parametrize(
    "argument, job, expected",
    [
        ("mbert.py", "pretrain", "default run takes about"),
        ("mbert.py:laptop", "pretrain", "default run takes about"),
        ("mbert.py:small", "pretrain", "time: unknown; "),
        ("mbert.py", "evaluate", "time: unknown; "),
        ("bi_saelmo_context.py", "project", "time: unknown; "),
    ],
)
def test_the_expected_time_is_of_the_default_run(argument, job, expected, monkeypatch, capsys):
    file = f"{ROOT / 'configs' / argument}"
    monkeypatch.setattr(main.config_flags, "get_config_filename", lambda _: file)
    main._print_expected_time(options.from_file(file, {"job": job}))
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_ends_the_program_in_one_line(tmp_path, number, status):
    waits = tmp_path / "waits.py"
    waits.write_text(
        "import threading, time\n"
        "def get_config(scale='laptop'):\n"
        "    threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "    try:\n"
        "        print('waits', flush=True)\n"
        "        time.sleep(60)\n"
        "    except BaseException:\n"
        "        pass  # as some libraries do\n"
        "    class Callback:\n"
        "        def __del__(self): time.sleep(60)  # what it raises can only be reported\n"
        "    Callback()\n"
        "    try:\n"
        "        time.sleep(60)\n"
        "    finally:\n"
        "        time.sleep(2.5)  # is not disturbed\n"
        "        print('puts away')\n"
    )
    command = [sys.executable, "-m", "clwe_jax.main", f"--config={waits}"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background of a shell inherit that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout.readline() == "waits\n"
        process.send_signal(number)
        said, errors = process.communicate(timeout=50)
    assert process.returncode == status and said == "puts away\n"
    assert errors.startswith(f"Stopped by {number.name}.") and errors.count("\n") == 1


def test_every_scale_is_valid():
    for scale in options.SCALES:
        options.parse(presets.start_from("mbert", scale)).resolve().check_all()


def test_predictions_hold_the_masked_share_with_room():
    for length in (16, 64, 128, 512):
        found = options.max_predictions(BatchesOptions(sequence_length=length))
        assert 0.15 * length < found <= 0.2 * length + 4 and found % 4 == 0


def test_relative_paths_of_options_begin_where_the_run_was_started(tmp_path, monkeypatch):
    for folder in ("a/space", "b"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a")
    options.claim_workdir(PretrainRun(), str(tmp_path / "a" / "runs" / "x"))
    monkeypatch.chdir(tmp_path / "b")
    os.rename(tmp_path / "a", tmp_path / "c")
    run = os.path.join("..", "c", "runs", "x")
    options.write_config(options.read_config(run), run)  # as jobs on a finished run do
    assert options.resolve_path("space", run) == str(tmp_path / "c" / "space")
    assert options.resolve_path("absent", run) == "absent"
    assert options.resolve_path("/space", run) == "/space"


def test_a_folder_belongs_to_one_run(tmp_path):
    config = options.parse(presets.start_from("mbert", "laptop"))
    options.claim_workdir(config, str(tmp_path))
    assert json.loads((tmp_path / "config.json").read_text())["seed"] == 0
    # Training on is not another run.
    config = options.with_values(config, {"train.steps": 5_000, "report.compare_with": "elsewhere"})
    options.claim_workdir(config, str(tmp_path))
    with pytest.raises(ValueError) as error:
        options.claim_workdir(options.with_values(config, {"model.width": 256}), str(tmp_path))
    assert "config.model.width: 128 -> 256" in str(error.value)
    assert "--workdir" in str(error.value)
    assert json.loads((tmp_path / "config.json").read_text())["model"]["width"] == 128

"""The main job from the command line: run, run again, use, prepare, train without TensorFlow."""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from clwe_jax import api

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = [
    "--config.data.languages=de,en",
    "--config.data.pocket_sentences=800",
    "--config.data.pocket_domains=money,sport",
    "--config.data.sequence_length=32",
    "--config.vocab.size=1500",
    "--config.model.layers=1",
    "--config.model.width=32",
    "--config.model.heads=2",
    "--config.model.mlp_dim=64",
    "--config.train.batch_size=8",
    "--config.train.steps=30",
    "--config.train.log_every_steps=10",
    "--config.checkpoint.every_steps=15",
    "--config.evals.mlm.every_steps=15",
    "--config.evals.mlm.batches=1",
    "--config.evals.retrieval.every_steps=0",
    "--config.evals.retrieval.max_sentences=60",
]
NO_TENSORFLOW = """
import sys
for name in ('tensorflow', 'seqio', 'tensorflow_text', 'tensorflow_datasets'):
    sys.modules[name] = None  # as if it were not installed
from clwe_jax import main
main.entry()
"""


def python(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    python("-m", "clwe_jax.main", "--config=configs/dict_mlm_50.py", f"--workdir={folder}", *TINY)
    return folder


def test_the_folder_is_whole(workdir):
    results = json.loads((workdir / "results.json").read_text())
    for name in (
        "train/loss",
        "eval/mlm/de/perplexity",
        "retrieval/de-en/layer1/acc@1",
        "retrieval/mean_last4",
        "retrieval/mean_last4_csls",
        "bli/en-de/p@1",
        "data/coverage/de",
        "train/cross_lingual_share",
        "retrieval/sif/mean_last4",
        "retrieval/sif/de-en/layer0/acc@1",
        "floor/retrieval/mean",
        "floor/bli/p@1",
    ):
        assert np.isfinite(results[name]), name
    assert results["floor/retrieval/mean"] > 0.3 > 0.1 > results["retrieval/chance"]
    assert abs(results["train/cross_lingual_share"] - 0.5) < 1e-4  # in expectation
    assert results["data/unmasked_words"] == results["data/cut_pieces"] == 0
    losses = [
        json.loads(line)["value"]
        for line in (workdir / "metrics.jsonl").read_text().splitlines()
        if '"train/loss"' in line
    ]
    assert losses[-1] < losses[0] and results["eval/mlm/de/perplexity"] < 1_500
    extras = json.loads((workdir / "report.json").read_text())
    assert any(True in example["masked"] for example in extras["examples"])
    assert extras["neighbours"] and extras["languages"]["de"]["coverage"] > 0.5
    page = (workdir / "report.html").read_text()
    assert "<svg" in page and "DICT-MLM-50" in page


def test_a_finished_run_says_so(workdir):
    before = (workdir / "metrics.jsonl").read_bytes()
    said = python(
        "-m", "clwe_jax.main", "--config=configs/dict_mlm_50.py", f"--workdir={workdir}", *TINY
    )
    assert "finished (step 30)" in said and "--config.train.steps" in said
    assert (workdir / "metrics.jsonl").read_bytes() == before


def test_the_model_serves(workdir):
    model = api.load(workdir)
    assert model.languages == ("de", "en")
    one, two = model.encode(["The bank is closed.", "Who signed a check?"], lang="en")
    assert one.shape == (32,) and not np.allclose(one, two)
    assert not np.allclose(model.encode(["The bank is closed."], lang="en", pool="mean"), one)
    assert [word for word, _ in model.words("The bank.", lang="en")] == ["the", "bank", "."]
    found = model.neighbours("bank", lang="en", k=3, to="de")
    assert len(found) == 3 and all(near.language == "de" for near in found)


@pytest.mark.slow
def test_a_warm_start(tmp_path):
    """The joint vectors are trained first; a run that stopped goes on without them, bit for bit."""
    command = [
        "-m",
        "clwe_jax.main",
        "--config=configs/warm_dict_mlm.py",
        *TINY,
        "--config.optimizer.schedule=constant",
        "--config.optimizer.warmup_steps=5",
        "--config.optimizer.groups.table.warmup_steps=5",
        "--config.init.joint.min_count=2",
    ]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    python(*command, f"--workdir={whole}")
    python(*command, f"--workdir={parts}", "--config.train.steps=15")
    shutil.rmtree(parts / "start")
    python(*command, f"--workdir={parts}")
    assert not (parts / "start").exists()
    results = json.loads((whole / "results.json").read_text())
    assert results["start/bli/de-en/p@1_csls"] > 0 and results["retrieval/mean_last4"] > 0
    again = json.loads((parts / "results.json").read_text())
    for name, value in again.items():
        if name.startswith(("bli/", "retrieval/", "eval/")):
            assert results[name] == value, name
    sections = json.loads((whole / "report.json").read_text())["sections"]
    [section] = [each for each in sections if each["title"] == "Initial parameters"]
    assert "joint" in json.dumps(section)


@pytest.mark.slow
def test_prepared_batches_train_without_tensorflow(tmp_path):
    config = ["--config=configs/dict_mlm_50.py", *TINY]
    python("-m", "clwe_jax.data.prepare", *config, f"--out={tmp_path}/batches", "--heldout_rows=8")
    said = python(
        "-c",
        NO_TENSORFLOW,
        *config,
        f"--workdir={tmp_path}/run",
        "--config.evals.retrieval.data=pocket",
        "--config.data.dictionaries=pocket",
        f"--config.data.source=batches:{tmp_path}/batches",
    )
    assert "Report:" in said
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["dictionary"]["left_out"] > 0  # the batches' dictionary is without test words
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert {"retrieval/mean_last4", "retrieval/sif/mean_last4"} <= results.keys()
    assert 0 < results["eval/mlm/en/loss"] < np.log(1_500)  # the loss of pieces drawn at random
    # The counts came with the batches, and the dictionary is still where the config names it.
    assert results["floor/retrieval/mean"] > 0.3

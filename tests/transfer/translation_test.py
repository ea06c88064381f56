"""Unsupervised translation from text files to a loaded model, resumed bit by bit."""

import json
import shutil

import jax
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.pretrain import job as pretrain
from clwe_jax.training import checkpoint, paths

NAMES = "abcdefghijkl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text, dictionary and held-out pairs of two languages; words of equal last letters translate."""
    folder = tmp_path_factory.mktemp("texts")
    for name in ("text", "dictionaries", "dev"):
        (folder / name).mkdir()
    r = np.random.RandomState(0)
    for number, language in enumerate(("de", "en")):
        lines = [r.choice(list(NAMES), r.randint(3, 6)) for _ in range(60)]
        text = "".join(" ".join(f"{language}{x}" for x in line) + "\n" for line in lines)
        (folder / "text" / f"{language}.txt").write_text(text)
        (folder / "dev" / f"de-en.{language}").write_text(
            "".join(f"{language}{a} {language}{b}\n" for a, b in zip(NAMES, NAMES[1:]))
        )
    pairs = "".join(f"de{x} en{x}\n" for x in NAMES)
    (folder / "dictionaries" / "de-en.txt").write_text(pairs)
    return folder


def config_of(folder, steps, values={}):
    config = presets.start_from("unsupervised_mt", "laptop")
    config.data.update(
        source=f"text:{folder / 'text'}",
        languages="de,en",
        sequence_length=8,
        dictionaries=str(folder / "dictionaries"),
    )
    config.vocab.update(kind="word", size=40)
    config.task.widths = 1
    config.model.update(layers=1, decoder_layers=1, shared_layers=0, width=8, heads=2, mlp_dim=8)
    config.init.embeddings = "dictionary"
    config.objective.translate_after = 2
    config.train.update(steps=steps, batch_size=8, log_every_steps=2)
    # Other schedules depend on the steps of the run, which differ here.
    config.optimizer.update(schedule="constant", warmup_steps=0)
    config.checkpoint.every_steps = 3
    config.evals.bleu.update(data=str(folder / "dev"), every_steps=0)
    config.evals.retrieval.data = ""
    found = options.with_values(options.parse(config), values)
    found.resolve().check_all()
    return found


def params_of(workdir, step):
    found = checkpoint.complete_steps(str(workdir / "checkpoints"))
    assert found[-1] == step
    return paths.flat(jax.tree.map(np.asarray, api.load(workdir).loaded.variables["params"]))


def test_a_run_resumes_bit_by_bit_and_translates(folder, tmp_path):
    assert pretrain.run(config_of(folder, 6), str(tmp_path / "whole"))
    stopped = tmp_path / "parts"  # as the run was after step 3
    shutil.copytree(tmp_path / "whole", stopped)
    shutil.rmtree(stopped / "checkpoints" / "6")
    for name in ("results.json", "report.json", "report.html"):
        (stopped / name).unlink()
    assert pretrain.run(config_of(folder, 6), str(stopped))
    whole, parts = (params_of(tmp_path / name, 6) for name in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    for path, array in whole.items():
        np.testing.assert_array_equal(array, parts[path], err_msg=path)
    figures = json.loads((tmp_path / "whole" / "results.json").read_text())
    assert np.isfinite(figures["bleu/de-en"]) and figures["data/sentences/de"] == 60
    assert figures["train/translation_loss"] > 0 and figures["data/left_out"] == 0
    report = (tmp_path / "whole" / "report.html").read_text()
    assert "BLEU" in report and "word vectors" in report
    model = api.load(tmp_path / "whole")
    text = model.translate_sentence("dea deb", lang="de", to="en", width=2)
    assert set(text.split()) <= {f"{x}{y}" for x in ("de", "en") for y in NAMES} | {"[UNK]"}
    assert model.encode(["dea deb", "dec"], lang="de").shape == (2, 8)


def test_a_vocabulary_of_fastbpe_trains_a_translator(folder, tmp_path):
    codes = [
        "d e 60",
        "e n 60",
        *(f"de {x}</w> 9" for x in NAMES),
        *(f"en {x}</w> 9" for x in NAMES),
    ]
    pieces = [f"{x}{y}" for x in ("de", "en") for y in NAMES] + ["de@@", "en@@", *NAMES]
    (tmp_path / "x.fcodes").write_text("".join(f"{x}\n" for x in codes))
    (tmp_path / "x.fvocab").write_text("".join(f"{x} 5\n" for x in pieces))
    config = config_of(folder, 2, {"vocab.path": str(tmp_path / "x.fcodes")})
    assert pretrain.run(config, str(tmp_path / "run"))
    model = api.load(tmp_path / "run")
    assert model.loaded.vocabulary.kind == "fastbpe" and len(model.loaded.vocabulary) == 5 + len(
        pieces
    )
    assert model.tokenizer.encode("dea enb", "en")[0] == [4, 17]
    assert isinstance(model.translate_sentence("dea", lang="de", to="en"), str)


def test_sentences_need_text_files(folder):
    values = {"data.source": "tfds:wikipedia/20230601", "init.embeddings": ""}
    with pytest.raises(ValueError, match="tfds:.*pocket, text:DIR"):
        config_of(folder, 1, values)

"""A model of Hugging Face becomes a run, is trained on, and is exported again."""

import json
import os

import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.interop import configuration, export, huggingface
from clwe_jax.pretrain import job as pretrain

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"abcdefghijklmnopqrstuvwxyzäöüß.,!?",
    *(f"##{x}" for x in "abcdefghijklmnopqrstuvwxyzäöüß"),
]


def a_config(folder, rate, steps):
    config = presets.start_from("mbert", "laptop")
    config.init.parameters = f"hf:{folder}"
    config.data.update(
        languages="de,en",
        pocket_sentences=300,
        pocket_domains="money",
        sequence_length=11,
        chunk_lines=32,
    )
    config.train.update(steps=steps, batch_size=4, log_every_steps=2)
    config.optimizer.learning_rate = rate
    config.checkpoint.every_steps = 100
    config.evals.mlm.update(every_steps=0, batches=1)
    config.evals.retrieval.data = config.evals.bli.data = ""
    run = configuration.adopt_options(options.parse(config))
    run.resolve().check_all()
    return run


@pytest.mark.slow
def test_import_training_and_export(folders, tmp_path):
    arrays, config = (x("bert", len(PIECES)) for x in (folders.make_arrays, folders.make_config))
    folder = folders.write(tmp_path / "bert", "bert", arrays, config, PIECES)
    texts = ["Die Bank, ein Haus!", "the river bank"]
    before = api.load(folder, languages=("de", "en")).encode(texts, lang="de", layer="all")
    for rate, same in ((0.0, True), (0.01, False)):
        workdir = str(tmp_path / f"run{same}")
        assert pretrain.run(a_config(folder, rate, 2), workdir)
        model = api.load(workdir)
        after = model.encode(texts, lang="de", layer="all")
        assert np.array_equal(before, after) == same
        out = str(tmp_path / f"out{same}")
        export.export(workdir, "huggingface", out)
        again = huggingface.load(out, ("de", "en"))
        assert again.tokenizer.encode(texts[0], "de") == model.tokenizer.encode(texts[0], "de")
        exported = api.load(out, languages=("de", "en")).encode(texts, lang="de", layer="all")
        np.testing.assert_allclose(exported, after, atol=1e-6)
    with open(os.path.join(workdir, "report.json"), encoding="utf-8") as file:
        assert f"hf:{folder}" in json.dumps(json.load(file)["sections"])

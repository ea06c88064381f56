"""CLCR between two models of Hugging Face: from folders of weights to a loaded pair."""

import json

import numpy as np
import pytest

from clwe_jax import api, options, pocket, presets, registry
from clwe_jax.clcr import job as clcr


def bert(folders, folder, side, seed):
    """A folder of BERT with random weights whose vocabulary are the words of one language."""
    rows = pocket.link_sentences("de", "en", 60, "clcr", "train", ("money",))
    words = sorted({word for row in rows for word in row[side]})
    pieces = [*folders.pieces[:5], *words]
    arrays = folders.make_arrays("bert", len(pieces), seed)
    return "hf:" + folders.write(folder, arrays=arrays, pieces=pieces)


@pytest.mark.slow
def test_two_berts_are_mapped_extracted_reordered_and_loaded(folders, tmp_path):
    config = presets.start_from("clcr", "laptop")
    config.system, config.data.languages = "CLCR", "de,en"
    config.data.update(pocket_domains="money", lower_case=False)
    config.clcr.update(
        source=bert(folders, tmp_path / "de", 0, 1),
        target=bert(folders, tmp_path / "en", 1, 2),
        sentences=60,
        test_sentences=10,
        threshold=9.0,
        layer="0",
    )
    config.clcr.transform.update(steps=30, hidden=8, batch_size=16)
    config.clcr.predictor.update(steps=10, hidden=8, batch_size=32)
    config.clcr.entailment.seeds = 0
    run = options.parse(config)
    run.resolve().check_all()
    registry.lookup("inputs", "clcr")(run.resolve(), str(tmp_path / "run"))
    assert clcr.run(run, str(tmp_path / "run"))
    figures = json.loads((tmp_path / "run" / "results.json").read_text())
    assert figures["clcr/alignment_f1"] > 0 and "clcr/reorder/bleu4" in figures
    model = api.load(str(tmp_path / "run"))
    assert set(model.languages) == {"de", "en"}
    vectors = model.encode(["Die Bank", "Der Kunde"], "de")
    assert vectors.shape == (2, 8) and np.isfinite(vectors).all()
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3

"""Runs that start from a model of Hugging Face: parameters, rows in common, options."""

import logging

import jax
import numpy as np
import pytest

from clwe_jax import options, presets, reevaluate, registry
from clwe_jax.interop import configuration, huggingface
from clwe_jax.pretrain import warm_start
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, init, partition, paths


def a_run(folder, parts="", **data):
    values = {
        "init": {"parameters": f"hf:{folder}", "parts": parts},
        "data": dict(languages="en,de", sequence_length=9) | data,
    }
    return options.with_values(options.parse(presets.start_from("mbert", "laptop")), values)


def started(run, tokenizer):
    """The initialised parameters, those after the start, and the record, by path."""
    vocabulary = tokenizer.vocabulary
    objective = build.build_objective(run, len(vocabulary), vocabulary.size)
    boxed = jax.jit(objective.init)(jax.random.key(0), a_batch(objective))
    params = partition.unbox(boxed["params"])
    initial = init.from_config(run.init, warm_start.names(tokenizer))
    after, record = initial.apply_to(params, partition.axes_of(boxed["params"]))
    flat = [{k: np.asarray(v) for k, v in paths.flat(x).items()} for x in (params, after)]
    return objective, *flat, record, after


def a_batch(objective):
    shapes = objective.batch_shapes(1, 9)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
    batch["inputs"][0] = [2, 5, 6, 7, 11, 12, 3, 0, 0]
    batch["positions"][0, :7] = np.arange(7)
    batch["segment_ids"][0, :7] = 1
    return batch


def test_a_run_starts_as_the_model(folders, tmp_path):
    folder = folders.write(tmp_path)
    run = configuration.adopt_options(a_run(folder))
    loaded = huggingface.load(folder, ("en", "de"), max_length=9)
    objective, _, _, record, params = started(run, loaded.tokenizer)
    batch = a_batch(objective)
    ours = jax.jit(objective.encode)({"params": params}, batch)
    theirs = jax.jit(loaded.objective.encode)(loaded.variables, batch)
    np.testing.assert_array_equal(ours.last[0, :7], theirs.last[0, :7])
    scores = [
        x.module.apply(v, y.last, batch["language_ids"], method="score")[0, :7, :13]
        for x, v, y in (
            (objective, {"params": params}, ours),
            (loaded.objective, loaded.variables, theirs),
        )
    ]
    np.testing.assert_array_equal(*scores)
    assert record["source"] == f"hf:{folder}" and record["step"] is None and "common" not in record


def test_rows_of_the_tokens_in_common(folders, tmp_path):
    folder = folders.write(tmp_path)
    pieces = ["[UNK]", "[MASK]", "[PAD]", "[CLS]", "[SEP]", "bank", "Haus", "##s", "the"]
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter(), WordPieceVocabulary(pieces))
    run = configuration.adopt_options(a_run(folder))
    _, before, after, record, _ = started(run, tokenizer)
    theirs = huggingface.parameters(folder)
    assert record["common"] == {"vocab": 8}
    for path in (huggingface.TOKENS, huggingface.BIAS):
        for row, piece in enumerate(pieces):
            known = piece != "Haus"
            wanted = theirs[path][folders.pieces.index(piece)] if known else before[path][row]
            np.testing.assert_array_equal(after[path][row], wanted, err_msg=piece)
        np.testing.assert_array_equal(after[path][len(pieces) :], before[path][len(pieces) :])


def test_a_model_without_a_head(folders, tmp_path, caplog):
    arrays = folders.make_arrays("bert", len(folders.pieces))
    arrays = {k: v for k, v in arrays.items() if "cls" not in k}
    folder = folders.write(tmp_path, arrays=arrays)
    run = configuration.adopt_options(a_run(folder))
    tokenizer = huggingface.load(folder, ("en", "de")).tokenizer
    with caplog.at_level(logging.WARNING):
        _, before, after, record, _ = started(run, tokenizer)
    assert "head/bias, head/kernel" in caplog.text
    for path in after:
        same = np.array_equal(after[path], before[path])
        assert same == path.startswith("head/"), path
    assert record["arrays"] == sum(not path.startswith("head/") for path in after)


def test_parts_leave_the_options_alone(folders, tmp_path):
    folder = folders.write(tmp_path)
    sizes = dict(width=8, heads=2, mlp_dim=16, layers=1)
    run = options.with_values(a_run(folder, huggingface.TOKENS), {"model": sizes})
    assert configuration.adopt_options(run) is run
    tokenizer = huggingface.load(folder, ("en", "de")).tokenizer
    _, before, after, _, _ = started(run, tokenizer)
    changed = [path for path in after if not np.array_equal(after[path], before[path])]
    assert changed == [huggingface.TOKENS]


def test_the_options_that_follow(folders, tmp_path):
    run = configuration.adopt_options(a_run(folders.write(tmp_path / "a")))
    assert run.vocab.path == str(tmp_path / "a") and not run.data.lower_case
    assert (run.model.layers, run.model.types, run.model.norm) == (2, 2, "post")
    assert run.objective.dense and not run.model.language_embeddings
    folder = folders.write(tmp_path / "xlm", "xlm")
    run = configuration.adopt_options(a_run(folder))
    assert not run.objective.dense and run.model.language_embeddings
    _, _, after, _, _ = started(run, huggingface.load(folder, ("en", "de")).tokenizer)
    table = folders.make_arrays("xlm", len(folders.pieces))["transformer.lang_embeddings.weight"]
    np.testing.assert_array_equal(after[huggingface.LANGUAGES], table[:2])
    with pytest.raises(ValueError, match="config.data.sequence_length=12: .* has 11 positions"):
        configuration.adopt_options(a_run(folder, sequence_length=12))
    plain = options.parse({})
    assert configuration.adopt_options(plain) is plain


def test_a_run_that_started_from_a_model_is_measured_and_projected(folders, tmp_path, monkeypatch):
    given = a_run(folders.write(tmp_path / "model"))
    workdir = str(tmp_path / "run")
    options.claim_workdir(configuration.adopt_options(given), workdir)
    measured = []
    monkeypatch.setattr("clwe_jax.pretrain.evaluate.run", lambda *x: measured.append(x[0]))
    reevaluate.run(options.with_values(given, {"job": "evaluate"}), workdir)
    adopt = registry.lookup("adopt_options", "project")  # as the command line does
    projected = adopt(options.with_values(given, {"job": "project"}))
    assert [x.job for x in (*measured, projected)] == ["pretrain", "project"]
    for run in (*measured, projected):  # an error where the options are others
        options.claim_workdir(run, workdir, write=False)


def test_the_tokenizer_of_xlm_makes_no_batches(folders, tmp_path):
    folder = folders.write(tmp_path, "xlm")
    (tmp_path / "vocab.txt").rename(tmp_path / "merges.txt")
    with pytest.raises(ValueError, match="vocab.path"):
        configuration.adopt_options(a_run(folder))

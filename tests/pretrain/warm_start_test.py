"""Word vectors of every source as the start of a run's tokens."""

import dataclasses
import os
import types

from absl import logging as absl_logging
import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.embeddings import files, train
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import spaces
from clwe_jax.options.training import START_METHODS
from clwe_jax.pretrain import job as pretrain, warm_start
from clwe_jax.runs import shared_space
from clwe_jax.text import text_of_run

LANGUAGES = ("de", "en")
NAMES = "abcdefghijkl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text and dictionaries of two languages; words of one letter after the language translate."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "text").mkdir()
    (folder / "dictionaries").mkdir()
    (folder / "tests").mkdir()
    r = np.random.RandomState(0)
    lines = [r.choice(list(NAMES), 6) for _ in range(200)]
    for language in LANGUAGES:
        text = "".join(" ".join(f"{language}{x}" for x in line) + "\n" for line in lines)
        (folder / "text" / f"{language}.txt").write_text(text)
    pairs = [f"de{x} en{x}\n" for x in NAMES]
    (folder / "dictionaries" / "de-en.txt").write_text("".join(pairs))
    (folder / "tests" / "de-en.5000-6500.txt").write_text("".join(pairs[-2:]))
    return folder


def config_of(folder, embeddings, **init):
    found = presets.start_from("mbert", "laptop")
    found.data.update(
        source=f"text:{folder / 'text'}",
        languages=",".join(LANGUAGES),
        dictionaries=str(folder / "dictionaries"),
    )
    found.vocab.update(kind="word", size=40)
    found.model.width = 8
    found.evals.bli.data = str(folder / "tests")
    found.evals.retrieval.data = ""
    found.init.embeddings = embeddings
    found.init.joint.update(dim=4, epochs=1, min_count=1, buckets=50)
    found.init.update(init)
    run = options.parse(found)
    run.resolve().check_all()
    return run


@pytest.fixture(scope="module")
def world(folder, tmp_path_factory):
    return text_of_run.build(config_of(folder, ""), str(tmp_path_factory.mktemp("run")))


def row(start, world, word):
    return start.values[world.tokenizer.vocabulary.id(word)]


def test_no_vectors_no_start(folder, world, tmp_path):
    assert warm_start.token_vectors(config_of(folder, ""), str(tmp_path), world) is None
    assert not os.listdir(tmp_path)


@pytest.fixture
def written(folder, tmp_path):
    """Files of vectors: three words a language, one of them in two spellings, one unknown."""
    r = np.random.default_rng(0)
    found = {}
    for language in LANGUAGES:
        words = [f"{language}a", f"{language.upper()}B", f"{language}b", "nowhere"]
        found[language] = Vectors(words, r.standard_normal((4, 5)).astype(np.float32))
        files.write(str(tmp_path / f"mine.{language}.vec"), found[language])
    return tmp_path, found


@pytest.mark.parametrize("style", ["mine.{0}.vec", "{0}=mine.{0}.vec"])
@pytest.mark.parametrize("center", [True, False])
def test_vector_files(folder, world, written, style, center, tmp_path, monkeypatch):
    place, given = written
    monkeypatch.chdir(place)
    source = ",".join(style.format(language) for language in LANGUAGES)
    config = config_of(folder, source, center=center, scale=3.0)
    start = warm_start.token_vectors(config, str(tmp_path / "run"), world)
    assert start.scale == 3.0 and start.values.shape == (128, 8)
    assert start.record["words"] == {"de": 2, "en": 2} and start.has_vector.sum() == 4
    space = {}
    for language, vectors in given.items():
        values = vectors.vectors - center * vectors.vectors.mean(0)
        # In lower case the second word is the third one's spelling; the more frequent one counts.
        space[f"{language}a"], space[f"{language}b"] = values[0], values[1]
    for one, first in space.items():
        for two, second in space.items():
            cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
            assert row(start, world, one) @ row(start, world, two) == pytest.approx(
                cosine, abs=1e-5
            )


def test_a_dictionary_needs_no_training(folder, world, tmp_path):
    start = warm_start.token_vectors(config_of(folder, "dictionary"), str(tmp_path), world)
    cosines = [row(start, world, f"de{x}") @ row(start, world, f"en{x}") for x in NAMES]
    np.testing.assert_allclose(cosines[:-2], 1, atol=0.05)  # nearly: means are taken away
    assert not start.has_vector[world.tokenizer.vocabulary.id("de" + NAMES[-1])]  # a test word


@pytest.fixture(scope="module")
def joint(folder, world, tmp_path_factory):
    workdir = str(tmp_path_factory.mktemp("joint"))
    return workdir, warm_start.token_vectors(config_of(folder, "joint"), workdir, world)


def test_joint_vectors_are_trained_once(folder, world, joint, monkeypatch):
    workdir, start = joint
    assert start.record["words"] == {"de": 12, "en": 12}
    message = "the vectors were trained twice"
    monkeypatch.setattr(train, "fasttext_with_subwords", lambda *_: pytest.fail(message))
    again = warm_start.token_vectors(config_of(folder, "joint"), workdir, world)
    np.testing.assert_array_equal(again.values, start.values)
    figures = warm_start.figures(workdir)
    assert "start/bli/de-en/p@1" in figures and all(name.startswith("start/") for name in figures)
    assert not any(name.startswith("start/floor/") for name in figures)


def test_the_same_as_of_a_static_run(folder, world, joint, tmp_path):
    workdir, start = joint
    place = os.path.join(workdir, "start")
    found = warm_start.token_vectors(config_of(folder, place), str(tmp_path), world)
    np.testing.assert_array_equal(found.values, start.values)
    assert warm_start.figures(str(tmp_path)) == {}


def test_subword_vectors_of_the_joint_run(folder, world, tmp_path):
    """A word that is a token has its vector's own direction nearly: fastText adds the word itself."""
    config = config_of(folder, "joint", method="subword")
    start = warm_start.token_vectors(config, str(tmp_path), world)
    place = os.path.join(tmp_path, "start")
    grams = Subwords.load(os.path.join(place, "trained", "subwords.npz"))
    assert grams.vectors.shape == (50, 4) and (grams.min_n, grams.max_n) == (3, 6)
    model = spaces.load(place)
    wanted = {}
    for language in LANGUAGES:
        for name in NAMES:
            raw = grams.vector(language + name)[None]
            if language in model.alignments:
                raw = model.alignments[language].to_target_space(raw)
            wanted[language + name] = raw[0] - model.vectors(language).vectors.mean(0)
    for one, first in wanted.items():
        for two, second in list(wanted.items())[:3]:
            cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
            assert row(start, world, one) @ row(start, world, two) == pytest.approx(
                cosine, abs=1e-4
            )


def test_subword_vectors_need_n_grams(folder, world, joint, tmp_path):
    place = os.path.join(joint[0], "start")
    with pytest.raises(ValueError, match="has no subwords.npz.*keep_subwords=True"):
        warm_start.token_vectors(config_of(folder, place, method="subword"), str(tmp_path), world)


@pytest.mark.parametrize(
    "kind, piece, wanted",
    [
        ("wordpiece", "haus", ("haus", True)),
        ("wordpiece", "##haus", ("haus", False)),
        ("sentencepiece", "▁haus", ("haus", True)),
        ("sentencepiece", "haus", ("haus", False)),
        ("word", "haus", ("haus", True)),
    ],
)
def test_where_a_token_stands_in_a_word(kind, piece, wanted):
    assert warm_start._spell_piece(piece, kind) == wanted


def test_the_joint_vectors_are_of_the_runs_text_and_without_its_tests(folder, world):
    config = config_of(folder, "joint")
    found = warm_start.static_config(config, world.folders)
    found.resolve().check_all()
    assert found.data.source == f"text:{folder / 'text'}"
    assert found.data.languages == "de,en" and found.embeddings.dim == 4
    assert found.evals["bli"].data == str(folder / "tests") and found.data.exclude_tests
    # The vectors are measured on as many sentences as the run.
    few = options.with_values(config, {"evals.retrieval.max_sentences": 7})
    assert warm_start.static_config(few, world.folders).evals["retrieval"].max_sentences == 7
    for width, dim in ((8, 8), (768, 300)):
        wide = options.with_values(config, {"init.joint.dim": 0, "model.width": width})
        assert warm_start.static_config(wide, world.folders).embeddings.dim == dim


def test_a_run_that_has_begun_makes_no_start(folder, world, tmp_path, monkeypatch):
    job = pretrain.Pretraining(config_of(folder, "dictionary"), str(tmp_path))
    made = warm_start.token_vectors(job.config, str(tmp_path), world)
    monkeypatch.setattr(warm_start, "token_vectors", lambda *_: made)
    for steps, wanted in (((), made), ((500,), None)):
        monkeypatch.setattr(pretrain.checkpoint, "complete_steps", lambda _: steps)
        assert job._start(pretrain.Opened(world, None, {})) is wanted


def test_the_report_shows_the_space_at_the_start(folder, world, tmp_path, monkeypatch):
    """A dictionary's vectors: a word starts where its translation starts, nearly."""
    monkeypatch.setattr(shared_space, "_FUNCTION_WORDS", 0)
    job = pretrain.Pretraining(config_of(folder, "dictionary"), str(tmp_path))
    start = job._start(pretrain.Opened(world, None, {}))
    found = pretrain.start_vectors(start, world.tokenizer, "de", ["dea", "de" + NAMES[-1]])
    np.testing.assert_array_equal(found, [row(start, world, "dea"), np.zeros(8)])
    model = types.SimpleNamespace(vectors=lambda x: Vectors(world.frequent[x], np.eye(12)))
    space = job._space(model, world)
    assert space["hub"] == "en" and list(space["stages"]) == ["start", "trained"]
    at = {point["word"]: (point["x"], point["y"]) for point in space["stages"]["start"]}
    pairs = [x for x in NAMES if f"en{x}" in at]
    assert len(pairs) >= 5
    apart = [np.subtract(at[f"en{x}"], at[f"de{x}"]) for x in pairs]
    assert np.abs(apart).max() < 0.2 * np.ptp(list(at.values()))
    job.config = options.with_values(job.config, {"init.embeddings": ""})
    assert list(job._space(model, world)["stages"]) == ["trained"]


def test_test_pairs_that_a_model_trains_on_are_counted(folder, caplog, tmp_path):
    logger = absl_logging.get_absl_logger()
    logger.addHandler(caplog.handler)
    for excluded, wanted in ((True, {}), (False, {"de-en": (2, 2)})):
        config = options.with_values(config_of(folder, ""), {"data.exclude_tests": excluded})
        built = text_of_run.build(config, str(tmp_path / str(excluded)))
        assert pretrain.count_tested(config, built) == wanted
        assert ("2 of 2 test pairs" in caplog.text) == bool(wanted)
    logger.removeHandler(caplog.handler)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"init.embeddings": "jont"}, "init.embeddings='jont': expected joint, dictionary, joint"),
        ({"init.embeddings": "absent.de.vec"}, "config.init.embeddings: absent.de.vec is no file"),
        ({"init.embeddings": "de=a.vec,de=b.vec"}, "'de=b.vec' names a language twice (de, en)"),
        ({"init.embeddings": "wiki.fr.vec"}, "'wiki.fr.vec' is in none of the languages (de, en)"),
        ({"data.source": "batches:DIR"}, "'joint' trains on text files, and config.data.source="),
        ({"data.languages": "en"}, "config.data.dictionaries needs two languages or more"),
        ({"init.joint.epochs": -1}, "config.init.joint.epochs=-1: must be at least 0"),
        (
            {"init.embeddings": "dictionary", "data.dictionaries": ""},
            "needs config.data.dictionaries",
        ),
        ({"init.embeddings": "joint+dictionary", "data.dictionaries": ""}, "needs a dictionary"),
        ({"init.embeddings": "joint+dictionary", "init.method": "subword"}, "have no n-grams"),
        (
            {"init.method": "focs"},
            "config.init.method='focs': must be one of mean, wechsel, focus, subword",
        ),
        (
            {"init.tables": "inputs"},
            "config.init.tables='inputs': must be one of both, input, output",
        ),
        ({"init.tables": "input"}, "scores tokens with the table that reads them"),
        ({"init.scale": 0.0}, "config.init.scale=0.0: must be at least 1e-09"),
    ],
)
def test_wrong_options_are_answered_at_once(folder, changes, message):
    config = config_of(folder, "joint")
    with pytest.raises(ValueError) as error:
        options.with_values(config, changes).resolve().check_all()
    assert message in str(error.value)


def test_a_folder_without_vectors_is_named(folder):
    with pytest.raises(ValueError, match="aligned vectors"):
        config_of(folder, str(folder))


def test_vectors_of_two_spaces_are_refused(folder, world, tmp_path):
    for language, dim in (("de", 3), ("en", 4)):
        files.write(
            str(tmp_path / f"{language}.vec"), Vectors(["x"], np.ones((1, dim), np.float32))
        )
    source = ",".join(f"{language}={tmp_path / language}.vec" for language in LANGUAGES)
    with pytest.raises(ValueError, match=r"vec, line 1: \d .* \d .*vec, line 1"):
        warm_start.token_vectors(config_of(folder, source), str(tmp_path), world)


def test_words_without_a_count_weigh_by_the_text(folder, world):
    vectors = Vectors(["dea", "deb", "absent"], np.ones((3, 2), np.float32))
    text = (folder / "text" / "de.txt").read_text().split()
    found = warm_start._frequencies(vectors, "de", world)
    np.testing.assert_array_equal(found, [text.count("dea") + 0.5, text.count("deb") + 0.5, 0.5])
    without = dataclasses.replace(world, frequencies=None)
    np.testing.assert_allclose(warm_start._frequencies(vectors, "de", without), [1, 1 / 2, 1 / 3])
    known = dataclasses.replace(vectors, counts=np.array([5, 0, 2]))
    np.testing.assert_array_equal(warm_start._frequencies(known, "de", world), [5, 1, 2])


def test_every_method_is_accepted(folder):
    for method in START_METHODS:
        assert config_of(folder, "joint", method=method).init.method == method

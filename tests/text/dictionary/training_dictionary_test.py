"""No run, of static vectors or of a language model, trains on the words that it is tested on."""

import os
import shutil

import pytest
from absl import logging as absl_logging

from clwe_jax import options, presets
from clwe_jax.options import with_values
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.text import text_of_run
from clwe_jax.text.dictionary import test_dictionaries, training_dictionary
from clwe_jax.text.words.normalize import Normalizer


def configured(kind):
    run = options.parse(presets.static("laptop")) if kind == "static" else PretrainRun()
    return with_values(run, {"data.languages": "en,de"})


# The pairs of `muse` without a word of its test parts.
_TRAINED = {
    ("haus", "house"),
    ("baum", "tree"),
    ("hund", "dog"),
    ("ding", "dog"),
    ("maus", "mouse"),
}


@pytest.fixture(params=["static", "contextual"])
def config(request):
    return configured(request.param)


@pytest.fixture
def muse(tmp_path):
    """A folder as MUSE's: whole dictionaries, their training and their test parts."""
    folder = tmp_path / "muse"
    folder.mkdir()
    for name, text in {
        "de-en.txt": "Haus house\nBaum tree\nHund dog\nKatze cat\nRaum room\n",
        "en-de.txt": "cat Katze\ncat Kater\n",
        "de-en.0-5000.txt": "Haus house\nRaum room\nDing dog\n",
        "en-de.0-5000.txt": "cat Katze\nmouse Maus\n",
        "de-en.5000-6500.txt": "Katze cat\n",
        "en-de.5000-6500.txt": "room Raum\nroom Zimmer\n",
        "en-fr.0-5000.txt": "house maison\n",
    }.items():
        (folder / name).write_text(text)
    return str(folder)


def load(config, muse, tmp_path, **more):
    folders = {"dictionaries": muse, "tests": "", "evals.bli": muse, **more}
    return training_dictionary.load(config, folders, str(tmp_path / "run"), Normalizer())


def test_test_words_are_not_trained_on(config, muse, tmp_path):
    found = load(config, muse, tmp_path)
    assert set(found.pairs("de", "en")) == _TRAINED
    # 'Katze cat' stands in two files and is one pair.
    assert found.left_out == text_of_run.describe_dictionary(found)["left_out"] == 3
    assert load(config, muse, tmp_path).left_out == 3  # from the cache


def test_test_files_beside_the_training_dictionaries_are_left_out(config, muse, tmp_path):
    """A folder as MUSE's, with whole dictionaries and splits, where no evaluator names it."""
    found = load(config, muse, tmp_path, **{"evals.bli": ""})
    assert set(found.pairs("de", "en")) == _TRAINED
    assert found.left_out == 3
    assert "data.dictionaries=" in training_dictionary.tests_of(config)
    config = with_values(config, {"data.exclude_tests": False})
    kept = load(config, muse, tmp_path, **{"evals.bli": ""})
    assert ("katze", "cat") in kept.pairs("de", "en") and kept.left_out == 0
    assert training_dictionary.tests_of(config) == ""


def test_an_option_keeps_them(config, muse, tmp_path):
    config = with_values(config, {"data.exclude_tests": False})
    found = load(config, muse, tmp_path)
    assert ("katze", "cat") in found.pairs("de", "en") and found.left_out == 0
    other = tmp_path / "other"
    other.mkdir()
    (other / "de-en.txt").write_text("Katze cat\n")
    found = load(config, muse, tmp_path, tests=str(other))
    assert ("katze", "cat") not in found.pairs("de", "en") and found.left_out == 2


def test_test_words_of_every_induction_are_left_out(config, muse, tmp_path):
    config = with_values(config, {"evals.second": dict(name="bli", data="elsewhere")})
    other = tmp_path / "other"
    other.mkdir()
    (other / "de-en.5000-6500.txt").write_text("Hund dog\n")
    found = load(config, muse, tmp_path, **{"evals.second": str(other)})
    hund = {("hund", "dog"), ("ding", "dog")}  # a pair with a test word on either side
    assert set(found.pairs("de", "en")) == _TRAINED - hund


def test_training_parts_are_read_and_other_files_named(config, muse, tmp_path, caplog):
    """The parts to train on add to whole dictionaries, of all folders; test parts are no dictionary."""
    parts = tmp_path / "parts"
    parts.mkdir()
    whole = tmp_path / "whole"
    whole.mkdir()
    for name in os.listdir(muse):
        place = parts if name.count(".") > 1 else whole
        shutil.copy(os.path.join(muse, name), place)
    (parts / "de-en.0-5000.dict").write_text("Haus house\n")
    (parts / "README").write_text("MUSE")
    absl_logging.get_absl_logger().addHandler(caplog.handler)
    with caplog.at_level("INFO"):
        found = load(config, f"{whole},{parts}", tmp_path, **{"evals.bli": str(parts)})
    absl_logging.get_absl_logger().removeHandler(caplog.handler)
    assert set(found.pairs("de", "en")) == _TRAINED and found.left_out == 3
    unread = (
        "2 files are no dictionaries by their names and are not read: README, de-en.0-5000.dict"
    )
    assert unread in caplog.text
    alone = load(config, str(parts), tmp_path, **{"evals.bli": str(parts)})
    assert set(alone.pairs("de", "en")) == _TRAINED - {("baum", "tree"), ("hund", "dog")}


def test_a_split_of_the_dictionaries(muse, tmp_path):
    config = with_values(configured("static"), {"align.split": "0-5000"})
    # As published: of the direction that is mapped, with test words of the other direction.
    published = [("haus", "house"), ("raum", "room"), ("ding", "dog")]
    found = load(config, muse, tmp_path)
    assert found.pairs("de", "en") == published and found.left_out == 0
    reverse = with_values(config, {"align": dict(source_vectors="en.vec", target_vectors="de.vec")})
    assert load(reverse, muse, tmp_path).pairs("en", "de") == [("cat", "katze"), ("mouse", "maus")]
    os.remove(os.path.join(muse, "en-de.0-5000.txt"))
    found = load(reverse, muse, tmp_path).pairs("en", "de")
    assert sorted(found) == sorted((b, a) for a, b in published)
    # Test words that the user names are left out of published splits as well.
    one = os.path.join(muse, "en-de.5000-6500.txt")
    found = load(config, muse, tmp_path, tests=one)
    assert found.pairs("de", "en") == [("haus", "house"), ("ding", "dog")] and found.left_out == 1
    config = with_values(config, {"align.split": "0-100"})
    with pytest.raises(FileNotFoundError, match=r"xx-yy.0-100.txt.*config.align.split=''"):
        load(config, muse, tmp_path)


def test_a_split_has_no_rejected_pairs(muse, tmp_path):
    config = with_values(configured("static"), {"align.split": "0-5000"})
    rejected = os.path.join(muse, "en-de.not.txt")
    with open(rejected, "w") as file:
        file.write("room Raum\n")
    found = load(config, muse, tmp_path)
    assert found.pairs("de", "en") == [("haus", "house"), ("ding", "dog")]
    assert found.rejected_pairs("de", "en") == {("raum", "room")}
    part = os.path.join(muse, "de-en.0-5000.txt")
    assert training_dictionary.files(config, muse) == [part, rejected]


def test_test_pairs_of_the_other_direction_are_counted(muse, tmp_path, caplog):
    config = configured("static")
    tests = test_dictionaries.find(muse, ("de", "en"), Normalizer())
    found = load(config, muse, tmp_path)
    assert training_dictionary.count_tested(found, tests) == {"de-en": (0, 1), "en-de": (0, 2)}
    assert training_dictionary.count_tested(None, tests) == {}
    config = with_values(config, {"align.split": "0-5000"})
    found = load(config, muse, tmp_path)
    absl_logging.get_absl_logger().addHandler(caplog.handler)
    assert training_dictionary.count_tested(found, tests) == {"de-en": (0, 1), "en-de": (1, 2)}
    absl_logging.get_absl_logger().removeHandler(caplog.handler)
    assert "en-de: 1 of 2 test pairs are in the training dictionary" in caplog.text
    assert "de-en" not in caplog.text


def test_no_dictionary(config, tmp_path):
    assert load(config, "", tmp_path, **{"evals.bli": ""}) is None


def test_the_world_of_a_language_model_holds_no_test_pair(tmp_path):
    config = with_values(PretrainRun(), {"data": dict(languages="de,en", pocket_sentences=200)})
    config = config.resolve()
    found = text_of_run.build(config, str(tmp_path))
    tests = test_dictionaries.find(
        found.folders["evals.bli"], found.languages, found.tokenizer.normalizer
    )
    assert len(tests) == 2
    for test in tests:
        words = {word for word, _ in found.dictionary.pairs(test.source, test.target)}
        assert words and not words & test.entries.keys()
        targets = {word for _, word in found.dictionary.pairs(test.source, test.target)}
        assert not targets & set().union(*test.entries.values())
    assert found.description["dictionary"]["left_out"] == found.dictionary.left_out > 100


def test_a_dictionary_in_both_ways_of_writing_chinese_is_named(tmp_path, caplog):
    folder = tmp_path / "muse"
    folder.mkdir()
    (folder / "en-zh.txt").write_text("bank 银行\nbank 銀行\nspeak 说话\n")
    config = with_values(configured("contextual"), {"data.languages": "en,zh"})
    folders = {"dictionaries": str(folder), "tests": "", "evals.bli": ""}

    def warnings(normalizer):
        caplog.clear()
        absl_logging.get_absl_logger().addHandler(caplog.handler)
        training_dictionary.load(config, folders, str(tmp_path / "run"), normalizer)
        absl_logging.get_absl_logger().removeHandler(caplog.handler)
        return caplog.text

    assert "zh: 33% " in warnings(Normalizer())
    assert "traditional" not in warnings(Normalizer(simplify_chinese=True))

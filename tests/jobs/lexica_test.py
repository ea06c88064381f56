"""Which dictionaries a static run trains on, tests on and writes."""

import logging

import numpy as np
import pytest
from absl import logging as absl_logging

from clwe_jax import presets
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.jobs import lexica
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.normalize import Normalizer


@pytest.fixture
def said(caplog):
    logger = absl_logging.get_absl_logger()
    logger.addHandler(caplog.handler)
    with caplog.at_level(logging.INFO):
        yield caplog
    logger.removeHandler(caplog.handler)


@pytest.fixture
def config():
    found = presets.static("laptop")
    found.data.languages = "en,de"
    return found


@pytest.fixture
def muse(tmp_path):
    """A folder as MUSE's: whole dictionaries, their training and their test parts."""
    folder = tmp_path / "muse"
    folder.mkdir()
    for name, text in {
        "de-en.txt": "Haus house\nBaum tree\nHund dog\nKatze cat\nRaum room\n",
        "de-en.0-5000.txt": "Haus house\nHund dog\nDing dog\n",
        "de-en.5000-6500.txt": "Katze cat\n",
        "en-de.5000-6500.txt": "room Raum\nroom Zimmer\n",
        "en-fr.0-5000.txt": "house maison\n",
    }.items():
        (folder / name).write_text(text)
    return str(folder)


def folders_of(muse, **more):
    return {"dictionaries": muse, "tests": "", "bli": muse, **more}


def test_test_words_are_not_trained_on(config, muse, tmp_path):
    found = lexica.training(config, folders_of(muse), str(tmp_path / "run"), Normalizer())
    assert found.pairs("de", "en") == [("haus", "house"), ("baum", "tree"), ("hund", "dog")]
    kept = lexica.training(config, folders_of(muse, bli=""), str(tmp_path / "run"), Normalizer())
    assert ("katze", "cat") in kept.pairs("de", "en")


def test_a_split_of_the_dictionaries(config, muse, tmp_path):
    config.align.split = "0-5000"
    found = lexica.training(config, folders_of(muse), str(tmp_path / "run"), Normalizer())
    assert found.pairs("de", "en") == [("haus", "house"), ("hund", "dog"), ("ding", "dog")]
    config.align.split = "0-100"
    with pytest.raises(FileNotFoundError, match=r"xx-yy.0-100.txt.*config.align.split=''"):
        lexica.training(config, folders_of(muse), str(tmp_path / "run"), Normalizer())


def test_no_dictionary(config, tmp_path):
    folders = folders_of("", bli="")
    assert lexica.training(config, folders, str(tmp_path), Normalizer()) is None


def test_tests_of_both_directions_and_those_that_are_absent(muse, said):
    directions = [("de", "en"), ("en", "de"), ("fr", "en")]
    found, absent = lexica.tests(muse, directions, Normalizer())
    assert [test.name for test in found] == ["de-en", "en-de"] and absent == ["fr-en"]
    assert found[1].entries == {"room": {"raum", "zimmer"}}
    assert "fr-en.5000-6500.txt" in said.text and "no lexicon induction there" in said.text
    assert lexica.tests("", directions, Normalizer())[0] == []
    with pytest.raises(FileNotFoundError, match="config.evals.bli.data"):
        lexica.tests(muse + "x", directions, Normalizer())


def test_an_induced_dictionary_is_read_again(tmp_path):
    r = np.random.RandomState(0)
    x = r.randn(6, 8).astype(np.float32)
    source = Vectors(words=["haus", "baum", "!", "12", "new york", "katze"], vectors=x)
    target = Vectors(words=["house", "tree", "!", "12", "new york", "dog"], vectors=x)
    pairs = lexica.induced(source, target, max_words=5)
    assert pairs == [("haus", "house"), ("baum", "tree"), ("new york", "new york")]
    lexica.write(str(tmp_path / "induced" / "de-en.txt"), pairs)
    assert (tmp_path / "induced" / "de-en.txt").read_text().splitlines()[0] == "haus house"
    found = dictionaries.load(str(tmp_path / "induced"))
    assert found.pairs("de", "en") == pairs

"""Which dictionaries a static run tests on and writes."""

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.runs import lexica
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.words.normalize import Normalizer


@pytest.fixture
def config():
    found = presets.static("laptop")
    found.data.languages = "en,de"
    return options.parse(found)


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
    return {"dictionaries": muse, "tests": "", "evals.bli": muse, **more}


def test_tests_of_both_directions_and_those_that_are_absent(config, muse, said):
    three = {"data.languages": "de,en,fr", "static.pairs": "de-en,fr-en"}
    config = options.with_values(config, three)
    found = lexica.tests(config, folders_of(muse), Normalizer())
    assert [test.name for test in found] == ["de-en", "en-de"]
    assert found[1].entries == {"room": {"raum", "zimmer"}}
    assert "fr-en.5000-6500.txt" in said.text and "is not measured" in said.text
    assert lexica.tests(config, folders_of(muse, **{"evals.bli": ""}), Normalizer()) == []
    with pytest.raises(FileNotFoundError, match="config.evals.bli.data"):
        lexica.tests(config, folders_of(muse, **{"evals.bli": muse + "x"}), Normalizer())


def test_an_induced_dictionary_is_read_again(tmp_path):
    r = np.random.RandomState(0)
    x = r.randn(6, 8).astype(np.float32)
    source = Vectors(words=["haus", "baum", "!", "12", "new york", "katze"], vectors=x)
    target = Vectors(words=["house", "tree", "!", "12", "new york", "dog"], vectors=x)
    pairs = lexica.induce_pairs(source.top(5), target.top(5), *[np.empty((0, 2), int)] * 2)
    assert pairs == [("haus", "house"), ("baum", "tree"), ("new york", "new york")]
    lexica.write(str(tmp_path / "induced" / "de-en.txt"), pairs)
    assert (tmp_path / "induced" / "de-en.txt").read_text().splitlines()[0] == "haus house"
    found = dictionaries.load(str(tmp_path / "induced"))
    assert found.pairs("de", "en") == pairs


def vectors_of(words, matrix):
    return Vectors(words=list(words), vectors=np.asarray(matrix, np.float32))


def test_a_dictionary_without_a_covered_pair_shows_both_spellings():
    source = vectors_of(["haus", "baum", "katze", "der"], np.eye(4))
    target = vectors_of(["house", "tree", "cat", "the"], np.eye(4))
    pairs = [("casa", "house"), ("árbol", "tree"), ("gato", "cat")]
    with pytest.raises(ValueError) as error:
        lexica.training_pairs(pairs, source, target, "de-en")
    said = str(error.value)
    for part in ("de-en", "source: 0 of 3", "target: 3 of 3", "'casa', 'árbol', 'gato'", "'haus'"):
        assert part in said, part
    assert "lower_case" not in said


def test_an_upper_case_dictionary_is_offered_the_switch():
    source = vectors_of(["haus", "baum"], np.eye(2))
    target = vectors_of(["house", "tree"], np.eye(2))
    pairs = [("Haus", "House"), ("Baum", "Tree")]
    with pytest.raises(ValueError, match="--config.align.lower_case_dictionary=True"):
        lexica.training_pairs(pairs, source, target)
    found = lexica.training_pairs([(a.lower(), b.lower()) for a, b in pairs], source, target)
    assert found.tolist() == [[0, 0], [1, 1]] and found.dtype == np.int32

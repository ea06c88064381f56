"""Which words a projection is fitted to."""

import types

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.evaluate.context import Context
from clwe_jax.objectives import projected
from clwe_jax.pretrain import project, project_maps
from clwe_jax.text.corpus import corpora
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.words import Segmenter

RARE = 3_000  # names of both languages, all less frequent than the words of one


@pytest.fixture
def spaces(tmp_path):
    """The text that the tests' pairs come from, without a model."""
    names = " ".join(f"name{i}" for i in range(RARE))
    for language, own in (("de", "wort"), ("en", "word")):
        words = " ".join(f"{own}{i}" for i in range(1_200))
        lines = (
            [f"{words} {words}"] * 3 + [names] * 5 + ["radio seltenes 1998"] * 4 + ["radio 1998"]
        )
        (tmp_path / f"{language}.txt").write_text("\n".join(lines))
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "de-en.5000-6500.txt").write_text("Name1 name\n")
    (tests / "en-de.5000-6500.txt").write_text("title name2\n")
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter({}), WordVocabulary(SPECIALS))
    return project_maps.ProjectionSpaces(
        models=dict.fromkeys(("en", "de"), types.SimpleNamespace(tokenizer=tokenizer)),
        texts=dict.fromkeys(("en", "de"), corpora.TextCorpus(str(tmp_path), ("en", "de"))),
        dictionary=Dictionary.from_pairs({("de", "en"): [("haus", "house")]}),
        frequencies=None,
        folders={"tests": "", "dictionaries": "", "evals.bli": str(tests)},
        context=Context(languages=("en", "de")),
    )


def pairs(spaces, **values):
    config = options.parse(presets.start_from("elmo", "laptop", languages="en,de"))
    return project_maps.pairs(options.with_values(config, values), spaces, "de", "en")


def test_identical_tokens_are_all_that_both_texts_have(spaces):
    found = pairs(spaces)
    assert found[0] == ("haus", "house")
    names = {f"name{i}" for i in range(RARE)} - {"name1", "name2"}
    assert {a for a, _ in found[1:]} == names | {"radio", "1998"}
    assert all(a == b for a, b in found[1:])


def test_options_of_identical_tokens(spaces):
    rarer = {"projection.identical_min_count": 4}
    assert ("seltenes", "seltenes") in pairs(spaces, **rarer)
    tests = rarer | {"data.exclude_tests": False}
    assert ("name1", "name1") in pairs(spaces, **tests)
    assert pairs(spaces, **tests, **{"projection.identical": False}) == [("haus", "house")]


def test_a_method_that_is_not_fitted_cannot_be_applied(tmp_path):
    config = options.parse(presets.start_from("bi_saelmo", "laptop"))
    config = options.with_values(config, {"projection.methods": "least_squares"})
    with pytest.raises(ValueError, match="apply='orthogonal': Known: least_squares"):
        project.Projection(config, str(tmp_path)).check()
    fitted = options.with_values(config, {"projection.apply": "least_squares"})
    project.Projection(fitted, str(tmp_path)).check()
    # Earlier versions wrote such files, whose languages would be measured without their maps.
    path = str(tmp_path / projected.FILE)
    projected.save(path, {"least_squares": {"de": np.eye(2)[None]}}, "orthogonal")
    with pytest.raises(ValueError, match="maps of least_squares, and none of 'orthogonal'"):
        projected.read(path)
    projected.save(path, {"orthogonal": {}}, "orthogonal")  # no language to map
    assert projected.read(path) == ({"orthogonal": {}}, "orthogonal")

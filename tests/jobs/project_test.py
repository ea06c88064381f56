"""Which words a projection is fitted to."""

import types

import pytest

from clwe_jax import options, presets
from clwe_jax.evaluate.context import Context
from clwe_jax.jobs import project
from clwe_jax.text import corpora
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.tokenizer import Tokenizer
from clwe_jax.text.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words import Segmenter

RARE = 3_000  # names of both languages, all less frequent than the words of one


@pytest.fixture
def job(tmp_path):
    """A projection of the text that the tests' pairs come from, without a model."""
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
    config = options.parse(presets.elmo("laptop", languages="en,de"))
    made = project.Projection(config, str(tmp_path / "run"))
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter({}), WordVocabulary(SPECIALS))
    made.models = dict.fromkeys(("en", "de"), types.SimpleNamespace(tokenizer=tokenizer))
    made.texts = dict.fromkeys(("en", "de"), corpora.TextCorpus(str(tmp_path), ("en", "de")))
    made.dictionary = Dictionary.from_pairs({("de", "en"): [("haus", "house")]})
    made.folders = {"tests": "", "dictionaries": "", "evals.bli": str(tests)}
    made.context = Context(languages=("en", "de"))
    return made


def test_identical_tokens_are_all_that_both_texts_have(job):
    pairs = job._pairs("de", "en")
    assert pairs[0] == ("haus", "house")
    names = {f"name{i}" for i in range(RARE)} - {"name1", "name2"}
    assert {a for a, _ in pairs[1:]} == names | {"radio", "1998"}
    assert all(a == b for a, b in pairs[1:])


def test_options_of_identical_tokens(job):
    job.config = options.with_values(job.config, {"projection.identical_min_count": 4})
    assert ("seltenes", "seltenes") in job._pairs("de", "en")
    job.config = options.with_values(job.config, {"data.exclude_tests": False})
    assert ("name1", "name1") in job._pairs("de", "en")
    job.config = options.with_values(job.config, {"projection.identical": False})
    assert job._pairs("de", "en") == [("haus", "house")]

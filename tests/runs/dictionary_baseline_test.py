"""The dictionary floor: its figures by hand, and the runs that have none."""

from absl import logging as absl_logging
import numpy as np
import pytest

from clwe_jax import options
from clwe_jax.evaluate.context import Context
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.pretrain import evaluate
from clwe_jax.report import evaluations
from clwe_jax.runs import dictionary_baseline, evaluators, job
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.dictionary.merged import Dictionary

WORDS = [chr(97 + i) + chr(97 + j) for i in range(6) for j in range(10)]
TESTED = WORDS[:10]


@pytest.fixture
def config(tmp_path):
    """Sentences of five words, and a test dictionary of ten; 'der' and 'the' are everywhere."""
    r = np.random.RandomState(0)
    lines = [r.choice(WORDS, 5, replace=False) for _ in range(50)]
    for language, article in (("de", "der"), ("en", "the")):
        text = [" ".join([article] * r.randint(9) + [language + w for w in x]) for x in lines]
        (tmp_path / f"de-en.{language}").write_text("\n".join(text))
    test = "".join(f"de{word} en{word}\n" for word in TESTED)
    (tmp_path / "de-en.5000-6500.txt").write_text(test)
    bli = dict(data=str(tmp_path), methods="nn")
    values = {"data.languages": "en,de", "evals.retrieval.data": str(tmp_path), "evals.bli": bli}
    return options.with_values(PretrainRun(), values)


def dictionary(words=WORDS):
    pairs = [("der", "the"), ("der", "that"), *((f"de{word}", f"en{word}") for word in words)]
    return Dictionary.from_pairs({("de", "en"): pairs})


def measured(config, found, counts=None):
    context = Context(languages=("en", "de"))
    made = evaluators.build(config.evals, context, names=evaluations.names_with_floor())
    words = lambda text, language: text.split()  # noqa: E731
    return dictionary_baseline.measure(config, made, found, counts, words)


def test_it_finds_what_the_dictionary_translates(config):
    counts = {"en": {"the": 500, "enaa": 1}, "de": {"der": 500, "deaa": 1}}
    found = measured(config, dictionary(), Frequencies({"en": 1_000, "de": 1_000}, counts))
    assert all(name.startswith("floor/") for name in found)
    assert found["floor/retrieval/mean"] == found["floor/bli/p@1"] == 1
    assert found["floor/retrieval/chance"] == 1 / 50
    assert found["floor/bli/de-en/chance"] == 1 / 62  # the, that and all words
    # Without half of the words sentences have less in common.
    assert 0.3 < measured(config, dictionary(WORDS[::2]))["floor/retrieval/mean"] < 1


def test_the_candidates_are_the_frequent_words(config):
    config = options.with_values(config, {"evals.bli.max_words": 2})
    counts = {"en": {f"en{TESTED[3]}": 9, "that": 8}, "de": {}}
    found = measured(config, dictionary(), Frequencies({"en": 20, "de": 0}, counts))
    assert found["floor/bli/de-en/chance"] == 1 / 2
    assert found["floor/bli/de-en/coverage"] == 1 / 10 == found["floor/bli/de-en/p@1"]


def test_test_words_that_are_left_out_are_no_warning(config, said):
    notes = []
    with job._warnings_into(notes):  # of the report
        found = measured(config, dictionary(WORDS[10:]))
    assert found["floor/bli/coverage"] == found["floor/bli/p@1"] == 0 and not notes
    assert not [x for x in said.records if x.levelname == "WARNING"]
    absl_logging.warning("after it")
    assert "after it" in said.text


def test_words_of_a_third_language_are_no_noise(config):
    pairs = {
        ("de", "en"): [(f"de{w}", f"en{w}") for w in WORDS[::2]],
        ("en", "fr"): [(f"en{w}", f"fr{w}") for w in WORDS],
    }
    third = measured(config, Dictionary.from_pairs(pairs))
    alone = measured(config, Dictionary.from_pairs({("de", "en"): pairs["de", "en"]}))
    for name in ("retrieval/mean", "retrieval/mean_csls", "bli/de-en/chance"):
        assert third[f"floor/{name}"] == alone[f"floor/{name}"]
    # Languages that no dictionary connects have no vectors, and find nothing.
    apart = Dictionary.from_pairs({("en", "fr"): [("a", "b")], ("de", "it"): [("c", "d")]})
    assert measured(config, apart)["floor/retrieval/mean"] <= 1 / 50


def test_the_seed_draws_the_vectors(config):
    one, other = dictionary(WORDS[::3]), options.with_values(config, {"seed": 1})
    assert measured(config, one) == measured(config, one) != measured(other, one)


def test_a_run_without_dictionary_has_no_floor(config, said):
    assert measured(config, None) == {} and "no dictionary floor" in said.text
    assert measured(options.with_values(config, {"data.languages": "en"}), dictionary()) == {}


def test_evaluating_again_replaces_the_floor_of_the_same_measurement():
    again = {evaluate.measurement(x) for x in ("retrieval/mean", "floor/bli/p@1", "data/x")}
    assert again == {"retrieval", "floor/bli", "data"}
    old = dict.fromkeys(
        ["retrieval/mean", "before_finish/retrieval/mean", "before_finish/eval/x"], 0.0
    )
    found = evaluate.update(old, job.Results({"retrieval/mean": 1.0})).figures
    assert found == {"retrieval/mean": 1.0, "before_finish/eval/x": 0.0}

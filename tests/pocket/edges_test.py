"""Spans with labels of the embedded world: constituents, roles, coreference."""

import itertools

import pytest

from clwe_jax import pocket
from clwe_jax.pocket import tasks
from clwe_jax.pocket.base import NP, Clause, Meaning, Place
from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.tasks import edges

MAN = NP("man", adj="old.age")
FIRST = Clause("event", MAN, "buy", NP("bread", det="indef"), place=Place("in", NP("village")))
SECOND = Clause("event", NP("he"), "sing", tense="present", often="often")
SENTENCE = Meaning("because", "kitchen", FIRST, SECOND, "")


def found(make, language, meaning=SENTENCE):
    """The targets of a meaning, as texts of their spans."""
    traced = edges._trace(language, meaning)
    words = [token.text for token in traced.sentence.tokens]
    return {
        (*(" ".join(words[first:end]) for first, end in spans), label)
        for spans, label in make(traced)
    }


def test_constituents_of_a_sentence():
    assert found(edges._constituents, "en") == {
        ("The old man", "NP"),
        ("bread", "NP"),
        ("in the village", "PP"),
        ("the village", "NP"),
        ("he", "NP"),
        ("often", "ADVP"),
    }
    german = found(edges._constituents, "de")
    assert {("Der alte Mann", "NP"), ("im Dorf", "PP"), ("er", "NP")} <= german


def test_roles_of_a_sentence():
    assert found(edges._roles, "en") == {
        ("buys", "The old man", "agent"),
        ("buys", "bread", "patient"),
        ("buys", "in the village", "location"),
        ("sings", "he", "agent"),
        ("sings", "often", "frequency"),
    }
    labels = [label for *_, label in found(edges._roles, "de")]
    assert sorted(labels) == ["agent", "agent", "frequency", "location", "patient"]


@pytest.mark.parametrize(
    "language, agents",
    [
        ("ja", {("読み", "男", "agent")}),
        ("zh", {("读", "男人", "agent")}),
        ("en", {("reads", "he", "agent")}),
    ],
)
def test_the_agent_is_the_subject_that_the_clause_has_in_its_language(language, agents):
    happy = Clause("is", NP("man"), adj="happy")
    reason = Clause("event", NP("he"), "read", NP("book"))
    roles = found(edges._roles, language, Meaning("because", "", happy, reason, ""))
    verbs = {(verb[:2] if language == "ja" else verb, *rest) for verb, *rest in roles}
    assert {role for role in verbs if role[-1] == "agent"} == agents


def test_coreference_of_a_sentence():
    assert found(edges._coreference, "en") == {
        ("he", "The old man", "1"),
        ("he", "bread", "0"),
        ("he", "the village", "0"),
    }
    other = SENTENCE._replace(second=SECOND._replace(subject=NP("she")))
    assert not found(edges._coreference, "en", other)


def test_a_phrase_that_stands_twice_has_no_label():
    twice = SENTENCE._replace(second=SECOND._replace(subject=MAN))
    assert not any("man" in part for part, *_ in found(edges._constituents, "en", twice))


def test_tracing_changes_neither_the_sentence_nor_the_cache():
    rules = grammar("en")
    before = rules.phrases
    assert rules.render_with_phrases(SENTENCE)[0] == rules.render(SENTENCE)
    assert rules.phrases is before


@pytest.mark.parametrize("name", tasks.SPANS)
@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_rows_are_distinct_the_same_again_and_inside_their_sentences(name, language):
    def rows(split):
        made = tasks.SPANS[name](language, split, 0, tasks.DOMAINS)
        return list(itertools.islice(made, 15))

    if (name, language) == ("edge/coref", "es"):
        with pytest.raises(ValueError, match="'es' .*coreference"):
            rows("train")
        return
    train, test = rows("train"), rows("test")
    assert train == rows("train")
    sentences = [words for words, _ in train + test]
    assert len(set(sentences)) == len(sentences)
    for words, targets in train + test:
        assert targets
        for spans, label in targets:
            assert label and all(0 <= first < end <= len(words) for first, end in spans)

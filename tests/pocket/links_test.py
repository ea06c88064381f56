"""Gold word alignments of the embedded world."""

import pytest

from clwe_jax import pocket
from clwe_jax.pocket import functions, generate, links
from clwe_jax.pocket.base import NP, Clause, Meaning


def named(row, pairs):
    return {(row.source[i], row.target[j]) for i, j in pairs}


def test_one_meaning_in_two_orders():
    [row] = [x for x in pocket.link_sentences("de", "en", 40) if "Medikamente" in x.source][:1]
    assert ("Medikamente", "medicines") in named(row, row.sure)
    assert (".", ".") in named(row, row.sure)


@pytest.mark.parametrize("language", ["de", "es", "fr", "ja", "zh"])
def test_links_follow_concepts_and_translations(language):
    rows = generate.parallel((language, "en"), 60)
    for row in rows:
        found = links.links(row[language], row["en"])
        a, b = row[language].tokens, row["en"].tokens
        assert found.source == tuple(token.text for token in a)
        assert found.sure <= found.possible
        concepts = {
            (i, j)
            for i, x in enumerate(a)
            for j, y in enumerate(b)
            if x.concept and x.concept == y.concept
        }
        assert concepts <= found.possible
        for i, j in found.possible - concepts:
            assert a[i].concept is None and b[j].concept is None
        for i, j in found.possible:
            alone = (
                sum(x == i for x, _ in found.possible)
                == sum(y == j for _, y in found.possible)
                == 1
            )
            assert ((i, j) in found.sure) == alone
    sure = sum(len(links.links(row[language], row["en"]).sure) for row in rows)
    assert sure > 0.6 * sum(len(row["en"].tokens) for row in rows)


def test_a_function_word_is_linked_by_the_table():
    rows = pocket.link_sentences("de", "en", 200)
    assert any(("nicht", "not") in named(row, row.sure) for row in rows)
    rows = pocket.link_sentences("fr", "en", 200)
    assert any(("l", "the") in named(row, row.possible) for row in rows)
    assert not any(("L", "does") in named(row, row.possible) for row in rows)


def test_elided_words_are_linked_and_apostrophes_are_not():
    opens = Clause("event", NP("I"), "open", NP("house", owner=NP("woman")))
    happy = Clause("is", NP("he"), adj="happy")
    meaning = Meaning("if", "", opens._replace(subject=NP("he")), happy, "")
    for meaning, pair in (
        (meaning, ("S", "If")),
        (Meaning("say", "", opens, None, ""), ("J", "I")),
    ):
        french, english = (generate.grammar(x).render(meaning) for x in ("fr", "en"))
        row = links.links(french, english)
        assert {pair, (".", ".")} <= named(row, row.sure)
        assert "'" in row.source and "'" in row.target
        assert ("'", "'") not in named(row, row.possible)


def test_the_sentences_are_those_of_parallel():
    rows = generate.parallel(("fr", "en"), 5, 3)
    found = pocket.link_sentences("fr", "en", 5, 3)
    assert [x.source for x in found] == [tuple(t.text for t in row["fr"].tokens) for row in rows]


def test_japanese_case_particles_are_linked_and_others_are_not():
    rows = pocket.link_sentences("ja", "en", 200)
    found = {(r.source[i], r.target[j].lower()) for r in rows for i, j in r.possible}
    assert {("に", "to"), ("で", "with"), ("で", "in"), ("に", "in"), ("で", "at")} <= found
    linked = {word for word, _ in found}
    assert not linked & {"は", "を"} and ("に", "with") not in found
    assert ("に", "zu") in functions.list_links("ja", "de") and (
        "in",
        "に",
    ) in functions.list_links("en", "ja")
    assert functions.list_links("de", "en") == functions.pairs("de", "en")
    assert not {"に", "で"} & {word for word, _ in functions.pairs("ja", "en")}

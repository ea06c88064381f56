"""Intervals and orders of systems on made-up outcomes."""

import numpy as np
import pytest

from clwe_jax.compare import sections, summary, systems
from clwe_jax.compare.measured import Measured, load, parts_of_hits
from clwe_jax.compare.orders import Comparison
from clwe_jax.evaluate.agreement import Outcomes, key_texts, number_texts
from clwe_jax.report import figures


def run(
    share, items=400, part="de-en", figure="retrieval", seed=0, key="k", minutes=1.0, shared=True
):
    """Measurements with a share of right answers; `shared`: of the same sentences in all parts."""
    hits = np.random.default_rng(seed).random(items) < share
    names = {"retrieval": "retrieval/{}/mean", "induction": "bli/{}/p@1_csls_distinct"}
    texts = (f"{'' if shared else part}{n}" for n in range(items))
    of_items = Outcomes(hits, number_texts(texts), key_texts([key] * items))
    parts = parts_of_hits({names[figure].format(part): of_items})
    cost = {"minutes": minutes, "memory": 1e9, "disk": 1e6}
    return Measured({"bli/coverage_distinct": 0.5}, parts, cost, "5 steps", reading="by words")


def joined(*parts):
    """Measurements of several parts."""
    return Measured({}, {k: v for x in parts for k, v in x.parts.items()}, parts[0].cost)


def comparison(**runs):
    some = {name: x if isinstance(x, list) else [x] for name, x in runs.items()}
    return Comparison({name: systems.SYSTEMS[name] for name in some}, some, {})


def test_a_large_difference_is_significant_and_a_small_one_is_not():
    found = comparison(rcsls=run(0.9, seed=1), geomm=run(0.88, seed=2), mlm=run(0.2, seed=3))
    assert found.is_significant("retrieval", "rcsls", "mlm")
    assert not found.is_significant("retrieval", "rcsls", "geomm")
    assert sorted(found.best("retrieval")) == ["geomm", "rcsls"]
    low, high = found.interval("retrieval", "mlm")
    assert low < found.value("retrieval", "mlm") < high and high - low < 0.1


def test_equal_outcomes_do_not_differ():
    found = comparison(rcsls=run(0.5), geomm=run(0.5))
    assert found.gain("retrieval", "rcsls", "geomm").p == 1.0
    assert not found.is_significant("retrieval", "rcsls", "geomm")


def test_seeds_that_differ_widen_the_interval():
    one = comparison(mlm=run(0.5, seed=1))
    three = comparison(mlm=[run(share, seed=n) for n, share in enumerate((0.2, 0.5, 0.8))])
    width = [np.ptp(x.interval("retrieval", "mlm")) for x in (one, three)]
    assert width[1] > 2 * width[0]


def test_an_order_that_changes_with_the_seed_is_not_significant():
    def made(*shares):
        return [run(share, seed=n, items=2_000) for n, share in enumerate(shares)]

    found = comparison(rcsls=made(0.4, 0.7, 0.6), geomm=made(0.6, 0.4, 0.6))
    assert not found.is_significant("retrieval", "rcsls", "geomm")
    assert comparison(rcsls=made(0.6), geomm=made(0.4)).is_significant(
        "retrieval", "rcsls", "geomm"
    )


def test_three_seeds_of_many_systems_tell_them_apart():
    """After the correction for 45 pairs Student's t of three seeds called 94% and 1% a tie."""
    rng = np.random.default_rng(0)
    names = list(systems.SYSTEMS)[:10]
    runs = {
        name: [run(0.05 + 0.09 * n + 0.01 * rng.normal(), seed=10 * n + s) for s in range(3)]
        for n, name in enumerate(names)
    }
    runs[names[0]] = runs[names[0]][:1]  # a system that is not trained
    found = comparison(**runs)
    for one, other in ((0, 9), (1, 9), (2, 5)):
        assert found.is_significant("retrieval", names[one], names[other])


def test_two_seeds_of_equal_systems_do_not_differ():
    """A bootstrap of two seeds told 22% of them apart."""
    rng, wrong = np.random.default_rng(0), 0
    for trial in range(60):
        shares = 0.5 + 0.05 * rng.standard_normal((2, 2))
        two = [[run(share, seed=rng.integers(2**31)) for share in some] for some in shares]
        wrong += comparison(rcsls=two[0], geomm=two[1]).is_significant(
            "retrieval", "rcsls", "geomm"
        )
    assert wrong <= 6


def test_directions_of_the_same_sentences_are_one_test_set():
    def width(shared):
        parts = [
            run(0.5, part=part, seed=1, shared=shared)
            for part in ("de-en", "en-de", "fr-en", "en-fr")
        ]
        return np.ptp(comparison(mlm=joined(*parts)).interval("retrieval", "mlm"))

    one = np.ptp(comparison(mlm=run(0.5, seed=1)).interval("retrieval", "mlm"))
    # The directions are right together: four of them say as much as one.
    assert width(shared=True) == pytest.approx(one, rel=0.1)
    assert width(shared=False) == pytest.approx(one / 2, rel=0.15)


def test_only_the_same_items_are_compared():
    found = comparison(rcsls=run(0.9), geomm=run(0.1, key="other"))
    assert found.gain("retrieval", "rcsls", "geomm") is None
    assert not found.is_significant("retrieval", "rcsls", "geomm")
    # Not "not significant" either: nothing was tested.
    assert found.best("retrieval") == ["rcsls"]
    assert "Not compared, with other test items: GeoMM." in summary.summarize(found)[1]
    made = {x["title"]: x for x in sections.sections(found, "5 steps")}
    first, last = made["Orders"]["blocks"][0]["rows"]
    assert (first[2], first[5]["text"], first[6]) == (last[0], "not compared", "")
    marks = [row[1]["below"] for row in made["Systems"]["blocks"][0]["rows"]]
    assert marks == ["best", "not compared"]
    said = made["Systems"]["blocks"][1]["rows"]
    assert [(row[0], row[2]) for row in said] == [("RCSLS", "by words"), ("GeoMM", "by words")]
    assert (
        "'not compared'" in made["Systems"]["text"] and "'not compared'" in made["Orders"]["text"]
    )
    difference = made["Orders"]["blocks"][0]["columns"][3]
    assert (difference["head"], difference["form"]) == ("Difference in points", "points")
    assert figures.FORMS["points"](0.035) == "+3.5"


def of_words(words, right, part="zh-en"):
    """Measurements of words, of which some are right."""
    hits = np.array([word in right for word in words])
    texts = [word.casefold() for word in words]
    of_items = Outcomes(hits, number_texts(texts), key_texts(texts))
    return Measured({}, parts_of_hits({f"bli/{part}/p@1_csls_distinct": of_items}), {})


def test_systems_are_compared_over_the_words_that_both_have():
    """A downloaded model cut one of 1,500 words otherwise, and the whole direction was left out."""
    words = [f"w{n}" for n in range(30)]
    # In another order, with one word less and one more.
    theirs = [*reversed(words[1:]), "other"]
    found = comparison(rcsls=of_words(words, words[:20]), geomm=of_words(theirs, words[:10]))
    assert found.value("induction", "rcsls") == pytest.approx(20 / 30)
    assert found.value("induction", "geomm") == pytest.approx(9 / 30)
    expected = comparison(
        rcsls=of_words(words[1:], words[:20]), geomm=of_words(words[1:], words[:10])
    ).gain("induction", "rcsls", "geomm")
    assert expected.value == pytest.approx(10 / 29)
    assert found.gain("induction", "rcsls", "geomm") == pytest.approx(expected)
    # A word of two rows is two items, in the order of the rows.
    twice = comparison(
        rcsls=of_words([*words, "W3"], words), geomm=of_words([*words, "W3"], words[:-1])
    )
    assert twice.gain("induction", "rcsls", "geomm").value == pytest.approx(1 / 31)
    few = comparison(rcsls=of_words(words, words), geomm=of_words(words[:26], words))
    assert few.gain("induction", "rcsls", "geomm") is None
    # One of two directions is left out, and the table says so.
    shared = of_words(words, words, "de-en"), of_words(words, words[:5], "de-en")
    whole = (
        joined(of_words(words, words), shared[0]),
        joined(of_words(words[:26], words), shared[1]),
    )
    found = comparison(rcsls=whole[0], geomm=whole[1])
    assert found.gain("induction", "rcsls", "geomm").value == pytest.approx(25 / 30)
    order = sections._order(found, "induction", "rcsls", "geomm")[-1]
    assert order == "above it, over 1 of 2 parts"


def test_the_correction_is_holms():
    found = comparison(rcsls=run(0.62, seed=1), geomm=run(0.55, seed=2), mlm=run(0.45, seed=3))
    pairs = ("rcsls", "mlm"), ("geomm", "mlm"), ("rcsls", "geomm")
    small, middle, large = (found.gain("retrieval", *pair).p for pair in pairs)
    assert small < middle < large and 2 * middle < large < 1
    expected = dict(zip(map(frozenset, pairs), (3 * small, 2 * middle, large)))
    assert found.p_values("retrieval") == pytest.approx(expected)


def test_many_systems_differ():
    names = list(systems.SYSTEMS)[:16]  # 120 pairs
    runs = {name: run(n / 15, items=60, seed=n) for n, name in enumerate(names)}
    assert comparison(**runs).is_significant("retrieval", names[0], names[-1])


def test_a_higher_figure_over_fewer_parts_is_not_above():
    def both(easy, hard, seed):
        return joined(run(easy, part="de-en", seed=seed), run(hard, part="ja-en", seed=seed + 10))

    found = comparison(clcr=run(0.6, seed=1), rcsls=both(0.9, 0.1, 2))
    assert found.systems_with("retrieval")[0] == "clcr"
    assert found.above("retrieval", "rcsls", "clcr") and not found.above(
        "retrieval", "clcr", "rcsls"
    )
    made = {x["title"]: x for x in sections.sections(found, "5 steps")}
    assert made["Orders"]["blocks"][0]["rows"][0][5] == "below it, over 1 of 2 parts"
    # Nor is it the best one.
    assert found.best("retrieval") == ["rcsls"]
    marks = {row[0]: row[1].get("below") for row in made["Systems"]["blocks"][0]["rows"]}
    assert marks == {"CLCR": "1 of 2 parts", "RCSLS": "best"}


def test_the_report_says_not_significant():
    found = comparison(rcsls=run(0.9, seed=1), geomm=run(0.89, seed=2), mlm=run(0.2, seed=3))
    made = {x["title"]: x for x in sections.sections(found, "5 steps")}
    first, second, last = made["Orders"]["blocks"][0]["rows"]
    assert (first[5]["text"], second[5], last[5]) == ("not significant", "above it", "")
    assert first[6] == second[0] and last[0] == "Plain MLM"
    marks = {row[0]: row[1].get("below") for row in made["Systems"]["blocks"][0]["rows"]}
    assert sorted(filter(None, marks.values())) == ["best", "≈ best"] and not marks["Plain MLM"]
    # The page explains the marks that it has, and no others.
    said = made["Systems"]["text"] + made["Orders"]["text"]
    assert "'≈ best'" in said and "not compared" not in said and "parts'" not in said


def test_the_summary_names_the_best_systems_and_the_cheapest_of_them():
    found = comparison(
        rcsls=run(0.9, seed=1, minutes=3.0),
        geomm=run(0.88, seed=2, minutes=2.0),
        mlm=run(0.2, seed=3, minutes=1.0),
    )
    first, second = summary.summarize(found)
    best, tied = (found.systems[x].title for x in found.best("retrieval"))
    assert first == f"Best in Retrieval: {best}."
    assert f"Retrieval: {best}, " in second and f"Not significantly different: {tied}." in second
    assert "The cheapest of these 2 is GeoMM (2 processor minutes)." in second
    found = comparison(rcsls=run(0.9, seed=1), mlm=run(0.2, seed=3))
    assert summary.summarize(found)[1].endswith("%. Not significantly different: none.")


def test_a_system_that_sees_the_tests_is_never_the_best():
    runs = {"mlm": run(0.2, seed=1), "dict_mlm": run(0.5, seed=2)}
    found = comparison(dict_mlm_tests=run(0.9, seed=3), **runs)
    assert found.best("retrieval") == ["dict_mlm"]
    gain = figures.points(found.gain("retrieval", "dict_mlm_tests", "dict_mlm").value)
    assert summary.summarize(found)[-1] == (
        "Test pairs in the dictionary add, in points (DICT-MLM (sees tests) less DICT-MLM): "
        f"Retrieval {gain}."
    )
    table = sections.sections(found, "5 steps")[0]
    marks = {row[0]: row[1].get("below") for row in table["blocks"][0]["rows"]}
    assert marks["DICT-MLM (sees tests)"] == "sees tests" and marks["DICT-MLM"] == "best"
    assert "'sees tests'" in table["text"]


def test_the_last_row_has_the_chance_levels():
    some = {"retrieval/chance": 0.01, "xnli/de/majority": 0.3, "xnli/fr/majority": 0.4}
    made = joined(run(0.5), run(0.5, part="fr"))
    made.parts.update({f"xnli/{x}": made.parts["retrieval/fr"] for x in ("de", "fr")})
    made.figures.update(some)
    chosen = {"rcsls": systems.SYSTEMS["rcsls"]}
    found = Comparison(chosen, {"rcsls": [made]}, {"xnli": "Entailment", "pos": "Parts of speech"})
    assert found.chance("retrieval") == 0.01 and found.chance("xnli") == pytest.approx(0.35)
    table = sections.sections(found, "5 steps")[0]["blocks"][0]
    assert [x["head"] for x in table["columns"][:3] if isinstance(x, dict)] == [
        "Retrieval",
        "Entailment",
    ]
    assert table["total"][0] == "Chance"
    assert [x.get("value") for x in table["total"][1:]] == [0.01, pytest.approx(0.35), None]


def test_all_columns_of_the_table_are_shown_at_once():
    tables = sections.sections(comparison(rcsls=run(0.9)), "5 steps")[0]["blocks"]
    assert all(not isinstance(x, dict) or x.get("main", True) for x in tables[0]["columns"])
    # Coverage is beside what the systems are.
    induction = comparison(rcsls=run(0.9, figure="induction"))
    table = sections.sections(induction, "5 steps")[0]["blocks"][1]
    assert table["columns"][3]["head"] == "Induction: covered"
    [row] = table["rows"]
    assert row[1] == systems.SYSTEMS["rcsls"].what and row[3]["value"] == 0.5


def test_other_evaluators_have_their_labels():
    made = run(0.9)
    made.figures.update({"senses/purity": 0.7, "senses/chance_purity": 0.2})
    [section] = [
        x
        for x in sections.sections(comparison(saelmo=made), "5 steps")
        if x["title"] == "Other evaluators"
    ]
    [row] = section["blocks"][0]["rows"]
    assert row[0] == "Purity of the assigned senses" and row[1]["form"] == "percent"
    del made.figures["senses/purity"]  # nothing else
    *_, section = sections.sections(comparison(saelmo=made), "5 steps")
    assert section["blocks"][0]["rows"][0][0] == "senses: chance purity"


def test_measurements_are_the_same_from_their_file(tmp_path):
    made, path = run(0.5), str(tmp_path / "x.npz")
    made.save(path)
    again = load(path)
    assert (again.figures, again.cost, again.used) == (made.figures, made.cost, made.used)
    for ours, theirs in zip(made.parts["retrieval/de-en"], again.parts["retrieval/de-en"]):
        np.testing.assert_array_equal(ours, theirs)

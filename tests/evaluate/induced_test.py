"""Lexicon induction against its definition, computed word by word in NumPy."""

import numpy as np
import pytest

from clwe_jax.encoders.protocols import WordSpace
from clwe_jax.evaluate import bli, induced
from clwe_jax.evaluate.bli import LexiconInduction
from clwe_jax.evaluate.context import Context

NEIGHBOURS = 4
METHODS = {"methods": "nn,csls,inverted_softmax"}


def vectors_of(words, matrix):
    return WordSpace(list(words), np.asarray(matrix, np.float32)[:, None], len(words))


class Model:
    """Words of two languages in one space."""

    languages, layers = ("de", "en"), 1

    def __init__(self, source, target):
        self.spaces = {"de": source, "en": target}

    def pairwise_space(self, source, target):
        return self

    def vocabulary(self, language, wanted, sample):
        return self.spaces[language]


@pytest.fixture
def measure(tmp_path):
    """Metrics of de-en without their path, and the rows of the table of errors."""

    def measure(entries, source, target, tags=None, **options):
        lines = [f"{word}\t{other}\n" for word, gold in entries.items() for other in sorted(gold)]
        (tmp_path / "de-en.5000-6500.txt").write_text("".join(lines))
        if tags:
            (tmp_path / "tags").mkdir()
            lines = [f"{word}\t{word}\t{tag}\n" for word, tag in tags.items()]
            (tmp_path / "tags" / "de.tsv").write_text("".join(lines))
            options["tags"] = str(tmp_path / "tags")
        context = Context(languages=("de", "en"))
        evaluator = LexiconInduction(data=str(tmp_path), context=context, **{**METHODS, **options})
        found = dict(evaluator.run(Model(source, target)))
        start = "bli/de-en/"
        figures = {k[len(start) :]: v for k, v in found.items() if k.startswith(start)}
        return figures, evaluator.details

    return measure


@pytest.fixture(scope="module")
def world():
    """A noisy rotation; words of both languages are spelled alike at times, some are missing."""
    r = np.random.RandomState(0)
    n, d = 60, 6
    x = r.randn(n, d)
    y = x[r.permutation(n)] + 0.9 * r.randn(n, d)
    source = vectors_of([f"w{i}" for i in range(n)], x)
    target = vectors_of([f"w{i}" if i % 3 == 0 else f"t{i}" for i in range(n)], y)
    entries = {}
    for i in range(0, n, 2):
        gold = {f"t{j}" for j in r.randint(0, n, 3)} | ({f"w{i}"} if i % 4 == 0 else set())
        entries[f"w{i}"] = frozenset(gold)
    entries["absent"] = frozenset({"absent", "t1"})  # no vector, its own translation
    entries["missing"] = frozenset({"t1"})  # no vector
    entries["w1"] = frozenset({"nowhere"})  # no candidate
    entries["w3"] = frozenset({"w3"})  # only itself
    return source, target, entries


def scores_of(source, target, method):
    """[N, M] by definition."""
    x, y = source.vectors[:, 0], target.vectors[:, 0]
    x, y = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in (x, y))
    cosine = (x @ y.T).astype(np.float64)
    if method == "nn":
        return cosine
    if method == "csls":
        r_x = np.sort(cosine, 1)[:, -NEIGHBOURS:].mean(1)
        r_y = np.sort(cosine, 0)[-NEIGHBOURS:].mean(0)
        return 2 * cosine - r_x[:, None] - r_y
    heat = np.exp(30 * cosine)
    return heat / heat.sum(0)


def oracle(source, target, entries, method, distinct, covered_only):
    """The place of the first right word for each source word that counts; None beyond ten."""
    scores = scores_of(source, target, method)
    places = []
    for word, gold in entries.items():
        gold = set(gold) - ({word} if distinct else set())
        if not gold:
            continue
        known = word in source.words
        if covered_only and not (known and gold & set(target.words)):
            continue
        if not known:
            places.append(1 if word in gold else None)
            continue
        order = np.argsort(-scores[source.words.index(word)])[:10]
        found = [target.words[i] for i in order]
        places.append(next((k for k, w in enumerate(found, 1) if w in gold), None))
    return places


@pytest.mark.parametrize("method", bli.SUFFIXES)
@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("covered", [False, True])
def test_figures_are_those_of_the_definition(world, measure, method, distinct, covered):
    source, target, entries = world
    found, _ = measure(entries, source, target, neighbourhood=NEIGHBOURS)
    places = oracle(source, target, entries, method, distinct, covered)
    ending = bli.SUFFIXES[method] + "_distinct" * distinct + "_covered" * covered
    for k in (1, 5, 10):
        share = np.mean([place is not None and place <= k for place in places])
        assert found[f"p@{k}{ending}"] == pytest.approx(share), k
    mrr = np.mean([1 / place if place else 0 for place in places])
    assert found[f"mrr{ending}"] == pytest.approx(mrr)
    assert found[f"p@1{ending}_low"] <= found[f"p@1{ending}"] <= found[f"p@1{ending}_high"]
    # The reading without same-surface pairs is another one here, and so is the covered one.
    assert len({found[f"p@5{e}"] for e in ("", "_distinct", "_covered", "_distinct_covered")}) > 2


def test_coverage_and_counts(world, measure):
    source, target, entries = world
    found, _ = measure(entries, source, target)
    known = [w for w in entries if w in source.words]
    covered = [w for w in known if entries[w] & set(target.words)]
    assert found["words"] == len(entries)
    assert found["words_distinct"] == len(entries) - 1  # w3
    assert found["pairs"] == sum(map(len, entries.values()))
    assert found["oov"] == pytest.approx(1 - len(known) / len(entries))
    assert found["coverage"] == pytest.approx(len(covered) / len(entries))
    assert found["p@1_low"] < found["p@1"] < found["p@1_high"]


def test_rows_say_what_went_wrong(world, measure):
    source, target, entries = world
    _, details = measure(entries, source, target, neighbourhood=NEIGHBOURS)
    assert {row["pair"] for row in details} == {"de-en"}
    rows = {row["word"]: row for row in details}
    assert len(rows) == len(entries)
    assert rows["missing"]["kind"] == "no vector" and rows["missing"]["found"] == []
    assert rows["absent"]["kind"] == "right" and rows["absent"]["rank"] is None
    assert rows["w1"]["kind"] == "no candidate" and rows["w1"]["rank"] == 2
    scores = scores_of(source, target, "nn")
    for word, row in rows.items():
        if row["rank"] is not None:
            first = target.words[int(np.argmax(scores[source.words.index(word)]))]
            assert row["found"][0][0] == first
            if row["kind"] == "right":
                assert first in entries[word]
            if row["kind"] == "near":
                assert first not in entries[word] and 2 <= row["place"] <= 10


def test_a_word_that_finds_itself_wrongly_was_copied(measure):
    words = ["a", "b"]
    source, target = vectors_of(words, np.eye(2)), vectors_of(words, np.eye(2))
    _, [row] = measure({"a": {"b"}}, source, target, neighbourhood=1)
    assert row["place"] == 2 and row["kind"] == "near"
    many = vectors_of(
        ["a", *map(str, range(20)), "b"], np.r_[np.eye(2)[:1], np.ones((20, 2)), [[0, 1]]]
    )
    _, [row] = measure({"a": {"b"}}, source, many, methods="nn")
    assert row["kind"] == "copied"


def test_words_are_split_by_rank_and_by_tag(world, measure, monkeypatch):
    source, target, entries = world
    monkeypatch.setattr(induced, "FREQUENCY_EDGES", (10, 40))
    tags = {"w0": "NOUN", "w2": "PROPN", "w4": "NOUN"}
    figures, details = measure(entries, source, target, tags, neighbourhood=NEIGHBOURS)
    rows = {row["word"]: row for row in details}
    for name, some in (
        ("frequency/1-10", [w for w in rows if rows[w]["rank"] and rows[w]["rank"] <= 10]),
        ("frequency/11-40", [w for w in rows if rows[w]["rank"] and 10 < rows[w]["rank"] <= 40]),
        ("frequency/41-", [w for w in rows if rows[w]["rank"] and rows[w]["rank"] > 40]),
        ("tag/NOUN", ["w0", "w4"]),
        ("tag/PROPN", ["w2"]),
    ):
        assert figures[f"{name}/words"] == len(some) > 0
        share = np.mean([rows[word]["place"] == 1 for word in some])
        assert figures[f"{name}/p@1_csls"] == pytest.approx(share)
    assert rows["w2"]["tag"] == "PROPN" and "tag" not in rows["w6"]


def test_means_over_pairs_leave_out_what_one_pair_lacks():
    figures = {
        "bli/de-en/p@1": 0.2,
        "bli/en-de/p@1": 0.4,
        "bli/de-en/p@1_low": 0.1,
        "bli/de-en/words": 9,
        "bli/de-en/pairs": 9,
        "bli/en-de/pairs": 9,
        "bli/en-de/p@1_distinct": 0.3,
        "bli/de-en/tag/NOUN/p@1": 1.0,
        "bli/de-en/layer1/p@1": 1.0,
    }
    assert bli.means(figures) == {"bli/p@1": pytest.approx(0.3)}


def test_all_test_words_may_be_out_of_vocabulary(world, measure, warnings):
    source, target, _ = world
    found, _ = measure({"x": {"x", "y"}, "y": {"z"}}, source, target)
    assert "none of the 2" in warnings()
    assert found["p@1"] == 0.5 and found["coverage"] == 0 and "p@1_covered" not in found
    assert found["p@1_distinct"] == 0


def test_methods_are_checked_before_anything_runs():
    with pytest.raises(ValueError, match="Did you mean 'csls'"):
        LexiconInduction(methods="nn,csl", context=Context(languages=()))
    with pytest.raises(ValueError, match="is empty"):
        LexiconInduction(methods=" ", context=Context(languages=()))

"""Word similarity: files as they come, and Spearman against its definition."""

import dataclasses

import numpy as np
import pytest

from clwe_jax.encoders.protocols import WordSpace
from clwe_jax.evaluate import similarity
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.similarity import WordSimilarity


def vectors_of(words, seed):
    r = np.random.RandomState(seed)
    return WordSpace(words, r.randn(len(words), 1, 5).astype(np.float32), len(words))


def ranks(values):
    """Ranks from 1, ties sharing their mean."""
    values = np.asarray(values)
    return np.array([np.mean(np.flatnonzero(np.sort(values) == v)) + 1 for v in values])


def test_spearman_is_the_correlation_of_ranks():
    x, y = vectors_of(list("abcdef"), 0), vectors_of(list("uvwxyz"), 1)
    pairs = [("a", "u"), ("b", "v"), ("c", "w"), ("d", "x"), ("e", "y"), ("q", "z")]
    scores = np.array([3.0, 1.0, 2.0, 2.0, 9.0, 5.0])
    found, share = similarity.correlation(pairs, scores, x, y)
    cosines = [
        a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        for a, b in zip(x.vectors[:5, 0], y.vectors[:5, 0])
    ]
    assert share == pytest.approx(5 / 6)
    assert found == pytest.approx(np.corrcoef(ranks(cosines), ranks(scores[:5]))[0, 1], abs=1e-6)


def test_no_correlation_of_two_pairs_or_of_equal_vectors():
    x = vectors_of(list("abc"), 0)
    assert similarity.correlation([("a", "b"), ("b", "c")], np.array([1.0, 2]), x, x)[0] is None
    same = WordSpace(list("abc"), np.ones((3, 1, 2), np.float32), 3)
    pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    assert similarity.correlation(pairs, np.array([1.0, 2, 3]), same, same) == (None, 1.0)


def test_names_of_files(tmp_path):
    for name in (
        "EN_SIMLEX-999.txt",
        "EN-DE-SEMEVAL17.txt",
        "de.rg65.tsv",
        "EN_RG-65.txt",
        "en-rg-65.txt",
        "fr_ws.txt",
        "README",
    ):
        (tmp_path / name).write_text("a b 1\n")
    found = {one.subject for one in similarity.find(str(tmp_path), ("en", "de"))}
    assert found == {"en/simlex-999", "en-de/semeval17", "de/rg65", "en/rg-65"}


@pytest.mark.parametrize("line", ["Haus House 7.5", "Haus\tHouse\t7.5\textra"])
def test_tabs_and_spaces_headers_and_bad_lines(tmp_path, said, line):
    path = tmp_path / "en-de-x.txt"
    path.write_text(f"word1 word2 score\n{line}\nonly two\n\n# no\na b nan\n", encoding="utf-8-sig")
    [one] = similarity.find(str(tmp_path), ("en", "de"))
    pairs, scores = similarity.read(one)
    assert pairs == [("haus", "house")] and scores.tolist() == [7.5]
    assert "line 3" in said.text and "line 6" in said.text and "line 1" not in said.text


def test_tables_with_commas(tmp_path):
    """WordSim-353's combined.csv, and one with quotation marks."""
    text = 'Word 1,Word 2,Human (mean)\r\nlove,sex,6.77\r\n"New York","tiger, cat",7.35\r\n'
    (tmp_path / "EN_WS-353.csv").write_text(text, newline="")
    [one] = similarity.find(str(tmp_path), ("en",))
    pairs, scores = similarity.read(one)
    assert pairs == [("love", "sex"), ("new york", "tiger , cat")] and scores.tolist() == [
        6.77,
        7.35,
    ]


def test_a_run_names_its_figures_and_its_coverage(tmp_path, said):
    (tmp_path / "EN_A.txt").write_text("a b 1\nb c 2\na c 3\nzz yy 4\n")
    (tmp_path / "EN-DE_B.txt").write_text("a q 1\n")
    words = {"en": vectors_of(list("abc"), 0), "de": vectors_of(list("uvw"), 1)}

    class Model:
        def pairwise_space(self, source, target):
            return self

        def vocabulary(self, language, wanted, sample):
            assert set(wanted) <= set("abcqyz") | {"zz", "yy"}
            assert sample.max_words == 0  # the frequent words need not be encoded
            return words[language]

    context = Context(languages=("en", "de"))
    found = dict(WordSimilarity(data=str(tmp_path), context=context).run(Model()))
    assert found["similarity/en/a/coverage"] == 0.75 and found["similarity/en/a/pairs"] == 4
    a, b, c = (x / np.linalg.norm(x) for x in words["en"].vectors[:, 0])
    correlation = np.corrcoef(ranks([a @ b, b @ c, a @ c]), [1, 2, 3])[0, 1]
    assert found["similarity/en/a/spearman"] == pytest.approx(correlation)
    assert found["similarity/en-de/b/coverage"] == 0
    assert "similarity/en-de/b/spearman" not in found and "EN-DE_B.txt" in said.text
    # Other directions are asked for.
    asked = dataclasses.replace(context, pairs=[("en", "fr"), ("fr", "en")])
    names = dict(WordSimilarity(data=str(tmp_path), context=asked).run(Model()))
    assert {name.split("/")[1] for name in names} == {"en"}


def test_what_is_missing_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="config.evals.similarity.data"):
        similarity.find(str(tmp_path / "no"), ("en",))
    with pytest.raises(FileNotFoundError, match="holds no file .*EN_NAME.txt"):
        similarity.find(str(tmp_path), ("en",))
    (tmp_path / "EN_A.txt").write_text("header\n")
    [one] = similarity.find(str(tmp_path), ("en",))
    with pytest.raises(ValueError, match="EN_A.txt"):
        similarity.read(one)
    # When the evaluator is made, which is before the training.
    with pytest.raises(ValueError, match="EN_A.txt"):
        WordSimilarity(data=str(tmp_path), context=Context(languages=("en",)))
    with pytest.raises(FileNotFoundError, match="config.evals.similarity.data"):
        WordSimilarity(data=str(tmp_path / "no"), context=Context(languages=("en",)))

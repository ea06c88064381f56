"""Vectors from given sentences beside plain linear algebra, and links of their words."""

import numpy as np
import pytest

from clwe_jax.embeddings import given_links, pair_vectors
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.embeddings.ngrams import Ngrams, Spelling
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.options.embeddings import MiningOptions, WordsOptions
from clwe_jax.text.corpus.parallel import Given
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

_WORDS = "sun moon star tree river stone bird fish house road king child bread water fire".split()
_ENDS = {"xx": "ka", "yy": "mo"}


def _translate(sentence, language):
    """Each word backwards with an ending, in the order of English turned round."""
    return " ".join(word[::-1] + _ENDS[language] for word in reversed(sentence.split()))


def _given(count, pairs=(("en", "xx"), ("xx", "yy")), seed=0):
    draws = np.random.default_rng(seed)
    english = [" ".join(draws.permutation(_WORDS)[:5].tolist()) for _ in range(count)]
    sentences = {"en": english, **{x: [_translate(y, x) for y in english] for x in _ENDS}}
    both = np.stack([np.arange(count)] * 2, 1)
    made = Given(sentences, {x: count for x in sentences}, {x: both for x in pairs}, {}, ())
    return GivenText.cut(made, Normalizer(), Segmenter())


def _start(dim=pair_vectors.DIM):
    draws = np.random.default_rng(1).standard_normal((len(_WORDS), dim)).astype(np.float32)
    return dict(zip(_WORDS, draws))


def _dense(text, language, ngrams):
    """The features of a language's words [words, F] and sentences [n, F], by their definition."""
    words = sorted({text.corpus.words[i] for i in text.corpus.ids[language].tolist()})
    spelled = ngrams.features(words)
    spelled = spelled[:, np.unique(spelled.indices)].toarray()
    of_words = np.concatenate([np.eye(len(words)), spelled], 1)
    cut = [some.split() for some in text.parallel.sentences[language]]
    idf = {w: np.log(len(cut) / sum(w in some for some in cut)) for w in words}
    rows = np.stack([sum(idf[w] * of_words[words.index(w)] for w in some) for some in cut])
    word_part, spelled = rows[:, : len(words)], rows[:, len(words) :]
    scale = 1 / np.sqrt((word_part**2).sum(1) + (spelled**2).sum(1))
    return words, of_words, rows * scale[:, None]


def test_without_a_sentence_of_the_hub_the_log_names_the_file_to_add(caplog):
    text = _given(4, pairs=[("xx", "yy")])
    caplog.set_level("WARNING", "absl")
    assert pair_vectors.fit(Ngrams.of(text.corpus.words), text, "en", _start()) == {}
    assert "Add a file of pairs with en; without a dictionary" in caplog.text


def test_vectors_are_those_of_ridge_regressions_in_turn():
    text = _given(12)
    ngrams = Ngrams.of(text.corpus.words)
    fitted = pair_vectors.fit(ngrams, text, "en", _start())
    views = {x: _dense(text, x, ngrams) for x in ("en", "xx", "yy")}
    words, _, rows = views["en"]
    weights = rows[:, : len(words)]
    targets = weights @ np.stack([_start()[w] for w in words])
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)

    def solve(language, values):
        x = views[language][2]
        return np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ (values - values.mean(0)))

    def agree(values):
        return np.mean([views[x][2] @ solve(x, values) for x in views], 0)

    targets = agree(targets)
    for _ in range(2):
        columns, _ = np.linalg.qr(targets - targets.mean(0))
        targets = agree(agree(columns))
    for language, (words, of_words, _) in views.items():
        expected = of_words @ solve(language, targets)
        expected /= np.linalg.norm(expected, axis=1).mean()
        found = fitted[language].sums(ngrams, words)
        np.testing.assert_allclose(found, expected, atol=5e-4)  # factors have half precision


def test_a_word_that_no_sentence_has_follows_from_its_n_grams():
    text = _given(60)
    ngrams = Ngrams.of(text.corpus.words)
    fitted = pair_vectors.fit(ngrams, text, "en", _start())
    [new] = fitted["xx"].sums(ngrams, ["revirkal"])  # riverka with another ending
    english = fitted["en"].sums(ngrams, _WORDS)
    scores = english @ new / np.linalg.norm(english, axis=1)
    assert _WORDS[int(scores.argmax())] == "river"


def test_a_language_that_shares_nothing_is_left_out_and_few_sentences_are_taken_evenly(monkeypatch):
    monkeypatch.setattr(pair_vectors, "_MAX_SENTENCES", 10)
    text = _given(30, pairs=[("en", "xx")])
    fitted = pair_vectors.fit(Ngrams.of(text.corpus.words), text, "en", _start())
    assert set(fitted) == {"en", "xx"}
    text_words = {w for row in range(0, 30, 3) for w in text.parallel.sentences["xx"][row].split()}
    assert set(fitted["xx"].words) == text_words
    numbered = pair_vectors._number_sentences(text, "en")
    assert numbered["en"][0].tolist() == list(range(0, 30, 3))
    assert numbered["en"][1].tolist() == list(range(10))


def test_without_a_sentence_of_the_hub_there_are_links_alone():
    text = _given(12, pairs=[("xx", "yy")])
    assert not pair_vectors.fit(Ngrams.of(text.corpus.words), text, "en", _start())


def test_languages_beyond_the_pivots_follow_them(monkeypatch):
    text = _given(150)
    ngrams = Ngrams.of(text.corpus.words)
    monkeypatch.setattr(pair_vectors, "_PIVOTS", 1)
    fitted = pair_vectors.fit(ngrams, text, "en", _start())
    english, other = (fitted[x].sums(ngrams, words) for x, words in _sides("yy"))
    assert (english @ other.T).argmax(1).tolist() == list(range(len(_WORDS)))


def _sides(language):
    return ("en", _WORDS), (language, [word[::-1] + _ENDS[language] for word in _WORDS])


def test_files_of_vectors_are_read_as_they_were_written(tmp_path):
    text = _given(12)
    ngrams = Ngrams.of(text.corpus.words)
    fitted = pair_vectors.fit(ngrams, text, "en", _start())
    path = str(tmp_path / "paired.npz")
    pair_vectors.save(fitted, path)
    again = pair_vectors.load(path)
    assert list(again["xx"].words) == list(fitted["xx"].words)
    # A run that was killed reads the file, and must end like one that was not.
    assert again["xx"].factors.dtype == fitted["xx"].factors.dtype
    np.testing.assert_array_equal(again["xx"].factors, fitted["xx"].factors)
    with open(path, "r+b") as file:
        file.truncate(100)
    with pytest.raises(ValueError, match="damaged"):
        pair_vectors.load(path)


def test_a_spelling_gives_the_part_of_pairs_behind_that_of_n_grams(tmp_path):
    text = _given(12)
    ngrams = Ngrams.of(text.corpus.words)
    paired = pair_vectors.fit(ngrams, text, "en", _start())
    first = paired["en"]  # of any width
    regressions = {"xx": first.__class__([], np.zeros((0, 4), np.float32))}
    dim = paired["xx"].factors.shape[1]
    width = 4 + 8 + dim + 3
    spelling = Spelling(ngrams, regressions, 0.7, 8, 0.6, width, 0, 0.5, paired).to_float16()
    spelling.save(str(tmp_path / "spelling.npz"))
    again = Spelling.load(str(tmp_path / "spelling.npz"))
    rows = again.vectors(["nuska", "nuskas"], "xx")
    np.testing.assert_array_equal(rows, spelling.vectors(["nuska", "nuskas"], "xx"))
    part = rows[:, 12 : 12 + dim]
    np.testing.assert_allclose(part, paired["xx"].sums(ngrams, ["nuska", "nuskas"]), atol=2e-2)
    assert not rows[:, 12 + dim :].any()
    # Trained vectors stand behind it: none of these has one, so nothing is shortened.
    np.testing.assert_array_equal(again.as_words(rows), rows)


def test_words_are_linked_without_a_dictionary_and_through_a_third_language():
    text = _given(200)
    counts = {x: text.append_to(None, ["en", "xx", "yy"]).counts(x) for x in ("en", "xx", "yy")}
    empty = Dictionary.empty(["en", "xx", "yy"])
    graph = WordGraph(empty, counts, WordsOptions(meanings=""))
    links = given_links.link_words(graph, text, MiningOptions(dim=64), 0)
    assert set(links) == {("xx", "en"), ("xx", "yy")}  # yy shares no sentence with English
    for pair, found in links.items():
        best = {}
        for a, b, count in sorted(
            zip(found.source, found.target, found.counts), key=lambda x: x[2]
        ):
            best[a] = b
        words = [_sides(x)[1][1] if x != "en" else _WORDS for x in pair]
        assert best == dict(zip(*words))

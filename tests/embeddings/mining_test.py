"""Mining on the embedded world, where the translations that two texts share are known."""

import itertools

from absl import logging as absl_logging
import numpy as np
import pytest

from clwe_jax import pocket
from clwe_jax.align.mining import Mined, TextSide
from clwe_jax.embeddings import corpus as corpora, mining
from clwe_jax.embeddings.text_links import TextLinks
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.options.embeddings import MiningOptions
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

_LINES = 1_500


def _dictionary(languages=("de", "en"), every=3):
    """One translation in `every`, so that mining has something to add."""
    pairs = {}
    for a, b in itertools.combinations(languages, 2):
        pairs[a, b] = pocket.dictionary(a, b)[::every]
    return Dictionary.from_pairs(pairs, languages)


def _mined(folder, dictionary, languages=("de", "en"), **options):
    lexicons = {x: dictionary.lexicon(x) for x in languages}
    text = corpora.read(TextCorpus(str(folder), languages), Normalizer(), Segmenter(lexicons))
    counts = {x: {w: n for w, n in text.counts(x).items() if n > 1} for x in languages}
    return mining.grow(WordGraph(dictionary, counts), text, MiningOptions(**options), seed=0)


def _world(folder, languages=("de", "en"), lines=_LINES, **shared):
    settings = pocket.Shared(**shared)
    pocket.write_corpus(str(folder), languages, lines, shared=settings)
    pocket.write_shared(str(folder / "gold"), languages, lines, shared=settings)
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return _world(tmp_path_factory.mktemp("planted"), share=0.1)


@pytest.fixture(scope="module")
def found(planted):
    return _mined(planted, _dictionary(), rounds=2)


def _lines(found, pair=("de", "en")):
    return {(i + 1, j + 1) for i, j, _ in zip(*found.pairs[pair])}


def test_planted_translations_are_found_and_nothing_else(planted, found):
    gold = {(x.source, x.target): x.planted for x in pocket.read_pairs(planted / "gold/de-en.tsv")}
    mined, true = _lines(found), {place for place, both in gold.items() if both}
    assert len(true) == 150
    assert len(mined & true) > 0.85 * len(true)
    assert len(mined & gold.keys()) > 0.9 * len(mined)


def test_the_search_by_lists_finds_what_the_exact_one_finds(planted, found, monkeypatch):
    monkeypatch.setattr(mining, "_EXACT", 0)
    by_lists, exact = _lines(_mined(planted, _dictionary(), rounds=2)), _lines(found)
    assert len(by_lists & exact) > 0.9 * max(len(by_lists), len(exact))


def test_pairs_of_a_short_text_need_nearer_neighbours(tmp_path):
    """In 600 lines, pairs of shuffled text lie beside others too, but rarely in the next line."""
    folder = _world(tmp_path, lines=600, share=0.1)
    found = _mined(folder, _dictionary(), rounds=1)
    gold = {(x.source, x.target) for x in pocket.read_pairs(folder / "gold/de-en.tsv")}
    assert len(_lines(found)) > 50 and len(_lines(found) & gold) > 0.95 * len(_lines(found))
    [row] = found.rounds
    assert row["lines"] < 3 and row["supported"] > 20 * row["by_chance"]


def test_links_are_translations_that_the_dictionary_lacks(found):
    links = found.links["de", "en"]
    true = set(pocket.dictionary("de", "en"))
    known = set(_dictionary().pairs("de", "en"))
    pairs = list(zip(links.source, links.target))
    new = [pair for pair in pairs if pair not in known]
    assert len(new) > 100
    assert np.mean([pair in true for pair in new]) > 0.6
    # The counts say which links to trust.
    sure = [pair for pair, count in zip(pairs, links.counts) if count > 4 and pair not in known]
    assert np.mean([pair in true for pair in sure]) > 0.75


def test_every_round_and_what_was_refused_are_recorded(found):
    assert [row["round"] for row in found.rounds] == [1, 2]
    for row in found.rounds:
        assert row["mutual"] >= row["supported"] > 15 * row["by_chance"]
    refused = found.refused["de", "en"]
    assert len(refused.source) and list(refused.margins) == sorted(refused.margins, reverse=True)


def test_a_candidate_that_growth_takes_is_not_refused():
    """Grown pairs lead from supported ones to a candidate that none of these supports."""
    stretches = np.arange(40) * 1_000
    places = np.sort(np.concatenate([stretches, stretches + 1, [2, 3, 4, 5, 6], [500]]))
    at = np.full(places[-1] + 1, -1)
    at[places] = np.arange(len(places))
    side = TextSide(np.eye(len(places), dtype=np.float32), places, at)
    [chosen] = np.nonzero(~np.isin(places, [2, 3, 4, 5]))
    candidates = Mined(chosen, chosen, np.linspace(1.4, 1.1, len(chosen)))
    judged = mining._judge_by_support(candidates, [side, side], MiningOptions(grow_lines=2))
    assert set(range(7)) < set(places[judged.taken.source].tolist())
    assert places[judged.refused.source].tolist() == [500]


def test_candidates_too_few_to_be_taken_are_shuffled_a_few_times(monkeypatch):
    calls = []
    has_support = mining.mining.has_support
    monkeypatch.setattr(
        mining.mining, "has_support", lambda *args: calls.append(args) or has_support(*args)
    )
    side = TextSide(np.eye(19, dtype=np.float32), np.arange(19), np.arange(19))
    for count in (0, 1, 19):
        calls.clear()
        candidates = Mined(np.arange(count), np.arange(count), np.ones(count))
        judged = mining._judge_by_support(candidates, [side, side], MiningOptions())
        assert not len(judged.taken.source) and len(judged.refused.source) == count
        assert len(calls) < 20


def test_the_same_seed_mines_the_same(planted, found):
    again = _mined(planted, _dictionary(), rounds=2)
    np.testing.assert_array_equal(again.pairs["de", "en"].source, found.pairs["de", "en"].source)
    np.testing.assert_array_equal(again.links["de", "en"].counts, found.links["de", "en"].counts)


def test_a_file_holds_all(found, tmp_path):
    path = str(tmp_path / "mined.npz")
    found.save(path)
    read = TextLinks.load(path)
    assert read.rounds == found.rounds and dict(read.files) == dict(found.files)
    assert list(read.links["de", "en"].source) == list(found.links["de", "en"].source)
    for name in ("pairs", "refused"):
        for a, b in zip(getattr(read, name)["de", "en"], getattr(found, name)["de", "en"]):
            np.testing.assert_array_equal(a, b)
    (tmp_path / "mined.npz").write_bytes(b"PK\x03\x04 half a file")
    with pytest.raises(ValueError, match="mined.npz is damaged"):
        TextLinks.load(path)


def test_a_file_of_mining_is_named_where_it_cannot_be_read(tmp_path):
    path = str(tmp_path / "mined.npz")
    with pytest.raises(FileNotFoundError, match="mined.npz"):
        TextLinks.load(path)
    for content in (b"no archive of numpy", b""):
        (tmp_path / "mined.npz").write_bytes(content)
        with pytest.raises(ValueError, match="mined.npz is damaged"):
            TextLinks.load(path)
    np.savez(path, about=np.array([object()]))
    with pytest.raises(ValueError, match="mined.npz is damaged"):
        TextLinks.load(path)


@pytest.mark.parametrize("settings", [dict(apart=True), dict(share=0.1, order="scattered")])
def test_nothing_is_taken_without_neighbours(tmp_path, settings):
    found = _mined(_world(tmp_path, **settings), _dictionary(), rounds=2)
    assert not found.pairs and not found.links
    assert [row["taken"] for row in found.rounds] == [0]


def test_scattered_translations_count_where_that_is_asked_for(tmp_path):
    folder = _world(tmp_path, share=0.1, order="scattered")
    gold = {(x.source, x.target) for x in pocket.read_pairs(folder / "gold/de-en.tsv")}
    precision = {}
    for margin in (1.5, 1.8):
        found = _mined(
            folder, _dictionary(every=1), rounds=1, unsupported_margin=margin, grow_lines=0
        )
        precision[margin] = len(_lines(found) & gold) / len(_lines(found))
    assert 0.5 < precision[1.5] < precision[1.8] and len(_lines(found)) > 10


@pytest.fixture
def warned(monkeypatch):
    said = []
    monkeypatch.setattr(absl_logging, "warning", lambda text, *args: said.append(text % args))
    return said


def test_a_copy_is_not_mined_and_parallel_text_is_named(tmp_path, warned):
    _world(tmp_path, share=0.0)
    (tmp_path / "de.txt").write_text((tmp_path / "en.txt").read_text("utf-8"), "utf-8")
    assert not _mined(tmp_path, _dictionary(), rounds=1).links
    assert any("copy" in text for text in warned)

    warned.clear()
    rows = [row for row in pocket.parallel(("de", "en"), 300, seed=5, split="train")]
    for language in ("de", "en"):
        text = "".join(f"{row[language].text}\n" for row in rows)
        (tmp_path / f"{language}.txt").write_text(text, "utf-8")
    found = _mined(tmp_path, _dictionary(every=1), rounds=1)
    assert len(found.pairs["de", "en"].source) > 150
    assert any("It is parallel" in text for text in warned)


def test_texts_with_hardly_a_sentence_and_a_language_without_dictionary(tmp_path):
    _world(tmp_path, ("de", "en", "fr"), share=0.1)
    (tmp_path / "fr.txt").write_text("Deux lignes.\nLa deuxième a cinq mots.\n", "utf-8")
    found = _mined(tmp_path, _dictionary(), ("de", "en", "fr"), rounds=1)
    assert set(found.links) == {("de", "en")}

    (tmp_path / "fr.txt").write_text("La même phrase revient mille fois.\n" * 1_000, "utf-8")
    found = _mined(tmp_path, _dictionary(), ("de", "en", "fr"), rounds=1)
    assert set(found.links) == {("de", "en")}


def test_pairs_of_other_languages_than_the_hub_are_mined_too(tmp_path):
    found = _mined(
        _world(tmp_path, ("de", "en", "fr"), share=0.1),
        _dictionary(("de", "en", "fr")),
        ("de", "en", "fr"),
        rounds=1,
    )
    assert set(found.links) == {("de", "fr"), ("de", "en"), ("fr", "en")}


def test_of_many_languages_each_is_mined_with_the_hub_alone(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(absl_logging, "info", lambda text, *args: said.append(text % args))
    languages = ("de", "en", "fr")
    folder, dictionary = _world(tmp_path, languages, share=0.1), _dictionary(languages)
    found = _mined(folder, dictionary, languages, rounds=1, all_pairs=2)
    assert set(found.links) == {("de", "en"), ("fr", "en")}
    [left_out] = [text for text in said if "left out" in text]
    assert "1 other pair" in left_out and "mining.all_pairs=3" in left_out

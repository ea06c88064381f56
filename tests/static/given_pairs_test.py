"""Runs on given pairs alone: no dictionary, no other text; and what is written of their links."""

import json
import os

import numpy as np
import pytest

from clwe_jax import api, options
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import CountedLinks
from clwe_jax.encoders import beside_weights, load, spaces
from clwe_jax.options import systems
from clwe_jax.static import finished_space, given_pairs, job as static
from clwe_jax.static.run_corpus import RunCorpus
from clwe_jax.text.dictionary.test_dictionaries import TestSet
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

_STEMS = "sun moon star tree river stone bird fish house road king child bread water fire".split()
_BOOKS = {"MAT": 120, "JHN": 40}


def _verses(language):
    """Verses of random words; a language other than English writes them backwards, with an ending."""
    draws, lines = np.random.default_rng(0), []
    for book, count in _BOOKS.items():
        for number in range(1, count + 1):
            words = draws.permutation(_STEMS)[:6].tolist()
            if language != "en":
                words = [word[::-1] + language for word in words[::-1]]
            lines.append(f"{book} {1 + number // 30}:{number}\t{' '.join(words).title()}.\n")
    return "".join(lines)


def _config(folder, **overrides):
    config = systems.load("configs/dictionary_vectors.py:small")
    values = {
        "data.source": "pairs",
        "data.pairs": str(folder),
        "data.held_out": "JHN",
        "data.languages": "en,xho,yor",
        "data.dictionaries": "",
        "evals.bli.data": str(folder / "words"),
        "evals.similarity.data": "",
        "evals.retrieval.data": "pairs",
        "embeddings.dim": 64,
        "static.words.meaning_dim": 16,
    }
    found = options.with_values(options.parse(config), values | overrides).resolve()
    found.check_all()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verses")
    for language in ("en", "xho", "yor"):
        (folder / f"{language}.tsv").write_text(_verses(language))
    (folder / "words").mkdir()
    entries = [f"{stem}\t{stem[::-1]}xho\n" for stem in _STEMS[:3]]
    (folder / "words" / "en-xho.5000-6500.txt").write_text("".join(entries))
    return folder


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    workdir = str(tmp_path_factory.mktemp("run"))
    static.run(_config(folder), workdir)
    return workdir


def _read(run, name):
    with open(os.path.join(run, name), encoding="utf-8") as file:
        return json.load(file)


def test_held_out_verses_find_their_translations(run):
    figures = _read(run, "results.json")
    for pair in ("xho-en", "en-yor"):
        assert figures[f"retrieval/{pair}/mean_csls"] > 0.9, pair
    # As words, verses are compared with English alone, unless --config.static.pairs asks for others.
    assert not any("xho-yor" in name or "yor-xho" in name for name in figures)
    # A language that no pair joins to another directly meets it in the same space.
    model = api.load(run)
    [near] = model.neighbours("revirxho", "xho", k=1, to="yor")
    assert near.word == "reviryor"


def test_beside_another_encoder_the_held_out_verses_choose_the_weight(run, tmp_path, monkeypatch):
    """The other encoder knows nothing: every language has directions of its own."""
    own = spaces.load(run)
    random = np.random.default_rng(0)
    for language in own.languages:
        words = own.raw[language].words
        rows = random.standard_normal((len(words), 8)).astype(np.float32)
        files.write(str(tmp_path / f"{language}.vec"), Vectors(words, rows))
    first = "vec:" + ",".join(f"{x}={tmp_path}/{x}.vec" for x in own.languages)
    encoded = []
    mean = beside_weights._mean
    monkeypatch.setattr(beside_weights, "_mean", lambda *args: encoded.append(args) or mean(*args))
    found = load.load(f"{first}+run:{run}", ("en", "xho", "yor"))
    assert {frozenset(pair) for pair in found.by_pair} == {
        frozenset(("en", x)) for x in ("xho", "yor")
    }
    assert all((weights >= found.weight).all() for weights in found.by_pair.values())
    # Of every language the mean of the verses that the run has read is subtracted.
    sentences = [line.partition("\t")[2] for line in _verses("xho").splitlines()]
    vectors = found.first.encoder().sentences(sentences[: _BOOKS["MAT"]], "xho")
    np.testing.assert_allclose(found.means["xho"], vectors.mean(0), atol=1e-4)
    assert found.means.keys() == {"en", "xho", "yor"}
    assert len(encoded) == 3  # English stands in two pairs, and has one mean
    assert load.load(f"{first}+2*run:{run}", ("en", "xho", "yor")).by_pair == {}
    # They are kept with the run, until one of the encoders changes.
    asked = []
    monkeypatch.setattr(beside_weights, "choose_weights", lambda *args: asked.append(args[2]))
    again = load.load(f"{first}+run:{run}", ("en", "xho", "yor")).by_pair
    assert not asked and again.keys() == found.by_pair.keys()
    assert all(np.allclose(weights, found.by_pair[pair]) for pair, weights in again.items())
    files.write(str(tmp_path / "yor.vec"), Vectors(words, rows + 1))
    assert load.load(f"{first}+run:{run}", ("en", "xho", "yor")).by_pair == {}
    assert {frozenset(pair) for pair in asked} == {frozenset(pair) for pair in again}


def test_a_run_on_text_without_verses_has_the_default_weight(tmp_path):
    """An earlier release took such text, and read what was to be held out."""
    (tmp_path / "en-xho.tsv").write_text("sun\tnusxho\n")
    place = str(tmp_path)
    found = beside_weights._by_verses((None, None), "en", ["en", "xho"], place, "JHN", None)
    assert found == beside_weights.Beside({}, {})


def test_without_held_out_verses_the_text_gives_the_weight(run, folder, tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for language in ("en", "xho"):
        lines = (folder / f"{language}.tsv").read_text().splitlines()
        (text / f"{language}.txt").write_text("\n".join(x.partition("\t")[2] for x in lines) + "\n")
    values = {"data.source": f"text:{text}", "data.held_out": "", "data.languages": "en,xho"}
    values |= {"evals.retrieval.data": "", "evals.bli.data": ""}
    workdir = str(tmp_path / "run")
    static.run(_config(folder, **values), workdir)
    first = "vec:" + ",".join(f"{x}={run}/{x}.vec" for x in ("en", "xho"))
    own = spaces.load(run)
    random = np.random.default_rng(0)
    for language in ("en", "xho"):
        words = own.raw[language].words
        rows = random.standard_normal((len(words), 8)).astype(np.float32)
        files.write(f"{run}/{language}.vec", Vectors(words, rows))
    found = load.load(f"{first}+run:{workdir}", ("en", "xho"))
    [weights] = found.by_pair.values()
    parts = (x.encoder() for x in (found.first, found.second))
    sides = [
        [x for x in (text / f"{y}.txt").read_text().splitlines() if 30 <= len(x) <= 160]
        for y in ("xho", "en")
    ]
    expected = beside_weights.spread_weights(*parts, ("xho", "en"), sides)
    np.testing.assert_allclose(weights, expected, rtol=1e-3)
    (text / "xho.txt").unlink()  # a language without text has no weight, and is no fault
    assert load.load(f"{first}+run:{workdir}", ("en", "xho")).by_pair == {}
    (text / "en.txt").unlink()
    text.rmdir()
    assert load.load(f"{first}+run:{workdir}", ("en", "xho")).by_pair == {}


def test_links_are_files_and_a_section(run):
    with open(os.path.join(run, "mined", "dictionary", "xho-en.txt"), encoding="utf-8") as file:
        links = [line.split("\t")[:2] for line in file]
    best = dict(reversed(links))  # the most frequent link of a word comes last, and stays
    assert sum(best[f"{stem[::-1]}xho"] == stem for stem in _STEMS) >= 0.75 * len(_STEMS)
    [section] = [x for x in _read(run, "report.json")["sections"] if x["title"] == "Given pairs"]
    assert "120" in json.dumps(section)
    page = open(os.path.join(run, "report.html"), encoding="utf-8").read()
    assert "Given pairs" in page and "lexicon-xx-yy.html" in page


def test_a_rejected_link_never_comes_back(run, folder, tmp_path):
    phrase = " ".join(_verses("xho").lower().split()[-2:]).strip(".")  # of a verse that is held out
    (tmp_path / "xho-en.txt").write_text(f"{phrase}\ta phrase\n")
    (tmp_path / "xho-en.not.txt").write_text("Revirxho\tRiver\nnusxho moon\n")
    workdir = str(tmp_path / "run")
    static.run(_config(folder, **{"data.dictionaries": str(tmp_path)}), workdir)
    for some, there in ((run, True), (workdir, False)):
        pairs = []
        for name in ("mined/dictionary/xho-en.txt", "induced/en-xho.txt"):
            with open(os.path.join(some, name), encoding="utf-8") as file:
                words = [frozenset(line.split()[:2]) for line in file]
            pairs.append(frozenset(("revirxho", "river")) in words)
        answers = api.load(some).translate("revirxho", "xho", "en", k=50)
        assert [*pairs, "river" in [x.word for x in answers]] == [there] * 3
    figures = _read(workdir, "results.json")
    assert figures["retrieval/xho-en/mean_csls"] > 0.8
    # The words of the phrase are in the pairs, though it is one word of the test.
    assert phrase in spaces.load(workdir).raw["xho"].own_keys
    assert figures["given/xho/only_in_pairs"] == 1 and figures["given/xho/unseen"] == 0


def test_a_word_that_no_verse_has_gets_a_vector_by_its_spelling(run):
    model = api.load(run)
    [near] = model.neighbours("revirakxho", "xho", k=1, to="en")
    assert near.word == "river"


def test_the_words_of_a_test_are_looked_for_in_the_pairs_and_in_no_other_text(run):
    figures = _read(run, "results.json")
    assert figures["given/xho/only_in_pairs"] == 1 and figures["given/xho/unseen"] == 0
    page = open(os.path.join(run, "report.html"), encoding="utf-8").read()
    assert "Only in pairs" in page


def test_links_are_tested_by_words_of_a_dictionary_that_no_link_has_seen(run):
    assert _read(run, "results.json")["given/xho-en/precision"] > 0.2  # chance: 1/16
    [section] = [x for x in _read(run, "report.json")["sections"] if x["title"] == "Given pairs"]
    table = section["blocks"][0]
    assert [x["head"] for x in table["columns"]][-1] == "Tested words"
    assert [row[-1]["value"] for row in table["rows"]] == [3, 0]


def test_trained_vectors_stand_behind_what_pairs_teach(folder, tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for language in ("en", "xho"):
        lines = (folder / f"{language}.tsv").read_text().splitlines()
        own = [line.partition("\t")[2] for line in lines[:40]]  # which the pairs hold too
        (text / f"{language}.txt").write_text("\n".join([*own, "zebra zebra yak yak"] * 3) + "\n")
    workdir = str(tmp_path / "run")
    values = {
        "data.source": f"text:{text}",
        "data.languages": "en,xho",
        "static.training": "joint",
        "static.dictionary_dim": 64,
        "embeddings.dim": 8,
        "embeddings.epochs": 1,
        "embeddings.buckets": 50,
        "static.mine": True,
    }
    static.run(_config(folder, **values), workdir)
    figures = _read(workdir, "results.json")
    assert figures["retrieval/xho-en/mean_csls"] > 0.9
    assert figures["given/xho/only_in_pairs"] < 1
    model = api.load(workdir)
    # Three times in the text, and not once more for the pairs that repeat it.
    counts = model.loaded.frequencies.words["en"]
    assert counts["zebra"] == 6
    verses = (folder / "en.tsv").read_text().lower().splitlines()[: _BOOKS["MAT"]]
    assert counts["sun"] == sum("sun" in x for x in verses) + 2 * sum(
        "sun" in x for x in verses[:40]
    )
    assert model.vector("revirxho", "xho").shape == model.vector("unseen", "xho").shape


def test_a_finished_run_is_not_made_again_and_other_verses_are_another_run(run, folder):
    before = os.stat(os.path.join(run, "trained", "paired.npz")).st_mtime_ns
    static.run(_config(folder), run)
    assert os.stat(os.path.join(run, "trained", "paired.npz")).st_mtime_ns == before


def test_a_language_without_a_sentence_is_an_error_that_names_it(folder, tmp_path):
    config = _config(folder, **{"data.languages": "en,xho,zul"})
    with pytest.raises(ValueError, match="no sentence in zul"):
        static.run(config, str(tmp_path / "run"))


def test_without_english_the_first_language_is_the_hub(folder, tmp_path):
    static.run(_config(folder, **{"data.languages": "xho,yor"}), str(tmp_path))
    assert _read(tmp_path, "results.json")["retrieval/yor-xho/mean_csls"] > 0.9


def test_what_was_linked_with_another_hub_is_not_taken(run, folder, tmp_path):
    shared = {"static.trained": os.path.join(run, "trained"), "static.hub": "yor"}
    with pytest.raises(ValueError, match="given.npz.*config.static.hub: 'en' -> 'yor'. Delete it"):
        static.run(_config(folder, **shared), str(tmp_path))


def test_the_text_of_pairs_needs_a_run_that_learns_from_them(folder):
    with pytest.raises(ValueError, match="source=pairs"):
        _config(folder, **{"static.training": "joint"})
    with pytest.raises(ValueError, match="add_to"):
        _config(folder, **{"static.add_to": "somewhere"})


def test_no_language_is_added_to_a_space_that_learned_from_pairs(run, folder):
    added = {
        "data.source": "text:text",
        "data.dictionaries": "words",
        "data.pairs": "",
        "data.held_out": "",
    }
    added |= {"data.languages": "en,zul", "evals.retrieval.data": "", "static.add_to": run}
    with pytest.raises(ValueError, match="static.add_to=.*given pairs"):
        finished_space.load(_config(folder, **added))


def test_lines_that_are_left_out_of_given_pairs_are_counted(folder, tmp_path):
    """Only what was read so far: nothing is read for the report alone."""
    text = RunCorpus(_config(folder), {"pairs": str(folder)}, Normalizer(), Segmenter())
    assert text.repairs == {}
    text._given_pairs.skipped["faults"] = 2
    assert text.repairs == {"faults": 2}


def test_precision_is_that_of_the_most_frequent_link_in_both_directions():
    links = CountedLinks(
        ["a", "a", "b", "c"], ["x", "y", "y", "z"], np.array([2, 1, 5, 1], np.float32)
    )
    tests = [
        TestSet("xx", "en", {"a": frozenset("y"), "b": frozenset("y"), "q": frozenset("x")}),
        TestSet("en", "xx", {"y": frozenset("b"), "x": frozenset("a")}),
        TestSet("de", "en", {"a": frozenset("x")}),
    ]
    assert given_pairs.judge_links(links, ("xx", "en"), tests) == [False, True, True, True]
    assert given_pairs.judge_links(links, ("xx", "en"), tests[2:]) == []

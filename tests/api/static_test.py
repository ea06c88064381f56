"""Spaces, translations and files of a run of static embeddings."""

import dataclasses
import math
import os
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

from clwe_jax import api, options
from clwe_jax.align import csls, search
from clwe_jax.align.alignment import Alignment
from clwe_jax.align.preprocess import fit as preprocess
from clwe_jax.embeddings import dictionary_text, files, word_rows
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.encoders.protocols import Encoder
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.embeddings import WordsOptions
from clwe_jax.options.static import StaticRun
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.transfer.encoder import state_of

D = 6


def rotation(seed):
    return np.linalg.qr(np.random.RandomState(seed).randn(D, D))[0].astype(np.float32)


@pytest.fixture(scope="module")
def planted():
    """German and French are rotations of English; 'hotel' is shared by German and English."""
    r = np.random.RandomState(0)
    x = r.randn(20, D).astype(np.float32) + 0.5
    turn, other = rotation(1), rotation(2)
    en = [f"en{i}" for i in range(19)] + ["hotel"]
    de = [f"de{i}" for i in range(19)] + ["hotel"]
    german = x @ turn.T
    german[19] = x[19]  # untouched
    _, steps_de = preprocess(german[:19], ("unit", "center"))
    _, steps_en = preprocess(x[:19], ("unit", "center"))
    raw = {
        "en": Vectors(en, x),
        "de": Vectors(de, german),
        "fr": Vectors([f"fr{i}" for i in range(20)], x @ other.T),
    }
    maps = {
        "de": Alignment(turn, None, steps_de, steps_en),
        "fr": Alignment(other @ rotation(3), rotation(3)),
    }
    return api.Model(StaticSpaces(raw, {"de": frozenset({"hotel"})}, maps, "en"))


def test_a_pair_is_compared_where_its_aligner_does(planted):
    x, y = planted.loaded.space("de", "en")
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x.vectors, y.vectors)]
    assert np.allclose(unit[0], unit[1], atol=1e-4)
    back = planted.loaded.space("en", "de")
    assert back[0].words == y.words and np.array_equal(back[1].vectors, x.vectors)
    # A shared word has one vector in both languages, preprocessed as the hub's.
    assert np.array_equal(x.vectors[19], y.vectors[19])


def test_in_the_hub_s_space_the_hub_and_what_is_shared_are_untouched(planted):
    assert np.array_equal(planted.vectors("en").vectors, planted.loaded.raw["en"].vectors)
    de = planted.vectors("de").vectors
    assert np.array_equal(de[19], planted.loaded.raw["de"].vectors[19])
    assert not np.allclose(de[:19], planted.loaded.raw["de"].vectors[:19])
    # The target's map is undone: French lies on English itself.
    assert np.allclose(planted.vectors("fr").vectors, planted.loaded.raw["en"].vectors, atol=1e-4)
    assert np.allclose(planted.vector("fr3", "fr"), planted.loaded.raw["en"].vectors[3], atol=1e-4)


def test_two_languages_without_the_hub_meet_there(planted):
    x, y = planted.loaded.space("de", "fr")
    assert np.array_equal(y.vectors, planted.vectors("fr").vectors)
    assert np.array_equal(x.vectors, planted.vectors("de").vectors)


@pytest.mark.parametrize("method", ["csls", "nn", "inverted_softmax"])
def test_words_are_translated(planted, method):
    found = planted.translate("DE4", "de", "en", k=3, method=method)
    assert found[0].word == "en4" and len(found) == 3
    assert found[0].score >= found[1].score >= found[2].score
    assert planted.translate("en7", "en", "fr", k=1, method=method)[0].word == "fr7"
    assert len(planted.translate("en7", "en", "fr", k=99)) == 20


def test_neighbours_leave_the_word_itself_out(planted):
    found = planted.neighbours("en4", "en", k=4)
    assert ("en4", "en") not in [(near.word, near.language) for near in found]
    assert found[0].word in ("de4", "fr4") and found[0].score > 0.95
    assert [near.score for near in found] == sorted((n.score for n in found), reverse=True)
    own = planted.neighbours("hotel", "de", k=2, to="en")
    assert own[0].word == "hotel" and own[0].score == pytest.approx(1, abs=1e-5)


def test_what_is_unknown_is_answered(planted):
    with pytest.raises(ValueError, match="lang='xx'.*Known: de, en, fr"):
        planted.vectors(lang="xx")
    with pytest.raises(ValueError, match="to='it'.*Known: de, en, fr"):
        planted.translate("de4", lang="de", to="it")
    with pytest.raises(ValueError, match="Did you mean 'hotel'"):
        planted.translate("hotels", lang="de", to="en")
    with pytest.raises(ValueError, match="have no senses.*translate"):
        planted.senses("hotel", lang="en")
    with pytest.raises(ValueError, match="have no senses"):
        planted.translate_in_context("hotel", context="a hotel", to="en")
    with pytest.raises(ValueError, match="pool='max'"):
        planted.encode(["de4"], lang="de", pool="max")
    with pytest.raises(ValueError, match="layer=8: .*layers are 0 only"):
        planted.neighbours("de4", lang="de", layer=8)
    with pytest.raises(ValueError, match="Did you mean 'csls'"):
        planted.translate("de4", "de", "en", method="clsl")


def test_an_unknown_word_of_a_large_vocabulary_is_answered_in_one_line():
    words = ["città", "citta\u0300s", *(f"parola{i}" for i in range(5_000))]
    raw = {"it": Vectors(words, np.ones((len(words), 2), np.float32))}
    model = api.Model(StaticSpaces(raw, {}, {}, "it"))
    assert model.knows("Città", lang="it") and not model.knows("citta", lang="it")
    with pytest.raises(ValueError, match="Did you mean 'città'") as error:
        model.vector("citta", lang="it")
    assert len(str(error.value)) < 200
    with pytest.raises(ValueError, match="5,002 words of 'it'.$"):
        model.vector("xyzzy", lang="it")


def test_sentences_are_means_of_their_words(planted):
    vectors = planted.vectors(lang="de")
    found = planted.encode(["DE3 unknown de5", "unknown", "de3"], lang="de")
    np.testing.assert_allclose(found[0], vectors.vectors[[3, 5]].mean(0), atol=1e-6)
    assert not found[1].any() and np.array_equal(found[2], vectors.vectors[3])
    pieces = planted.encode(["de3 unknown de5"], lang="de", pool=None)
    np.testing.assert_array_equal(pieces[0], vectors.vectors[[3, 5]])
    assert planted.encode(["de3"], lang="de", layer="all").shape == (1, 1, D)
    assert [word for word, _ in planted.words("de3 x", lang="de")] == ["de3", "x"]
    assert planted.similarity("de3", "en3", lang="de", to="en") > 0.99


def test_a_model_is_one_line_and_can_be_pickled(planted):
    assert repr(planted) == "Model(StaticSpaces(en, de, fr))"
    near = planted.neighbours("de4", lang="de", method="csls")
    again = ForkingPickler.loads(ForkingPickler.dumps(planted))
    assert again.neighbours("de4", lang="de", method="csls") == near
    assert np.array_equal(again.encode(["de4"], "de"), planted.encode(["de4"], "de"))
    many = StaticSpaces({f"x{i}": planted.loaded.raw["en"] for i in range(104)}, {}, {}, "x0")
    assert repr(many).endswith("x7, ... 104 languages)")


@pytest.mark.parametrize("method", csls.METHODS)
def test_words_are_translated_by_the_scores_of_all_words(planted, method, monkeypatch):
    x, y = planted.loaded.space("fr", "de")
    places, scores = csls.nearest(x.vectors[4:5], y.vectors, 3, method, pool=x.vectors)
    for _ in range(2):
        found = planted.translate("fr4", lang="fr", to="de", k=3, method=method)
        assert [word for word, _ in found] == [y.words[i] for i in np.asarray(places)[0]]
        np.testing.assert_allclose([score for _, score in found], np.asarray(scores)[0], atol=1e-5)
        for name in ("means", "log_mass"):  # the second call compares no two sets of vectors
            monkeypatch.delattr(search, name, raising=False)


def test_files_of_vectors_are_loaded(planted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for language in ("en", "fr"):
        files.write(f"wiki.{language}.vec", planted.loaded.raw[language])
    files.write("mine.vec", planted.loaded.raw["de"])
    one = api.load("wiki.en.vec")
    assert one.languages == ("en",) and one.neighbours("en4", lang="en", k=3)
    assert api.load(tmp_path / "mine.vec", languages=("xx",)).knows("de4", lang="xx")
    both = api.load("vec:xx=mine.vec,wiki.fr.vec")
    assert both.languages == ("xx", "fr")
    with pytest.raises(ValueError, match="vec: 'mine.vec'"):
        api.load("vec:mine.vec,wiki.fr.vec")
    planted.loaded.save("run")
    options.write_config(StaticRun(), "run", "..")
    assert api.load("run:run").languages == planted.languages


def test_files_of_vectors_are_in_the_languages_of_the_text(planted, tmp_path, monkeypatch):
    """As clwe-jax mine opens them: kab is none of multilingual BERT's languages, and my is Burmese."""
    monkeypatch.chdir(tmp_path)
    for name, language in (("my.kab", "de"), ("wiki.en", "en"), ("wiki.fr", "fr")):
        files.write(f"{name}.vec", planted.loaded.raw[language])
    planted.loaded.save("run")
    options.write_config(StaticRun(), "run", "..")
    given = "vec:my.kab.vec,wiki.en.vec"
    for model in (given, f"{given},wiki.fr.vec", f"{given},fr=wiki.fr.vec"):
        loaded = api.load_for(model, ["kab", "en"])
        assert loaded.languages[:2] == ("kab", "en") and loaded.knows("de4", "kab")
    for language in ("kab", "en"):  # of several languages one may have vectors
        [path] = tmp_path.glob(f"*.{language}.vec")
        assert api.load_for(str(path), ["kab", "en"]).languages == (language,)
    for model in (f"{given},wiki.fr.vec+run:run", f"run:run+{given},wiki.fr.vec"):
        assert "en" in api.load_for(model, ["kab", "en"]).languages
    assert api.load_for(f"{given}+{given}", ["kab", "en"]).languages == ("kab", "en")
    assert api.load_for("run:run", ["kab", "en"]).languages == planted.languages
    assert api.load("my.kab.vec").languages == ("my",)


@pytest.mark.parametrize("folder", ["a=b", "a,b", "de=a,en=b"])
def test_a_path_of_vectors_may_hold_the_marks_of_the_option(planted, tmp_path, folder):
    (tmp_path / folder).mkdir()
    for name in ("wiki.en.vec", "mine.vec"):
        files.write(str(tmp_path / folder / name), planted.loaded.raw["en"])
    path = str(tmp_path / folder / "wiki.en.vec")
    assert api.load(path).languages == api.load(f"vec:{path}").languages == ("en",)
    mine = tmp_path / folder / "mine.vec"
    assert api.load(mine, languages=("xx",)).languages == ("xx",)
    [[size, _]] = state_of(f"vec:{path}")
    assert size == os.path.getsize(path)
    if "," not in folder:  # of several files, only the path may hold an equals sign
        assert api.load(f"vec:de={mine},{path}").languages == ("de", "en")
        assert len(state_of(f"vec:de={mine},{path}")) == 2


@pytest.mark.parametrize(
    "name, where",
    [
        ("model.safetensors", "hf:{}"),
        ("model.safetensors", "hf:{}?pool=mean"),
        ("model-00001-of-00002.safetensors", "hf:{}"),
        ("pytorch_model-00001-of-00002.bin", "hf:{}"),
        ("projection.npz", "run:{}"),
    ],
)
def test_the_state_of_an_encoder_is_that_of_its_files(tmp_path, name, where):
    (tmp_path / name).touch()
    before = state_of(where.format(tmp_path))
    os.utime(tmp_path / name, (1, 1))
    assert state_of(where.format(tmp_path)) != before


def test_the_state_of_a_run_is_that_of_its_finish(tmp_path):
    run = f"run:{tmp_path}"
    states = [state_of(run)]
    for folder in ("checkpoints/3", "finish/checkpoints/5"):
        (tmp_path / folder).mkdir(parents=True)
        states.append(state_of(run))
    assert states[0] != states[1] != states[2]


def test_a_model_comes_back_from_its_files(planted, tmp_path):
    planted.loaded.save(str(tmp_path))
    again = spaces.load(tmp_path)
    assert again.languages == planted.languages and again.shared == planted.loaded.shared
    for pair in (("de", "en"), ("fr", "de")):
        for a, b in zip(again.space(*pair), planted.loaded.space(*pair)):
            assert list(a.words) == list(b.words) and np.allclose(a.vectors, b.vectors, atol=1e-6)
    (tmp_path / "spaces.json").write_text("{")
    with pytest.raises(ValueError, match="spaces.json is damaged"):
        spaces.load(tmp_path)
    with pytest.raises(FileNotFoundError, match="aligned vectors"):
        spaces.load(tmp_path / "no")


def test_it_is_an_encoder(planted):
    model = planted.encoder()
    assert isinstance(model, Encoder) and model.languages == ("en", "de", "fr")
    assert model.words("de3 HOTEL x", "de") == ["de3", "hotel", "x"]
    [(words, found)] = model.in_context(["de3 x"], "de")
    np.testing.assert_array_equal(found[0, 0], planted.vector("de3", "de"))
    view = model.pairwise_space("de", "en")
    np.testing.assert_array_equal(
        view.vocabulary("de").vectors[:, 0], planted.loaded.space("de", "en")[0].vectors
    )
    sentences = [f"de{i} de{i + 1}" for i in range(6)], [f"en{i} en{i + 1}" for i in range(6)]
    x, y = (view.sentences(s, lang)[:, 0] for s, lang in zip(sentences, ("de", "en")))
    assert np.allclose(x, y, atol=1e-3)  # translations, word by word
    with pytest.raises(ValueError, match="'xx'"):
        model.words("a", "xx")


def test_frequent_words_weigh_less_by_their_information(planted):
    counts = Frequencies({"de": 1_000}, {"de": {"de3": 900}})
    model = api.Model(dataclasses.replace(planted.loaded, frequencies=counts))
    vectors = planted.vectors(lang="de").vectors
    [found] = model.encode(["de3 de5"], lang="de")
    weight = (math.log(1_000 / 900) / math.log(1_000)) ** 1.5
    expected = (weight * vectors[3] + vectors[5]) / (weight + 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="no counts"):
        planted.encode(["de3"], lang="de", pool="information")


def _spelled():
    pairs = {("hsb", "en"): [("dom", "house"), ("woda", "water"), ("dobry dźeń", "good day")]}
    counts = {"en": {"house": 3, "good": 2}, "hsb": {"dom": 2, "woda": 2}}
    graph = WordGraph(Dictionary.from_pairs(pairs), counts, WordsOptions(spelling_dim=32))
    rows = word_rows.rows(graph, 64, 0)
    raw = dict(dictionary_text.vectors(rows))
    return api.Model(StaticSpaces(raw, {}, {}, "en", spelling=dictionary_text.make_spelling(rows)))


def test_a_word_that_the_model_lacks_has_a_vector_from_its_spelling(tmp_path):
    model = _spelled()
    assert not model.knows("Domach", "hsb")
    unseen, known = model.vector("Domach", "hsb"), model.vector("dom", "hsb")
    assert unseen @ known > 2 * abs(unseen @ model.vector("woda", "hsb"))
    assert model.neighbours("Domach", "hsb", 1, to="en")[0].word == "house"
    # In text as alone; the encoder that evaluators use, and the folder, have the same.
    np.testing.assert_allclose(model.encode(["domach"], lang="hsb")[0], unseen, atol=1e-5)
    model.loaded.save(str(tmp_path))
    for some in (model.loaded, spaces.load(str(tmp_path))):
        [rows] = some.encoder().sentences(["domach"], "hsb")
        np.testing.assert_allclose(rows[0], unseen, atol=2e-3)


def test_an_entry_of_two_words_is_one_unit_of_a_text():
    words = [word for word, _ in _spelled().words("dobry dźeń dom", "hsb")]
    assert words == ["dobry dźeń", "dom"]

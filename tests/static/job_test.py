"""Whole runs of static embeddings on a few sentences: stages, their reuse, what is left."""

import json
import os
import shutil

import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.embeddings import files, train
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.static import examples, job as static, given_vectors, refine, unaligned
from clwe_jax.text import dictionary as dictionaries

ANIMALS = 12
LANGUAGES = ("de", "en", "fr")


def word(language, number):
    """Words by number; 0 is a name that all languages share, 1 German and English share wrongly."""
    if number == 0:
        return "berlin"
    if number == 1 and language == "de":
        return "gift"
    if number == 2 and language == "en":
        return "gift"
    return f"{language}{chr(97 + number)}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Text in three languages, in which words of the same number stand in the same places."""
    folder = tmp_path_factory.mktemp("world")
    r = np.random.RandomState(0)
    meanings = [
        r.choice([n % ANIMALS, (n + 1) % ANIMALS, (n + 3) % ANIMALS], 6)
        for n in r.randint(0, ANIMALS, 300)
    ]
    (folder / "text").mkdir()
    (folder / "dictionaries").mkdir()
    for language in LANGUAGES:
        lines = [" ".join(word(language, n) for n in line).title() for line in meanings]
        # English has more text than the others.
        lines *= 2 if language == "en" else 1
        (folder / "text" / f"{language}.txt").write_text("\n".join(lines) + "\n")
    for language in ("de", "fr"):
        pairs = [(word(language, n), word("en", n)) for n in range(ANIMALS)]
        for name, some in (("", pairs), (".5000-6500", pairs[9:])):
            path = folder / "dictionaries" / f"{language}-en{name}.txt"
            path.write_text("".join(f"{a} {b}\n" for a, b in some))
    return folder


def config_of(folder, training="joint", **overrides):
    found = presets.static("laptop")
    found.static.update(training=training, reallocation=training == "joint", refinement=True)
    run = options.with_values(
        options.parse(found),
        {
            "data.source": f"text:{folder / 'text'}",
            "data.languages": ",".join(LANGUAGES),
            "data.dictionaries": str(folder / "dictionaries"),
            "embeddings.dim": 4,
            "embeddings.epochs": 1,
            "embeddings.buckets": 50,
            "evals.bli.data": str(folder / "dictionaries"),
            "evals.bli.methods": "nn",
            "evals.retrieval.data": "",
            "static.write_text": True,
            **overrides,
        },
    )
    run.resolve().check_all()
    return run


def read(path):
    with open(path) as file:
        return json.load(file)


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """A joint run that nothing interrupted."""
    workdir = str(tmp_path_factory.mktemp("runs") / "whole")
    assert static.run(config_of(folder), workdir)
    return workdir


def test_a_run_leaves_everything(whole):
    figures = read(os.path.join(whole, "results.json"))
    assert {"bli/de-en/p@1", "bli/fr-en/p@1", "bli/de-en/coverage"} <= set(figures)
    assert {"floor/bli/de-en/p@1", "floor/bli/chance"} <= set(figures)
    report = read(os.path.join(whole, "report.json"))
    assert set(report["static"]["alignments"]) == {"de-en", "fr-en"}
    assert set(report["static"]["projection"]["de-en"]) == {"before", "reallocated", "after"}
    # 300 lines of six words; English has twice as many, of which half are trained on.
    sizes = {language: row["words"] for language, row in report["languages"].items()}
    assert sizes == {"de": 1800, "en": 3600, "fr": 1800}  # of the whole text
    for language in LANGUAGES:
        vectors = files.read(os.path.join(whole, "vectors", f"{language}.vec"))
        assert vectors.dim == 4 and word(language, 5) in vectors.index
    model = api.load(whole)
    assert model.encoder().frequencies is not None
    assert model.loaded.frequencies.totals == sizes
    assert {found.word for found in model.translate("DEF", "de", "en", k=3)} <= set(
        model.vectors("en").words
    )
    induced = dictionaries.load(os.path.join(whole, "induced"))
    assert len(induced.pairs("de", "en"))
    assert os.path.exists(os.path.join(whole, "entries.npy"))
    known = model.loaded.raw["de"].own_keys
    row, other = model.loaded.entries.accepted.pairs_between("de", "en")[0]
    entries = model.loaded.entries.accepted.of(known[row], "de", "en")
    assert model.loaded.raw["en"].own_keys[other] in entries
    first = model.translate(known[row], "de", "en", k=len(entries))
    assert {found.word for found in first} == set(entries)


@pytest.mark.parametrize("training", ["joint", "separate", "duong"])
def test_the_words_of_a_language_decide_the_passes(training, folder, tmp_path, monkeypatch, said):
    # 7 passes of each language
    monkeypatch.setattr("clwe_jax.options.embeddings._TRAINED", 7 * 1800)
    config = config_of(folder, training, **{"embeddings.epochs": 0})
    assert static.run(config, str(tmp_path / "run"))
    assert "running words, 7 epochs" in said.text


def test_words_that_are_as_frequent_everywhere_stay_shared(whole, folder):
    model = api.load(whole)
    assert "berlin" in model.loaded.shared["de"] and "berlin" in model.loaded.shared["fr"]
    # 'gift' is number 1 in German and number 2 in English, each a twelfth of the text.
    counts = read(os.path.join(whole, "trained", "counts.json"))
    ratio = counts["de"]["gift"] / counts["en"]["gift"]
    assert 1 / 9 < ratio < 9 and "gift" in model.loaded.shared["de"]
    assert model.loaded.shared["de"] == {"berlin", "gift"} and model.loaded.shared["fr"] == {
        "berlin"
    }
    # The shared ones lie where the hub's do; the map moves the others only.
    german, english = model.vectors("de"), model.vectors("en")
    for both in model.loaded.shared["de"]:
        np.testing.assert_array_equal(
            german.vectors[german.index[both]], english.vectors[english.index[both]]
        )
    joint = Vectors.load(os.path.join(whole, "trained", "joint.npz"))
    moved = word("de", 5)
    assert not np.allclose(
        german.vectors[german.index[moved]], joint.vectors[joint.index[moved]], atol=1e-3
    )


def test_a_word_of_one_language_is_taken_from_the_other(folder, tmp_path):
    text = tmp_path / "text"
    text.mkdir()
    for language in ("de", "en"):
        lines = (folder / "text" / f"{language}.txt").read_text().splitlines()[:300]
        if language == "en":  # once in English: a foreign word
            lines = [line.replace("Berlin", "Town") for line in lines]
            lines[0] = "Berlin " + lines[0].partition(" ")[2]
        (text / f"{language}.txt").write_text("\n".join(lines) + "\n")
    config = config_of(folder, **{"data.source": f"text:{text}", "data.languages": "de,en"})
    workdir = str(tmp_path / "run")
    static.run(config, workdir)
    model = api.load(workdir)
    assert "berlin" in model.loaded.raw["de"].index and "berlin" not in model.loaded.raw["en"].index
    row = read(os.path.join(workdir, "report.json"))["static"]["vocabulary"]["languages"]["en"]
    assert row["lost"] == 1 and row["shared"] == 1  # gift


@pytest.mark.parametrize(
    "where, name",
    [
        (unaligned, "reallocate"),
        (refine, "fit"),
        (static.evaluators, "measure"),
        (static.Static, "_induce"),
        (static.Static, "results"),
    ],
)
def test_interrupted_and_uninterrupted_runs_are_alike(
    whole, folder, tmp_path, monkeypatch, where, name
):
    workdir = str(tmp_path / "run")
    calls = []

    def stop(*_, **__):
        calls.append(1)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, name, stop)
        with pytest.raises(KeyboardInterrupt):
            static.run(config_of(folder), workdir)
    assert calls
    # Trained vectors are not trained again.
    monkeypatch.setattr(
        train, "fasttext_with_subwords", lambda *a, **k: pytest.fail("trained again")
    )
    static.run(config_of(folder), workdir)
    for path in ("results.json", "vectors/de.vec", "induced/en-de.txt"):
        with (
            open(os.path.join(workdir, path), "rb") as ours,
            open(os.path.join(whole, path), "rb") as theirs,
        ):
            assert ours.read() == theirs.read(), path


def test_a_finished_run_says_so(whole, folder, said, monkeypatch):
    monkeypatch.setattr(static.Static, "stages", lambda *_: pytest.fail("started again"))
    static.run(config_of(folder), whole)
    assert "is finished" in said.text


def test_a_finished_run_without_test_sets_says_so_too(whole, folder, tmp_path, said, monkeypatch):
    """A user's own languages often have none; the page must not say that results are missing."""
    workdir, trained = str(tmp_path / "run"), os.path.join(whole, "trained")
    none = {f"evals.{name}.data": "" for name in ("bli", "retrieval", "similarity")}
    config = config_of(folder, **none, **{"static.trained": trained})
    static.run(config, workdir)
    assert read(os.path.join(workdir, "results.json")) == {}
    with open(os.path.join(workdir, "report.html"), encoding="utf-8") as file:
        assert "is missing" not in file.read()
    monkeypatch.setattr(static.Static, "stages", lambda *_: pytest.fail("started again"))
    static.run(config, workdir)
    assert "is finished" in said.text


def test_runs_share_what_is_trained(whole, folder, tmp_path, monkeypatch):
    trained = os.path.join(whole, "trained")
    monkeypatch.setattr(
        train, "fasttext_with_subwords", lambda *a, **k: pytest.fail("trained again")
    )
    plain = config_of(
        folder,
        **{"static.trained": trained, "static.reallocation": False, "static.refinement": False},
    )
    static.run(plain, str(tmp_path / "joint"))
    model = api.load(str(tmp_path / "joint"))
    assert not model.loaded.alignments and {"berlin", "gift"} <= model.loaded.shared["de"]
    other = config_of(folder, **{"static.trained": trained, "embeddings.window": 3})
    with pytest.raises(ValueError, match=r"window.*config.static.trained"):
        static.run(other, str(tmp_path / "other"))


def changed(folder, path, name):
    """A copy of the world in which a file's lines stand in reverse order: of the same size."""
    shutil.copytree(folder, path)
    lines = (path / name).read_text().splitlines()
    (path / name).write_text("\n".join(reversed(lines)) + "\n")


@pytest.mark.parametrize("training", ["joint", "duong"])
def test_what_was_trained_on_another_text_is_refused(training, folder, tmp_path, monkeypatch, said):
    """Of a text that was edited in place: its path and the options are the same."""
    world, workdir = tmp_path / "world", str(tmp_path / "run")
    shutil.copytree(folder, world)
    with monkeypatch.context() as patch:
        patch.setattr(refine, "fit", lambda *_: pytest.fail("stopped"))
        with pytest.raises(pytest.fail.Exception):
            static.run(config_of(world, training), workdir)
    for name in ("text/de.txt", "dictionaries/fr-en.txt"):
        world.rename(tmp_path / "old")
        changed(tmp_path / "old", world, name)
        if name.startswith("text") or training == "duong":
            message = rf"trained/.* before these files changed: {os.path.basename(name)}\. Bring"
            with pytest.raises(ValueError, match=message):
                static.run(config_of(world, training), workdir)
        shutil.rmtree(world)
        (tmp_path / "old").rename(world)
    shutil.copytree(world, tmp_path / "copy")  # with other times
    shutil.rmtree(world)
    (tmp_path / "copy").rename(world)
    static.run(config_of(world, training), workdir)
    assert "earlier release" not in said.text


def test_a_map_of_another_dictionary_is_fitted_again(folder, tmp_path, monkeypatch):
    world, workdir = tmp_path / "world", str(tmp_path / "run")
    shutil.copytree(folder, world)
    with monkeypatch.context() as patch:
        patch.setattr(static.Static, "results", lambda *_: pytest.fail("stopped"))
        with pytest.raises(pytest.fail.Exception):
            static.run(config_of(world), workdir)
    path = world / "dictionaries" / "fr-en.txt"
    path.write_text("\n".join(reversed(path.read_text().splitlines())) + "\n")
    fitted, fit = [], refine.fit
    monkeypatch.setattr(refine, "fit", lambda *given: fitted.append(1) or fit(*given))
    static.run(config_of(world), workdir)
    assert len(fitted) == 2


def test_n_grams_of_another_training_are_refused(folder, tmp_path):
    kept = {
        "static.keep_subwords": True,
        "static.reallocation": False,
        "static.trained": str(tmp_path / "t"),
    }
    static.run(config_of(folder, "joint", **kept), str(tmp_path / "joint"))
    with pytest.raises(ValueError, match="subwords.npz .*replace_share"):
        static.run(config_of(folder, "replace", **kept), str(tmp_path / "replace"))


def test_vectors_beside_those_of_the_dictionary(whole, folder, tmp_path):
    trained = os.path.join(whole, "trained")
    words = {
        "static.words.spelling_dim": 0,
        "static.words.unknown": "beginnings",
        "static.words.meanings": "",
    }
    config = config_of(folder, **{"static.trained": trained, "static.dictionary_dim": 6, **words})
    static.run(config, str(tmp_path / "run"))
    model = api.load(str(tmp_path / "run"))
    german, english = model.vectors("de"), model.vectors("en")
    assert german.dim == english.dim == 6 + 4
    known, test = word("de", 5), word("de", 10)  # 9 to 11 are test words
    assert np.abs(german.vectors[german.index[known]][:6]).max() > 0
    assert np.abs(german.vectors[german.index[test]][:6]).max() == 0
    assert model.translate(known, lang="de", to="en", k=1)[0].word == word("en", 5)
    np.testing.assert_allclose(np.linalg.norm(german.vectors[:, 6:], axis=1), 0.6, rtol=1e-3)


@pytest.mark.parametrize("training", ["separate", "replace", "duong"])
def test_other_trainings(folder, tmp_path, training):
    workdir = str(tmp_path / "run")
    config = config_of(folder, training, **{"static.refinement": training == "separate"})
    static.run(config, workdir)
    model = api.load(workdir)
    for language in LANGUAGES:
        assert word(language, 5) in model.loaded.raw[language].index
    apart = training in ("separate", "duong")
    assert apart == (
        not np.allclose(
            model.loaded.raw["de"].vectors[model.loaded.raw["de"].index["berlin"]],
            model.loaded.raw["en"].vectors[model.loaded.raw["en"].index["berlin"]],
        )
    )
    assert "bli/de-en/p@1" in read(os.path.join(workdir, "results.json"))


def test_learned_sharing_compares_vectors_of_each_language(folder, tmp_path):
    static.run(config_of(folder, **{"static.rule": "neighbours"}), str(tmp_path / "run"))
    assert {"joint.npz", "separate-de.npz", "separate-en.npz"} <= set(
        os.listdir(tmp_path / "run" / "trained")
    )


def test_a_pair_without_a_test_dictionary(folder, tmp_path, said):
    config = config_of(folder, **{"static.pairs": "de-fr,en-de"})
    static.run(config, str(tmp_path / "run"))
    figures = read(tmp_path / "run" / "results.json")
    assert "bli/de-en/p@1" in figures and "bli/de-fr/p@1" not in figures
    assert "no test dictionary of de-fr, fr-de, en-de" in said.text
    assert (tmp_path / "run" / "induced" / "de-fr.txt").exists()


def test_all_pairs_and_those_of_the_hub(folder):
    def chosen(pairs):
        return options.pairs(config_of(folder, **{"static.pairs": pairs}))

    ways = [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")]
    assert set(chosen("")) == set(ways)
    assert set(chosen("all")) == {*ways, ("de", "fr"), ("fr", "de")}


@pytest.mark.parametrize(
    "overrides, message",
    [
        ({"static.training": "jiont"}, "joint"),
        ({"static.gamma": 1.0}, "gamma"),
        ({"static.rule": "ratios"}, "ratio"),
        ({"static.pairs": "en-xx"}, "en-xx"),
        ({"data.languages": "en"}, "two languages"),
        ({"static.training": "separate"}, "reallocation"),
        ({"static.training": "duong", "data.dictionaries": ""}, "dictionar"),
        ({"embeddings.dim": 0}, "dim"),
        (
            {"static.dictionary_dim": 6, "data.dictionaries": ""},
            "dictionary_dim=6 needs a dictionary",
        ),
        ({"static.dictionary_dim": 6, "static.trained_length": 0.0}, "trained_length"),
        ({"embeddings.min_count": 10_000}, "min_count"),
        ({"data.languages": "en,de,xx"}, "xx"),
        ({"align.procrustes.preprocess": ("unitt",)}, "unit"),
    ],
)
def test_settings_that_cannot_work(folder, tmp_path, overrides, message):
    with pytest.raises(ValueError, match=message):
        static.run(config_of(folder, **overrides), str(tmp_path / "run"))


def test_vectors_that_are_brought_are_not_trained(folder, tmp_path, monkeypatch):
    class Read(Exception):
        pass

    def stop(*_, **__):
        raise Read

    monkeypatch.setattr(given_vectors.files, "read", stop)
    for name in "ab":
        (tmp_path / name).touch()
    paths = {
        "align.source_vectors": str(tmp_path / "a"),
        "align.target_vectors": str(tmp_path / "b"),
    }
    config = config_of(folder, "separate", **paths, **{"data.languages": "de,en"})
    with pytest.raises(Read):
        static.run(config, str(tmp_path / "run"))


def test_the_report_searches_frequent_words_and_shows_every_word_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(examples, "_SEARCHED", 2)
    table = np.eye(4, dtype=np.float16)
    raw = {x: Vectors([f"{x}{i}" for i in range(4)], table) for x in ("en", "de")}
    shown = examples.list_neighbours(StaticSpaces(raw, {}, {}, "en"), "en1,en3", ["en", "de"])
    assert [row["word"] for row in shown] == ["en1", "en3"]
    assert [{near["word"] for near in row["neighbours"]} for row in shown] == [{"de0", "de1"}] * 2
    assert shown[0]["neighbours"][0]["word"] == "de1"


def test_examples_of_a_vocabulary_are_shown_as_they_are_written():
    made = unaligned.UnalignedVectors(
        {}, description={"text": "T", "examples": {"fa": ["خانهها", "آب"], "shared": ["a"]}}
    )
    shown = made.description_as_written({"fa": {"خانهها": "خانه\u200cها"}})
    assert shown["examples"] == {"fa": ["خانه\u200cها", "آب"], "shared": ["a"]}
    assert unaligned.UnalignedVectors({}).description_as_written({}) == {}

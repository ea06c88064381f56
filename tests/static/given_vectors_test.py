"""Vectors that people bring: aligned whole runs, and what is said of files that do not fit."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file

from clwe_jax import api, options, presets
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.static import job as static, given_vectors, refine
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.words.normalize import Normalizer

WORDS, DIM = 40, 6


def names(prefix):
    # Letters alone: induced dictionaries leave numbers and marks out.
    return [prefix + chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]


class Brought:
    """A folder with two files of vectors, the second a turned copy of the first."""

    def __init__(self, folder):
        self.folder = folder
        r = np.random.RandomState(0)
        self.source = r.randn(WORDS, DIM).astype(np.float32)
        self.turn = np.linalg.qr(r.randn(DIM, DIM))[0].astype(np.float32)
        self.write("de.vec", names("d"), self.source)
        self.write("en.vec", names("e"), self.source @ self.turn)
        pairs = list(zip(names("d"), names("e")))
        self.dictionary("de-en.txt", pairs[:30])
        self.dictionary("de-en.5000-6500.txt", pairs[30:])
        self.dictionary("en-de.5000-6500.txt", [(b, a) for a, b in pairs[30:]])

    def write(self, name, words, vectors):
        files.write(str(self.folder / name), Vectors(words, np.asarray(vectors, np.float32)))

    def dictionary(self, name, pairs):
        folder = self.folder / "dictionaries"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text("".join(f"{a} {b}\n" for a, b in pairs))

    def config(self, **overrides):
        found = presets.static("laptop")
        found.static.update(training="separate", refinement=True)
        return options.with_values(
            options.parse(found),
            {
                "data.languages": "de,en",
                "data.dictionaries": str(self.folder / "dictionaries"),
                "evals.bli.data": str(self.folder / "dictionaries"),
                "evals.bli.methods": "nn",
                "evals.retrieval.data": "",
                "align.source_vectors": str(self.folder / "de.vec"),
                "align.target_vectors": str(self.folder / "en.vec"),
                **overrides,
            },
        )

    def run(self, workdir="run", **overrides):
        config = self.config(**overrides)
        config.resolve().check_all()
        static.run(config, str(self.folder / workdir))
        with open(self.folder / workdir / "results.json") as file:
            return json.load(file)


@pytest.fixture
def brought(tmp_path):
    return Brought(tmp_path)


def test_a_rotation_is_recovered_and_everything_is_written(brought, tmp_path):
    figures = brought.run(**{"static.write_text": True, "static.export": "model2vec"})
    assert figures["bli/de-en/p@1"] == figures["bli/en-de/p@1"] == 1.0
    model = api.load(str(tmp_path / "run"))
    assert model.translate("dab", "de", "en", k=1)[0].word == "eab"
    assert model.translate("ebn", "en", "de", k=1)[0].word == "dbn"
    written = files.read(str(tmp_path / "run" / "vectors" / "de.vec"))
    there = files.read(str(tmp_path / "run" / "vectors" / "en.vec"))
    exported = load_file(str(tmp_path / "run" / "export" / "model.safetensors"))["embeddings"]
    assert exported.dtype == np.float16 and len(exported) >= len(written) + len(there)
    unit = [v.vectors / np.linalg.norm(v.vectors, axis=1)[:, None] for v in (written, there)]
    np.testing.assert_allclose(unit[0], unit[1], atol=1e-4)
    # MUSE's format, which dictionaries are read from: all pairs, test words too.
    induced = dictionaries.load(str(tmp_path / "run" / "induced"))
    assert set(induced.pairs("de", "en")) == set(zip(names("d"), names("e")))
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Lexicon induction" in page and "before" in page and "after alignment" in page


def test_packed_vectors_are_a_fraction_and_the_run_is_as_good(brought, tmp_path):
    figures = brought.run(**{"static.stored": "packed", "evals.bli.methods": "csls"})
    assert figures["bli/de-en/p@1_csls"] == figures["bli/en-de/p@1_csls"] == 1.0
    model = api.load(str(tmp_path / "run"))
    word = model.vector("eab", "en")
    assert word.dtype == np.float32 and not model.loaded._widened, (
        "one word widens the whole language"
    )
    np.testing.assert_allclose(model.encode(["eab"], "en")[0], word, rtol=1e-6)
    np.testing.assert_array_equal(
        word, model.vectors("en").vectors[model.vectors("en").index["eab"]]
    )
    assert model.vectors("de").vectors.dtype == np.float32
    assert model.translate("dab", "de", "en", k=1)[0].word == "eab"
    assert not os.path.exists(tmp_path / "run" / "vectors")


def test_started_again_it_says_that_it_is_finished(brought, tmp_path, said, monkeypatch):
    first = brought.run()
    monkeypatch.setattr(refine, "fit", lambda *a, **k: pytest.fail("aligned again"))
    assert brought.run() == first
    assert "is finished" in said.text
    # Interrupted after the alignment, it goes on from there.
    (tmp_path / "run" / "results.json").unlink()
    assert brought.run() == first


def test_other_vectors_are_aligned_again(brought, tmp_path):
    brought.run()
    brought.write("de.vec", names("d"), brought.source @ brought.turn @ brought.turn)
    (tmp_path / "run" / "results.json").unlink()
    assert brought.run()["bli/de-en/p@1"] == 1.0


def test_files_of_different_widths(brought):
    brought.write("en.vec", names("e"), np.ones((WORDS, DIM + 2)) * brought.source[:, :1])
    with pytest.raises(ValueError, match=r"(?s)de-en.*6.*8"):
        brought.run()


def test_a_dictionary_with_no_covered_pair(brought):
    brought.dictionary("de-en.txt", [(f"x{i}", f"y{i}") for i in range(30)])
    with pytest.raises(ValueError, match=r"(?s)No pair.*de-en.*0 of 30.*'x0'.*'daa'.*order"):
        brought.run()


def test_fewer_pairs_than_dimensions(brought, said):
    brought.dictionary("de-en.txt", list(zip(names("d"), names("e")))[:4])
    assert brought.run()["bli/de-en/words"] == 10
    assert "under-determined" in said.text
    report = json.loads((brought.folder / "run" / "report.json").read_text())
    assert any("under-determined" in note for note in report["notes"])


def test_fewer_words_than_max_vocab(brought, said):
    brought.run(**{"align.max_vocab": 100})
    assert "40 words, fewer than max_vocab=100" in said.text


def test_upper_case_dictionary(brought, said):
    pairs = list(zip(names("d"), names("e")))
    brought.dictionary("de-en.txt", [(a.title(), b.title()) for a, b in pairs[:30]])
    with pytest.raises(ValueError, match="config.align.lower_case_dictionary=True"):
        brought.run()
    assert brought.run("second", **{"align.lower_case_dictionary": True})["bli/de-en/p@1"] == 1.0
    brought.dictionary("de-en.txt", pairs[:7] + [(a.title(), b) for a, b in pairs[7:30]])
    brought.run("third")
    assert "config.align.lower_case_dictionary=True" in said.text


def test_all_equal_vectors(brought):
    brought.write("de.vec", names("d"), np.ones((WORDS, DIM)))
    with pytest.raises(ValueError, match="(?s)de-en: .*equal"):
        brought.run()


def test_no_test_dictionary(brought, said):
    for name in ("de-en", "en-de"):
        (brought.folder / "dictionaries" / f"{name}.5000-6500.txt").unlink()
    figures = brought.run()
    assert not any(name.startswith("bli/") for name in figures)
    assert "has no test dictionary of de-en, en-de" in said.text
    assert api.load(str(brought.folder / "run")).translate("daa", "de", "en", k=1)


@pytest.mark.parametrize(
    "overrides, said",
    [
        ({"align.target_vectors": ""}, "go together"),
        ({"data.languages": "de,en,fr"}, "two languages"),
        ({"align.name": "procrustres"}, "procrustes"),
        ({"evals.bli.methods": "cls"}, "csls"),
        ({"align.source_vectors": "nowhere.vec"}, "nowhere.vec"),
    ],
)
def test_settings_that_cannot_work(brought, overrides, said):
    with pytest.raises((ValueError, FileNotFoundError), match=said):
        brought.run(**overrides)


def test_words_that_are_kept_are_not_said_to_be_left_out(brought):
    text = (brought.folder / "de.vec").read_text().splitlines()
    text[-1] = "zwei " + text[-1]  # a word with a space in it
    text.append(text[1])
    (brought.folder / "de.vec").write_text("\n".join(text[1:]) + "\n")
    brought.run()
    report = json.loads((brought.folder / "run" / "report.json").read_text())
    assert report["skipped"] == {"de.vec: duplicates": 1}


def test_sentences_are_pooled_by_their_information_without_counts(brought):
    r = np.random.RandomState(1)
    lines = [r.choice(WORDS, 4, replace=False) for _ in range(30)]
    for language in ("de", "en"):
        # The most frequent word, by its rank, is everywhere and says nothing.
        text = [
            " ".join([names(language[0])[0]] * 9 + [names(language[0])[i] for i in x])
            for x in lines
        ]
        (brought.folder / f"de-en.{language}").write_text("\n".join(text))
    figures = brought.run(**{"evals.retrieval.data": str(brought.folder)})
    assert figures["retrieval/mean"] >= 0.95 > figures["retrieval/chance"]
    assert "floor/retrieval/mean" in figures
    model = api.load(str(brought.folder / "run"))
    counts = model.loaded.frequencies.words["de"]
    assert (
        counts["daa"] == max(counts.values())
        and model.encode(["dab"], "de", pool="information").any()
    )


def test_counts_in_a_file_are_taken(brought):
    vectors = Vectors(["a", "b"], np.eye(2), np.array([7, 3]))
    assert given_vectors.counts({"de": vectors}) == {"de": {"a": 7, "b": 3}}


@pytest.mark.parametrize("counts", [None, [7, 3, 1]])
def test_of_one_key_the_most_frequent_word_counts(counts):
    words = ["don’t", "haus", "don't"]
    vectors = Vectors(words, np.eye(3), counts and np.array(counts))
    vectors = vectors.with_keys(Normalizer(lower_case=False).key)
    found = given_vectors.counts({"de": vectors})["de"]
    assert list(found) == ["don't", "haus"] and found["don't"] > found["haus"]


def test_dictionary_vectors_stand_beside_given_ones(brought):
    brought.run()
    brought.run("beside", **{"static.dictionary_dim": 8, "static.words.spelling_dim": 0})
    one, both = (api.load(str(brought.folder / name)) for name in ("run", "beside"))
    widths = [model.vectors("de").vectors.shape[1] for model in (one, both)]
    assert widths[1] == widths[0] + 8

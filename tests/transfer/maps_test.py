"""Orthogonal maps from word-aligned sentences, and a transfer run that uses them."""

import json
import os
import pathlib

import jax
import numpy as np
import pytest

from clwe_jax import api, atomic, cached, options, pocket, presets
from clwe_jax.align import procrustes
from clwe_jax.encoders import features, load as encoders
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.evaluate.word_alignment import WordAligner
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives import projected
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import partition
from clwe_jax.transfer import data as transfer_data, job as transfer, maps as transfer_maps

LANGUAGES = ("en", "de")
NONE = frozenset()


class Rotated:
    """Words with random vectors of two layers; German ones are rotated, and reversed in order."""

    languages, layers = LANGUAGES, 2

    def __init__(self):
        rng = np.random.default_rng(0)
        self.table = rng.normal(size=(26, 2, 6)).astype(np.float32)
        self.rotations = np.stack([np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2)])

    def pairwise_space(self, source, target):
        return self

    def of_words(self, rows, language, pool="mean", reduce=np.asarray):
        return [features.pool_words(*side, pool) for side in self.pieces_of_words(rows, language)]

    def pieces_of_words(self, rows, language):
        found = []
        for words in rows:
            owners = np.repeat(np.arange(len(words)), [len(word) for word in words])
            vectors = self.table[[ord(x) - 97 for word in words for x in word]]
            if language == "de":
                vectors = np.einsum("wld,led->wle", vectors, self.rotations)
            found.append((vectors, owners))
        return found


@pytest.mark.parametrize("pool", ["first", "mean", "max"])
@pytest.mark.parametrize("level", ["pieces", "words"])
def test_products_equal_numpy(pool, level):
    model = Rotated()
    rows = [
        Linked(["ab", "c"], ["de", "f", "ghi"], frozenset({(0, 2), (1, 0)}), NONE),
        Linked(["x"], ["y"], NONE, NONE),
    ]
    found, count = transfer_maps.cross_products(
        model, rows, ("de", "en"), WordAligner(level=level), True, pool
    )
    pooled = {"first": lambda x: x[0], "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)}[pool]
    expected = 0
    for source, target in (("ab", "ghi"), ("c", "de")):
        x = pooled(model.pieces_of_words([[source]], "de")[0][0])
        y = pooled(model.pieces_of_words([[target]], "en")[0][0])
        expected = expected + np.einsum("ld,le->lde", x, y)
    assert count == 2
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_rotation_is_found_exactly_in_every_layer():
    model, rng = Rotated(), np.random.default_rng(1)
    rows = []
    for _ in range(30):
        words = [chr(97 + x) for x in rng.permutation(26)[:5]]
        links = frozenset((4 - place, place) for place in range(5))
        rows.append(Linked(words[::-1], words, links, links))
    products, count = transfer_maps.cross_products(
        model, rows, ("de", "en"), WordAligner(), True, "first"
    )
    assert count == 150
    for product, rotation in zip(products, model.rotations):
        found = procrustes.polar(product)
        np.testing.assert_allclose(found, rotation, atol=1e-5)
        np.testing.assert_allclose(found @ found.T, np.eye(6), atol=1e-9)


@pytest.fixture(scope="module")
def model():
    """A masked language model with random parameters."""
    words = {
        t.lower()
        for row in pocket.link_sentences("de", "en", 60, "maps", "train")
        for side in row[:2]
        for t in side
    }
    letters = sorted({mark + x for word in words for x in word for mark in ("", "##")})
    pieces = [*SPECIALS, *letters, *sorted(words - set(letters))]
    tokenizer = Tokenizer(LANGUAGES, Normalizer(), Segmenter(), WordPieceVocabulary(pieces))
    sizes = TransformerOptions(layers=1, width=16, heads=2, mlp_dim=24, dropout=0.0)
    backbone = Transformer(sizes, tokenizer.vocabulary.size, 2, 32)
    objective = MlmObjective(model=backbone, vocab_size=len(pieces), max_predictions=4)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in objective.batch_shapes(1, 32).items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    return LanguageModel(config_of("x"), tokenizer, objective, variables)


def config_of(encoder, pairs="pocket", **align):
    config = presets.transfer("laptop", "ner", "linear")
    config.encoder = f"run:{encoder}"
    config.data.languages = "en,de"
    config.transfer.update(
        seeds=1, embedded_rows=40, embedded_tests=20, layers="sum4", words="first"
    )
    config.data.pairs = pairs
    config.transfer.align.update(dict(sentences=60) | align)
    config.recipe.epochs = 1
    return options.parse(config)


def test_a_mapped_model_and_its_maps(model, tmp_path):
    config, folder = config_of(str(tmp_path), links="gold"), str(tmp_path)
    found, facts = transfer_maps.map_model(config, folder, model, LANGUAGES, 0)
    assert facts["align"]["languages"] == ["en", "de"]
    maps, applied = projected.read(os.path.join(folder, projected.FILE))
    assert list(maps[applied]) == ["de"]
    matrices = np.asarray(maps[applied]["de"])
    np.testing.assert_allclose(matrices @ matrices.swapaxes(1, 2), [np.eye(16)] * 2, atol=1e-5)
    plain, mapped = (x.encoder().of_words([["der"]], "de")[0][0] for x in (model, found))
    np.testing.assert_allclose(mapped, np.einsum("ld,lde->le", plain, matrices), atol=1e-4)
    english = [x.encoder().of_words([["the"]], "en")[0] for x in (model, found)]
    np.testing.assert_array_equal(*english)
    again, _ = transfer_maps.map_model(config, folder, model, LANGUAGES, 0)  # from the folder
    np.testing.assert_array_equal(again.projection.maps[1], found.projection.maps[1])
    # Another state of the encoder, such as a run that was trained on, has maps of its own.
    record = facts["align"]
    _, facts = transfer_maps.map_model(config, folder, model, LANGUAGES, "trained on")
    assert facts["align"] != record
    assert atomic.read_json(os.path.join(folder, projected.FILE + cached.RECORD)) == facts["align"]
    config = config_of(str(tmp_path), pairs="")
    assert transfer_maps.map_model(config, folder, model, LANGUAGES, 0) == (model, {})


@pytest.mark.slow
def test_a_run_maps_its_features_and_keeps_the_maps(model, tmp_path, monkeypatch):
    encoder, folder = str(tmp_path / "encoder"), str(tmp_path / "run")
    os.mkdir(encoder)
    monkeypatch.setattr(encoders, "load", lambda x, names: model)
    config = config_of(encoder, links="gold")
    config.check_all()
    labelled_files.check(config, folder)
    assert transfer.run(config, folder)
    maps, applied = projected.read(os.path.join(folder, projected.FILE))
    assert list(maps[applied]) == ["de"]
    for matrix in maps[applied]["de"]:
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(16), atol=1e-5)
    kept = np.load(os.path.join(folder, "features", "test.de.npy"))
    loaded = api.load(folder).loaded
    with open(os.path.join(folder, "labels.json"), encoding="utf-8") as file:
        assert json.load(file)["languages"] == ["en", "de"]
    assert set(loaded.encoder.projection.maps) == {1}
    source = loaded.predictor.source
    plain = model.encoder().of_words([["der"]], "de", "first")[0][0]
    mapped = source.encoder.of_words([["der"]], "de", "first")[0][0]
    expected = np.einsum("ld,lde->le", plain, np.asarray(maps[applied]["de"]))
    np.testing.assert_allclose(mapped, expected, atol=1e-4)
    assert kept.shape[1:] == (1, 16)
    read = source.of_sentences([x.words for x in transfer_data.read(config).tests["de"]], "de")
    np.testing.assert_allclose(kept, read.values, atol=1e-4)


def test_wrong_options_are_named_at_once(tmp_path):
    folder = str(tmp_path)
    cases = {
        "maps the layers of a frozen": {"transfer.mode": "tune"},
        "maps the layers of a": {"encoder": f"run:{folder}+run:{folder}"},
        "'gold' links are those of": {"transfer.align.links": "x"},
        r"sentences=0: .*at least 1": {"transfer.align.sentences": 0},
        "config.data.pairs=no names no parallel text": {"data.pairs": "no"},
        "config.transfer.align.method": {"transfer.align.method": "itermx"},
    }
    for message, values in cases.items():
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            labelled_files.check(options.with_values(config_of(folder), values), folder)


def test_maps_of_links_in_a_file_are_those_of_gold_links(tmp_path, model, monkeypatch):
    """Links in Pharaoh's format, `STEM.de-en` beside `STEM.de` and `STEM.en`."""
    config, stem = config_of(str(tmp_path), links="gold"), str(tmp_path / "train")
    gold = transfer_maps.sentences(config, model.encoder(), "de", "en")
    for end, lines in {
        "de": [" ".join(row.source) for row in gold],
        "en": [" ".join(row.target) for row in gold],
        "de-en": [" ".join(f"{i}-{j}" for i, j in sorted(row.sure)) for row in gold],
    }.items():
        pathlib.Path(f"{stem}.{end}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = config_of(str(tmp_path), pairs=stem, links=stem)
    read = transfer_maps.sentences(config, model.encoder(), "de", "en")
    assert [row.sure for row in read] == [row.sure for row in gold]
    maps = []
    for name, given in (("file", config), ("gold", config_of(str(tmp_path), links="gold"))):
        (tmp_path / name).mkdir()
        transfer_maps.map_model(given, str(tmp_path / name), model, LANGUAGES, 0)
        found, applied = projected.read(str(tmp_path / name / projected.FILE))
        maps.append(np.asarray(found[applied]["de"]))
    np.testing.assert_allclose(*maps, atol=1e-4)
    fitted, fit = [], transfer_maps._fit_maps
    monkeypatch.setattr(transfer_maps, "_fit_maps", lambda *x: fitted.append(x[2]) or fit(*x))
    transfer_maps.map_model(config, str(tmp_path / "file"), model, LANGUAGES, 0)
    assert not fitted
    lines = pathlib.Path(f"{stem}.de-en").read_text().splitlines()
    pathlib.Path(f"{stem}.de-en").write_text(
        "\n".join(" ".join(reversed(line.split())) for line in lines) + "\n"
    )
    transfer_maps.map_model(config, str(tmp_path / "file"), model, LANGUAGES, 0)  # other bytes
    assert fitted == ["de"]


def test_sides_stand_in_the_order_that_is_asked_for(tmp_path, model):
    """Whatever the files are called; verses that are held out are left out."""
    for folder in ("lines", "verses"):
        (tmp_path / folder).mkdir()
    for language, words in (("en", "the man x"), ("de", "der mann y")):
        lines = dict(zip(("MAT 1:1", "MAT 1:2", "JHN 1:1"), words.split()))
        (tmp_path / "lines" / f"en-de.{language}").write_text("\n".join(lines.values()))
        verses = "".join(f"{reference}\t{verse}\n" for reference, verse in lines.items())
        (tmp_path / "verses" / f"{language}.tsv").write_text(verses)
    for kind, held_out, count in (("lines", "", 3), ("verses", "JHN", 2)):
        config = config_of(str(tmp_path), pairs=str(tmp_path / kind))
        config = options.with_values(config, {"data.held_out": held_out})
        for source, target, first in (("de", "en", "der"), ("en", "de", "the")):
            rows = transfer_maps.sentences(config, model.encoder(), source, target)
            assert len(rows) == count and rows[0].source == [first]
    links = options.with_values(config, {"transfer.align.links": "x"})
    with pytest.raises(ValueError, match="two files"):
        transfer_maps.sentences(links, model.encoder(), "de", "en")
    (tmp_path / "lines" / "more.de-en.tsv").write_text("das\tthe\n")
    config = config_of(str(tmp_path), pairs=str(tmp_path / "lines"))
    assert len(transfer_maps.sentences(config, model.encoder(), "de", "en")) == 4


def test_files_that_do_not_fit_are_named(tmp_path, model):
    stem = str(tmp_path / "train")
    config = config_of(str(tmp_path), pairs=stem)
    (tmp_path / "train.en").write_text("a\nb\n")
    with pytest.raises(ValueError, match="train.en"):
        transfer_maps.sentences(config, model.encoder(), "de", "en")
    (tmp_path / "train.de").write_text("a\n")
    with pytest.raises(ValueError, match="train.de has 1 lines and .*train.en 2:"):
        transfer_maps.sentences(config, model.encoder(), "de", "en")
    (tmp_path / "train.de").write_text("a\n\n")
    assert len(transfer_maps.sentences(config, model.encoder(), "de", "en")) == 1
    with pytest.raises(ValueError, match="1 links.* 100"):
        transfer_maps.map_model(config, str(tmp_path), model, ("en", "de"), 0)

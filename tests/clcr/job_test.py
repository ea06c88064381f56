"""The CLCR job from end to end on two small random models, its measures by hand, and bad input."""

import dataclasses
import itertools
import json
import shutil
import types

import jax
import numpy as np
import pytest

from clwe_jax import api, options, pocket, presets
from clwe_jax.align import pivots, predictors as clcr_predictors
from clwe_jax.align.attention_matching import AttentionMatching, Match
from clwe_jax.align.predictors import Classifier
from clwe_jax.align.sentences import in_memory, sentences, whole_words
from clwe_jax.clcr import (
    aligned as clcr_aligned,
    data,
    entailment,
    hub as clcr_hub,
    job as clcr,
    steps as clcr_steps,
    tune as clcr_tune,
    vectors as clcr_vectors,
)
from clwe_jax.clcr.steps import Maps, Order
from clwe_jax.clcr.tune import Tuning
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options import with_values
from clwe_jax.options.models import TransformerOptions
from clwe_jax.text.corpus import clcr_files
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import heads, partition
from clwe_jax.transfer import job as transfer

WIDTHS = {"de": 16, "en": 24}


def random_model(language, width, languages=()):
    rows = pocket.link_sentences(
        language, "en" if language != "en" else "de", 80, "clcr", "train", ("money",)
    )
    words = {t.lower() for row in rows for t in row[0]}
    letters = sorted({mark + x for word in words for x in word for mark in ("", "##")})
    pieces = [*SPECIALS, *letters, *sorted(words - set(letters))[::2]]  # half of the words are cut
    tokenizer = Tokenizer(
        languages or (language,), Normalizer(), Segmenter(), WordPieceVocabulary(pieces)
    )
    sizes = TransformerOptions(layers=1, width=width, heads=2, mlp_dim=24, dropout=0.0)
    backbone = Transformer(sizes, tokenizer.vocabulary.size, len(tokenizer.languages), 128)
    objective = MlmObjective(model=backbone, vocab_size=len(pieces), max_predictions=4)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in objective.batch_shapes(1, 128).items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    config = options.parse(presets.start_from("mbert", "laptop"))
    return LanguageModel(config, tokenizer, objective, variables, {language: ["a"]})


@pytest.fixture(scope="module")
def models():
    return {language: random_model(language, width) for language, width in WIDTHS.items()}


@pytest.fixture
def config(models, monkeypatch, tmp_path):
    monkeypatch.setattr(encoders, "load", lambda place, names: models[place[-2:]])
    found = presets.start_from("clcr", "laptop")
    found.system, found.data.languages = "CLCR", "de,en"
    found.data.pocket_domains = "money"
    for side, language in (("source", "de"), ("target", "en")):
        (tmp_path / language).mkdir()
        found.clcr[side] = f"run:{tmp_path / language}"
    found.clcr.update(sentences=60, test_sentences=15, threshold=9.0, layer="0", gold="pocket")
    found.clcr.transform.update(steps=60, hidden=8, batch_size=16, learning_rate=2e-2)
    found.clcr.predictor.update(steps=50, hidden=8, batch_size=32)
    found.clcr.entailment.seeds = 0
    return options.parse(found)


class Recorded(clcr.Clcr):
    """A job that keeps the results of its stages for a test."""

    def results(self, done):
        self.mapped = done["transform"]
        return super().results(done)


def report_blocks(folder, title):
    report = json.loads((folder / "report.json").read_text())
    return next(x for x in report["sections"] if x["title"] == title)["blocks"]


def test_a_run_maps_extracts_reorders_and_is_loaded(config, tmp_path, models):
    # Untrained models, whose map needs more sentences than other tests have.
    more = {"sentences": 300, "test_sentences": 30, "transform": {"steps": 300, "hidden": 32}}
    config = with_values(config, {"clcr": more})
    folder = str(tmp_path / "run")
    config.check_all()
    clcr_files.check(config.resolve(), folder)
    job = Recorded(config, folder)
    assert job.run()
    test = job.mapped.test
    figures = json.loads((tmp_path / "run" / "results.json").read_text())
    assert figures["clcr/distance/annealed"] < 1
    floors = {
        "pivots/precision": 0.2,
        "pivots/recall": 0.1,
        "reorder/bleu4": 0.1,
        "f1/itermax": 0.05,
    }
    assert all(floor < figures[f"clcr/{name}"] < 1 for name, floor in floors.items())
    # The map finds more than the encoders do without it.
    assert figures["clcr/alignment_f1"] > figures["clcr/f1/mutual_argmax"] > 0
    gain = figures["clcr/reorder/bleu4"] - figures["clcr/reorder/identity/bleu4"]
    assert figures["clcr/reorder/bleu4_gain"] == pytest.approx(gain)
    assert figures["clcr/extract/de/confident/0.2/recall"] > 0
    facts = next(
        x for x in report_blocks(tmp_path / "run", "CLCR: transform") if x["kind"] == "facts"
    )
    assert facts["facts"]["dimensions"] == "16 → 24"  # T maps between widths
    page = (tmp_path / "run" / "report.html").read_text()
    for part in ("CLCR: transform", "CLCR: extract", "CLCR: reorder", "<svg"):
        assert part in page

    loaded = api.load(folder)
    assert loaded.languages == ("en", "de")
    de, en = (loaded.encoder().of_words([["der", "kunde"]], x)[0] for x in ("de", "en"))
    assert de.shape == en.shape == (2, 1, WIDTHS["en"])
    with np.load(tmp_path / "run" / "clcr.npz") as file:
        arrays = dict(file)
    params = {name[10:]: x for name, x in arrays.items() if name.startswith("transform/")}
    cut = 0
    for place, row in enumerate(test.rows):  # a word is the mean of its mapped pieces, everywhere
        [(pieces, owners)] = models["de"].encoder().pieces_of_words([row.source], "de")
        x = (pieces[:, 0] - arrays["space/de/mean"]) @ arrays["space/de/matrix"]
        x *= 4 / np.linalg.norm(x, axis=1, keepdims=True)
        mapped = Match(params, 1.0).apply(x)
        expected = np.array([mapped[owners == k].mean(0) for k in range(len(row.source))])
        [source] = loaded.encoder().of_words([row.source], "de")
        [target] = loaded.encoder().of_words([row.target], "en")
        np.testing.assert_allclose(source[:, 0], expected, atol=1e-4)
        np.testing.assert_allclose(test.words.common(0).of(place), expected, atol=1e-4)
        np.testing.assert_allclose(test.words.common(1).of(place), target[:, 0], atol=1e-4)
        cut += len(pieces) - len(row.source)
    assert cut > 10
    assert loaded.encode(["der kunde"], "de").shape == (1, WIDTHS["en"])

    texts = [row.source for row in data.test_rows(config)]
    whole, reduced = loaded.encoder(), loaded.reduced()
    order = loaded.reduced(extract=False).of_words(texts, "de")
    for words, kept, moved in zip(
        whole.of_words(texts, "de"), reduced.of_words(texts, "de"), order, strict=True
    ):
        rows = {x.tobytes() for x in words}
        assert 1 <= len(kept) <= len(words) and {x.tobytes() for x in kept} <= rows
        assert {x.tobytes() for x in moved} == rows and len(moved) == len(words)
    for every_word, (places, kept) in zip(
        whole.of_words(texts, "de"), loaded.reduced(reorder=False).kept_words(texts, "de")
    ):
        np.testing.assert_array_equal(every_word[places], kept)
    few = loaded.reduced(threshold=1.0).of_words(
        texts, "de"
    )  # no pivot is certain: the likeliest word
    assert {len(x) for x in few} == {1}
    # A classifier of texts reads the means of their pivots.
    sentences = [" ".join(words) for words in texts]
    pooled = reduced.pool_texts([*sentences, ""], "de", "own")
    by_text = reduced.pool_texts(sentences, "de", None)
    np.testing.assert_allclose(pooled[:-1], [x.mean(0) for x in by_text], atol=1e-6)
    assert not pooled[-1].any()
    english = [row.target for row in data.test_rows(config)]
    same = loaded.reduced(extract=False).of_words(english, "en")
    assert all((a == b).all() for a, b in zip(same, whole.of_words(english, "en")))

    assert encoders.text_encoder(loaded.loaded, "extract,reorder").reorder
    assert not encoders.text_encoder(loaded.loaded, "extract").reorder
    # The run's own probability, or another one.
    thresholds = [
        encoders.text_encoder(loaded.loaded, "extract", x).steps.threshold for x in (0.0, 0.7)
    ]
    assert thresholds == [loaded.loaded.steps.threshold, 0.7]
    with pytest.raises(ValueError, match="config.transfer.reduce='extract'"):
        encoders.text_encoder(models["de"], "extract")

    # A second start reads what the stages kept, and a finished run does nothing.
    (tmp_path / "run" / "results.json").unlink()
    assert clcr.run(config, folder)
    again = json.loads((tmp_path / "run" / "results.json").read_text())
    assert again == figures
    assert "finished" in clcr.Clcr(config, folder).advise(figures, {"clcr": {}})


def test_sentences_in_files_without_gold_links(config, tmp_path, monkeypatch):
    rows = pocket.link_sentences("de", "en", 60, "clcr", "train", ("kingdom",))
    for place, language in enumerate(("de", "en")):
        lines = [" ".join(row[place]) for row in rows]
        (tmp_path / f"train.{language}").write_text("\n".join([*lines, ""]))
    transform = dict(steps=10, start="procrustes")
    values = dict(
        parallel=str(tmp_path / "train"), gold="", transform=transform, reordered="target"
    )
    config = with_values(config, {"clcr": values})
    folder = tmp_path / "run"
    assert clcr.run(config, str(folder))
    loaded, texts = api.load(str(folder)), [[row[side] for row in rows] for side in (0, 1)]
    for language, words in zip(("de", "en"), texts):
        own = loaded.encoder().of_words(words, language)
        moved = loaded.reduced(extract=False).of_words(words, language)
        stays = [np.array_equal(a, b) for a, b in zip(own, moved)]
        assert all(stays) if language == "de" else not all(stays)
    figures = json.loads((folder / "results.json").read_text())
    assert "clcr/alignment_f1" not in figures and "clcr/reorder/bleu4" in figures
    # As many other sentences in the same files: what was kept is of the old ones.
    fitted, fit = [], clcr_steps.fit_maps
    monkeypatch.setattr(clcr_steps, "fit_maps", lambda *x: fitted.append(1) or fit(*x))
    for again in (False, True):
        (folder / "results.json").unlink()
        for language in ("de", "en") if again else ():
            lines = (tmp_path / f"train.{language}").read_text().splitlines()
            (tmp_path / f"train.{language}").write_text("\n".join([*reversed(lines), ""]))
        assert clcr.run(config, str(folder))
        assert bool(fitted) == again
    # Other files with a longer side.
    with open(tmp_path / "train.de", "a", encoding="utf-8") as file:
        file.write("noch ein satz\n")
    with pytest.raises(ValueError, match="train.de .*61 .*train.en 60"):
        clcr.run(config, str(tmp_path / "other"))


def test_a_test_pair_is_no_training_pair(config, monkeypatch):
    one, two = (Linked([x], [x], frozenset(), frozenset()) for x in "ab")
    monkeypatch.setattr(data, "training_rows", lambda *_: [one, two, two, one, one])
    config = with_values(config, {"clcr.gold": ""})
    lower = types.SimpleNamespace(words=lambda text, _: text.lower().split())
    tokenizers = dict.fromkeys(("de", "en"), lower)
    read = data.read_sentences(config.resolve(), tokenizers)
    assert (read.train, read.test) == ([two, two], [one])
    gold = one._replace(source=["A"], target=["A"])  # as it stands in the file of gold links
    monkeypatch.setattr(data, "test_rows", lambda *_: [gold])
    read = data.read_sentences(config.resolve(), tokenizers)
    assert (read.train, read.test) == ([two, two], [gold])


def test_a_hub_joins_languages_that_have_no_common_sentences(config, monkeypatch, models, tmp_path):
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    config = with_values(
        config,
        {
            "clcr.transform.steps": 5,
            "clcr.predictor.steps": 5,
            "clcr.sentences": 20,
            "clcr.tune": dict(rounds=1, steps=3, batch_size=8, learning_rate=1e-2),
        },
    )
    assert clcr.run(config, first)
    every = {**models, "es": random_model("es", 20)}
    monkeypatch.setattr(encoders, "load", lambda place, names: every[place[-2:]])
    (tmp_path / "es").mkdir()
    joined = with_values(
        config,
        {
            "data.languages": "es,en",
            "clcr.source": f"run:{tmp_path / 'es'}",
            "clcr.target": "",
            "clcr.hub": first,
            "clcr.tune.rounds": 0,
        },
    )
    joined.check_all()
    clcr_files.check(joined.resolve(), second)
    job = Recorded(joined, second)
    assert job.run()

    alone, hub = api.load(first), api.load(second)
    assert hub.languages == ("en", "de", "es") and set(hub.reduced().languages) == set(
        hub.languages
    )
    words = {language: [["der", "haus"]] for language in ("de", "en")}
    for language, given in words.items():
        a, b = (x.reduced().of_words(given, language) for x in (alone, hub))
        np.testing.assert_allclose(a[0], b[0], atol=1e-4)
    # T of the second run learned from the target's model as the first run left it, fine-tuned.
    test = job.mapped.test
    [target] = alone.encoder().of_words([test.rows[0].target], "en")
    np.testing.assert_allclose(test.words.common(1).of(0), target[:, 0], atol=1e-4)
    with pytest.raises(ValueError, match="'fr' .*en, de, es"):
        hub.reduced().of_words([["un"]], "fr")
    figures = json.loads((tmp_path / "second" / "results.json").read_text())
    assert {x.split("/")[2] for x in figures if "clcr/hub/" in x} == {"de-en", "es-en", "de-es"}
    right = found = 0
    rows = pocket.link_sentences("de", "es", 15, "links", "heldout", ("money",))
    for row in rows:
        x, y = (
            hub.encoder().of_words([side], name)[0][:, 0]
            for side, name in ((row[0], "de"), (row[1], "es"))
        )
        gaps = ((x[:, None] - y[None]) ** 2).sum(-1)
        links = {
            (i, j)
            for i, j in np.ndindex(gaps.shape)
            if gaps[i].argmin() == j and gaps[:, j].argmin() == i
        }
        right, found = right + len(links & row.possible), found + len(links)
    assert figures["clcr/hub/de-es/precision"] == pytest.approx(right / found, abs=1e-6)
    report = json.loads((tmp_path / "second" / "report.json").read_text())
    assert "CLCR: hub" in [section["title"] for section in report["sections"]]

    for languages, message in (
        ("de,en", "give each language once"),
        ("en,de", "maps to 'en', and this"),
    ):
        with pytest.raises(ValueError, match=message):
            clcr_hub.space(with_values(joined, {"data.languages": languages}))
    # A run whose target was whitened by other sentences.
    other = tmp_path / "other"
    shutil.copytree(first, other)
    arrays = heads.load(str(other / "clcr.npz"))
    arrays["space"]["fr"] = arrays["space"].pop("de")
    arrays["pivots"]["fr"] = arrays["pivots"].pop("de")
    arrays["space"]["en"]["mean"] = arrays["space"]["en"]["mean"] + 1
    heads.save(arrays, str(other / "clcr.npz"))
    settings = (other / "clcr.json").read_text().replace('"de"', '"fr"')
    (other / "clcr.json").write_text(settings)
    with pytest.raises(ValueError, match="other .*'en'"):
        clcr_hub.space(with_values(joined, {"clcr.hub": f"{first},{other}"}))


def test_a_collapse_is_a_warning_of_the_report(config, monkeypatch, tmp_path):
    monkeypatch.setattr(clcr_steps, "_MIN_RANK", 1e3)
    values = {"clcr.sentences": 20, "clcr.transform.steps": 2, "clcr.predictor.steps": 2}
    config = with_values(config, values)
    assert clcr.run(config, str(tmp_path / "run"))
    notes = json.loads((tmp_path / "run" / "report.json").read_text())["notes"]
    assert any("collapsed" in note for note in notes)


def test_entailment_is_learned_on_the_finished_model(config, models, monkeypatch, tmp_path):
    folder = tmp_path / "run"
    start_from = presets.start_from

    def small(name, scale):
        found = start_from(name, scale)
        found.transfer.update(embedded_rows=40, embedded_tests=20)
        found.transfer.head.update(cells=4, hidden=4)
        found.recipe.epochs = 1
        return found

    both = random_model("de", 16, ("de", "en"))
    found = {f"run:{folder}": lambda: api.load(str(folder)).loaded, f"run:{tmp_path}": lambda: both}
    load = lambda x, names: found.get(x, lambda: models[x[-2:]])()
    monkeypatch.setattr(encoders, "load", load)
    monkeypatch.setattr(presets, "start_from", small)
    config = with_values(
        config,
        {
            "clcr.sentences": 20,
            "clcr.transform.steps": 5,
            "clcr.predictor.steps": 5,
            "clcr.entailment": dict(seeds=2, multilingual=f"run:{tmp_path}"),
        },
    )
    config.check_all()
    assert clcr.run(config, str(folder))
    figures = json.loads((folder / "results.json").read_text())
    for name, changed in entailment.ROWS.items():
        own = json.loads((folder / "entailment" / name / "results.json").read_text())
        settings = json.loads((folder / "entailment" / name / "config.json").read_text())[
            "transfer"
        ]
        assert settings["train"] == "en" and settings["seeds"] == 2
        assert {x: settings[x] for x in ("reduce", "translate")} == {
            "reduce": "",
            "translate": "",
            **changed,
        }
        path = f"clcr/entailment/{name}"
        assert figures[f"{path}/de_low"] == own["xnli/de/acc_low"] <= figures[f"{path}/de"]
        assert figures[f"{path}/gap"] == pytest.approx(own["xnli/en/acc"] - own["xnli/de/acc"])
    pages = [(folder / "entailment" / x / "report.html").read_text() for x in ("t", "t_e", "t_e_r")]
    assert ["only the pivots" in page for page in pages] == [False, True, True]
    assert ["one order" in page for page in pages] == [False, False, True]
    [table] = report_blocks(folder, "CLCR: entailment")
    titles = [row[0] for row in table["rows"]]
    assert titles[0] == "pivots and order of translations (T + pGA)"
    assert titles[3] == "pivots, reordered (T + E + R)"
    aligned, whole = (
        [figures[f"clcr/entailment/{name}/{x}"] for x in ("en", "de_low", "de", "de_high")]
        for name in ("t_pga", "t")
    )
    assert (
        aligned[0] == whole[0]
        and aligned[1] <= aligned[2] <= aligned[3]
        and aligned[1:] != whole[1:]
    )
    assert figures["clcr/entailment/t_pga/gap"] == pytest.approx(aligned[0] - aligned[2])

    # The figures are kept; without a dictionary there are no translations.
    (folder / "results.json").unlink()
    monkeypatch.setattr(entailment, "Transfer", None)
    assert clcr.run(config, str(folder))
    assert json.loads((folder / "results.json").read_text()) == figures
    encoder = json.loads((folder / "entailment" / "mbert" / "config.json").read_text())["encoder"]
    assert encoder == f"run:{tmp_path}" and titles[4] == "one multilingual model (mBERT)"
    config = with_values(config, {"data.dictionaries": ""})
    assert entailment.rows(config) == ["t", "t_e", "t_e_r", "mbert"]
    config = with_values(config, {"clcr.entailment.multilingual": ""})
    assert entailment.rows(config) == ["t", "t_e", "t_e_r"]


def test_words_with_links_to_the_translation_are_read_in_its_order(config, models, tmp_path):
    config = with_values(config, {"clcr.threshold": 0.9, "clcr.entailment.seeds": 2})
    workdir, done = str(tmp_path), {}
    for stage in clcr.Clcr(config, workdir).stages()[:3]:  # up to the maps
        done[stage.name] = stage.do(*(done[name] for name in stage.needs))
    mapped = done["transform"]
    rows = clcr_aligned.parallel_tests(config, workdir)[:10]
    first, other = rows[0]
    rows.append((first, other[::-1]))  # the same texts with other translations
    table = clcr_aligned._linked_words(config.resolve(), workdir, mapped, rows)
    assert isinstance(table.values, np.memmap)
    found = {
        pair: words
        for (row, others), of_row in zip(rows, table.rows)
        for pair, words in zip(zip(row.texts, others), of_row)
    }
    texts = list(dict.fromkeys(pair for row, other in rows for pair in zip(row.texts, other)))
    cut = [
        Linked(
            *(models[x].tokenizer.words(y, x) for x, y in zip(("de", "en"), pair)),
            frozenset(),
            frozenset(),
        )
        for pair in texts
    ]
    sides = data.both_sides(mapped.models, mapped.spaces, cut)
    views = clcr_vectors.views(mapped.maps["annealed"], sides, in_memory)
    distances = clcr_steps.distances(views, config.resolve().clcr.contrast, config.seed)
    short = 0
    for pair, row, x in zip(texts, cut, distances):
        here, there = x.argmin(1), x.argmin(0)
        pairs = [(j, i) for i, j in enumerate(here) if there[j] == i and x[i, j] < 0.9]
        short += not pairs
        places = [i for _, i in sorted(pairs)] or [x.min(1).argmin()]
        [(own, owners)] = models["de"].encoder().pieces_of_words([row.source], "de")
        own = mapped.spaces["de"].whitening.apply(own[:, list(mapped.spaces["de"].layers)].mean(1))
        there = mapped.maps["annealed"].there.apply(own)
        expected = np.array([there[owners == place].mean(0) for place in places])
        np.testing.assert_allclose(table.values[found[pair], 0], expected, rtol=1e-4, atol=1e-5)
    assert short < len(cut)


def test_tests_that_are_not_parallel_have_no_row_of_translations(config, tmp_path, caplog):
    for language, labels in (("de", "neutral entailment"), ("en", "entailment neutral")):
        lines = [f"eins\tzwei\t{label}\n" for label in labels.split()]
        (tmp_path / f"test.{language}.tsv").write_text("".join(lines))
    (tmp_path / "train.tsv").write_text("one\ttwo\tneutral\none\tthree\tentailment\n" * 30)
    settings = {"train": f"en:{tmp_path / 'train.tsv'}", "tests": str(tmp_path), "seeds": 2}
    config = with_values(config, {"clcr.entailment": settings})
    assert clcr_aligned.parallel_tests(config, "run") == []
    assert "T + pGA is left out" in caplog.text
    (tmp_path / "test.de.tsv").write_text("ein\tzwei\tentailment\nein\tdrei\tneutral\n")
    found = clcr_aligned.parallel_tests(config, "run")
    assert [(x.texts, y) for x, y in found] == [
        (("ein", y), ("eins", "zwei")) for y in ("zwei", "drei")
    ]


def test_no_pivot_is_an_error_that_names_the_threshold(config, tmp_path):
    config = with_values(config, {"clcr.threshold": 1e-9, "clcr.transform.steps": 1})
    with pytest.raises(ValueError, match="config.clcr.threshold"):
        clcr.run(config, str(tmp_path / "run"))


def test_what_is_no_model_of_the_language_is_refused(config, monkeypatch, models, tmp_path):
    folder = str(tmp_path / "run")
    config = with_values(config, {"data.languages": "en,de"})
    with pytest.raises(ValueError, match=" de, .*'en'"):
        clcr.run(config, folder)
    static = StaticSpaces({}, {}, {}, "en", Normalizer())
    monkeypatch.setattr(encoders, "load", lambda place, names: static)
    with pytest.raises(ValueError, match="config.clcr.source=run:"):
        clcr.run(config, folder)


@pytest.mark.parametrize(
    "message, values",
    [
        ("are the same model, run:x", {"source": "run:x", "target": "run:x"}),
        ("config.clcr.source='vec:x': expected run:DIR or hf:DIR", {"source": "vec:x"}),
        ("the runs of config.clcr.hub=runs/a give the target's model", {"hub": "runs/a"}),
        (
            "config.clcr.hub: the target keeps its space",
            {"hub": "a", "target": "", "reordered": "target"},
        ),
        ("config.clcr.reordered='both'", {"reordered": "both"}),
        ("config.data.pairs is empty", {"parallel": ""}),
        ("config.clcr.threshold=-1", {"threshold": -1.0}),
        ("config.clcr.contrast=-1", {"contrast": -1}),
        ("config.clcr.beam=0", {"beam": 0}),
        ("config.clcr.threshold=0.0", {"threshold": 0.0}),
        ("config.clcr.layer='abc': expected a number", {"layer": "abc"}),
        ("config.clcr.layer='1-0': expected a number", {"layer": "1-0"}),
        ("config.clcr.encoder.layer='x'", {"encoder": {"layer": "x"}}),
        ("config.clcr.predictor.dropout=1.0", {"predictor": {"dropout": 1.0}}),
        ("config.clcr.gold_part='train'", {"gold_part": "train"}),
        ("config.clcr.entailment.multilingual='x'", {"entailment": {"multilingual": "x"}}),
        ("config.clcr.gold='pocket' are sentences of the embedded", {"parallel": "x"}),
    ],
)
def test_wrong_options_are_named_at_once(config, message, values):
    with pytest.raises(ValueError, match=message):
        with_values(config, {"clcr": values}).check_all()


def test_layers_that_a_model_lacks_are_named_before_the_other_model_is_trained(config, tmp_path):
    first = with_values(config, {"clcr": dict(target="", layer="99")})
    with pytest.raises(ValueError, match="config.clcr.layer, .* de: layers='99': .* 0 .* to 1"):
        clcr.run(first, str(tmp_path / "run"))
    values = {"source": "", "target": config.clcr.source, "layer": "", "encoder": {"layer": "3"}}
    second = with_values(config, {"clcr": values})
    with pytest.raises(ValueError, match="config.clcr.encoder.layer, .* de: layers='3'"):
        clcr.run(second, str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_the_layers_of_the_laptop_are_those_of_the_models_that_it_trains(config):
    config = with_values(config.resolve(), {"clcr.layer": ""})
    of = lambda count, **values: data.layers_of(with_values(config, {"clcr": values}), "de", count)
    assert config.clcr.encoder.layer == "0-1" and of(13) == (8,)
    assert of(13, faithful=True) == (9,)
    assert of(3, source="") == (0, 1)


def test_the_papers_method_is_one_option():
    config = presets.start_from("clcr", "laptop")
    config.clcr.update(faithful=True, contrast=5)
    config.clcr.transform.start = "procrustes"
    config = options.parse(config)
    found = config.resolve().clcr
    assert (found.whiten, found.unit_length, found.contrast, found.tune.rounds) == (
        False,
        False,
        0,
        1,
    )
    assert found.transform.start == "zero" and config.clcr.contrast == 5
    paper = options.parse(presets.start_from("clcr", "paper"))
    assert paper.clcr.faithful and paper.data.languages == "zh,en" and paper.clcr.entailment.seeds
    assert not presets.start_from("clcr", "base").clcr.faithful
    paper.check_all()


def test_a_run_as_printed_maps_plain_hidden_states(config, tmp_path, models):
    values = {"clcr.sentences": 20, "clcr.predictor.steps": 2, "clcr.tune.steps": 2}
    config = with_values(config, {"clcr.faithful": True, **values})
    job = Recorded(config, str(tmp_path / "run"))
    assert job.run()
    tuned, mapped = (
        dataclasses.replace(api.load(job.workdir).loaded.models["en"], projection=None),
        job.mapped,
    )
    [expected] = tuned.encoder().of_words([mapped.test.rows[0].target], "en")
    np.testing.assert_allclose(mapped.test.words.common(1).of(0), expected[:, 0], atol=1e-5)
    assert mapped.threshold == pytest.approx(9 * clcr_steps.mean_variance(mapped.train.words))


def test_a_dry_run_says_the_steps_of_encoders_and_maps(config, tmp_path, capsys):
    run = with_values(config, {"clcr": dict(target="", encoder={"steps": 30, "layer": "0"})})
    assert clcr.run(run, str(tmp_path / "run"), dry=True)
    shown = capsys.readouterr().out
    assert "target: en, " in shown and "source: de, run:" in shown
    assert "trained first, in 30 steps" in shown and "60 steps in each direction" in shown
    assert not (tmp_path / "run").exists()


def test_development_sentences_are_no_test_sentences(config, tmp_path):
    tests = data.test_rows(config)
    config = with_values(config, {"clcr.gold_part": "dev"})
    dev = data.test_rows(config)
    assert len(dev) == len(tests) == 15 and all(row.sure for row in dev)
    for side in (0, 1):
        assert {row[side] for row in dev}.isdisjoint(row[side] for row in tests)
    values = dict(gold=str(tmp_path), parallel="x", test_sentences=2)
    config = with_values(config, {"clcr": values})
    for language in ("de", "en"):
        (tmp_path / f"de-en.{language}").write_text("".join(f"{language} {x}\n" for x in range(5)))
    (tmp_path / "de-en.gold").write_text("0-0 1-1\n" * 5)
    assert [row.source[1] for row in data.test_rows(config)] == ["2", "3"]
    config = with_values(config, {"clcr.gold_part": "test"})
    assert [row.source[1] for row in data.test_rows(config)] == ["0", "1"]


def test_gold_links_follow_the_sentences():
    config = options.parse(presets.start_from("clcr", "laptop"))
    assert config.resolve().clcr.gold == "pocket"
    config = with_values(config, {"clcr.parallel": "/nonexistent/train"})
    assert config.resolve().clcr.gold == ""
    config.check_all()
    with pytest.raises(FileNotFoundError, match="config.clcr.parallel=/nonexistent/train names no"):
        clcr_files.check(config, "run")


def test_parallel_files_are_read_before_any_model_is_trained(config, tmp_path):
    (tmp_path / "train.de").write_text("eins\nzwei\n")
    (tmp_path / "train.en").write_text("one\n")
    config = with_values(config, {"clcr": dict(parallel=str(tmp_path / "train"), gold="")})
    with pytest.raises(ValueError, match="train.de has 2 lines and .*train.en 1"):
        clcr_files.check(config, "run")
    (tmp_path / "train.en").write_text("\n\n")
    with pytest.raises(ValueError, match="no line"):
        clcr_files.check(config, "run")


def test_entailment_outside_the_embedded_world_needs_files(config):
    with pytest.raises(ValueError, match="config.clcr.entailment.train='en:x', tests=''"):
        with_values(config, {"clcr.entailment": dict(seeds=2, train="en:x")}).check_all()
    config = with_values(config, {"data.languages": "hu,en"})
    with pytest.raises(ValueError, match=" hu"):
        clcr_files.check(with_values(config, {"clcr.entailment.seeds": 2}), "run")
    config.check_all()


@pytest.fixture
def labelled(config, tmp_path):
    """The config with files of entailment, of a dictionary too."""
    tests = tmp_path / "tests"
    tests.mkdir()
    for name in ("de", "en", "train"):
        lines = "eins\tzwei\tneutral\neins\tdrei\tentailment\n"
        (tests / f"{name}.tsv").write_text(lines)
    (tests / "train.tsv").rename(tmp_path / "train.tsv")
    lists = tmp_path / "lists"
    lists.mkdir()
    (lists / "de-en.txt").write_text("eins\tone\n")
    settings = {"train": f"en:{tmp_path / 'train.tsv'}", "tests": str(tests), "seeds": 2}
    values = {"clcr.entailment": settings, "data.dictionaries": str(lists)}
    return with_values(config, values | {"clcr.parallel": "pocket"})


def test_absent_files_of_entailment_are_named_before_anything_is_trained(labelled, tmp_path):
    clcr_files.check(labelled, "run")
    (tmp_path / "tests" / "de.tsv").rename(tmp_path / "tests" / "deu.tsv")  # another code of it
    clcr_files.check(labelled, "run")
    (tmp_path / "tests" / "deu.tsv").unlink()
    with pytest.raises(FileNotFoundError, match="entailment.tests=.*tests has no tests of 'de'"):
        clcr_files.check(labelled, "run")
    (tmp_path / "train.tsv").unlink()
    with pytest.raises(FileNotFoundError, match="entailment.train=.*train.tsv is no file"):
        clcr_files.check(labelled, "run")
    nameless = with_values(labelled, {"clcr.entailment.train": "en:"})
    with pytest.raises(ValueError, match="config.clcr.entailment.train='en:': expected en:FILE"):
        clcr_files.check(nameless, "run")
    clcr_files.check(with_values(labelled, {"clcr.entailment.seeds": 0}), "run")


def test_entailment_is_measured_again_on_other_labelled_files(labelled, tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(
        entailment, "measure_entailment", lambda *run: measured.append(run[2]) or {"x": 1.0}
    )
    monkeypatch.setattr(clcr_aligned, "measure_aligned", lambda *run: {"y": 1.0})
    mapped = types.SimpleNamespace(made_with={})
    names = ("tests/de.tsv", "train.tsv", "lists/de-en.txt")
    for changed in (None, None, *names):
        if changed:
            (tmp_path / changed).write_text((tmp_path / changed).read_text() * 2)
        measured.append(changed)
        clcr.Clcr(labelled, str(tmp_path / "run"))._entailment(mapped)
    rows = entailment.rows(labelled)
    assert measured == [None, *rows, None, *itertools.chain(*([x, *rows] for x in names))]


def test_wrong_languages_and_absent_folders_are_named(config, tmp_path):
    with pytest.raises(ValueError, match="one language"):
        with_values(config, {"data.languages": "de,en,fr"}).check_all()
    config = with_values(config, {"clcr.source": "run:nowhere"})
    with pytest.raises(FileNotFoundError, match="config.clcr.source=run:nowhere"):
        clcr_files.check(config, str(tmp_path))
    config = with_values(config, {"clcr.source": "", "clcr.hub": "nowhere"})
    with pytest.raises(FileNotFoundError, match="config.clcr.hub=nowhere"):
        clcr_files.check(config, str(tmp_path))
    config = with_values(config, {"clcr.hub": "", "clcr.parallel": "nowhere"})
    with pytest.raises(FileNotFoundError, match="config.clcr.parallel=nowhere"):
        clcr_files.check(config, str(tmp_path))


# One sentence as mohsenfayyaz/edge-probing-datasets and Universal Dependencies write it.
_TARGETS = {
    "relations": {
        "label": "Cause-Effect(e2,e1)",
        "span1": [0, 1],
        "span2": [2, 3],
        "info": {"comment": ""},
    },
    "spr": {
        "span2": [0, 1],
        "span1": [1, 2],
        "label": ["awareness", "sentient"],
        "info": {"span2_txt": "She", "span1_text": "pays", "is_pilot": False, "pred_lemma": "pay"},
    },
}


def probed(task, language):
    """A file of a task: the labels, or relations, differ between two sentences."""
    she, other = {"en": ("she", "money"), "de": ("sie", "geld")}[language]
    if task == "deps":
        lines = [
            f"1\t{she}\t_\tPRON\t_\t_\t2\tnsubj\t_\t_",
            "2\tpays\t_\tVERB\t_\t_\t0\troot\t_\t_",
            f"3\t{other}\t_\tNOUN\t_\t_\t2\tobj\t_\t_",
        ]
        ends = [f"4\t{number}\t_\tNUM\t_\t_\t3\tnummod\t_\t_\n" for number in range(20)]
        return "\n".join("\n".join([*lines, end]) for end in ends) + "\n"
    first = _TARGETS[task]
    second = {**first, "label": ["volition"] if task == "spr" else "Other"}
    found = [
        {"text": f"{who} pays {other} {number}", "info": {"id": number}, "targets": [target]}
        for number in range(10)
        for who, target in ((she, first), (other, second))
    ]
    return "\n".join(map(json.dumps, found)) + "\n"


def test_probes_of_published_files_read_the_mapped_words(config, monkeypatch, models, tmp_path):
    """With English as the source its words, which the probes learn from, are T's."""
    folder = tmp_path / "run"
    values = {
        "data.languages": "en,de",
        "clcr.source": config.clcr.target,
        "clcr.target": config.clcr.source,
        "clcr.transform.steps": 5,
        "clcr.predictor.steps": 5,
    }
    assert clcr.run(with_values(config, values), str(folder))
    loaded = api.load(str(folder))
    monkeypatch.setattr(encoders, "load", lambda place, names: loaded.loaded)
    [mapped] = loaded.encoder().of_words([["she", "pays", "money", "0"]], "en")
    [own] = models["en"].encoder().of_words([["she", "pays", "money", "0"]], "en")
    assert mapped.shape[-1] == WIDTHS["de"] != own.shape[-1]
    for task, end in (("relations", "json"), ("spr", "json"), ("deps", "conllu")):
        for language in ("en", "de"):
            (tmp_path / task).mkdir(exist_ok=True)
            (tmp_path / task / f"{language}.test.{end}").write_text(probed(task, language))
        probe = presets.transfer("laptop", f"edge/{task}", "edge")
        probe.system, probe.encoder, probe.data.languages = "probe", f"run:{folder}", "en,de"
        probe.transfer.update(
            train=f"en:{tmp_path / task / f'en.test.{end}'}", tests=str(tmp_path / task), seeds=1
        )
        probe.transfer.head.update(width=4, hidden=4, dropout=0.0)
        probe.recipe.update(epochs=3, patience=0)
        run = options.parse(probe)
        run.resolve().check_all()
        job = transfer.Transfer(run, str(tmp_path / f"probe_{task}"))
        assert job.run()
        done = {}
        for stage in job.stages()[:3]:  # as `run` does
            done[stage.name] = stage.do(*(done[name] for name in stage.needs))
        table = done["features"].tables["test", "en"]
        row = done["labelled rows"].tests["en"][0]
        assert [len(x) for x in table.rows[0]] == [1, 1]
        if task != "deps":
            places = [first for first, _ in row.spans]
            read = table.values[np.concatenate(table.rows[0])]
            np.testing.assert_allclose(read[:, 0], mapped[places, 0], rtol=1e-4, atol=1e-5)
        figures = json.loads((tmp_path / f"probe_{task}" / "results.json").read_text())
        assert {f"edge/{task}/{x}/f1" for x in ("en", "de")} <= figures.keys()


def test_words_with_labels_are_not_reduced(tmp_path):
    config = options.parse(presets.transfer("laptop", "pos", "linear"))
    with pytest.raises(ValueError, match="config.transfer.reduce='extract'"):
        labelled_files.check(with_values(config, {"transfer.reduce": "extract"}), str(tmp_path))
    with pytest.raises(ValueError, match="config.transfer.reduce='reorder'"):
        with_values(config, {"transfer.reduce": "reorder"})


def test_the_encoders_are_monolingual_models_of_the_runs_text(config):
    config = with_values(config, {"clcr.source": ""})
    found = data.encoder_config(config, "de")
    found.check_all()
    assert found.data.languages == "de" and found.data.pocket_domains == "money"
    assert found.train.steps == config.clcr.encoder.steps
    assert data.encoder_addresses(config, "here")["de"] == "run:here/encoders/de"


def test_fine_tuned_encoders_come_nearer_and_are_loaded(config, tmp_path, models, monkeypatch):
    tune = dict(rounds=1, steps=60, batch_size=16, learning_rate=1e-3)
    config = with_values(config, {"clcr.tune": tune})
    folder = tmp_path / "run"
    targets, tune_model = [], clcr_tune.tune_model

    def noted(*args):
        targets.append(np.array(args[4].vectors))
        return tune_model(*args)

    monkeypatch.setattr(clcr_tune, "tune_model", noted)
    job = Recorded(config, str(folder))
    assert job.run()
    figures = json.loads((folder / "results.json").read_text())
    mapped = job.mapped
    before, after = (
        [x.table for x in data.both_sides(given, mapped.spaces, mapped.train.rows)]
        for given in (models, mapped.models)
    )
    # The source's model learns towards the target's first vectors, then the target's towards its new ones.
    np.testing.assert_allclose(targets[0], before[1].vectors, atol=1e-5)
    np.testing.assert_allclose(targets[1], after[0].vectors, atol=1e-5)
    # At one temperature, and each towards the vectors that it learned towards.
    there, back = (dataclasses.replace(x, temperature=1.0) for x in mapped.maps["annealed"])
    for match, first, last in (
        (there, (before[0], before[1]), (after[0], before[1])),
        (back, (before[1], after[0]), (after[1], after[0])),
    ):
        assert match.distances(*last)[0] < 0.95 * match.distances(*first)[0]
    assert figures["clcr/rank/mapped"] > 2 and figures["clcr/rank/target"] > 2
    assert "encoders fine-tuned" in (folder / "report.html").read_text()
    loaded = api.load(str(folder))
    for language, before in models.items():
        vectors = [
            x.encoder().of_words([["der", "a"]], language)[0]
            for x in (
                loaded,
                dataclasses.replace(loaded.loaded.models[language], variables=before.variables),
            )
        ]
        assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    kept = folder / "steps" / "tuned_0_de.npz"
    mine, final = heads.load(str(kept)), heads.load(str(folder / "tuned_de.npz"))
    jax.tree.map(np.testing.assert_array_equal, mine["params"], final)
    assert mine["history"][:, 0].tolist() == [10, 20, 30, 40, 50, 60]
    charts = [x for x in report_blocks(folder, "CLCR: transform") if x["kind"] == "chart"]
    assert [line["label"] for line in charts[1]["lines"]] == [
        "model of de, round 1",
        "model of en, round 1",
    ]
    assert charts[1]["lines"][0]["points"] == mine["history"].tolist()


def test_the_loss_of_the_fine_tuning_is_the_distance_of_the_encoders_words(
    config, models, monkeypatch, caplog
):
    rows = data.training_rows(config.resolve(), {})[:9]
    rows[8] = rows[8]._replace(source=rows[8].source * 30)  # longer than a row of the model
    found, sides = data.fit_spaces(config, models, rows, {})
    tables = [side.table._replace(rows=side.table.rows[:8]) for side in sides]
    match = AttentionMatching(steps=1, hidden=4).fit(*tables)
    match = dataclasses.replace(match, params={x: y + 0.1 for x, y in match.params.items()})
    logged = []
    monkeypatch.setattr(clcr_tune.logging, "info", lambda text, *args: logged.append(args))
    lengths = sides[0].table.lengths
    tuning = Tuning(rounds=1, steps=1, batch_size=8, learning_rate=0.0)
    texts = "de", [row.source for row in rows]
    after = clcr_tune.tune_model(
        models["de"],
        texts,
        found["de"],
        match,
        sides[1].table,
        lengths,
        AttentionMatching(),
        tuning,
        0,
    )
    assert "1 of 9 sentences (de) have more than the 126 pieces of a row" in caplog.text
    language, first, _ = logged[-1]
    expected = dataclasses.replace(match, temperature=1.0).distances(*tables)[0]
    assert language == "de" and first == pytest.approx(expected, rel=1e-3)
    jax.tree.map(np.testing.assert_array_equal, after.model.variables, models["de"].variables)
    assert after.history.tolist() == [[1, pytest.approx(first)]]


def test_distances_are_those_of_sentences_in_both_spaces():
    r = np.random.default_rng(0)
    sides = [
        whole_words([r.normal(size=(n, 4)).astype("f4") for n in sizes])
        for sizes in ((3, 2), (1, 4))
    ]
    maps = Maps(*(Match({"linear": r.normal(size=(4, 4)), "bias": np.zeros(4)}, 1.0) for _ in "ab"))
    views = clcr_vectors.views(maps, sides, in_memory)
    pairs = []
    for place in range(2):
        x, y = (side.table.of(place) for side in sides)
        pairs.append((pivots.Mapped(x, maps.there.apply(x)), pivots.Mapped(y, maps.back.apply(y))))
    expected = [pivots.symmetric_distances(*pair) for pair in pairs]
    for found, by_hand in zip(clcr_steps.distances(views), expected, strict=True):
        np.testing.assert_allclose(found, by_hand, rtol=1e-4)
    near = pivots.mean_distance_to_other_sentences(*zip(*pairs), 1)
    for found, plain, both in zip(clcr_steps.distances(views, 1), expected, near, strict=True):
        np.testing.assert_allclose(found, pivots.margin_distances(plain, *both), rtol=1e-4)
    variances = [np.concatenate([side.table.of(k) for k in range(2)]).var(0) for side in sides]
    assert clcr_steps.mean_variance(views) == pytest.approx(np.mean(variances))
    figures = clcr_steps.map_figures("x", maps, sides, views, ())
    for end, match, (x, y) in (("", maps.there, sides), ("_back", maps.back, sides[::-1])):
        errors, cosines = [], []
        for place in range(2):
            mapped, target = match.apply(x.table.of(place)), y.table.of(place)
            weights = np.exp(target @ mapped.T / 2)  # over the root of 4 dimensions
            attended = weights / weights.sum(1, keepdims=True) @ mapped
            errors += [*((attended - target) ** 2).mean(1)]
            norms = np.linalg.norm(attended, axis=1) * np.linalg.norm(target, axis=1)
            cosines += [*(1 - (attended * target).sum(1) / norms)]
        assert figures[f"clcr/distance{end}/x"] == pytest.approx(np.mean(errors), rel=1e-3)
        assert figures[f"clcr/cosine{end}/x"] == pytest.approx(np.mean(cosines), rel=1e-3)


@dataclasses.dataclass(frozen=True)
class Likely:
    """A predictor of pivots whose probabilities are the words' first dimension."""

    weights: np.ndarray | None = None

    def probabilities(self, x):
        return np.stack([1 - x[:, 0], x[:, 0]], 1)

    def fit(self, x, gold, weights=None, seed=0):
        return Likely(weights)


def test_the_figures_of_pivots_by_hand():
    x, gold = np.array([[0.1], [0.3], [0.6], [0.9], [0.1]]), np.array([0, 1, 1, 0, 1])
    predictors = clcr_steps.Extraction(Likely(), Likely())
    figures = dict(clcr_steps.pivot_figures(predictors, x, gold, "de"))
    expected = {"clear": 3 / 5}
    expected |= {"0.2/accuracy": 3 / 5, "0.2/precision": 2 / 3, "0.2/recall": 2 / 3}
    expected |= {"0.5/accuracy": 2 / 5, "0.5/precision": 1 / 2, "0.5/recall": 1 / 3}
    for name in ("plain", "confident"):
        for path, value in expected.items():
            assert figures.pop(f"clcr/extract/de/{name}/{path}") == pytest.approx(value), path
    assert not figures
    # The second predictor learns from the weights that the first one's probabilities give.
    plain, confident = clcr_steps.train_extraction(x, gold, Likely(), 0)
    weights = clcr_predictors.confident_weights(x[:, 0], gold)
    assert plain.weights is None and np.ptp(weights) > 0
    np.testing.assert_array_equal(confident.weights, weights)


def test_the_curve_of_pivots_has_all_thresholds():
    rows = [
        Linked("ab", "xy", frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)})),
        Linked("a", "x", frozenset(), frozenset()),
    ]
    curve = clcr_steps.pivot_curve([np.array([[0.1, 9], [9, 0.5]]), np.array([[0.3]])], rows)
    assert curve.thresholds.tolist() == [0.1, 0.3, 0.5]
    assert curve.precision.tolist() == [1, 0.5, pytest.approx(2 / 3)]
    assert curve.recall.tolist() == [0.5, 0.5, 1]
    assert curve.precision_at(0.6) == pytest.approx(2 / 3) and curve.precision_at(0.5) == 1
    assert clcr_steps.pivot_curve([np.ones((1, 1))], rows[1:]).precision_at(0.6) is None


def test_gold_links_are_one_to_one():
    row = Linked("abc", "xyz", frozenset({(0, 1), (1, 0), (1, 2)}), frozenset())
    [found] = clcr_steps.gold_links([row])
    assert np.argwhere(found).tolist() == [[0, 1]]
    [found] = clcr_steps.gold_links([Linked("ab", "x", frozenset(), frozenset())])
    assert found.shape == (2, 1) and not found.any()


def test_orders_of_the_target_in_the_source():
    links = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], bool)  # words 0-2 and 2-0
    [there], [back] = clcr_steps.orders([links]), clcr_steps.orders([links], side=1)
    assert there.places.tolist() == [0, 2] and back.places.tolist() == [0, 2]
    assert there.ranks.tolist() == back.ranks.tolist() == [1, 0]
    cycle = np.eye(3, dtype=bool)[[1, 2, 0]]  # word 0 is linked to 1, 1 to 2, 2 to 0
    assert clcr_steps.orders([cycle])[0].ranks.tolist() == [1, 2, 0]
    assert clcr_steps.orders([cycle], side=1)[0].ranks.tolist() == [2, 0, 1]


def test_labels_follow_the_words_of_both_sides():
    links = [np.array([[0, 1, 0], [0, 0, 0]], bool), np.array([[1]], bool)]
    assert clcr_steps.pivot_labels(links, 0).tolist() == [1, 0, 1]
    assert clcr_steps.pivot_labels(links, 1).tolist() == [0, 1, 0, 1]


def test_the_lowest_cost_is_that_of_all_orders():
    costs = np.array(
        [[0, 0, 1], [1, 0, 0], [1, 1, 0]], float
    )  # 0 before 1 before 2; 2 before 0 costs 1
    best, other, long = np.arange(3), np.array([2, 0, 1]), np.arange(8)
    assert clcr_steps.lowest_share([costs] * 2, [best, other], True) == 0.5
    assert (
        clcr_steps.lowest_share([costs, np.ones((8, 8))], [best, long], True) == 1
    )  # 8 are not tried
    assert clcr_steps.lowest_share([1 - np.eye(3)] * 2, [best, other], False) == 0.5
    assert clcr_steps.lowest_share([np.ones((1, 1))], [np.arange(1)], True) == 1


def test_a_reversal_is_learned_by_both_predictors_and_the_identity_is_the_baseline():
    r = np.random.default_rng(0)
    given = [Order(np.arange(n), np.arange(n)[::-1]) for n in r.integers(4, 7, 60)]
    source = sentences([r.normal(size=(len(x.places), 3)) for x in given])
    classifier = Classifier(hidden=16, steps=200, batch_size=64, learning_rate=2e-2)
    found = clcr_steps.order_predictors(source, given, classifier, 0)
    figures = dict(clcr_steps.order_figures(found, source, given))
    assert figures["clcr/reorder/identity/bleu2"] == 0
    assert figures["clcr/reorder/identity/tau"] == -1
    assert figures["clcr/reorder/relative/beam10/bleu4"] == 1
    assert figures["clcr/reorder/relative/beam1/tau"] == 1
    assert figures["clcr/reorder/absolute/beam10/bleu2"] > 0.3


def test_a_collapse_shows_in_variance_and_rank():
    r = np.random.default_rng(0)
    variance, rank = clcr_steps.variance_and_rank(r.normal(size=(5_000, 6)))
    assert variance == pytest.approx(1, abs=0.05) and rank == pytest.approx(6, abs=0.05)
    assert not clcr_steps.has_collapsed(variance, rank)
    assert clcr_steps.has_collapsed(*clcr_steps.variance_and_rank(1e-2 * r.normal(size=(500, 6))))
    assert clcr_steps.has_collapsed(
        *clcr_steps.variance_and_rank(r.normal(size=(500, 1)) * np.ones(6))
    )
    line = r.normal(size=(5_000, 1)) * np.ones(6) * 1e-3
    variance, rank = clcr_steps.variance_and_rank(line)
    assert variance < 1e-5 and rank == pytest.approx(1)

"""A language that is added to a finished space: nothing moves, and it is as good as one trained with it."""

import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.embeddings.dictionary_vectors import unit
from clwe_jax.encoders import spaces
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.static import finished_space, job as static


def _config(languages, **overrides):
    config = presets.static("laptop")
    config.static.update(training="joint", dictionary_dim=256, refinement=True)
    config.embeddings.dim = 16
    values = {
        "data.languages": languages,
        "data.pocket_sentences": 1500,
        "embeddings.epochs": 1,
        "static.induced_words": 0,
        "static.write_text": False,
        "report.errors": 0,
    }
    config.update_from_flattened_dict(values | overrides)
    found = options.parse(config).resolve()
    found.check_all()
    return found


def _figures(folder):
    with open(os.path.join(folder, "results.json"), encoding="utf-8") as file:
        return json.load(file)


_saved = []  # the models of the added run, as they were before they were saved
_save = StaticSpaces.save


def _save_and_keep(model, *args, **options):
    _saved.append(model)
    _save(model, *args, **options)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A space of French, the same with German and more English words added, and one of both languages."""
    folder = tmp_path_factory.mktemp("runs")
    places = {name: str(folder / name) for name in ("before", "added", "together")}
    static.run(_config("en,fr"), places["before"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(StaticSpaces, "save", _save_and_keep)
        more = {"static.add_to": places["before"], "data.pocket_sentences": 1800}
        static.run(_config("en,de", **more), places["added"])
    static.run(_config("en,fr,de"), places["together"])
    return places


def test_the_languages_of_the_space_stay(runs):
    before, after = api.load(runs["before"]), api.load(runs["added"])
    assert set(after.languages) == {"en", "fr", "de"}
    np.testing.assert_array_equal(after.vectors("fr").vectors, before.vectors("fr").vectors)
    old, new = before.vectors("en"), after.vectors("en")
    np.testing.assert_array_equal(new.vectors[new.rows(old.words)], old.vectors)
    assert list(new.counts) == sorted(new.counts, reverse=True)
    np.testing.assert_allclose(after.vector("inconnue", "fr"), before.vector("inconnue", "fr"))
    # Frequent new words stand between the old ones, whose entries stay theirs.
    assert np.ptp(np.diff(new.rows(old.words))) > 0
    entries = [model.loaded.entries for model in (before, after)]
    for word in before.vectors("fr").own_keys:
        kept, extended = (x.accepted.of(word, "fr", "en") for x in entries)
        assert set(extended) == set(kept), word


def test_languages_are_added_to_a_packed_space(runs, tmp_path):
    before, added = (api.load(runs[name]).loaded for name in ("before", "added"))
    folder = shutil.copytree(runs["before"], tmp_path / "packed")
    before.save(str(folder), packed=True)
    finished = finished_space.load(_config("en,de", **{"static.add_to": str(folder)}))
    new = dataclasses.replace(added, raw={x: added.raw[x] for x in ("en", "de")})
    finished.extend(new).save(str(tmp_path), packed=True)
    first, last = spaces.load(folder), spaces.load(tmp_path)
    np.testing.assert_array_equal(last.raw["fr"].vectors.codes, first.raw["fr"].vectors.codes)
    rows = last.raw["en"].rows(added.raw["en"].words)
    english = np.asarray(last.raw["en"].vectors)[rows]
    cosines = (unit(english) * unit(added.raw["en"].vectors.astype(np.float32))).sum(1)
    assert (cosines > 0.9).all()


def test_added_words_are_stored_as_they_are_written(runs):
    added = api.load(runs["added"]).loaded
    raw = {x: dataclasses.replace(added.raw[x], keys=None) for x in ("en", "de")}
    key = raw["de"].words[5]
    new = dataclasses.replace(added, raw=raw, spellings={"de": {key: f"{key}ʼ"}})
    finished = finished_space.load(_config("en,de", **{"static.add_to": runs["before"]}))
    vectors = finished.extend(new).raw["de"]
    assert (vectors.words[5], vectors.own_keys[5]) == (f"{key}ʼ", key)


def test_a_saved_space_guesses_what_the_run_has_measured(runs):
    """The new language's guesses have a part of the hub's, which the file has to keep."""
    [measured], loaded = _saved, api.load(runs["added"]).loaded
    assert measured.spelling.regressions["de"].scale > 0
    words = ["telefonisch", "unbekannte", "restaurants"]
    for language in loaded.languages:
        np.testing.assert_array_equal(
            loaded.spelling.vectors(words, language), measured.spelling.vectors(words, language)
        )


def test_the_new_language_is_as_good_as_trained_together(runs):
    added, together = (_figures(runs[name]) for name in ("added", "together"))
    key = "retrieval/de-en/mean_csls"
    assert added[key] > together[key] - 0.03
    model = api.load(runs["added"])
    assert model.vector("unbekannte", "de").any()
    # Languages that never met have one space: their words for one English word are near.
    english = model.vectors("en").vectors[:300]
    near = {}
    for language in ("de", "fr"):
        rows = model.vectors(language).vectors
        cosines = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ english.T
        cosines /= np.linalg.norm(english, axis=1)
        near[language] = rows[cosines.argmax(0)], cosines.max(0) > 0.6
    both = near["de"][1] & near["fr"][1]
    german, french = (near[language][0][both] for language in ("de", "fr"))
    lengths = np.linalg.norm(german, axis=1) * np.linalg.norm(french, axis=1)
    assert both.sum() > 20 and ((german * french).sum(1) / lengths).mean() > 0.5


@pytest.mark.parametrize(
    "languages, overrides, message",
    [
        ("en,fr", {}, "it has fr"),
        ("fr,de", {"static.hub": "fr"}, "its hub is en"),
        ("en,de", {"static.dictionary_dim": 64}, "static.dictionary_dim is 256 there and 64 here"),
        ("en,de", {"seed": 3}, "config.seed is 0 there and 3 here"),
        (
            "en,de",
            {"data.lower_case": False},
            "config.data.lower_case is True there and False here",
        ),
        (
            "en,de",
            {"static.dictionary_dim": 0},
            "config.static.add_to adds to the vectors of a dictionary",
        ),
    ],
)
def test_what_cannot_be_added_is_an_error(runs, tmp_path, languages, overrides, message):
    with pytest.raises(ValueError, match=message):
        static.run(
            _config(languages, **{"static.add_to": runs["before"], **overrides}),
            str(tmp_path / "run"),
        )


def test_the_hub_of_the_space_is_the_hub_of_the_dictionary_too(tmp_path):
    """A dictionary with English would take English, whose words are new."""
    places = [str(tmp_path / name) for name in ("before", "added")]
    alone = {
        "static.training": "dictionary",
        "static.dictionary_dim": 0,
        "static.refinement": False,
        "static.hub": "fr",
        "embeddings.dim": 256,
    }
    static.run(_config("de,fr", **alone), places[0])
    static.run(_config("en,fr", **alone, **{"static.add_to": places[0]}), places[1])
    assert _figures(places[1])["retrieval/en-fr/mean_csls"] > 0.9
    regressions = api.load(places[1]).loaded.spelling.regressions
    # What English has of French has in turn what French has of German, also in the file.
    assert regressions["en"].prior is regressions["fr"]
    assert regressions["fr"].prior is regressions["de"]

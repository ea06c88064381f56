"""Encoders by the places that options name, and what each kind can do."""

import numpy as np
import pytest

from clwe_jax import options, presets, registry
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import load
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.pair import PairModels
from clwe_jax.encoders.spaces import StaticSpaces


@pytest.fixture
def static():
    return StaticSpaces({"en": Vectors(["a", "b"], np.eye(2, dtype=np.float32))}, {}, {}, "en")


def a_model(make_tokenizer, languages):
    return LanguageModel(None, make_tokenizer(languages=languages), None, {})


def test_files_of_different_widths_are_refused_with_their_lines(tmp_path):
    (tmp_path / "en.vec").write_text("2 2\nhouse 1 2\ndog 2 1\n")
    (tmp_path / "de.vec").write_text("2 3\nhaus 1 2 3\nhund 3 2 1\n")
    with pytest.raises(ValueError, match="config.encoder: .*de.vec, line 1: 3 .* 2 .*en.vec"):
        load.load(f"vec:en={tmp_path}/en.vec,de={tmp_path}/de.vec", ("en", "de"))


@pytest.mark.parametrize("given", ["", "absent", "run:", "file:x"])
def test_a_place_without_its_kind_is_refused_by_name(given, tmp_path):
    with pytest.raises(ValueError, match=f"{given!r}.*run:DIR"):
        load.load(given, ("en",))
    with pytest.raises(ValueError, match=f"=run:{tmp_path}"):
        load.load(str(tmp_path), ("en",))


def test_a_run_that_is_no_encoder_is_refused(tmp_path):
    options.write_config(options.parse(presets.laser_tagger("laptop", "ner")), str(tmp_path), ".")
    with pytest.raises(ValueError, match="'transfer'"):
        load.load(f"run:{tmp_path}", ("en",))


def test_the_loader_of_a_run_gets_the_opener_of_others(static, tmp_path, monkeypatch):
    options.write_config(options.parse(presets.start_from("clcr", "laptop")), str(tmp_path), ".")
    monkeypatch.setattr(registry, "lookup", lambda kind, name: lambda *given: (kind, name, given))
    monkeypatch.setattr(load, "load", lambda place, languages: (place, languages))
    kind, name, (folder, step, opened) = load.of_folder(str(tmp_path), 3)
    assert (kind, name, folder, step) == ("loader", "clcr", str(tmp_path), 3)
    (tmp_path / "inside").mkdir()
    assert opened(f"run:{tmp_path / 'inside'}", ["de"], str(tmp_path))[1] == ["de"]


def test_only_models_that_learn_are_tuned(static):
    with pytest.raises(ValueError, match="config.encoder=vec:x"):
        load.tunable(static, "vec:x")
    with pytest.raises(ValueError, match="config.transfer.reduce='extract'"):
        load.text_encoder(static, "extract")


def test_each_kind_cuts_text_as_its_encoder_does(static, make_tokenizer):
    pair = PairModels({x: a_model(make_tokenizer, (x,)) for x in ("en", "de")})
    for loaded in (static, a_model(make_tokenizer, ("en",)), pair):
        assert loaded.segmenter("en").words("a b", "en") == ["a", "b"]
    assert repr(pair) == "PairModels(en, de)" and pair.tokenizer is None

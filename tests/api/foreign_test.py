"""Models of Hugging Face with the methods of ours."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from clwe_jax import api

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bank", "river", "money", "##s", ".", "the"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    r = np.random.RandomState(0)

    def random(*shape):
        return r.standard_normal(shape).astype(np.float32)

    arrays = {
        f"embeddings.{x}_embeddings.weight": random(n, 8)
        for x, n in (("word", len(PIECES)), ("position", 16), ("token_type", 2))
    }
    arrays |= {
        "embeddings.LayerNorm.weight": np.ones(8, np.float32),
        "embeddings.LayerNorm.bias": random(8),
    }
    layer = "encoder.layer.0."
    for name in (
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
        "attention.output.dense",
        "intermediate.dense",
        "output.dense",
    ):
        arrays |= {f"{layer}{name}.weight": random(8, 8), f"{layer}{name}.bias": random(8)}
    for name in ("attention.output", "output"):
        arrays |= {
            f"{layer}{name}.LayerNorm.weight": np.ones(8, np.float32),
            f"{layer}{name}.LayerNorm.bias": random(8),
        }
    config = dict(
        model_type="bert",
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        vocab_size=len(PIECES),
        max_position_embeddings=16,
    )
    save_file(arrays, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    return str(folder)


def test_the_methods_of_a_model(folder):
    words = {"en": ["Bank", "river", "river", "the"], "de": ["money", "banks"]}
    model = api.load(f"hf:{folder}", languages=("en", "de"), words=words)
    assert model.languages == ("en", "de") and model.loaded.frequent["en"] == [
        "bank",
        "river",
        "the",
    ]
    vectors = model.encode(["The bank.", "river"], lang="de")
    assert vectors.shape == (2, 8) and np.isfinite(vectors).all()
    assert [word for word, _ in model.words("The banks.", lang="en")] == ["the", "banks", "."]
    near = model.neighbours("bank", lang="en", to="de", k=2)
    assert {found.word for found in near} == {"money", "banks"}
    assert model.knows("river", lang="de") and not model.knows("banks", lang="en")
    assert (
        model.loaded.config.model.layers == 1
        and not model.loaded.config.model.condition_on_language
    )
    with pytest.raises(ValueError, match="'fr'"):
        model.encode(["x"], lang="fr")


def test_without_words_and_languages(folder):
    model = api.load(folder)
    assert len(model.languages) == 103
    with pytest.raises(ValueError, match=r"api.load\(DIR, words={'en': \[...\]}\)"):
        model.neighbours("bank", lang="en")
    with pytest.raises(ValueError, match=r"languages: .*\['en'\]"):
        api.load(folder, languages="en")
    with pytest.raises(ValueError, match=r"en: .*\['bank'\]"):
        api.load(folder, words={"en": "bank"})
    with pytest.raises(ValueError, match="words: 'xx'"):
        api.load(folder, words={"xx": ["a"]})


def test_text_of_a_language_beyond_the_usual_ones_is_read(folder, tmp_path):
    """As clwe-jax mine opens models: hsb is none of multilingual BERT's languages."""
    (tmp_path / "en.vec").write_text("1 2\nbank 1 2\n")
    (tmp_path / "hsb.vec").write_text("1 2\nbanka 1 2\n")
    vectors = f"vec:hsb={tmp_path / 'hsb.vec'},en={tmp_path / 'en.vec'}"
    for model in (folder, f"hf:{folder}", f"{vectors}+hf:{folder}", f"hf:{folder}+{vectors}"):
        loaded = api.load_for(model, ["hsb", "en"])
        assert loaded.languages == ("hsb", "en")
        assert loaded.encode(["bank"], lang="hsb").any()
        if "+" in model:  # the downloaded model takes the languages of the other one
            assert api.load(model).encode(["bank"], lang="hsb").any()
    assert api.load_for(vectors, ["hsb", "hsb"]).languages == ("hsb", "en")


def test_arguments_for_another_kind_of_model(tmp_path):
    with pytest.raises(ValueError, match="Hugging Face; .* is none"):
        api.load(tmp_path, languages=("en",))
    with pytest.raises(FileNotFoundError, match="Hugging Face"):
        api.load(f"hf:{tmp_path}")

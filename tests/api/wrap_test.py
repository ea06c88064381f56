"""Loaded encoders as models of the api."""

import numpy as np

from clwe_jax import api
from clwe_jax.api.clcr import ClcrModel
from clwe_jax.api.wrap import wrap_loaded
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.clcr import Steps
from clwe_jax.encoders.clcr_models import ClcrModels
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.pair import PairModels
from clwe_jax.encoders.spaces import StaticSpaces


def a_model(language):
    tokenizer = type("Tokenizer", (), {"languages": (language,)})
    return LanguageModel(None, tokenizer, None, {"params": {"w": np.ones(2)}}, {language: ["a"]})


def test_each_kind_has_its_class_and_the_same_data():
    model = a_model("en")
    found = wrap_loaded(model)
    assert type(found) is api.Model and found.variables is model.variables
    assert found.frequent is model.frequent and found._indices is not model._indices

    static = StaticSpaces({"en": Vectors(["a"], np.ones((1, 2), np.float32))}, {}, {}, "en")
    assert type(wrap_loaded(static)) is api.StaticModel and wrap_loaded(static).raw is static.raw


def test_the_models_of_a_pair_and_of_a_hub_have_the_methods_too():
    models = {"en": a_model("en"), "de": a_model("de")}
    for loaded, kind in (
        (PairModels(models), api.PairModel),
        (ClcrModels(models, Steps({}, {}, threshold=0.3)), ClcrModel),
    ):
        found = wrap_loaded(loaded)
        assert type(found) is kind and list(found.models) == ["en", "de"]
        assert all(type(model) is api.Model for model in found.models.values())
        assert all(found.models[x].variables is models[x].variables for x in models)
    assert found.steps.threshold == 0.3 and found.reduced(threshold=0.5).steps.threshold == 0.5

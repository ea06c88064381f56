"""Values that are made when they are asked for."""

import pytest

from clwe_jax.embeddings.lazy_vectors import LazyVectors


def test_a_value_is_made_at_each_access_and_no_other_one():
    asked = []
    made = LazyVectors(["de", "en"], lambda key: asked.append(key) or key.upper())
    assert list(made) == ["de", "en"] and len(made) == 2 and "en" in made and not asked
    assert (made["en"], made["en"]) == ("EN", "EN") and asked == ["en"] * 2
    assert dict(made) == {"de": "DE", "en": "EN"}
    with pytest.raises(KeyError):
        made["fr"]

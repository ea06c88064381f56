"""Static word vectors of several languages in one space (E1-E7)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax.options.static import StaticRun
from clwe_jax.presets.base import YOUR_TEXT, Values, at, set_values

# 160,000 steps with a discriminator of 2 x 2048, and hundreds of dictionaries of 20,000 words on
# each side, need a GPU or a night.
_FEWER_STEPS = dict(
    adversarial=dict(epoch_size=64_000, hidden=256), self_learning=dict(max_words=5_000)
)
_STATIC_EVALS = dict(
    bli=dict(data="dictionaries", methods="nn,csls"), retrieval=dict(data="tatoeba")
)
_WIDE: Values = {
    # The authors of RCSLS recommend it for 300 dimensions.
    "align": dict(rcsls=dict(learning_rate=25.0)),
    # The papers choose among the vocabularies of fastText's and MUSE's vectors.
    "evals": dict(_STATIC_EVALS, bli=dict(_STATIC_EVALS["bli"], max_words=200_000)),
}
_STATIC: dict[str, Values] = {
    "laptop": {
        "data": dict(pocket_sentences=20_000),
        "embeddings": dict(dim=100, buckets=100_000, epochs=0),
        "align": _FEWER_STEPS,
    },
    "small": {
        "data": dict(YOUR_TEXT, languages="en,de,es,fr,ru,zh"),
        "embeddings": dict(dim=100, buckets=200_000, epochs=0),
        "align": _FEWER_STEPS,
        "evals": _STATIC_EVALS,
    },
    "base": {**_WIDE, "data": dict(YOUR_TEXT, languages="en,de,es,fr,it,ru,zh")},
    # A joint space of two languages, as in the paper.
    "paper": {**_WIDE, "data": dict(YOUR_TEXT, languages="en,de")},
}


def static(scale: str) -> ConfigDict:
    """Static vectors of several languages in one space (E1-E7).

    The config file sets `static.training`, `static.reallocation`, `static.refinement` and
    `align.name`.
    """
    return set_values(at(scale, StaticRun), _STATIC[scale])

"""Masked language models of word pieces (D1-D8)."""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, Values, at, set_values

_WIKIPEDIA = dict(
    source="tfds:wikipedia/20230601",
    languages=options.MBERT_LANGUAGES,
    dictionaries="dictionaries",
    sample_bytes=5_000_000,
    lower_case=False,
    heldout_share=0.0005,
)


def _evals(every_steps: int) -> dict[str, Any]:
    """The evaluations of a model that is trained on real text."""
    return dict(
        mlm=dict(every_steps=every_steps, batches=8),
        retrieval=dict(data="tatoeba", every_steps=every_steps),
        bli=dict(data="dictionaries"),
    )


# Most words are predicted, and most of these can be read (docs/lessons.md); more places for them.
_MASKS = dict(masking_rate=0.8, mask_share=0.2, keep_share=0.75, random_share=0.05)
_MASKED = {"laptop": 48, "small": 96}

_BERT_BASE: Values = {
    "vocab": dict(size=119_552),
    "model": dict(layers=12, width=768, heads=12, mlp_dim=3_072),
    "evals": _evals(20_000),
}
_BERT: dict[str, Values] = {
    "laptop": {
        # A part of the domains, no dropout (no sentence is seen three times): minutes, not hours.
        "data": dict(pocket_domains=DOMAINS),
        "model": dict(layers=2, width=128, heads=4, mlp_dim=512, dropout=0.0),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100),
        "train": dict(steps=3_000, batch_size=32, log_every_steps=50),
        "checkpoint": dict(every_steps=500),
        "evals": dict(mlm=dict(every_steps=1_000, batches=8), retrieval=dict(every_steps=1_500)),
    },
    "small": {
        "data": dict(
            **YOUR_TEXT, languages="en,de,es,fr,ru,zh", sample_bytes=5_000_000, sequence_length=128
        ),
        "vocab": dict(size=32_768),
        "model": dict(layers=6, width=384, heads=6, mlp_dim=1_536),
        "optimizer": dict(learning_rate=1e-3, warmup_steps=1_000),
        "train": dict(steps=20_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
        "evals": _evals(2_000),
    },
    "base": {
        **_BERT_BASE,
        "data": dict(**_WIKIPEDIA, sequence_length=128),
        "optimizer": dict(learning_rate=5e-4, warmup_steps=10_000),
        "train": dict(steps=500_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
    },
    "paper": {
        **_BERT_BASE,
        "data": dict(**_WIKIPEDIA, sequence_length=512),
        # LAMB is made for batches of thousands of rows; AdamW is as good below.
        "optimizer": dict(name="lamb", learning_rate=1.6e-3, warmup_steps=10_000),
        "train": dict(steps=500_000, batch_size=8_192, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
    },
}


def bert(scale: str) -> ConfigDict:
    """A masked language model of word pieces (D1-D8); its config file sets `task`.

    Args:
      scale: 'laptop', 'small', 'base' or 'paper', as in all presets.

    Raises:
      ValueError: an unknown scale.
    """
    return set_values(at(scale), _BERT[scale])


def mlm(scale: str) -> ConfigDict:
    """Plain masked language modelling, at `:laptop` and `:small` with the masks of `dict_mlm`."""
    config = bert(scale)
    if scale in _MASKED:
        config.task.update(_MASKS)
        config.model.norm = "pre"
        config.data.max_predictions = _MASKED[scale]
    if scale == "laptop":
        config.train.steps = 750
        config.checkpoint.every_steps = 250
    return config


def dict_mlm(scale: str, cross_lingual_share: float) -> ConfigDict:
    """DICT-MLM (D1-D8): labels as the paper draws them at `:base` and `:paper`, else in expectation.

    Args:
      cross_lingual_share: x, the probability of a label in another language.
    """
    config = mlm(scale)
    config.task = options.section_of("task", "dict_mlm", cross_lingual_share=cross_lingual_share)
    config.task.kept = "label" if scale == "paper" else "text"
    if scale in _MASKED:
        config.task.update(labels="expected", **_MASKS)
        # One product scores the labels of all languages. The layers stay in the labels' space without a
        # dense layer between and without languages, where words that are only read are held
        # (docs/lessons.md).
        config.model.update(language_embeddings=False, condition_on_language=False)
        config.objective.update(dense=False, hold=1.0)
    if scale == "small":
        config.vocab.update(size=49_152, dictionary_share=0.5)
    return config

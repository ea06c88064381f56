"""Two monolingual models made one: CLCR (B1-B7)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax.options.clcr import ClcrRun
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, at


def clcr(scale: str) -> ConfigDict:
    """CLCR of a source language and a target language.

    Args:
      scale: as in all presets.

    Raises:
      ValueError: an unknown scale.
    """
    config = at(scale, ClcrRun)
    paper = scale == "paper"
    config.clcr.faithful = paper
    if scale == "laptop":
        config.data.update(pocket_domains=DOMAINS, pocket_sentences=30_000)
        # The best of three choices of layers on development sentences; docs/lessons.md has the effect.
        config.clcr.encoder.update(steps=2_000, vocab_kind="word", vocab_size=4_000, layer="0-1")
        config.clcr.update(sentences=6_000, length=32)
        config.clcr.transform.update(hidden=256, steps=4_000)
        config.clcr.tune.update(steps=200, learning_rate=3e-4)
        config.clcr.predictor.update(hidden=128, steps=1_000)
        config.clcr.entailment.seeds = 5
    else:
        config.data.update(source=YOUR_TEXT["source"])
        config.data.pairs = "parallel"
        if scale == "small":
            config.clcr.sentences = 50_000
        if paper:
            config.data.languages = "zh,en"
            config.clcr.update(source="hf:bert-base-chinese", target="hf:bert-base-uncased")
            config.clcr.entailment.update(seeds=1, train="en:nli/train.en.tsv", tests="nli")
    return config

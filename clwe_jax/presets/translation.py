"""Translation models with one vector of a sentence (C1)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, Values, at, set_values

_SCALES: dict[str, Values] = {
    "laptop": {
        "data": dict(
            languages="en,de,es,fr", pocket_domains=DOMAINS, pocket_sentences=60_000,
            sequence_length=32,
        ),
        "vocab": dict(size=4_000),
        "model": dict(
            width=128, cells=128, layers=2, decoder_cells=256, language_width=16, dropout=0.0
        ),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100, schedule="linear"),
        "train": dict(steps=3_000, batch_size=64, log_every_steps=50),
        "checkpoint": dict(every_steps=500),
        "evals": dict(
            retrieval=dict(every_steps=1_500), bleu=dict(every_steps=1_500, max_sentences=100)
        ),
    },
    "small": {
        "data": dict(**YOUR_TEXT, languages="en,de,fr", sequence_length=64),
        "vocab": dict(size=16_000),
        "model": dict(width=256, cells=256, layers=3, decoder_cells=1_024),
        "optimizer": dict(warmup_steps=500),
        "train": dict(steps=20_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=1_000),
        "evals": dict(bleu=dict(every_steps=2_000, max_sentences=500)),
    },
    "paper": {
        "data": dict(**YOUR_TEXT, languages=options.MBERT_LANGUAGES, sequence_length=128),
        "vocab": dict(size=50_000, sample_bytes=100_000_000),
        "train": dict(steps=500_000, batch_size=2_048, microbatches=4, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
        "evals": dict(bleu=dict(every_steps=20_000, max_sentences=1_000)),
    },
}  # fmt: skip
_SCALES["base"] = {
    **_SCALES["paper"],
    "data": dict(**YOUR_TEXT, languages="en,de,es,fr,ru,zh", sequence_length=128),
    "train": dict(steps=200_000, batch_size=512, log_every_steps=100),
}


def translation(scale: str) -> ConfigDict:
    """LASER; see `bert` for the scales."""
    config = at(scale)
    config.data.temperature = 1.0
    config.vocab.kind = "bpe"
    config.task = ConfigDict(dict(name="translation", parallel="parallel", targets="", widths=3))
    config.model = ConfigDict(
        dict(
            name="laser", width=320, cells=512, layers=5, decoder_cells=2_048, language_width=32,
            dropout=0.1, dtype="auto",
        )
    )  # fmt: skip
    config.objective = ConfigDict(dict(name="translation"))
    config.optimizer = ConfigDict(
        dict(
            name="adam", learning_rate=1e-3, warmup_steps=4_000, schedule="inverse_sqrt", eps=1e-8,
            clip=5.0, groups={},
        )
    )  # fmt: skip
    data = dict(every_steps=0, data="dev", max_sentences=1_000)
    config.evals = ConfigDict(
        dict(
            retrieval=dict(data, name="retrieval", data="tatoeba"),
            mining=dict(data, name="mining", data="tatoeba", neighbourhood=4),
            bleu=dict(data, name="bleu", width=5, penalty=1.0),
        )
    )
    if scale == "laptop":
        config.task.parallel = options.SOURCE
        for spec in config.evals.values():
            spec.data = options.SOURCE
    return set_values(config, _SCALES[scale])

"""Translation models: with one vector of a sentence (C1), and without translations (E10)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, Values, at, set_values

_SCALES: dict[str, Values] = {
    "laptop": {
        # Of two languages each is written from the other alone, and nothing except the start makes a
        # sentence's vector like its translation's; a third language does.
        "data": dict(languages="en,de,fr", pocket_domains=DOMAINS, sequence_length=32),
        "vocab": dict(size=3_000),
        # Without word vectors at the start, minutes are too few.
        "init": dict(embeddings="joint", center=False),
        "model": dict(
            width=128, cells=128, layers=2, decoder_cells=256, language_width=16, dropout=0.0
        ),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100, schedule="linear"),
        "train": dict(steps=1_200, batch_size=64, log_every_steps=50),
        "checkpoint": dict(every_steps=600),
        "evals": dict(
            retrieval=dict(every_steps=600), bleu=dict(every_steps=600, max_sentences=60)
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
}
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
    _learn_from_pairs(config, scale, widths=3)
    config.model = options.section_of("model", "laser")
    config.objective = options.section_of("objective", "translation")
    config.optimizer.update(
        name="adam", warmup_steps=4_000, schedule="inverse_sqrt", eps=1e-8, clip=5.0
    )
    tests, dev = [options.SOURCE] * 2 if scale == "laptop" else ("tatoeba", "dev")
    config.evals = ConfigDict(
        dict(
            retrieval=options.section_of("evaluator", "retrieval", data=tests),
            mining=options.section_of("evaluator", "mining", data=tests, max_sentences=1_000),
            bleu=options.section_of("evaluator", "bleu", data=dev, max_sentences=1_000),
        )
    )
    return set_values(config, _SCALES[scale])


# The table of pieces learns at :base and :paper (E10); few steps wash its common space away.
_FIXED_TABLE = dict(table=dict(pattern="backbone/token_embedding", frozen=True))
_UNSUPERVISED: dict[str, Values] = {
    "laptop": {
        "data": dict(pocket_domains=DOMAINS, sequence_length=24),
        "vocab": dict(size=4_000),
        "task": dict(widths=2),
        "model": dict(
            layers=2,
            decoder_layers=2,
            shared_layers=2,
            width=128,
            heads=4,
            mlp_dim=512,
            dropout=0.0,
        ),
        "objective": dict(denoising=((0, 1.0), (500, 0.1), (1_500, 0.0)), translate_after=250),
        "optimizer": dict(
            learning_rate=2e-3, warmup_steps=100, schedule="linear", groups=_FIXED_TABLE
        ),
        "train": dict(steps=1_500, batch_size=64, log_every_steps=50),
        "checkpoint": dict(every_steps=500),
        "evals": dict(bleu=dict(every_steps=250, max_sentences=200)),
    },
    "small": {
        "data": dict(**YOUR_TEXT, sequence_length=64),
        "model": dict(width=256, heads=4, mlp_dim=1_024),
        "objective": dict(
            denoising=((0, 1.0), (10_000, 0.1), (30_000, 0.0)), translate_after=1_000
        ),
        "optimizer": dict(learning_rate=1e-3, warmup_steps=500, groups=_FIXED_TABLE),
        "train": dict(steps=30_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=1_000),
        "evals": dict(bleu=dict(every_steps=2_000, max_sentences=500)),
    },
    "paper": {
        "data": dict(**YOUR_TEXT, sequence_length=128),
        "vocab": dict(size=60_000, sample_bytes=100_000_000),
        "train": dict(steps=500_000, batch_size=512, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
        "evals": dict(bleu=dict(every_steps=10_000, max_sentences=1_000)),
    },
}
_UNSUPERVISED["base"] = _UNSUPERVISED["paper"]


def unsupervised_translation(scale: str) -> ConfigDict:
    """Translation from text without translations, started from word vectors; see `bert`."""
    config = at(scale)
    config.data.languages = "en,de"
    config.task = options.section_of("task", "sentences")
    config.model = options.section_of("model", "translator")
    config.objective = options.section_of("objective", "unsupervised_translation")
    config.optimizer.update(
        name="adam", learning_rate=1e-4, warmup_steps=4_000, schedule="constant", eps=1e-8
    )
    config.init.update(embeddings="joint", center=False, scale=4.0)
    dev, tests = [options.SOURCE] * 2 if scale == "laptop" else ("dev", "")
    config.evals = ConfigDict(
        dict(
            bleu=options.section_of("evaluator", "bleu", data=dev, max_sentences=1_000, width=1),
            retrieval=options.section_of("evaluator", "retrieval", data=tests),
        )
    )
    return set_values(config, _UNSUPERVISED[scale])


def supervised_translation(scale: str) -> ConfigDict:
    """The model of `unsupervised_translation` on parallel text."""
    config = unsupervised_translation(scale)
    _learn_from_pairs(config, scale, config.task.widths)
    config.objective = options.section_of("objective", "translation")
    return config


def _learn_from_pairs(config: ConfigDict, scale: str, widths: int) -> None:
    config.task = options.section_of("task", "translation", widths=widths)
    if scale != "laptop":
        config.data.pairs = "parallel"

"""The options of sense-aware language models: ELMo and BERT-Tiny with senses (A1-A13).

This module imports neither jax nor TensorFlow, so that `--help` answers at once.
"""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import config as options

BACKBONES = ("bilm", "transformer")

# Everything of `models.senses.config.SenseConfig` that the papers speak of, and where each default
# leaves them (`init`, `fast_start`).
_SENSES: dict[str, Any] = dict(
    senses=5, projected=16, alpha=0.01, queue=20_000, refresh_every=250, warmup_steps=20_000,
    warmup_slot=True, init="seeded", sigma=0.1, noise=0.1, sample=16, fast_start=True,
    seed_weight=10, prune_every=0, prune_after=40_000, prune_share=0.1, prune_least=20,
    translated_share=0.1, seed=0,
)  # fmt: skip

_BILM_SCALES: dict[str, dict[str, Any]] = {
    "laptop": {
        "data": dict(sequence_length=20),
        "vocab": dict(size=8_192),
        "model": dict(
            width=128, cells=256, dropout=0.1, filters=((1, 16), (2, 16), (3, 32), (4, 64))
        ),
        "objective": dict(negatives=512),
        "optimizer": dict(
            name="adam",
            learning_rate=3e-3,
            warmup_steps=100,
            schedule="linear",
            clip=1.0,
            scale=1.0,
        ),
        "train": dict(steps=2_400, batch_size=32, log_every_steps=50),
        "checkpoint": dict(every_steps=600),
    },
    "small": {
        "data": dict(source="text:corpora", dictionaries="dictionaries", sequence_length=20),
        "vocab": dict(size=65_536),
        "model": dict(width=256, cells=1_024),
        "objective": dict(negatives=4_096),
        "optimizer": dict(learning_rate=0.2, warmup_steps=0, clip=10.0),
        "train": dict(steps=50_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
    },
    "base": {
        "data": dict(source="text:corpora", dictionaries="dictionaries", sequence_length=16),
        "vocab": dict(size=200_000),
        "model": dict(width=512, cells=4_096),
        "objective": dict(negatives=8_192),
        "optimizer": dict(learning_rate=0.2, warmup_steps=0, clip=10.0),
        "train": dict(steps=600_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
    },
    "paper": {
        "data": dict(source="text:corpora", dictionaries="dictionaries", sequence_length=16),
        "vocab": dict(size=800_000),
        "model": dict(width=512, cells=4_096),
        "objective": dict(negatives=8_192),
        "optimizer": dict(learning_rate=0.2, warmup_steps=0, clip=10.0),
        "train": dict(steps=1_000_000, batch_size=512, microbatches=4, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
        # Sense vectors and centers are of 10 GB each: every core has its part of the words.
        "mesh": dict(tensor=32),
    },
}

_BERT_SCALES: dict[str, dict[str, Any]] = {
    "laptop": {
        "data": dict(sequence_length=64),
        "vocab": dict(size=8_192),
        "model": dict(layers=2, width=128, heads=4, mlp_dim=512, dropout=0.0),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100),
        "train": dict(steps=2_400, batch_size=32, log_every_steps=50),
        "checkpoint": dict(every_steps=600),
    },
    "small": {
        "data": dict(source="text:corpora", dictionaries="dictionaries", sequence_length=128),
        "vocab": dict(size=27_654),
        "model": dict(layers=4, width=256, heads=4, mlp_dim=1_024),
        "optimizer": dict(learning_rate=5e-4, warmup_steps=1_000),
        "train": dict(steps=50_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
    },
    "base": {
        "data": dict(
            source="text:corpora", dictionaries="dictionaries", sequence_length=128,
            max_predictions=20,
        ),
        "vocab": dict(size=27_654),
        "model": dict(layers=4, width=512, heads=8, mlp_dim=2_048),
        "optimizer": dict(learning_rate=1e-4, warmup_steps=20_000),
        "train": dict(steps=1_000_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
    },
}  # fmt: skip
_BERT_SCALES["paper"] = _BERT_SCALES["base"]

# The senses at each scale. In a short run representations move on faster than centers follow, so
# that senses are seeded late, and none is removed: the paper prunes after as many steps again as
# two warm-ups.
_SENSE_SCALES: dict[str, dict[str, Any]] = {
    "laptop": dict(queue=4_096, refresh_every=50, warmup_steps=1_200),
    "small": dict(refresh_every=100, warmup_steps=5_000, prune_every=5_000, prune_after=10_000),
    "base": dict(prune_every=20_000),
    "paper": dict(prune_every=20_000),
}  # fmt: skip


def sense_config(
    scale: str,
    system: str,
    *,
    backbone: str,
    languages: str,
    senses: int,
    translation: str = "none",
    sense_input: str = "own",
) -> ConfigDict:
    """The config of a sense-aware language model, or of its sense-agnostic twin.

    Args:
      scale: 'laptop', 'small', 'base' or 'paper'.
      system: the name shown in reports.
      backbone: 'bilm' (ELMo) or 'transformer' (BERT-Tiny).
      languages: e.g. 'en' or 'en,de'.
      senses: of a word; 1 for the sense-agnostic twin.
      translation: 'none', 'joint' or 'switch'; see `objectives.sense_loss`.
      sense_input: of a biLM, 'own' or 'context'; see `objectives.bilm`. With 'context' the backward
        model starts at every window's end: windows are twice as long, and half as many a step.

    Raises:
      ValueError: an unknown scale or backbone.
    """
    if scale not in options.SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(options.SCALES)}."
        )
    if backbone not in BACKBONES:
        raise ValueError(f"backbone={backbone!r}: one of {', '.join(BACKBONES)}")
    config = options.base_config()
    config.system, config.scale = system, scale
    config.data.languages = languages
    config.data.temperature = 1.0  # corpora are concatenated (A12)
    config.data.simplify_chinese = "zh" in languages.split(",")
    config.vocab.kind = "word"
    of_senses = {**_SENSES, **_SENSE_SCALES[scale], "senses": senses}
    objective = dict(negatives=0, translation=translation, switch_share=0.5, senses=of_senses)
    if backbone == "bilm":
        scales = _BILM_SCALES
        config.task = ConfigDict(
            dict(
                name="bilm", sentences="lines", reset="never", backward="reversed",
                max_characters=50,
            )
        )  # fmt: skip
        config.model = ConfigDict(
            dict(
                name="bilm", width=512, layers=2, cells=4_096, cell_clip=3.0, projection_clip=3.0,
                dropout=0.1, character_dim=16,
                filters=((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024)),
                highways=2, dtype="auto",
            )
        )  # fmt: skip
        config.objective = ConfigDict(dict(name="bilm", sense_input=sense_input, **objective))
        config.optimizer = ConfigDict(
            dict(
                name="adagrad", learning_rate=0.2, warmup_steps=0, schedule="constant",
                initial_accumulator=1.0, eps=1e-8, clip=10.0, scale=20.0,
            )
        )  # fmt: skip
    else:
        scales = _BERT_SCALES
        of_senses["warmup_slot"] = False
        config.task = ConfigDict(
            dict(name="mlm", masking_rate=0.15, mask_share=0.8, keep_share=0.1, random_share=0.1)
        )
        config.model = ConfigDict(
            dict(
                name="transformer", layers=4, width=512, heads=8, mlp_dim=2_048, dropout=0.1,
                norm="post", language_embeddings=False,
                condition_on_language=False, dtype="auto", remat=False,
            )
        )  # fmt: skip
        config.objective = ConfigDict(dict(name="sense_mlm", **objective))
        config.objective.senses.update(warmup_slot=False, projected=14)
        config.optimizer = ConfigDict(
            dict(
                name="adamw", learning_rate=1e-4, warmup_steps=20_000, schedule="linear",
                weight_decay=0.01, b1=0.9, b2=0.999, eps=1e-6, clip=1.0,
            )
        )  # fmt: skip
    for section, values in scales[scale].items():
        config[section].update(values)
    evals: dict[str, Any] = dict(mlm=dict(name="mlm", every_steps=600, batches=8))
    if scale == "laptop":
        config.data.pocket_domains = "money,nature,kitchen,sport,travel,school,music,animals"
        evals["senses"] = dict(name="senses", data="pocket", every_steps=600, sentences=1_000)
    else:
        config.data.sample_bytes = 5_000_000
    if "," in languages:
        if scale == "laptop":
            config.train.steps = 4_000  # half of the text is another language's
            config.objective.senses.warmup_steps = 2_000
            evals["senses"]["every_steps"] = 1_000
        elif scale == "paper" and backbone == "bilm":
            config.data.sequence_length = 12
            config.train.steps = 600_000
        config.projection = ConfigDict(
            dict(
                methods="orthogonal,least_squares",
                apply="orthogonal",
                lines=20_000,
                identical=True,
                anchors="words",
            )
        )
        data = "pocket" if scale == "laptop" else "tatoeba"
        evals["retrieval"] = dict(name="retrieval", data=data, every_steps=0, max_sentences=1_000)
        lists = "pocket" if scale == "laptop" else "dictionaries"
        evals["bli"] = dict(name="bli", data=lists, every_steps=0, occurrences=10)
    else:
        config.data.dictionaries = ""
        evals["wsd"] = dict(
            name="wsd", every_steps=0, training="", tests="", wordnet="", max_sentences=0
        )
    config.evals = ConfigDict(evals)
    if sense_input == "context":
        config.task.backward = "window"
        config.data.sequence_length *= 2
        config.train.batch_size //= 2
    return config

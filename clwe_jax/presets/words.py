"""Language models of whole words, with one or several senses of a word (A1-A13)."""

from __future__ import annotations

from typing import Any, Mapping

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.options.pretrain import ProjectionOptions
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, Values, at, set_values

# Values that differ from the defaults of `SenseOptions` in every system.
_SENSES: dict[str, Any] = dict(senses=1, prune_least=20)
# In a short run representations change faster than centers can follow: senses are seeded late, and
# none is removed. (The paper first removes senses after twice the warm-up's steps.)
_SENSE_SCALES: Values = {
    "laptop": dict(queue=4_096, refresh_every=50, warmup_steps=1_200),
    "small": dict(refresh_every=100, warmup_steps=5_000),
    "base": {},
    "paper": {},
}
# Senses are removed only in biLMs (A7; for Bi-SaELMo Table 8 of the paper).
_PRUNING: Values = {
    "laptop": {},
    "small": dict(prune_every=5_000, prune_after=10_000),
    "base": dict(prune_every=20_000),
    "paper": dict(prune_every=20_000),
}
# Steps between two evaluations. A held-out batch costs up to thirty training steps with a sampled
# softmax, because it is scored against the whole vocabulary.
_EVERY_STEPS = {"laptop": 800, "small": 2_000, "base": 10_000, "paper": 15_000}
# Steps between two evaluations of the senses at `:laptop`, of one language and of several, whose
# translations need labelled sentences; 0: at the end only.
_SENSES_EVERY_STEPS = {"elmo": (800, 0), "bert_tiny": (800, 2_000)}
_ELMO: dict[str, Values] = {
    "laptop": {
        "evals": dict(mlm=dict(every_steps=0)),
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
        "data": dict(**YOUR_TEXT, sequence_length=20),
        "vocab": dict(size=65_536),
        "model": dict(width=256, cells=1_024),
        "objective": dict(negatives=4_096),
        "train": dict(steps=50_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
    },
    "base": {
        "data": dict(**YOUR_TEXT, sequence_length=16),
        "vocab": dict(size=200_000),
        "objective": dict(negatives=8_192),
        "train": dict(steps=600_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
    },
    "paper": {
        "data": dict(**YOUR_TEXT, sequence_length=16),
        "vocab": dict(size=800_000),
        "objective": dict(negatives=8_192),
        "train": dict(steps=1_000_000, batch_size=512, microbatches=4, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
        # Sense vectors and centers take 10 GB each, so that every core holds a part of the words.
        "mesh": dict(tensor=32),
    },
}
_BERT_TINY: dict[str, Values] = {
    "laptop": {
        "vocab": dict(size=8_192),
        "model": dict(layers=2, width=128, heads=4, mlp_dim=512, dropout=0.0),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100),
        "train": dict(steps=2_400, batch_size=32, log_every_steps=50),
        "checkpoint": dict(every_steps=600),
    },
    "small": {
        "data": dict(**YOUR_TEXT, sequence_length=128),
        "vocab": dict(size=27_654),
        "model": dict(width=256, heads=4, mlp_dim=1_024),
        "optimizer": dict(learning_rate=5e-4, warmup_steps=1_000),
        "train": dict(steps=50_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
    },
    "base": {
        "data": dict(**YOUR_TEXT, sequence_length=128, max_predictions=20),
        "vocab": dict(size=27_654),
        "model": dict(width=512, heads=8, mlp_dim=2_048),
        "optimizer": dict(learning_rate=1e-4, warmup_steps=20_000),
        "train": dict(steps=1_000_000, batch_size=128, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
    },
}
_BERT_TINY["paper"] = _BERT_TINY["base"]


def elmo(scale: str, languages: str) -> ConfigDict:
    """A bidirectional LSTM language model of words read as characters (A1-A12).

    The config file sets `objective.senses.senses`, the senses of a word; with 1 it is ELMo.

    Args:
      languages: e.g. 'en' or 'en,de'.
    """
    config = _word_model(scale, languages)
    config.task = options.section_of("task", "bilm")
    config.model = options.section_of("model", "bilm")
    config.objective = options.section_of(
        "objective", "bilm", senses=_senses(scale, _PRUNING[scale])
    )
    # A2: the loss is summed over the window's steps, so that its gradients are not scaled.
    config.optimizer.update(
        name="adagrad",
        learning_rate=0.2,
        schedule="constant",
        initial_accumulator=1.0,
        eps=1e-8,
        clip=10.0,
        scale=0.0,
    )
    set_values(config, _ELMO[scale])
    if "," in languages and scale == "paper":
        config.data.sequence_length = 12
        config.train.steps = 600_000
    return _for_languages(config, scale, *_SENSES_EVERY_STEPS["elmo"])


def bert_tiny(scale: str, languages: str) -> ConfigDict:
    """A masked language model of whole words (A11); with several senses of a word SaBERT-Tiny.

    The config file sets `objective.senses.senses`.

    Args:
      languages: e.g. 'en' or 'en,de'.
    """
    config = _word_model(scale, languages)
    config.model.update(layers=4, language_embeddings=False, condition_on_language=False)
    senses = _senses(scale, dict(warmup_slot=False, projected=14))
    config.objective = options.section_of("objective", "sense_mlm", senses=senses)
    set_values(config, _BERT_TINY[scale])
    return _for_languages(config, scale, *_SENSES_EVERY_STEPS["bert_tiny"])


def _word_model(scale: str, languages: str) -> ConfigDict:
    config = at(scale)
    config.data.languages = languages
    config.data.temperature = 1.0  # corpora are concatenated (A12)
    config.data.simplify_chinese = "zh" in languages.split(",")
    config.vocab.kind = "word"
    config.evals = ConfigDict(
        dict(mlm=options.section_of("evaluator", "mlm", every_steps=_EVERY_STEPS[scale], batches=8))
    )
    return config


def _senses(scale: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a model's senses that differ from their defaults."""
    return {**_SENSES, **_SENSE_SCALES[scale], **more}


def _for_languages(config: ConfigDict, scale: str, one: int, pair: int) -> ConfigDict:
    """Sets the steps, the evaluations and the projection of a model of one or of several languages.

    Args:
      one, pair: steps between two evaluations of the senses of one and of several languages.
    """
    several = "," in config.data.languages
    laptop = scale == "laptop"
    if laptop:
        config.data.pocket_domains = DOMAINS
        every_steps = pair if several else one
        config.evals.senses = options.section_of(
            "evaluator", "senses", data=options.SOURCE, every_steps=every_steps
        )
    else:
        config.data.sample_bytes = 5_000_000
    if not several:
        config.data.dictionaries = ""
        config.evals.wsd = options.section_of("evaluator", "wsd")
        return config
    if laptop:
        config.train.steps = 4_000  # half of the text is another language's
        config.objective.senses.warmup_steps = 2_000
    with config.ignore_type():  # None without maps
        config.projection = ConfigDict(options.to_dict(ProjectionOptions()))
    sentences, lists = [options.SOURCE] * 2 if laptop else ("tatoeba", "dictionaries")
    config.evals.update(
        retrieval=options.section_of("evaluator", "retrieval", data=sentences),
        bli=options.section_of("evaluator", "bli", data=lists),
    )
    return config

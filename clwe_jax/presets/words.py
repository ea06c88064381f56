"""Language models of whole words, with one or several senses of a word (A1-A13)."""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.options.pretrain import ProjectionOptions
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, at, pick_for


def word_model(scale: str, languages: str) -> ConfigDict:
    """Text, evaluations, checkpoints and maps of a model of whole words.

    The config file sets its sizes, `task`, `objective`, `optimizer` and `train`.

    Args:
      languages: e.g. 'en' or 'en,de'.
    """
    config = at(scale)
    pick = pick_for(scale)
    laptop = scale == "laptop"
    several = "," in languages
    if laptop:
        config.data.pocket_domains = DOMAINS
    else:
        config.data.update(YOUR_TEXT, sample_bytes=5_000_000)
    config.data.languages = languages
    config.data.temperature = 1.0  # corpora are concatenated (A12)
    config.data.simplify_chinese = True  # any other language stays as it is (A12)
    config.vocab.kind = "word"
    config.train.log_every_steps = pick(50, 100, 100, 100)
    config.checkpoint.every_steps = pick(600, 2_000, 5_000, 5_000)
    config.evals = ConfigDict(dict(mlm=options.section_of("evaluator", "mlm", batches=8)))
    if laptop:
        # Those of several languages need labelled sentences of their translations: at the end.
        config.evals.senses = options.section_of(
            "evaluator", "senses", data=options.SOURCE, every_steps=0 if several else 800
        )
    if not several:
        config.data.dictionaries = ""
        config.evals.wsd = options.section_of("evaluator", "wsd")
        return config
    with config.ignore_type():  # None without maps
        config.projection = ConfigDict(options.to_dict(ProjectionOptions()))
    sentences, lists = [options.SOURCE] * 2 if laptop else ("tatoeba", "dictionaries")
    config.evals.update(
        retrieval=options.section_of("evaluator", "retrieval", data=sentences),
        bli=options.section_of("evaluator", "bli", data=lists),
    )
    return config


def senses(scale: str, several: bool, **values: Any) -> ConfigDict:
    """The options of a model's senses.

    In a short run representations change faster than centers can follow: senses are seeded late, and
    none is removed. (The paper first removes senses after twice the warm-up's steps.)

    Args:
      several: whether the text has several languages.
      values: those of the system.
    """
    pick = pick_for(scale)
    config = options.section_of("objective", "bilm").senses
    config.update(
        prune_least=20,
        queue=pick(4_096, 20_000, 20_000, 20_000),
        refresh_every=pick(50, 100, 250, 250),
        # Half of the text is another language's.
        warmup_steps=pick(2_000 if several else 1_200, 5_000, 20_000, 20_000),
        **values,
    )
    return config

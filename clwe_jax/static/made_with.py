"""The options that each file of trained vectors depends on: what a later start has to have in common."""

from __future__ import annotations

from typing import Any

from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.static import StaticRun
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.words.words import RULES

SUBWORDS = "subwords.npz"  # of joint vectors, where they are kept
# The options that decide which words are counted, and how often.
_TEXT = (
    "source",
    "languages",
    "lower_case",
    "simplify_chinese",
    "dictionaries",
    "dictionary_clean",
    "dictionary_pivot",
    "exclude_dictionaries",
    "pocket_sentences",
    "pocket_domains",
    "pocket_shared",
    "pocket_shared_order",
    "pocket_apart",
)


def made_with_options(config: StaticRun, name: str) -> dict[str, Any]:
    """The options that a file depends on, with their values."""
    # 'separate-de.npz' is of the kind 'separate'.
    kind = name.partition(".")[0].partition("-")[0]
    if name == SUBWORDS:
        kind = config.static.training
    made_with = {key: getattr(config.data, key) for key in _TEXT}
    made_with |= {"rules": RULES, "split": config.align.split, "seed": config.seed}
    if config.learns_from_pairs:
        made_with |= {"pairs": config.data.pairs, "held_out": config.data.held_out}
    if kind == "meanings":
        return made_with | {
            "words": to_dict(config.static.words),
            "min_count": config.embeddings.min_count,
            "training": config.static.training,
            "tests": training_dictionary.tests_of(config),
        }
    if kind in ("mined", "given", "paired"):
        if kind == "paired":
            made_with["mine"] = config.static.mine
        return made_with | {
            "words": to_dict(config.static.words),
            "mining": to_dict(config.static.mining),
            "training": config.static.training,
            "min_count": config.embeddings.min_count,
            "tests": training_dictionary.tests_of(config),
            "add_to": config.static.add_to,
        }
    if kind == "covered":
        return made_with | {"tests": training_dictionary.tests_of(config)}
    if kind in ("counts", "own_counts", "spellings"):
        return made_with
    made_with["temperature"] = config.static.temperature
    if kind != "balanced_counts":
        # `max_vocab` cuts the vectors after the training.
        made_with |= {k: v for k, v in values_of(config.embeddings).items() if k != "max_vocab"}
    if kind == "replace":
        made_with["replace_share"] = config.static.replace_share
    # The dictionary in the training leaves out test words.
    if kind in ("replace", "duong"):
        made_with["tests"] = training_dictionary.tests_of(config)
    return made_with

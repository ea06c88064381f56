"""The options that each file of trained vectors depends on: what a later start has to have in common."""

from __future__ import annotations

from typing import Any

from clwe_jax import options
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.static import StaticRun
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.words.words import RULES

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


def of_text(config: StaticRun) -> dict[str, Any]:
    """Of the counts and spellings of the text's words."""
    made_with = {key: getattr(config.data, key) for key in _TEXT}
    made_with |= {"rules": RULES, "split": config.align.split, "seed": config.seed}
    if config.learns_from_pairs:
        made_with |= {"pairs": config.data.pairs, "held_out": config.data.held_out}
    return made_with


def of_entries(config: StaticRun) -> dict[str, Any]:
    """Of counts that read the dictionary, which leaves out test words."""
    return of_text(config) | {"tests": training_dictionary.tests_of(config)}


def of_meanings(config: StaticRun) -> dict[str, Any]:
    """Of the vectors of the hub's words by another model."""
    made_with = of_entries(config) | {
        "words": to_dict(config.static.words),
        "min_count": config.embeddings.min_count,
        "training": config.static.training,
    }
    if config.learns_from_pairs:  # a run without a dictionary takes its hub from the option
        made_with["static.hub"] = options.hub_of(config)
    return made_with


def of_links(config: StaticRun) -> dict[str, Any]:
    """Of linked words, mined or of given pairs."""
    return of_meanings(config) | {
        "mining": to_dict(config.static.mining),
        "add_to": config.static.add_to,
    }


def of_paired(config: StaticRun) -> dict[str, Any]:
    """Of what given pairs teach, which begins with the vectors of linked words."""
    return of_links(config) | {"mine": config.static.mine}


def of_balanced_counts(config: StaticRun) -> dict[str, Any]:
    """Of the counts of the words that vectors are trained on."""
    return of_text(config) | {"temperature": config.static.temperature}


def of_vectors(config: StaticRun) -> dict[str, Any]:
    """Of vectors that are trained on text alone."""
    of_training = values_of(config.embeddings)
    del of_training["max_vocab"]  # it cuts the vectors after the training
    return of_balanced_counts(config) | of_training


def of_taught_vectors(config: StaticRun) -> dict[str, Any]:
    """Of vectors whose training reads the dictionary."""
    return of_vectors(config) | of_entries(config)


def of_replaced_vectors(config: StaticRun) -> dict[str, Any]:
    """Of vectors of text in which words are replaced by their translations."""
    return of_taught_vectors(config) | {"replace_share": config.static.replace_share}

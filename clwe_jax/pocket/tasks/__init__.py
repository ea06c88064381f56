"""Labelled rows of the embedded world, one generator a task, in all its languages.

Every generator takes (language, split, rows, seed, domains); those of spans take no number of rows. The splits are 'train', 'dev' and
'test'. Dev and test rows have words and templates that no training row has in any language, so that
a model must generalise; `heldout` says how. Labels are balanced.

    >>> from clwe_jax.pocket import tasks
    >>> tasks.named_entities("en", "train", 1, 0, tasks.DOMAINS)
"""

from clwe_jax.pocket.tasks.edges import constituents, coreference, roles
from clwe_jax.pocket.tasks.entities import named_entities
from clwe_jax.pocket.tasks.heldout import DOMAINS, SPLITS, join_domains
from clwe_jax.pocket.tasks.inference import inference_pairs, translated_pairs
from clwe_jax.pocket.tasks.opinions import reviews, topics
from clwe_jax.pocket.tasks.paraphrases import paraphrase_pairs
from clwe_jax.pocket.tasks.speech import parts_of_speech

# Name of a task of texts -> its generator; a row is (texts, label).
TEXTS = {
    "xnli": inference_pairs,
    "pawsx": paraphrase_pairs,
    "mldoc": topics,
    "topics": topics,
    "sentiment": reviews,
}

# Name of a task of spans -> its generator, of sentences without end.
SPANS = {"edge/consts": constituents, "edge/srl": roles, "edge/coref": coreference}

__all__ = [
    "DOMAINS",
    "SPANS",
    "SPLITS",
    "TEXTS",
    "join_domains",
    "named_entities",
    "parts_of_speech",
    "translated_pairs",
]

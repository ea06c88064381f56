"""Bi-SaELMo with context senses: a word's context on both sides selects its sense.

Beyond the paper, where each direction selects a sense by the word's own representation; the senses
are purer, and better at choosing translations (docs/lessons.md).

Command:
  python -m clwe_jax.main --config=configs/bi_saelmo_context.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh), or any number of languages.
  :laptop (default), :small, :base, :paper: as bi_saelmo.py, windows twice as long and half as many;
  three senses of a word and 64 components to select them by, at every scale.

Twin without senses: joint_elmo.py --config.task.backward=window, with the same windows
(--config.data.sequence_length, --config.train.batch_size).
Expected at :laptop, in nine minutes of one core: 60 of 100 sentences are found by CSLS, and senses have a
purity of .89.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale, languages="en,de")
    config.system = "Bi-SaELMo context senses"
    # A vector twice as wide needs more components to separate the meanings of two languages.
    config.objective.senses.update(senses=3, projected=64, alpha=0.01, init="seeded")
    config.objective.translation_share = 0.5
    config.objective.sense_input = "context"
    # Both models read the same window: windows are twice as long, half as many a step.
    config.task.backward = "window"
    config.data.sequence_length *= 2
    config.train.batch_size //= 2
    return config

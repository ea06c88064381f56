"""SaELMo with context senses: a word's context on both sides selects its sense.

Beyond the paper, where each direction selects a sense by the word's own representation; the senses
are purer (docs/lessons.md).

Command:
  python -m clwe_jax.main --config=configs/saelmo_context.py
  :laptop (default), :small, :base, :paper: as saelmo.py, windows twice as long and half as many.

Twin without senses: elmo.py --config.task.backward=window, with the same windows
(--config.data.sequence_length, --config.train.batch_size).
Expected: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("elmo", scale)
    config.system = "SaELMo context senses"
    config.objective.senses.senses = 5
    config.objective.sense_input = "context"
    # Both models read the same window: windows are twice as long, half as many a step.
    config.task.backward = "window"
    config.data.sequence_length *= 2
    config.train.batch_size //= 2
    return config

"""SaELMo with context senses: selected by the representations that predict a word from either side.

Beyond the paper, where each direction selects its own senses by a word's own representation. The
senses are purer (benchmarks/README.md).

Command:
  python -m clwe_jax.main --config=configs/saelmo_context.py
  :laptop (default), :small, :base, :paper: as saelmo.py, windows twice as long and half as many.

Twin without senses: elmo.py --config.task.backward=window, with the same windows
(--config.data.sequence_length, --config.train.batch_size).
Expected: the laptop's figures stand in benchmarks/README.md.
"""

from clwe_jax import config_senses


def get_config(scale: str = "laptop"):
    return config_senses.sense_config(
        scale,
        system="SaELMo, context senses",
        backbone="bilm",
        languages="en",
        senses=5,
        sense_input="context",
    )

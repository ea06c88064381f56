"""Bi-SaELMo with context senses: selected by the representations that predict a word.

Beyond the paper, where each direction selects its own senses by a word's own representation. The
senses are purer and choose translations better (benchmarks/README.md).

Command:
  python -m clwe_jax.main --config=configs/bi_saelmo_context.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh), or any number of languages.
  :laptop (default), :small, :base, :paper: as bi_saelmo.py, windows twice as long and half as many;
  three senses of a word, compared in 64 components, at every scale.

Twin without senses: joint_elmo.py --config.task.backward=window, with the same windows
(--config.data.sequence_length, --config.train.batch_size).
Expected: the laptop's figures stand in benchmarks/README.md.
"""

from clwe_jax import config_senses


def get_config(scale: str = "laptop"):
    config = config_senses.sense_config(
        scale,
        system="Bi-SaELMo, context senses",
        backbone="bilm",
        languages="en,de",
        senses=3,
        translation="joint",
        sense_input="context",
    )
    # A vector twice as wide needs more components to separate the senses of two languages.
    config.objective.senses.projected = 64
    return config

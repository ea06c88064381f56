"""Bi-SaELMo whose senses both directions tell together, by what predicts a word from either side.

Beyond the paper, where each direction tells them for itself by a word's own representation; purer,
and better at choosing translations (benchmarks/README.md).

Command:
  python -m clwe_jax.main --config=configs/bi_saelmo_both.py
  Another pair: --config.data.languages=en,ja (de, es, ja, zh), or any number of languages.
  :laptop (default), :small, :base, :paper: as bi_saelmo.py, windows twice as long and half as many;
  three senses of a word, told by 64 components, at every scale.

Twin without senses: joint_elmo.py --config.task.backward=window, with the same windows
(--config.data.sequence_length, --config.train.batch_size).
Expected: the laptop's figures stand in benchmarks/README.md.
"""

from clwe_jax import config_senses


def get_config(scale: str = "laptop"):
    config = config_senses.sense_config(
        scale,
        system="Bi-SaELMo told by both",
        backbone="bilm",
        languages="en,de",
        senses=3,
        translation="joint",
        told_by="both",
    )
    # Of a vector twice as wide more components tell apart what two languages mean.
    config.objective.senses.projected = 64
    return config

"""Joint-Replace: joint training, dictionary words replaced at random in the text (E6).

Command:
  python -m clwe_jax.main --config=configs/joint_replace.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 100 dimensions, two cores for an hour:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base              300 dimensions, seven languages in one space, a machine of many cores.
  :paper             300 dimensions, two languages, Wikipedia.

Expected: row `joint_replace` of docs/results.md, 2 minutes of one core.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.static(scale)
    config.system = "Joint-Replace"
    config.static.update(training="replace", reallocation=False, refinement=False)
    config.align.name = "procrustes"
    return config

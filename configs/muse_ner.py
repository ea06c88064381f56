"""MUSE: names by vectors of words that were aligned without a dictionary (C4, E4).

Command:
  python -m clwe_jax.main --config=configs/muse_ner.py

  :laptop (default)  the embedded world; configs/align_muse.py trains the vectors first, minutes, and
                     --config.encoder=run:DIR reads them
  :small, :base      your files: --config.transfer.train=en:FILE --config.transfer.tests=DIR, and
  :paper               published vectors: --config.encoder=vec:en=wiki.multi.en.vec,de=wiki.multi.de.vec

The tagger and its recipe are those of configs/bpe_bow_ner.py.

Expected: Table 2, F1: English .758, Dutch .477, German .481, Spanish .409.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("bpe_bow_ner", scale)
    config.system = "MUSE"
    config.encoder = "run:runs/align_muse"
    return config

"""Cross-lingual word and contextual representations in JAX: pretraining, alignment, evaluation."""

__version__ = "0.2.0"

"""Weights and vocabularies of other programs: Hugging Face, in and out."""

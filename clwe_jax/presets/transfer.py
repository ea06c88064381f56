"""Transfer to languages without labels (A14, C4-C8, D8, D9, E8, E9)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import options
from clwe_jax.options.transfer import TransferRun
from clwe_jax.presets.base import YOUR_TEXT, at, start_from


def transfer(scale: str, task: str, head: str) -> ConfigDict:
    """A task whose labels are learned in English and tested in other languages.

    Args:
      scale: as in all presets.
      task: a name of the registry's table 'transfer_task'.
      head: a name of the registry's table 'head'.

    Raises:
      ValueError: an unknown scale.
    """
    config = at(scale, TransferRun)
    laptop = scale == "laptop"
    config.transfer.task = task
    config.transfer.head = options.section_of("head", head)
    if laptop:
        config.transfer.seeds = 3
        config.data.pocket_sentences = 20_000
        config.transfer.joint.update(dim=100, buckets=100_000, epochs=0)
        config.transfer.embedder.update(width=64, cells=64)
        config.vocab.size = 4_000
    elif scale == "small":
        config.data.update(YOUR_TEXT)
        config.transfer.joint.update(dim=100, buckets=200_000, epochs=0)
        config.transfer.embedder.update(width=128, cells=128)
        config.vocab.size = 16_000
    else:
        config.data.update(YOUR_TEXT)
    return config


def laser_tagger(scale: str, task: str) -> ConfigDict:
    """The tagger of the LASER paper on LASER's encoder (C2, C3, C5, C6); its config sets the layers.

    Arguments as of `transfer`.
    """
    config = transfer(scale, task, "transformer_crf")
    config.encoder = "run:runs/laser"
    if scale != "paper":  # LASER's own languages there are all that have labels
        config.data.languages = start_from("laser", scale).data.languages
    config.transfer.words = "max"
    config.transfer.search.trials = 10 if scale == "laptop" else 30
    # The paper names no rate; chosen on English development rows of the embedded world.
    config.recipe.update(
        name="sgd", schedule="onecycle", learning_rate=0.05, momentum=0.95, patience=0
    )
    if scale == "laptop":
        config.transfer.head.update(width=64, mlp_dim=128)
        config.transfer.update(embedded_rows=1_000, embedded_tests=300)
    else:
        config.transfer.update(train=f"en:{task}/en.train.tsv", tests=task, lower_case=True)
    return config

"""Checks of the options of a transfer run; neither jax nor TensorFlow is imported."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import registry

_LAYERS = ("mix", "upper", "last", "top", "last4", "sum4", "mean", "each")
_LEARNED = ("bow", "gru", "lstm")  # encoders that learn with the head
_ENCODERS = ("run", "hf", "laser", "vec")
_TAGGERS = ("bilstm_crf", "transformer_crf")
_CLASSIFIERS = ("mean_mlp", "bilstm_max", "esim")
# Labelled things -> the heads of their tasks.
_HEADS = {
    "tags": ("linear", *_TAGGERS),
    "texts": ("linear", *_CLASSIFIERS),
    "spans": ("edge",),
}


def validate(config: ConfigDict) -> None:
    """Checks a transfer run, apart from its labelled files."""
    settings, encoder = config.transfer, config.encoder
    registry.check_name("transfer_task", settings.task)
    if settings.task == "sts":
        raise ValueError(
            "config.transfer.task='sts': its labels are numbers, which no head predicts; sentence "
            "similarity is measured without training: --config.transfer.task=pawsx has labels"
        )
    kind, head = registry.lookup("transfer_task", settings.task).kind, settings.head.name
    if head not in _HEADS[kind]:
        raise ValueError(
            f"config.transfer.head.name={head!r} does not fit the task {settings.task!r}, whose "
            f"{'words' if kind == 'tags' else kind} have labels: one of {', '.join(_HEADS[kind])}"
        )
    if kind == "spans":
        _probe(config)
    if kind == "texts" and settings.head.get("ending") == "crf":
        raise ValueError(
            "config.transfer.head.ending='crf' scores labels of words, and the task "
            f"{settings.task!r} has labels of texts: softmax"
        )
    layers = str(settings.layers)
    if layers not in _LAYERS and not layers.isdigit():
        raise ValueError(
            f"config.transfer.layers={layers!r}: one of {', '.join(_LAYERS)}, or a layer's number"
        )
    form, _, where = encoder.partition(":")
    if encoder not in ("joint", *_LEARNED) and (form not in _ENCODERS or not where):
        raise ValueError(
            f"config.encoder={encoder!r}: expected run:DIR, hf:DIR, laser:DIR, vec:en=FILE,de=FILE, "
            f"joint, or {', '.join(_LEARNED)}"
        )
    if settings.pieces and encoder not in _LEARNED:
        raise ValueError(
            f"config.transfer.pieces={settings.pieces!r} is the start of {', '.join(_LEARNED)}, and "
            f"config.encoder={encoder!r} has pieces of its own: --config.transfer.pieces=''"
        )
    if settings.lower_case and kind != "tags":
        raise ValueError(
            f"config.transfer.lower_case=True is of tagged words, and {settings.task!r} has none: "
            "config.data.lower_case is the encoders' option"
        )
    if settings.search.trials and settings.mode == "frozen" and layers == "each":
        raise ValueError(
            f"config.transfer.search.trials={settings.search.trials} chooses for one head, and "
            "config.transfer.layers='each' trains one a layer: --config.transfer.search.trials=0"
        )
    if settings.mode == "tune":
        _tuning(config, form, head)
    if settings.translate and not config.data.dictionaries:
        raise ValueError(
            f"config.transfer.translate={settings.translate!r} needs a dictionary: "
            "--config.data.dictionaries=DIR, a folder of xx-yy.txt"
        )
    if settings.translate == "test" and settings.center:
        raise ValueError(
            "config.transfer.center=True takes away the mean of each language, and "
            "config.transfer.translate='test' leaves one language: set one of them off"
        )
    if settings.center and encoder in _LEARNED:
        raise ValueError(
            f"config.transfer.center=True needs features of an encoder, and {encoder!r} learns with "
            "the head: set it to False"
        )


def _probe(config: ConfigDict) -> None:
    """Checks what spans with labels exclude."""
    settings = config.transfer
    if settings.mode == "tune":
        raise ValueError(
            f"config.transfer.mode='tune': {settings.task!r} measures what frozen vectors know: "
            "--config.transfer.mode=frozen"
        )
    if settings.translate:
        raise ValueError(
            f"config.transfer.translate={settings.translate!r}: the spans of {settings.task!r} are those "
            "of the untranslated words: --config.transfer.translate=''"
        )


def _tuning(config: ConfigDict, kind: str, head: str) -> None:
    """Checks what only fine-tuning cannot do."""
    if kind not in ("run", "hf", "laser"):
        raise ValueError(
            f"config.transfer.mode='tune' fine-tunes a language model, and config.encoder="
            f"{config.encoder!r} is none: give run:DIR, hf:DIR or laser:DIR, or "
            "--config.transfer.mode=frozen"
        )
    if config.transfer.layers == "each":
        raise ValueError(
            "config.transfer.layers='each' is of frozen features: name one of the others in mode "
            "'tune', such as last"
        )
    if head in ("bilstm_max", "esim"):
        raise ValueError(
            f"config.transfer.head.name={head!r} reads each text alone, and mode 'tune' reads a "
            "pair in one row: linear or mean_mlp, or --config.transfer.mode=frozen"
        )
    if config.transfer.center:
        raise ValueError(
            "config.transfer.center=True is of frozen features: set it to False in mode 'tune'"
        )
    if config.train.batch_size % config.train.microbatches:
        raise ValueError(
            f"config.train.batch_size={config.train.batch_size} is not divisible by "
            f"config.train.microbatches={config.train.microbatches}"
        )

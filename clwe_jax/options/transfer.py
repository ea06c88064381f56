"""All options of a transfer run: labels that are learned in one language and tested in others."""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
from typing import Annotated

from clwe_jax import registry
from clwe_jax.options import models, training
from clwe_jax.options.derived import list_files
from clwe_jax.options.evaluators import WordAlignerOptions
from clwe_jax.options.section import Count, OneOf, Range, Options, Share, Size, option, section
from clwe_jax.options.embeddings import FastTextOptions
from clwe_jax.options.systems import Run
from clwe_jax.options.tasks import check_source
from clwe_jax.options.text import LabelledOptions, SmallVocabOptions

_LAYERS = ("mix", "upper", "last", "top", "last4", "sum4", "mean", "each")
LEARNED = ("bow", "gru", "lstm")  # encoders that learn with the head
ENCODER_FOLDERS = ("run", "hf", "laser")  # kinds of encoders that are a folder
ENCODERS = (*ENCODER_FOLDERS, "vec")
# Weight of an encoder beside another without verses or text: of Basque news (NTREX), docs/no_encoder.md.
BESIDE = 0.3
_JOINT = re.compile(rf"\+(?:(\d*\.?\d+)\*)?(?=(?:{'|'.join(ENCODERS)}):)")


def encoder_parts(encoder: str) -> tuple[list[str], float | None]:
    """The encoders that `config.encoder` names, hf:DIR+run:DIR or hf:DIR+0.2*run:DIR, and the second's
    weight; None: it is not named.

    Raises:
      ValueError: more than two.
    """
    first, *others = _JOINT.split(encoder)
    if len(others) > 2:
        raise ValueError(f"config.encoder={encoder}: two encoders at most stand beside each other")
    return [first, *others[1:]], float(others[0]) if others and others[0] else None


def encoder_folder(where: str) -> str:
    """The folder of DIR?pool=mean&prompt=TEXT, a downloaded model and how it is read."""
    return where.partition("?")[0]


def encoder_files(encoder: str) -> list[str]:
    """The files of the encoders that `config.encoder` names; [] for ''."""
    parts = [part.partition(":") for part in encoder_parts(encoder)[0]]
    names = (x if kind == "vec" else encoder_folder(x) for kind, _, x in parts)
    return list(itertools.chain.from_iterable(map(list_files, names)))


def short_name(encoder: str) -> str:
    """'hf:e5?pool=mean+run:b' of hf:models/e5?pool=mean+run:runs/b; of vec:LANGUAGE=FILE,... its first file."""
    names = []
    for part in encoder_parts(encoder)[0]:
        kind, _, source = part.partition(":")
        path = source.split(",")[0].partition("=")[2] if kind == "vec" else source
        names.append(f"{kind}:{os.path.basename(os.path.normpath(path))}")
    return "+".join(names)


@dataclasses.dataclass(frozen=True)
class SearchOptions(Options):
    """A search of hyperparameters on the development rows (C6)."""

    trials: Count = option(
        0,
        "in mode frozen, trials of a Bayesian optimisation of recipe.l2 and the head's dropout; 0: none",
    )


@dataclasses.dataclass(frozen=True)
class MapsOptions(WordAlignerOptions):
    """Orthogonal maps of a language model's layers, onto the first training language, by config.data.pairs (E9)."""

    links: str = option(
        "",
        "STEM of files STEM.de-en with links `0-0 1-2` of these sentences | gold, with pocket | '': the "
        "encoder aligns the words, by the options below",
    )
    sentences: Size = option(30_000, "maximum number of sentences of a language")


@dataclasses.dataclass(frozen=True)
class TransferOptions(Options):
    """The task, its rows, and how the encoder's vectors are used."""

    task: str = option(
        "ner",
        "ner | pos | xnli | pawsx | mldoc | topics | sentiment, or labelled spans: edge/pos | "
        "edge/consts | edge/deps | edge/entities | edge/srl | edge/coref | edge/spr | edge/relations",
    )
    types: str = option("PER,LOC,ORG,MISC", "types of entities, for ner and edge/entities")
    lower_case: bool = option(
        False, "for ner and pos, whether words of the rows become lower case (C7)"
    )
    ignored: str = option("", "types whose entities become O, such as MISC, which PAN-X lacks")
    tags: int = option(17, "universal parts of speech, 17 or 12, for pos and edge/pos")
    train: str = option(
        "", "en:FILE,de:FILE | en:tfds:NAME | languages of the embedded world: en,de | '': en"
    )
    dev: str = option(
        "", "as train; '': a tenth of the training rows or 20, or the embedded world's"
    )
    tests: str = option(
        "", "a folder of {lang}.* files | tfds:NAME, with {lang} in it | '': the embedded world"
    )
    rows: str = option("", "training rows, or rows or shares by language: en:1,de:.25; '': all")
    test_rows: Count = option(0, "maximum number of rows of a test file; 0: all")
    embedded_rows: Size = option(2_000, "training rows of a language of the embedded world")
    embedded_tests: Size = option(
        500, "the embedded world's development and test rows of a language"
    )
    translate: Annotated[str, OneOf("", "train", "test")] = option(
        "",
        "translation word by word with data.dictionaries: train, training rows into the tested "
        "languages | test, test rows into the training language | '': none",
    )
    seeds: Size = option(
        5, "number of heads; they differ in initial parameters, dropout and order of rows"
    )
    search: SearchOptions = section(SearchOptions)
    mode: Annotated[str, OneOf("frozen", "tune")] = option(
        "frozen", "frozen, features of the encoder | tune, the backbone learns too"
    )
    layers: str = option(
        "mix", "mix (learned) | upper | last | top | last4 | sum4 | mean | a number | each"
    )
    words: Annotated[str, OneOf("first", "mean", "max")] = option(
        "mean", "a word's vector, of its pieces: first | mean | max"
    )
    text_vector: Annotated[str, OneOf("mean", "cls")] = option(
        "mean", "in mode tune, a text's vector: mean | cls"
    )
    reduce: Annotated[str, OneOf("", "extract", "extract,reorder")] = option(
        "",
        "with a CLCR run, how texts are reduced to pivots: extract | extract,reorder | '': "
        "every word is read",
    )
    pivot_probability: Share = option(
        0.0, "with reduce, minimum probability of a pivot; 0: the CLCR run's"
    )
    center: bool = option(False, "whether each language's own mean feature is subtracted")
    length: Annotated[int, Range(4)] = option(
        128, "longest training row: words, or in mode tune pieces"
    )
    head: Options = section(models.LinearHead, "head")
    align: MapsOptions = section(MapsOptions)
    pieces: str = option(
        "",
        "for bow, gru and lstm: run:DIR or laser:DIR, from whose pieces and table they start | "
        "'': the vocabulary is trained, and the table starts at random",
    )
    embedder: models.EmbedderOptions = section(models.EmbedderOptions)
    joint: FastTextOptions = section(FastTextOptions)


def _optimizer() -> training.OptimizerOptions:
    """XTREME's recipe (Hu et al. 2020)."""
    return training.OptimizerOptions(learning_rate=2e-5, weight_decay=0.0, eps=1e-8)


@dataclasses.dataclass(frozen=True)
class TransferRun(Run):
    """All options of a transfer run."""

    job: Annotated[str, OneOf("transfer", "evaluate")] = option("transfer", "transfer | evaluate")
    seed: Count = option(
        0, "seed of the first head; the next ones have seed + 1, seed + 2 and so on"
    )
    encoder: str = option(
        "joint",
        "run:DIR | hf:DIR | laser:DIR | vec:en=FILE,de=FILE | two of these, hf:DIR+run:DIR | "
        "joint, joint-align vectors of config.data, trained first | "
        "bow, gru, lstm, which learn from the labelled rows alone",
    )
    data: LabelledOptions = section(LabelledOptions)
    vocab: SmallVocabOptions = section(lambda: SmallVocabOptions(kind="bpe", size=50_000))
    transfer: TransferOptions = section(TransferOptions)
    recipe: training.RecipeOptions = section(training.RecipeOptions)
    optimizer: training.OptimizerOptions = section(_optimizer)
    train: training.EpochsOptions = section(training.EpochsOptions)
    mesh: training.MeshOptions = section(training.MeshOptions)
    report: training.ErrorsOptions = section(lambda: training.ErrorsOptions(errors=3))

    def check(self, run: Run, path: str) -> None:
        del run, path
        settings = self.transfer
        encoder = self.encoder
        registry.check_name("transfer_task", settings.task)
        kind = registry.lookup("transfer_task", settings.task).kind
        head = settings.head.name
        if kind not in settings.head.labelled:
            fitting = [
                x
                for x in registry.TABLES["head"]
                if kind in registry.options_class("head", x).labelled
            ]
            raise ValueError(
                f"config.transfer.head.name={head!r} does not fit the task {settings.task!r}, whose "
                f"{'words' if kind == 'tags' else kind} have labels: one of {', '.join(fitting)}"
            )
        if kind == "spans":
            _check_probe(self)
        if kind == "texts" and settings.head.ending == "crf":
            raise ValueError(
                "config.transfer.head.ending='crf' scores labels of words, and the task "
                f"{settings.task!r} has labels of texts: softmax"
            )
        layers = str(settings.layers)
        if layers not in _LAYERS and not layers.isdigit():
            raise ValueError(
                f"config.transfer.layers={layers!r}: one of {', '.join(_LAYERS)}, or a layer's number"
            )
        form, _, source = encoder.partition(":")
        if encoder not in ("joint", *LEARNED) and (form not in ENCODERS or not source):
            raise ValueError(
                f"config.encoder={encoder!r}: expected run:DIR, hf:DIR, laser:DIR, vec:en=FILE,de=FILE, "
                f"joint, or {', '.join(LEARNED)}"
            )
        if settings.pieces and encoder not in LEARNED:
            raise ValueError(
                f"config.transfer.pieces={settings.pieces!r} is the start of {', '.join(LEARNED)}, and "
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
            _check_tuning(self, form, head)
        if settings.translate and not self.data.dictionaries:
            raise ValueError(
                f"config.transfer.translate={settings.translate!r} needs a dictionary: "
                "--config.data.dictionaries=DIR, a folder of xx-yy.txt"
            )
        if settings.translate == "test" and settings.center:
            raise ValueError(
                "config.transfer.center=True takes away the mean of each language, and "
                "config.transfer.translate='test' leaves one language: set one of them off"
            )
        if encoder in ("joint", *LEARNED) and self.data.source:
            check_source(self.data.source, "text:DIR")
        if layers != "mix" and encoder in LEARNED:
            raise ValueError(
                f"config.transfer.layers={layers!r}: {encoder!r} has no layers: --config.transfer.layers=mix"
            )
        if settings.center and encoder in LEARNED:
            raise ValueError(
                f"config.transfer.center=True needs features of an encoder, and {encoder!r} learns with "
                "the head: set it to False"
            )


def _check_probe(run: TransferRun) -> None:
    """Checks what spans with labels exclude."""
    settings = run.transfer
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


def _check_tuning(run: TransferRun, kind: str, head: str) -> None:
    """Checks what only fine-tuning cannot do."""
    if kind not in ENCODER_FOLDERS:
        raise ValueError(
            f"config.transfer.mode='tune' fine-tunes a language model, and config.encoder="
            f"{run.encoder!r} is none: give run:DIR, hf:DIR or laser:DIR, or "
            "--config.transfer.mode=frozen"
        )
    if run.transfer.layers == "each":
        raise ValueError(
            "config.transfer.layers='each' is of frozen features: name one of the others in mode "
            "'tune', such as last"
        )
    if run.transfer.head.apart:
        raise ValueError(
            f"config.transfer.head.name={head!r} reads each text alone, and mode 'tune' reads a "
            "pair in one row: linear or mean_mlp, or --config.transfer.mode=frozen"
        )
    if run.transfer.center:
        raise ValueError(
            "config.transfer.center=True is of frozen features: set it to False in mode 'tune'"
        )

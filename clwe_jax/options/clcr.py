"""Options of CLCR."""

from __future__ import annotations

import dataclasses
import re
from typing import Annotated, Any

from clwe_jax.options import derived as shared
from clwe_jax.options.section import (
    Amount,
    Count,
    OneOf,
    Positive,
    Range,
    Rate,
    Options,
    Share,
    Size,
    option,
    section,
)
from clwe_jax.options.systems import Run
from clwe_jax.options.text import SOURCE, WorldOptions
from clwe_jax.options.training import ReportOptions

STARTS = ("zero", "procrustes")
# Options of `config.clcr` beyond the paper -> the values that switch them off; and the paper's phases 2
# and 3.
AS_PRINTED: dict[str, Any] = {
    "whiten": False,
    "unit_length": False,
    "contrast": 0,
    "transform.start": "zero",
    "tune.rounds": 1,
}
_KINDS = ("run", "hf")
_LAYER = re.compile(r"(\d+)(?:-(\d+))?")


@dataclasses.dataclass(frozen=True)
class TransformOptions(Options):
    """The training of a map by attention matching."""

    beta: Amount = option(0.01, "the temperature is 1 / (1 + beta step); 0: it stays 1")
    hidden: Count = option(256, "units of the inner layer; 0: a linear map")
    steps: Size = option(2_000, "optimizer steps (Adam; the rate falls linearly to 0)")
    batch_size: Size = option(64, "sentence pairs of a step")
    learning_rate: Amount = option(0.002, "highest learning rate")
    weight_decay: Amount = option(0.0, "decoupled weight decay")
    start: Annotated[str, OneOf(*STARTS)] = option(
        "zero",
        "'zero', a map to 0, whose attention is uniform; 'procrustes' (beyond the paper), the "
        "orthogonal map of the pivots that linear regression finds",
    )


@dataclasses.dataclass(frozen=True)
class TuneOptions(Options):
    """Phases 2 and 3: a model learns towards the vectors of the other, which stay as they are."""

    rounds: Count = option(
        0, "number of times that both models learn, the source's model first; 0: none"
    )
    steps: Size = option(
        300, "optimizer steps of a model and round (Adam; the rate falls linearly to 0)"
    )
    batch_size: Size = option(32, "sentence pairs of a step")
    learning_rate: Amount = option(1e-4, "highest learning rate")


@dataclasses.dataclass(frozen=True)
class PredictorOptions(Options):
    """The training of a network of one hidden layer on weighted rows."""

    hidden: Size = option(256, "units of the hidden layer")
    steps: Size = option(1_500, "optimizer steps (AdamW; the rate falls linearly to 0)")
    batch_size: Size = option(256, "rows of a step")
    learning_rate: Amount = option(0.001, "highest learning rate")
    weight_decay: Amount = option(0.01, "decoupled weight decay")
    dropout: Rate = option(0.1, "dropout rate of the hidden layer, below 1")


@dataclasses.dataclass(frozen=True)
class EncoderOptions(Options):
    """Language models that are trained first."""

    steps: Size = option(20_000, "training steps")
    vocab_kind: Annotated[str, OneOf("wordpiece", "unigram", "bpe", "word")] = option(
        "wordpiece", "wordpiece | unigram | bpe | word"
    )
    vocab_size: Annotated[int, Range(16)] = option(16_000, "pieces or words")
    layer: str = option("", "clcr.layer of these models alone, where clcr.layer is ''")


@dataclasses.dataclass(frozen=True)
class EntailmentOptions(Options):
    """Table 4: ESIM on T, T + E, T + E + R and on translations."""

    seeds: Count = option(0, "heads of a row; 0: no entailment")
    train: str = option(
        "",
        "as of config.transfer (configs/nli_esim.py), in the target's language | '', with tests='': the "
        "embedded world",
    )
    tests: str = option("", "a folder of test files | '': the embedded world")
    multilingual: str = option(
        "", "one model of both languages for the row mBERT: run:DIR or hf:DIR | '': no such row"
    )


@dataclasses.dataclass(frozen=True)
class ClcrOptions(Options):
    """Two monolingual models made one (B1-B7)."""

    source: str = option(
        "", "run:DIR or hf:DIR, a language model of the source's language | '': trained first"
    )
    target: str = option("", "the same for the target's language")
    hub: str = option(
        "",
        "folders of finished CLCR runs with the same target (DIR,DIR), whose space and model of the "
        "target this run takes and whose languages it joins | '': two languages",
    )
    encoder: EncoderOptions = section(EncoderOptions)
    parallel: str = option(
        SOURCE,
        "parallel sentences: source (config.data.pairs, else pocket where data.source is) | pocket | a place "
        "as of config.data.pairs",
    )
    gold: str = option(
        SOURCE,
        "gold links, for the figures: source (pocket where clcr.parallel is) | pocket | a folder | '': "
        "none",
    )
    gold_part: Annotated[str, OneOf("test", "dev")] = option(
        "test",
        "the sentences with gold links on which the figures are measured: test | dev, others, "
        "to choose options on",
    )
    sentences: Size = option(250_000, "maximum number of parallel sentences")
    test_sentences: Size = option(500, "maximum number of sentences with gold links")
    length: Annotated[int, Range(2)] = option(64, "maximum number of words of a sentence")
    layer: str = option(
        "",
        "a number, a range, mean_last4 | '': two thirds of the depth (clcr.faithful: three quarters)",
    )
    faithful: bool = option(
        False,
        "the paper's method: the options beyond it are off, whatever their values, and both encoders "
        "learn (docs/clcr.md has the list)",
    )
    whiten: bool = option(True, "whether vectors are whitened before T")
    unit_length: bool = option(True, "whether they are scaled to one length")
    # The rows of Table 1 share these sizes.
    transform: TransformOptions = section(lambda: TransformOptions(hidden=1_536, steps=20_000))
    tune: TuneOptions = section(lambda: TuneOptions(steps=2_000, learning_rate=3e-5))
    contrast: Count = option(
        10,
        "number of other sentences to which a word's distances are compared; the unit is then "
        "the distance to the nearest word there | 0: the plain symmetric distances",
    )
    threshold: Positive = option(
        1.0,
        "largest distance of a pivot; 1: as near as in other sentences (contrast=0: the mean distance "
        "of words to their mean vector)",
    )
    predictor: PredictorOptions = section(lambda: PredictorOptions(hidden=512, steps=10_000))
    pivot_probability: Share = option(0.2, "minimum probability of a pivot when the model is used")
    beam: Size = option(10, "width of the beam that searches for an order when the model is used")
    reordered: Annotated[str, OneOf("source", "target")] = option(
        "source", "the side whose words get the other one's order: source | target"
    )
    entailment: EntailmentOptions = section(EntailmentOptions)


@dataclasses.dataclass(frozen=True)
class ClcrData(WorldOptions):
    """Text of the encoders that are trained first."""

    languages: str = option("ja,en", "the source, which is mapped and reordered, and the target")
    dictionaries: str = option(SOURCE, "dictionaries of translate-train and translate-test")


@dataclasses.dataclass(frozen=True)
class ClcrRun(Run):
    """All options of a CLCR run."""

    job: Annotated[str, OneOf("clcr")] = option("clcr", "clcr")
    seed: Count = option(0, "of the encoders, the maps and the predictors")
    data: ClcrData = section(ClcrData)
    clcr: ClcrOptions = section(ClcrOptions)
    report: ReportOptions = section(ReportOptions)

    def resolve(self) -> ClcrRun:
        """Also with gold links and entailment that follow the sentences, and the paper's values."""
        run = super().resolve()
        settings = run.clcr
        if settings.parallel == SOURCE:
            place = run.training_pairs or ("" if run.has_own_data else "pocket")
            settings = dataclasses.replace(settings, parallel=place)
        if settings.gold == SOURCE:
            gold = "pocket" if settings.parallel == "pocket" else ""
            settings = dataclasses.replace(settings, gold=gold)
        for path, value in AS_PRINTED.items() if settings.faithful else ():
            name, _, inner = path.partition(".")
            if inner:
                value = dataclasses.replace(getattr(settings, name), **{inner: value})
            settings = dataclasses.replace(settings, **{name: value})
        if settings.parallel != "pocket" and not settings.entailment.train:
            # The labels of the embedded world belong to its own sentences.
            unlabelled = dataclasses.replace(settings.entailment, seeds=0)
            settings = dataclasses.replace(settings, entailment=unlabelled)
        return dataclasses.replace(run, clcr=settings)

    def check(self, run: Run, path: str) -> None:
        del run, path
        settings = self.clcr
        names = shared.languages(self)
        if len(names) != 2:
            raise ValueError(
                f"config.data.languages={self.data.languages}: CLCR maps one language to another; "
                "name two, the source first: --config.data.languages=ja,en"
            )
        for name, layer in (("layer", settings.layer), ("encoder.layer", settings.encoder.layer)):
            _check_layer(f"config.clcr.{name}", layer)
        for side in ("source", "target"):
            model = getattr(settings, side)
            kind, _, folder = model.partition(":")
            if model and (kind not in _KINDS or not folder):
                raise ValueError(
                    f"config.clcr.{side}={model!r}: expected run:DIR or hf:DIR, a language "
                    "model, or '' to train one first"
                )
        if settings.source and settings.source == settings.target:
            raise ValueError(
                f"config.clcr.source and config.clcr.target are the same model, {settings.source}: CLCR "
                f"maps the model of one language to another's; name one of {names[0]} and one of "
                f"{names[1]}"
            )
        if settings.hub and settings.target:
            raise ValueError(
                f"config.clcr.target={settings.target}: the runs of config.clcr.hub={settings.hub} give the "
                "target's model: --config.clcr.target=''"
            )
        if settings.hub and (settings.reordered != "source" or settings.tune.rounds):
            raise ValueError(
                "config.clcr.hub: the target keeps its space and its order for all languages: "
                "--config.clcr.reordered=source --config.clcr.tune.rounds=0 --config.clcr.faithful=False"
            )
        if not settings.parallel:
            raise ValueError(
                "config.data.pairs is empty: CLCR learns from parallel sentences, "
                "--config.data.pairs=DIR (xx-yy.xx and xx-yy.yy) or DIR/train (train.xx, train.yy)"
            )
        if settings.gold == "pocket" and settings.parallel not in ("pocket", SOURCE):
            raise ValueError(
                "config.clcr.gold='pocket' are sentences of the embedded world, and "
                f"config.clcr.parallel={settings.parallel} are others: --config.clcr.gold='', or a folder of "
                "gold links"
            )
        _check_entailment(self, names)
        untrained = not (settings.source and settings.target)
        if untrained and self.data.source != "pocket" and not self.data.source.startswith("text:"):
            raise ValueError(
                f"config.data.source={self.data.source!r}: expected pocket or text:DIR, the text of "
                "the encoders that are trained first; or name them with --config.clcr.source and .target"
            )


def _check_layer(option: str, wanted: Any) -> None:
    """Raises ValueError for what names no layers of any model."""
    match = _LAYER.fullmatch(str(wanted))
    if wanted in ("", "mean_last4") or match and int(match[1]) <= int(match[2] or match[1]):
        return
    raise ValueError(
        f"{option}={wanted!r}: expected a number (0: the embeddings), a rising range such as '0-1', "
        "'mean_last4', or ''"
    )


def _check_entailment(run: ClcrRun, names: tuple[str, ...]) -> None:
    settings = run.clcr.entailment
    if bool(settings.train) != bool(settings.tests):
        raise ValueError(
            f"config.clcr.entailment.train={settings.train!r}, tests={settings.tests!r}: give training "
            f"files ({names[1]}:FILE) and a folder of test files, or neither for the embedded world"
        )
    kind, _, folder = settings.multilingual.partition(":")
    if settings.multilingual and (kind not in _KINDS or not folder):
        raise ValueError(
            f"config.clcr.entailment.multilingual={settings.multilingual!r}: expected run:DIR or hf:DIR, "
            "one model of both languages, or ''"
        )

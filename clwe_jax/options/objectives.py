"""Options of objectives."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Sequence

from clwe_jax.options import derived
from clwe_jax.options.section import (
    AT,
    Amount,
    Count,
    OneOf,
    OptionError,
    Rate,
    Options,
    Share,
    option,
    section,
)
from clwe_jax.options.senses import SenseOptions
from clwe_jax.options.tasks import check_translating

SENSE_INPUTS = ("own", "context")


@dataclasses.dataclass(frozen=True)
class MlmOptions(Options):
    """Cross-entropy at the weighted positions."""

    name = "mlm"
    tied: bool = option(
        True,
        "whether the output scores pieces with the input's table (BERT), not with a table of "
        "its own",
    )
    dense: bool = option(True, "whether a dense layer comes before the scores (BERT); XLM has none")
    stay_near_embeddings: Amount = option(
        0.0,
        "weight of the distance between each layer's output and the embedding output, at "
        "positions that are not predicted. If the token table holds a common space, the layers "
        "stay in it",
    )
    align_labels: Amount = option(
        0.0,
        "weight of the distance in the token table between a predicted word and its labels "
        "(ALIGN-MLM; Tang et al. 2022), with config.task.labels=expected",
    )

    def check(self, run: Any, path: str) -> None:
        if self.align_labels and run.task.labels != "expected":
            raise ValueError(f"{path}.align_labels needs all labels: --config.task.labels=expected")
        if not self.dense and run.model.condition_on_language:
            raise ValueError(
                f"{path}.dense=False: a head without a dense layer cannot read the language: "
                "--config.model.condition_on_language=False"
            )


@dataclasses.dataclass(frozen=True)
class SenseLossOptions(Options):
    """The loss of words by their senses."""

    negatives: Count = option(
        0,
        "number of words drawn for a training batch, one sense of each; 0: all senses of all words",
    )
    translation_share: Share = option(
        0.0,
        "weight of a word's translations in its loss, from 0 to 1; each language that has any "
        "weighs the same. 0.5 is Eq. 7",
    )
    senses: SenseOptions = section(lambda: SenseOptions(senses=1))  # 1: plain cross-entropy

    def check(self, run: Any, path: str) -> None:
        if self.translation_share:
            choice = f"{path}.translation_share={self.translation_share}"
            check_translating(run, choice)
            if run.data.source.startswith("batches:"):
                raise ValueError(
                    f"{choice} reads translations, which prepared batches lack: "
                    "--config.data.source=text:DIR"
                )


@dataclasses.dataclass(frozen=True)
class BiLmLossOptions(SenseLossOptions):
    """ELMo, SaELMo, Joint-ELMo and Bi-SaELMo."""

    name = "bilm"
    sense_input: Annotated[str, OneOf(*SENSE_INPUTS)] = option(
        "own",
        "input of sense selection: 'own', a word's own representation, in each model "
        "separately (A4, A9); 'context', the representations of both models that predict it",
    )

    def check(self, run: Any, path: str) -> None:
        super().check(run, path)
        if self.sense_input == "context" and run.task.backward != "window":
            raise ValueError(
                f"{path}.sense_input='context' needs both models at the same words: set "
                "--config.task.backward=window"
            )


@dataclasses.dataclass(frozen=True)
class SenseMlmOptions(SenseLossOptions):
    """A Transformer over whole words that predicts the senses of masked words."""

    name = "sense_mlm"


@dataclasses.dataclass(frozen=True)
class TranslationOptions(Options):
    """The loss of translations (`types.Objective`, `types.Encodes`, `types.Generates`)."""

    name = "translation"


@dataclasses.dataclass(frozen=True)
class UnsupervisedTranslationOptions(TranslationOptions):
    """Denoising and back-translation (`types.Objective`, `types.Encodes`, `types.Generates`)."""

    name = "unsupervised_translation"
    shuffle: Amount = option(3.0, "maximum number of places that a word moves")
    drop: Rate = option(0.1, "rate of words that are left out")
    blank: Rate = option(0.2, "rate of words that become [MASK]")
    denoising: Sequence[Sequence[float]] = option(
        ((0, 1.0), (100_000, 0.1), (300_000, 0.0)),
        "(step, weight) of the autoencoder's loss, linear between the steps and constant "
        "after the last one",
    )
    translate_after: Count = option(0, "steps before the first back-translation")

    def __post_init__(self) -> None:
        super().__post_init__()
        steps = [step for step, _ in self.denoising]
        if not steps or steps != sorted(set(steps)) or min(w for _, w in self.denoising) < 0:
            raise OptionError(
                f"{AT}.denoising={self.denoising}: expected (step, weight) with ascending steps and "
                "weights of at least 0"
            )

    def check(self, run: Any, path: str) -> None:
        if len(derived.languages(run)) < 2:
            raise ValueError(
                f"{path}.name={self.name!r} needs two languages or more: --config.data.languages=en,de"
            )

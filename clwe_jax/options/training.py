"""Options of training, and of what every run writes."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Mapping

from clwe_jax.options.section import (
    AT,
    Amount,
    Count,
    OneOf,
    OptionError,
    Positive,
    PositiveShare,
    Range,
    Rate,
    Options,
    Share,
    Size,
    entries,
    option,
    section,
    values_of,
)

NAMES = ("adam", "adamw", "lamb", "muon", "adagrad")
SCHEDULES = ("linear", "constant", "inverse_sqrt")
DEFAULT = "default"  # the group of the parameters that no pattern matches
HEAD_OPTIMIZERS = ("sgd", "adam", "adamw")
HEAD_SCHEDULES = ("constant", "halve", "onecycle", "linear")
# The values of `init.embeddings` for which a run trains word vectors first.
TRAINED_STARTS = ("joint", "joint+dictionary")
START_METHODS = ("mean", "wechsel", "focus", "subword")  # from words to tokens
MAX_START_DIM = 300  # of vectors that are trained for a start
_PARAMETERS = "run:DIR, npz:FILE or hf:DIR"
GIVEN = "given"  # the value of finish.pairs for config.data.pairs
MINED = "mined"  # the value of an option that names parallel text: mined in the run's own text


@dataclasses.dataclass(frozen=True)
class GroupOptions(Options):
    """A group of parameters with its own rate and decay; None: those of the optimizer."""

    pattern: str = option(
        "", "a regular expression that matches the whole paths of its parameters ('model/embed/.*')"
    )
    frozen: bool = option(
        False, "whether these parameters never change and have no optimizer state"
    )
    learning_rate: float | None = option(None, "the highest learning rate")
    warmup_steps: int | None = option(None, "steps of linear growth from 0 to learning_rate")
    schedule: str | None = option(None, "learning rate after the warm-up")
    final_share: float | None = option(
        None, "share of the highest rate that a 'linear' schedule goes down to"
    )
    weight_decay: float | None = option(None, "decoupled decay")
    decay_to_start: float | None = option(None, "decoupled decay towards the values at the start")


@dataclasses.dataclass(frozen=True)
class OptimizerOptions(Options):
    """One optimizer with its schedule, clipping and groups of parameters."""

    name: Annotated[str, OneOf(*NAMES)] = option(
        "adamw",
        "'adam', 'adamw', 'lamb' (You et al. 2020, Algorithm 2), 'muon' (Jordan 2024: kernels of "
        "Transformer layers move by orthogonalised momentum, and the rest as in adamw; `groups` can "
        "give these kernels their own rate) or 'adagrad'",
    )
    learning_rate: Amount = option(1e-3, "the highest learning rate")
    warmup_steps: Count = option(
        0, "steps of linear growth from 0 to `learning_rate` (at most the run's steps)"
    )
    schedule: Annotated[str, OneOf(*SCHEDULES)] = option(
        "linear",
        "learning rate after the warm-up: 'linear' decrease, to reach `final_share` of its highest "
        "value after the last step, 'constant', or 'inverse_sqrt' of the step, as in fairseq",
    )
    final_share: Share = option(0.0, "share of the highest rate that 'linear' goes down to")
    weight_decay: Amount = option(
        0.01, "decoupled decay of adamw, lamb and muon, without biases and normalisation scales"
    )
    decay_to_start: Amount = option(
        0.0,
        "decoupled decay, instead of `weight_decay`, towards the values from which the "
        "parameters began to learn (Li et al. 2018, L2-SP, decoupled as in AdamW)",
    )
    b1: Rate = option(0.9, "decay of the first moment of adam, adamw and lamb")
    b2: Rate = option(0.999, "decay of the second moment of adam, adamw and lamb")
    eps: Amount = option(1e-6, "addend to the root of the second moment, and of adagrad's sum")
    initial_accumulator: Amount = option(0.1, "initial sum of squares of adagrad")
    clip: Amount = option(
        1.0, "largest global norm of the gradient of all learning parameters; 0 for no clipping"
    )
    scale: Amount = option(
        1.0,
        "factor of the gradient, before clipping; 0: the length of a window. "
        "(ELMo's loss is a sum over the window's steps; Adagrad's first accumulator and "
        "clipping depend on that.)",
    )
    groups: Mapping[str, GroupOptions] = entries(
        GroupOptions, "name -> options of a group of parameters"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if DEFAULT in self.groups:
            raise OptionError(
                f"{AT}.groups: {DEFAULT!r} is the name of the group of all parameters that no pattern "
                "matches; choose another name."
            )
        for name, group in self.groups.items():
            if not group.pattern:
                raise OptionError(
                    f"{AT}.groups.{name}.pattern is missing: a regular expression of parameter paths"
                )
            try:
                self.for_group(name)
            except OptionError as error:
                raise error.at(f"{AT}.groups.{name}") from None

    def check_model(self, model: Options) -> None:
        """Raises ValueError for a model whose matrices the optimizer cannot tell apart."""
        # Rotary layers have queries, keys and values, or gate and input, side by side in one kernel.
        if model.name == "rotary" and self.name in ("lamb", "muon"):
            raise ValueError(
                f"config.optimizer.name={self.name!r} does not know the matrices of rotary layers: "
                "--config.optimizer.name=adamw"
            )

    def for_group(self, name: str) -> OptimizerOptions:
        """The optimizer with the settings of a group, as if all parameters were in it."""
        group = {} if name == DEFAULT else values_of(self.groups[name])
        group = {
            key: x for key, x in group.items() if key not in ("pattern", "frozen") and x is not None
        }
        return dataclasses.replace(self, groups={}, **group)


@dataclasses.dataclass(frozen=True)
class RecipeOptions(Options):
    """The training of a head."""

    name: Annotated[str, OneOf(*HEAD_OPTIMIZERS)] = option("adam", "'sgd', 'adam' or 'adamw'")
    learning_rate: Amount = option(1e-3, "the highest learning rate")
    epochs: Size = option(15, "maximum number of epochs")
    batch_size: Size = option(32, "rows of a step")
    schedule: Annotated[str, OneOf(*HEAD_SCHEDULES)] = option(
        "constant",
        "'constant'; 'halve', half the rate after `patience` epochs without gain on the "
        "development set; 'onecycle' (Smith 2018), up and down over all epochs, with a "
        "momentum that does the opposite; 'linear', down to 0",
    )
    patience: Count = option(
        2,
        "epochs without gain after which a member stops; with 'halve', after which its rate "
        "is halved; they count from the first figure above 0. 0: it never stops, as "
        "'onecycle' and 'linear' must: their last epochs have the lowest rates",
    )
    least_rate: Amount = option(1e-4, "with 'halve', the learning rate below which a member stops")
    momentum: Rate = option(0.0, "momentum of sgd")
    l2: Share = option(0.0, "strength of the L2 penalty; for adamw the decoupled weight decay")
    clip: Amount = option(5.0, "largest norm of a member's gradient; 0: no clipping")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "halve" and self.learning_rate < self.least_rate:
            raise OptionError(
                f"{AT}.learning_rate={self.learning_rate:g} is below {AT}.least_rate="
                f"{self.least_rate:g}, at which every head stops after one epoch: lower least_rate, or "
                f"--{AT}.schedule=constant"
            )
        if self.schedule in ("onecycle", "linear") and self.patience:
            raise OptionError(
                f"{AT}.patience={self.patience} would cut {AT}.schedule={self.schedule!r}, whose last "
                f"epochs have the lowest rates: --{AT}.patience=0"
            )


@dataclasses.dataclass(frozen=True)
class StartVectorsOptions(Options):
    """Joint vectors that a language model trains first, for its start."""

    dim: Count = option(0, f"dimensions; 0: the model's width, {MAX_START_DIM} at most")
    epochs: Count = option(
        5, "passes over the text; 0: as many as config.embeddings.epochs=0 takes"
    )
    min_count: Size = option(5, "rarer words have no vector")
    buckets: Size = option(100_000, "rows of the table of n-grams")
    workers: Size = option(1, "threads; several are faster, and runs then differ")


@dataclasses.dataclass(frozen=True)
class InitOptions(Options):
    """Where the parameters of a language model come from."""

    parameters: str = option("", "run:DIR, npz:FILE or hf:DIR to start from; '': initialisers")
    parts: str = option("", "patterns of parameter paths, with commas between them; '': all")
    embeddings: str = option(
        "",
        "word vectors from which the tokens' tables start: joint (trained first, in "
        "WORKDIR/start) | dictionary (no training) | joint+dictionary | a static run's folder |"
        " vector files of one space, as wiki.de.vec,wiki.en.vec or de=FILE,en=FILE | '' for "
        "none",
    )
    method: Annotated[str, OneOf(*START_METHODS)] = option(
        "mean", f"from words to tokens: {' | '.join(START_METHODS)}"
    )
    center: bool = option(True, "whether each language's mean vector is subtracted")
    tables: Annotated[str, OneOf("both", "input", "output")] = option(
        "both", "tables that start from vectors: both | input | output"
    )
    scale: Annotated[float, Range(1e-9)] = option(
        1.0, "length of a row, in units of the initialiser's rows"
    )
    mine: bool = option(False, "whether joint+dictionary learns from translations in the text")
    joint: StartVectorsOptions = section(StartVectorsOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts and not self.parameters:
            raise OptionError(
                f"{AT}.parts={self.parts!r} needs a source: give --{AT}.parameters={_PARAMETERS}."
            )
        kind, _, path = self.parameters.partition(":")
        if self.parameters and (kind not in ("run", "npz", "hf") or not path):
            raise OptionError(f"{AT}.parameters={self.parameters!r}: expected {_PARAMETERS}")


def _check_microbatches(batch_size: int, microbatches: int) -> None:
    if batch_size % microbatches:
        raise OptionError(
            f"{AT}.batch_size={batch_size} is not divisible by {AT}.microbatches={microbatches}"
        )


@dataclasses.dataclass(frozen=True)
class StepsOptions(Options):
    """Options of every training by steps."""

    batch_size: Size = option(64, "rows, over all hosts")
    microbatches: Size = option(
        1, "parts of a batch that are computed one after the other, to save memory"
    )
    log_every_steps: Size = option(50, "steps between two lines of metrics")
    prefetch: Count = option(2, "batches that are made ahead")
    max_skipped_in_row: Size = option(20, "stop after so many non-finite steps in a row")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_microbatches(self.batch_size, self.microbatches)


@dataclasses.dataclass(frozen=True)
class TrainOptions(StepsOptions):
    """Training of a language model."""

    # A projection, which trains nothing, has 0.
    steps: Count = option(1_000, "optimizer steps of the run")
    phases: tuple = option((), "dicts of steps and learn (groups of parameters, or 'all')")
    repeat_phases: bool = option(False, "whether the phases start again after the last one")


@dataclasses.dataclass(frozen=True)
class EpochsOptions(StepsOptions):
    """Fine-tuning, in mode tune."""

    batch_size: Size = option(32, "rows, over all hosts")
    epochs: Size = option(10, "passes over the training rows")


@dataclasses.dataclass(frozen=True)
class MeshOptions(Options):
    """How devices share rows and parameters."""

    data: Annotated[int, Range(-1)] = option(
        -1, "devices among which rows are divided; -1: all that remain"
    )
    fsdp: Annotated[int, Range(-1)] = option(
        1, "devices among which rows and parameters are divided"
    )
    tensor: Annotated[int, Range(-1)] = option(1, "devices among which each layer is divided")


@dataclasses.dataclass(frozen=True)
class CheckpointOptions(Options):
    """When a run is saved, and what stays."""

    every_steps: Count = option(500, "steps between two checkpoints; 0: at the end only")
    keep: Count = option(2, "newest checkpoints that stay")
    best: str = option(
        "",
        "a metric whose best checkpoint stays too, of those that are saved at a step of its evaluation",
    )
    best_mode: Annotated[str, OneOf("max", "min")] = option("max", "max | min")


@dataclasses.dataclass(frozen=True)
class FinishOptions(Options):
    """Sentences against copies or translations, after train.steps."""

    steps: Count = option(0, "training steps; 0: none")
    batch_size: Annotated[int, Range(2)] = option(256, "pairs, over all hosts")
    microbatches: Size = option(1, "parts that are encoded one at a time; the loss is the same")
    sequence_length: Annotated[int, Range(8)] = option(
        32, "pieces of a sentence, at most data.sequence_length"
    )
    temperature: Positive = option(0.05, "temperature of the contrastive loss")
    pairs: str = option(
        "copies",
        "copies | given (config.data.pairs) | mined (in the text) | a folder of parallel text",
    )
    copy_switch_rate: Annotated[float, Range(1e-6, 1)] = option(
        0.9, "share of a copy's words with a translation that are switched"
    )
    drop: Rate = option(0.0, "share of words that each side loses, at most")
    pool: Annotated[str, OneOf("mean", "sif")] = option(
        "mean", "weights of a sentence's pieces: mean, all alike | sif, frequent ones less"
    )
    against: Annotated[str, OneOf("layers", "table")] = option(
        "layers", "the vectors of copies: layers | table"
    )
    learning_rate: Positive = option(5e-4, "highest learning rate of the finish")
    warmup_steps: Count = option(20, "steps of linear growth to learning_rate")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_microbatches(self.batch_size, self.microbatches)


@dataclasses.dataclass(frozen=True)
class ReportOptions(Options):
    """The report of a run."""

    compare_with: str = option("", "folders of runs to show beside this one")
    words: str = option("", "words to show with their nearest words; '' chooses some")
    title: str = option("", "heading of the report; '' for the system's name")


@dataclasses.dataclass(frozen=True)
class ErrorsOptions(ReportOptions):
    """The report of a run that shows wrong answers."""

    errors: Count = option(50, "wrong answers that the report shows, of a language or direction")


@dataclasses.dataclass(frozen=True)
class PlanOptions(Options):
    """Numbers that --plan reckons with."""

    utilisation: PositiveShare = option(0.4, "share of the devices' peak rate that --plan assumes")
    dollars_per_chip_hour: Amount = option(0.0, "price of a chip's hour for --plan")

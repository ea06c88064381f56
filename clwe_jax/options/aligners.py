"""Options of aligners of two vector spaces."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Mapping

from clwe_jax import registry
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
    change_section,
    mapping,
    option,
)

METHODS = ("cosine", "csls", "inverted_softmax")  # of retrieval


@dataclasses.dataclass(frozen=True)
class AlignerOptions(Options):
    """Options of every aligner."""

    needs_pairs: ClassVar[bool] = True  # whether it fits pairs of a dictionary


@dataclasses.dataclass(frozen=True)
class ProcrustesOptions(AlignerOptions):
    """The orthogonal map W that minimises ||X W - Y|| over the pairs."""

    refinements: Count = option(0, "rounds of an induced dictionary and a new map")
    method: Annotated[str, OneOf(*METHODS)] = option(
        "csls", "retrieval method of the rounds: cosine | csls | inverted_softmax"
    )
    max_words: Size = option(15_000, "most frequent words of a side whose pairs the rounds use")
    neighbourhood: Size = option(10, "neighbours of CSLS")
    preprocess: tuple[str, ...] = option(("unit",), "steps of `preprocess`, in their order")


@dataclasses.dataclass(frozen=True)
class LeastSquaresOptions(AlignerOptions):
    """The linear map W that minimises ||X W - Y||^2 + ridge ||W||^2 over the pairs."""

    ridge: Amount = option(0.0, "weight of the squared norm of the map")
    preprocess: tuple[str, ...] = option(("unit",), "steps of `preprocess`, in their order")


@dataclasses.dataclass(frozen=True)
class RcslsOptions(AlignerOptions):
    """The relaxed CSLS loss, minimised by gradient steps from the Procrustes map."""

    learning_rate: Amount = option(
        1.0, "learning rate of the first step, halved where the loss grows"
    )
    iterations: Count = option(10, "steps after the first one")
    neighbourhood: Size = option(10, "neighbours of CSLS")
    spectral: bool = option(False, "whether singular values are clipped to [0, 1] after each step")
    max_neighbours: Size = option(200_000, "most frequent words of a side that can be neighbours")
    preprocess: tuple[str, ...] = option(("unit", "center", "unit"), "steps in order")


@dataclasses.dataclass(frozen=True)
class GeommOptions(AlignerOptions):
    """Jawanpuria et al. 2019, Learning Multilingual Word Embeddings in Latent Metric Space."""

    l2: Amount = option(100.0, "weight of the squared norm of the metric")
    preprocess: tuple[str, ...] = option(
        ("unit", "center"), "steps of `preprocess`, in their order"
    )


@dataclasses.dataclass(frozen=True)
class ContrastiveOptions(AlignerOptions):
    """InfoNCE on dictionary pairs, from the maps that another aligner has found."""

    start: str = option("rcsls", "name of the aligner whose maps are the start")
    start_options: Mapping[str, Any] = mapping("options of that aligner, preprocess among them")
    temperature: Positive = option(0.1, "divisor of the cosines")
    learning_rate: Amount = option(0.003, "learning rate of Adam")
    epochs: Count = option(100, "passes through the pairs, at most")
    patience: Count = option(20, "epochs without gain after which training ends")
    batch_size: Size = option(512, "pairs of a step")
    negatives: Count = option(
        512, "random words of either side in a step, beside those of the batch"
    )
    max_words: Size = option(
        20_000, "most frequent words of a side from which these negatives are drawn"
    )
    validation: Rate = option(
        0.1, "share of the source words that are set aside; none where there are fewer than 20"
    )

    def check(self, run: Any, path: str) -> None:
        del run
        start = registry.options_class("aligner", self.start)()
        change_section(start, self.start_options, f"{path}.start_options", registry.options_class)


@dataclasses.dataclass(frozen=True)
class AdversarialOptions(AlignerOptions):
    """Adversarial training of an almost orthogonal map, then Procrustes refinement."""

    needs_pairs = False
    epochs: Size = option(5, "passes of epoch_size words")
    epoch_size: Size = option(1_000_000, "an epoch has epoch_size / batch_size steps of the map")
    batch_size: Size = option(32, "words of a side")
    discriminator_steps: Size = option(5, "steps of the discriminator for each step of the map")
    hidden: Size = option(2_048, "units in each of the discriminator's two hidden layers")
    input_dropout: Rate = option(0.1, "dropout rate of the discriminator's input")
    smoothing: Share = option(0.1, "label smoothing")
    discriminator_rate: Amount = option(0.1, "learning rate of the discriminator")
    map_rate: Amount = option(0.1, "learning rate of the map")
    decay: Share = option(0.98, "factor of the map's rate after an epoch")
    shrink: Share = option(0.5, "factor of the map's rate after an epoch without gain")
    beta: Amount = option(0.001, "strength of the orthogonalisation")
    most_frequent: Size = option(75_000, "most frequent words of a side that training draws from")
    refinements: Count = option(5, "rounds of Procrustes refinement")
    max_words: Size = option(
        15_000, "most frequent words of a side whose pairs the refinement uses"
    )
    neighbourhood: Size = option(10, "neighbours of CSLS")
    restarts: Size = option(1, "trainings with different random numbers; the best one is kept")
    preprocess: tuple[str, ...] = option((), "steps of `preprocess`, in their order")


@dataclasses.dataclass(frozen=True)
class SelfLearningOptions(AlignerOptions):
    """Robust self-learning (Artetxe et al. 2018), and VecMap's supervised map."""

    needs_pairs = False
    self_learning: bool = option(True, "whether the dictionary is induced again in every iteration")
    max_words: Size = option(20_000, "most frequent words of a side that self-learning uses")
    initial_words: Size = option(
        4_000, "most frequent words of a side that the initialisation uses"
    )
    neighbourhood: Size = option(10, "neighbours of CSLS")
    keep: Share = option(0.1, "initial probability that an entry of the similarity matrix is kept")
    multiplier: Annotated[float, Range(1)] = option(
        2.0, "factor of that probability when the objective stalls"
    )
    interval: Size = option(50, "iterations without improvement that count as a stall")
    threshold: Amount = option(1e-06, "smallest increase that counts as improvement")
    reweight: float | None = option(
        0.5, "power of the cross-correlations; None: the map stays orthogonal"
    )
    preprocess: tuple[str, ...] = option(("unit", "center", "unit"), "steps in order")

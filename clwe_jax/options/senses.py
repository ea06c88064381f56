"""Options of a model's senses."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from clwe_jax.options.section import (
    AT,
    Amount,
    Count,
    InnerShare,
    OneOf,
    OptionError,
    Options,
    Share,
    Size,
    option,
)

INITS = ("seeded", "kmeans", "paper")
# Options beyond the paper -> the values that switch them off.
AS_PRINTED = dict(
    init="paper", fast_start=False, prune_least=1, age_counts=False, translated_share=0.0
)


@dataclasses.dataclass(frozen=True)
class SenseOptions(Options):
    """The configuration of a model's senses."""

    senses: Size = option(
        5, "S, number of senses of a word after the warm-up; 1 is a model without senses"
    )
    projected: Size = option(
        16, "d', number of principal components in which representations and centers are compared"
    )
    alpha: InnerShare = option(0.01, "step of a center towards a representation")
    queue: Size = option(
        20_000, "Q, number of latest representations whose principal components are computed"
    )
    refresh_every: Size = option(250, "M, steps between two computations of the components")
    warmup_steps: Count = option(20_000, "number of steps with one sense for each word")
    warmup_slot: bool = option(
        True, "whether the warm-up has a slot of its own, which is disabled afterwards"
    )
    init: Annotated[str, OneOf(*INITS)] = option(
        "seeded",
        "centers at the end of the warm-up: 'seeded', the warm-up's center plus noise; "
        "'kmeans', k-means++ on the word's latest representations ('seeded' for words with "
        "too few of them); 'paper', the draws from N(0, sigma^2) before the first step",
    )
    sigma: Amount = option(0.1, "standard deviation of the centers before the first step")
    noise: Amount = option(
        0.1,
        "standard deviation of the noise of 'seeded', as a multiple of the representations' "
        "standard deviation in each dimension",
    )
    sample: Size = option(16, "R, number of latest representations of each word for 'kmeans'")
    fast_start: bool = option(
        True,
        "whether a center is the mean of its first 1 / alpha representations; never with 'paper'",
    )
    seed_weight: Count = option(
        10, "weight of a seeded center in the mean of `fast_start`, as a number of representations"
    )
    prune_every: Count = option(
        0, "E, steps between two checks for senses to remove; 0: no sense is removed"
    )
    prune_after: Count = option(40_000, "first step with a check")
    prune_share: Share = option(
        0.1, "beta; a sense with a smaller share of its word's uses is removed"
    )
    prune_least: Count = option(1, "least number of uses of a word whose senses are checked")
    age_counts: bool = option(
        True,
        "whether old uses count less (`state.age`); otherwise all uses since the warm-up count "
        "alike",
    )
    translated_share: Share = option(
        0.1,
        "least share of its word's latest uses in a language for a sense to be a translation "
        "into that language; 0: every enabled sense can be a translation",
    )
    seed: int = option(
        0, "seed of the noise and of k-means++; objectives mix it with the run's seed"
    )
    faithful: bool = option(
        False, "whether all options beyond the paper are off (`AS_PRINTED`), whatever their values"
    )

    def __post_init__(self) -> None:
        for name, value in AS_PRINTED.items() if self.faithful else ():
            object.__setattr__(self, name, value)
        super().__post_init__()
        if self.senses > 1 and self.warmup_steps < 1 and self.init != "paper":
            raise OptionError(
                f"{AT}.init={self.init!r} seeds the senses from the representations of the warm-up, and "
                f"{AT}.warmup_steps=0: take at least one step, or init='paper'"
            )
        if not 0 <= self.translated_share * self.senses <= 1:
            raise OptionError(
                f"{AT}.translated_share={self.translated_share}: must be in [0, 1 / senses], so that "
                "every word keeps a sense"
            )

    @property
    def slots(self) -> int:
        """Number of centers of a word: its senses, and the warm-up's own slot if it has one."""
        return self.senses + self._extra

    @property
    def _extra(self) -> int:
        return int(self.senses > 1 and self.warmup_slot and self.warmup_steps > 0)

    def enabled_slots(self, warm: bool) -> list[bool]:
        """Whether each slot is enabled, during the warm-up or after it (before any pruning)."""
        if warm:
            return [slot == 0 for slot in range(self.slots)]
        return [slot >= self._extra for slot in range(self.slots)]

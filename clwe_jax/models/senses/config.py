"""The configuration of a model's senses."""

from __future__ import annotations

import dataclasses

INITS = ("seeded", "kmeans", "paper")
# Options beyond the paper -> the values that switch them off.
AS_PRINTED = dict(
    init="paper", fast_start=False, prune_least=1, age_counts=False, translated_share=0.0
)


@dataclasses.dataclass(frozen=True)
class SenseConfig:
    """The configuration of a model's senses.

    Attributes:
      senses: S, number of senses of a word after the warm-up; 1 is a model without senses.
      projected: d', number of principal components in which representations and centers are
        compared.
      alpha: step of a center towards a representation, in (0, 1).
      queue: Q, number of latest representations whose principal components are computed.
      refresh_every: M, steps between two computations of the components.
      warmup_steps: number of steps with one sense for each word.
      warmup_slot: whether the warm-up has a slot of its own, which is disabled afterwards.
      init: centers at the end of the warm-up: 'seeded', the warm-up's center plus noise; 'kmeans',
        k-means++ on the word's latest representations ('seeded' for words with too few of them);
        'paper', the draws from N(0, sigma^2) before the first step.
      sigma: standard deviation of the centers before the first step.
      noise: standard deviation of the noise of 'seeded', as a multiple of the representations'
        standard deviation in each dimension.
      sample: R, number of latest representations of each word for 'kmeans'.
      fast_start: whether a center is the mean of its first 1 / alpha representations; never with
        'paper'.
      seed_weight: weight of a seeded center in the mean of `fast_start`, as a number of
        representations.
      prune_every: E, steps between two checks for senses to remove; 0: no sense is removed.
      prune_after: first step with a check.
      prune_share: beta; an enabled sense with a smaller share of its word's uses is removed.
      prune_least: least number of uses of a word whose senses are checked.
      age_counts: whether old uses count less (`state.age`), instead of all since the warm-up.
      translated_share: least share of its word's latest uses in a language for a sense to be a
        translation into that language; 0: every enabled sense can be a translation.
      seed: seed of the noise and of k-means++; objectives mix it with the run's seed.
      faithful: whether all options beyond the paper are off (`AS_PRINTED`), whatever their values.
    """

    senses: int = 5
    projected: int = 16
    alpha: float = 0.01
    queue: int = 20_000
    refresh_every: int = 250
    warmup_steps: int = 20_000
    warmup_slot: bool = True
    init: str = "seeded"
    sigma: float = 0.1
    noise: float = 0.1
    sample: int = 16
    fast_start: bool = True
    seed_weight: int = 10
    prune_every: int = 0
    prune_after: int = 40_000
    prune_share: float = 0.1
    prune_least: int = 1
    age_counts: bool = True
    translated_share: float = 0.1
    seed: int = 0
    faithful: bool = False

    def __post_init__(self):
        for name, value in AS_PRINTED.items() if self.faithful else ():
            object.__setattr__(self, name, value)
        if self.senses < 1:
            raise ValueError(f"senses={self.senses}: must be at least 1")
        if self.init not in INITS:
            raise ValueError(f"init={self.init!r}: expected one of {', '.join(INITS)}")
        if self.senses > 1 and self.warmup_steps < 1 and self.init != "paper":
            raise ValueError(
                f"init={self.init!r} seeds the senses from the representations of the warm-up, and "
                "warmup_steps=0: take at least one step, or init='paper'"
            )
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha={self.alpha}: must be in (0, 1)")
        if not 0 <= self.translated_share * self.senses <= 1:
            raise ValueError(
                f"translated_share={self.translated_share}: must be in [0, 1 / senses], so that "
                "every word keeps a sense"
            )
        for name in ("projected", "queue", "refresh_every", "sample"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")

    @property
    def slots(self) -> int:
        """Number of centers of a word: its senses, and the warm-up's own slot if it has one."""
        return self.senses + self._extra

    @property
    def _extra(self) -> int:
        return int(self.senses > 1 and self.warmup_slot and self.warmup_steps > 0)

    def enabled(self, warm: bool) -> list[bool]:
        """Whether each slot is enabled, during the warm-up or after it (before any pruning)."""
        if warm:
            return [slot == 0 for slot in range(self.slots)]
        return [slot >= self._extra for slot in range(self.slots)]

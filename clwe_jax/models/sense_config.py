"""What is fixed about the senses of a model."""

from __future__ import annotations

import dataclasses

INITS = ("seeded", "kmeans", "paper")


@dataclasses.dataclass(frozen=True)
class SenseConfig:
    """What is fixed about the senses.

    Attributes:
      senses: S, senses of a word after the warm-up; 1 is a model without senses.
      projected: d', principal components that senses are told apart by.
      alpha: the step of a center towards a representation.
      queue: Q, the latest representations, which the components are those of.
      refresh_every: M, steps between two computations of the components.
      warmup_steps: steps with one sense a word.
      warmup_slot: whether the warm-up has a slot of its own, disabled afterwards.
      init: what the senses start from at the end of the warm-up: 'seeded', the warm-up's center
        plus noise; 'kmeans', k-means++ on the word's latest representations (words with too few of
        them as 'seeded'); 'paper', what was drawn from N(0, sigma^2) before the first step.
      sigma: standard deviation of the centers before the first step.
      noise: standard deviation of the noise of 'seeded', in units of the representations' own in
        each dimension.
      sample: R, representations kept of each word for 'kmeans' until the end of the warm-up.
      fast_start: whether a center is the mean of its first 1 / alpha representations rather than
        having moved by alpha towards each; never with 'paper'.
      seed_weight: how many representations a seeded center counts for as to `fast_start`.
      prune_every: E, steps between two checks for senses to remove; 0: none are removed.
      prune_after: the first step with a check.
      prune_share: beta; an enabled sense with a smaller share of its word's uses is removed.
      prune_least: uses of a word below which its senses are not judged; they are counted over at
        least as many.
      translated_share: an enabled sense translates others only with at least this share of its
        word's latest uses in the language translated to; 0: all do.
      seed: of all that is random.
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
    translated_share: float = 0.1
    seed: int = 0

    def __post_init__(self):
        if self.senses < 1:
            raise ValueError(f"senses={self.senses}: a word has at least one")
        if self.init not in INITS:
            raise ValueError(f"init={self.init!r}: one of {', '.join(INITS)}")
        if self.senses > 1 and self.warmup_steps < 1 and self.init != "paper":
            raise ValueError(
                f"init={self.init!r} seeds the senses from the representations of the warm-up, and "
                "warmup_steps=0: take at least one step, or init='paper'"
            )
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha={self.alpha}: must lie between 0 and 1")
        if not 0 <= self.translated_share * self.senses <= 1:
            raise ValueError(
                f"translated_share={self.translated_share}: from 0 to 1 / senses, so that a sense of "
                "every word is left"
            )
        for name in ("projected", "queue", "refresh_every", "sample"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)}: must be at least 1")

    @property
    def slots(self) -> int:
        """Centers of a word: the senses, and the warm-up's slot where it is none of them."""
        return self.senses + self._extra

    @property
    def _extra(self) -> int:
        return int(self.senses > 1 and self.warmup_slot and self.warmup_steps > 0)

    def enabled(self, warm: bool) -> list[bool]:
        """Which of the slots are enabled during the warm-up and after it, before any pruning."""
        if warm:
            return [slot == 0 for slot in range(self.slots)]
        return [slot >= self._extra for slot in range(self.slots)]

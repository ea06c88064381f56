"""What the page and the terminal say of a CLCR run."""

from __future__ import annotations

from clwe_jax.report import page
from clwe_jax.report.headline import Headline


class ClcrPage(page.Page):
    """The page of a CLCR run."""

    def headlines(self, run):
        return [
            Headline(
                "clcr/f1/annealed",
                "Translations in a sentence, F1",
                floors=("clcr/f1/regression",),
                sentence="Words and their translations in a sentence: F1 {} by the map",
                baseline="linear regression",
            )
        ]

    def next_step(self, run):
        return "The guide says what its options change:", "clwe-jax guide clcr"

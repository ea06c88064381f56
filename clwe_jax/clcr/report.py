"""What the page and the terminal say of a CLCR run."""

from __future__ import annotations

from clwe_jax.report import figures, page, verdict
from clwe_jax.report.run_folder import RunFolder


class ClcrPage(page.Page):
    """The page of a CLCR run."""

    def verdicts(self, run):
        return [*super().verdicts(run), _map(run)]


def _map(run: RunFolder) -> verdict.Verdict | None:
    """The verdict on CLCR's map; linear regression is its floor."""
    value, level = (run.figures.get(f"clcr/f1/{x}") for x in ("annealed", "regression"))
    if value is None:
        return None
    text = f"Words and their translations in a sentence: F1 {figures.percent(value)} by the map."
    if level is None:
        return verdict.Verdict(text)
    return verdict.judge_figure(
        f"{text} The floor, linear regression, is {figures.percent(level)}",
        value >= level,
        verdict.gain(value, level),
        "The guide says what its options change:",
        "clwe-jax guide clcr",
    )

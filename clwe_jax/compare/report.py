"""What the page and the terminal say of a comparison."""

from __future__ import annotations

from clwe_jax.report import card, page
from clwe_jax.report.data import Section
from clwe_jax.report.verdict import Verdict


class ComparePage(page.Page):
    """The page of a comparison; each system has a page of its own."""

    shown_prefixes = ("compare/", "order/")

    def verdict(self, run):
        first, *further = run.extras.get("compare", {}).get("summary") or [""]
        return Verdict(first, further=further) if first else None

    def intended_use(self, run, others):
        return Section("Data", "", card.data(run))

    def offers(self, run):
        return ()

    def code(self, run):
        return ""

"""What the page and the terminal say of a comparison."""

from __future__ import annotations

from clwe_jax.report import card, page
from clwe_jax.report.data import Section


class ComparePage(page.Page):
    """The page of a comparison; each system has a page of its own."""

    shown_prefixes = ("compare/", "order/")

    def intended_use(self, run, others):
        return Section("Data", "", card.data(run))

    def name_missing_tests(self, run):
        return None

    def offers(self, run):
        return ()

    def code(self, run):
        return ""

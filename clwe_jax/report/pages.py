"""The page of a kind of run, which its wing writes."""

from __future__ import annotations

from clwe_jax import registry
from clwe_jax.report.page import Page
from clwe_jax.report.run_folder import RunFolder


def choose_page(run: RunFolder) -> Page:
    """The page of the wing that the run belongs to; of an unknown kind of run, what is said of every run."""
    job = run.option("job", "pretrain")
    return registry.lookup("page", job)() if job in registry.TABLES["page"] else Page()

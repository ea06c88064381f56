"""The page on which a person judges proposed entries of a dictionary."""

from __future__ import annotations

import os
from typing import Any, Sequence

from absl import logging

from clwe_jax import atomic
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.embeddings.linking import WordLinks
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.options.text import PAIRS
from clwe_jax.report import offline
from clwe_jax.static import mined, proposals
from clwe_jax.static.marked import ExampleFinder
from clwe_jax.static.proposals import Proposal
from clwe_jax.static.trainer import Trainer
from clwe_jax.text.corpus import parallel
from clwe_jax.text.words.languages import name_of

_MAX_PAGES = 4  # that a run writes; `clwe-jax lexicon` writes those of other languages


def file_name(pair: tuple[str, str]) -> str:
    """'lexicon-kab-en.html'."""
    return f"lexicon-{'-'.join(pair)}.html"


def write_pages(trainer: Trainer | None, model: StaticSpaces, workdir: str) -> dict[str, int]:
    """Writes the pages of a run that learns from given pairs.

    Returns:
      'kab-en' -> number of proposed entries, for each language beside the hub, the first few of many.
    """
    sizes: dict[str, int] = {}
    if trainer is None or not trainer.config.learns_from_pairs or model.frequencies is None:
        return sizes
    for language in [x for x in model.languages if x != model.hub][:_MAX_PAGES]:
        pair = language, model.hub
        proposed = propose(trainer, model, workdir, pair)
        write(os.path.join(workdir, file_name(pair)), pair, proposed, workdir)
        sizes["-".join(pair)] = len(proposed)
    return sizes


def propose(
    trainer: Trainer | None, model: StaticSpaces, workdir: str, pair: tuple[str, str]
) -> list[Proposal]:
    """The proposed entries of a run.

    Args:
      trainer: of the run; None: its vectors were given, and propose translations alone.
      workdir: its folder, which has the sentences that it mined.
    """
    links: dict[str, WordLinks] = {}
    examples = None
    if model.frequencies is None:
        raise ValueError("This run has kept no counts of words, by which entries are proposed")
    counts = dict(model.frequencies.words)  # of the most frequent words alone
    if trainer is not None:
        config = trainer.config
        counts |= trainer.counts
        if config.learns_from_pairs:
            links["verses"] = trainer.given_links.links
        if config.static.mine and config.data.source != PAIRS:
            links["mined"] = trainer.mine(links.get("verses", {})).links
        text = _sentences(trainer, workdir, pair)
        if text is not None:
            examples = ExampleFinder(text, pair, trainer.normalizer, trainer.segmenter)
    return proposals.propose(model, pair, links, examples, counts)


def _sentences(trainer: Trainer, workdir: str, pair: tuple[str, str]) -> GivenText | None:
    """Sentences that translate each other: those that the run was given, else those that it mined."""
    if trainer.config.learns_from_pairs:
        return trainer.corpus.given_text
    folder = os.path.join(workdir, mined.FOLDER)
    if not any(os.path.exists(f"{folder}/{'-'.join(x)}.tsv") for x in (pair, pair[::-1])):
        return None
    pairs = parallel.read_all(folder, pair, "data.pairs")
    return GivenText.cut(pairs, trainer.normalizer, trainer.segmenter)


def write(path: str, pair: tuple[str, str], proposed: Sequence[Proposal], workdir: str) -> None:
    """Writes the page of some proposals; `workdir` names the run whose judgements the browser keeps."""
    names = list(map(name_of, pair))
    title = f"{'–'.join(names)}: proposed entries"
    data = {
        "languages": list(pair),
        "names": names,
        "run": os.path.basename(os.path.abspath(workdir)),
        "proposals": list(map(_as_row, proposed)),
    }
    atomic.write(path, offline.page("lexicon", title, data))
    logging.info("%s: %s proposed entries", path, f"{len(proposed):,}")


def _as_row(proposal: Proposal) -> list[Any]:
    translations = [
        [x.word, round(float(x.count), 1), round(x.score, 3), x.source]
        for x in proposal.translations
    ]
    forms = [list(form) for form in proposal.forms]
    return [proposal.word, proposal.count, translations, forms, list(proposal.examples)]

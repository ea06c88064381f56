"""The text of a run, the source of examples of senses."""

from __future__ import annotations

import functools
import os
from typing import Callable, Iterable, Sequence

from absl import logging

from clwe_jax import options
from clwe_jax.text.corpus import corpora

Texts = Callable[[str], Iterable[str]]  # language -> lines of text


def texts_of(source: str, workdir: str, languages: Sequence[str], limit: int) -> Texts | None:
    """The lines of a run's text; None where the text is not found.

    Args:
      source: config.data.source.
      limit: maximum number of bytes that are read of a language's text.
    """
    if source.startswith(("tfds:", "batches:")):
        return None
    try:
        folder = os.path.join(workdir, "pocket", "text")
        if source != "pocket":
            folder = options.resolve_path(source.removeprefix("text:"), workdir)
        corpus = corpora.TextCorpus(folder, languages)
    except (FileNotFoundError, ValueError) as error:
        logging.info("Senses have no examples, because the text is not found: %s", error)
        return None
    return functools.partial(corpus.lines, limit=limit)

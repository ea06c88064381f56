"""The running words of a static run: its text, and the sentences that it is given with translations."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Mapping

from clwe_jax import options
from clwe_jax.embeddings import corpus as corpora
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.given_text import GivenText
from clwe_jax.options.static import StaticRun
from clwe_jax.options.text import PAIRS
from clwe_jax.text import stamps
from clwe_jax.text.corpus import parallel
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.corpus.parallel import Given
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter


@dataclasses.dataclass(frozen=True, eq=False)
class RunCorpus:
    """Text and given pairs as words, read when something needs them.

    Attributes:
      config, folders, normalizer, segmenter: as of `trainer.Trainer`.
    """

    config: StaticRun
    folders: Mapping[str, str]
    normalizer: Normalizer
    segmenter: Segmenter

    @functools.cached_property
    def all_text(self) -> Corpus:
        """The running words of the text, with those of the given pairs.

        Raises:
          ValueError: the given pairs have no sentence in a language of the run.
        """
        if not self.config.learns_from_pairs:
            return self.of_files
        of_files = None if self.config.data.source == PAIRS else self.of_files
        text = self.given_text.append_to(of_files, options.languages(self.config))
        empty = [language for language in text.languages if not text.size(language)]
        if empty:
            raise ValueError(
                f"config.data.pairs={self.config.data.pairs} has no sentence in {', '.join(empty)} that another "
                "language of the run translates: add its file there, or take it out of --config.data.languages"
            )
        return text

    @functools.cached_property
    def of_files(self) -> Corpus:
        """The running words of the text files."""
        return corpora.read(self._files, self.normalizer, self.segmenter)

    @functools.cached_property
    def given_text(self) -> GivenText:
        """The sentences of `config.data.pairs`."""
        return GivenText.cut(self._given_pairs, self.normalizer, self.segmenter)

    @functools.cached_property
    def stamps(self) -> dict[str, str]:
        """Name -> stamp of each file of text and pairs."""
        by_name: dict[str, str] = {}
        if self.config.data.source != PAIRS:
            paths = itertools.chain(*self._files.files.values())
            by_name |= stamps.stamps(paths, self.folders["text"])
        if self.config.learns_from_pairs:
            by_name |= stamps.stamps(self._given_pairs.files)
        return by_name

    @property
    def repairs(self) -> dict[str, int]:
        """Fault of a line -> number of lines that were mended or left out, of what was read so far."""
        # Not by the properties, which would read text that no stage has asked for.
        attributes = vars(self)
        texts = [attributes[name].mended for name in ("all_text", "of_files") if name in attributes]
        of_pairs = attributes["_given_pairs"].skipped if "_given_pairs" in attributes else {}
        return {**(texts[0] if texts else {}), **of_pairs}

    @functools.cached_property
    def _given_pairs(self) -> Given:
        return parallel.read_all(
            self.folders["pairs"], options.languages(self.config), "data.pairs"
        )

    @functools.cached_property
    def _files(self) -> TextCorpus:
        return TextCorpus(self.folders["text"], options.languages(self.config))

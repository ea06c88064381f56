"""Static vectors that a run trains on its text, each set once, and keeps for its next start."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from clwe_jax import atomic, options
from clwe_jax.cached import CachedResult
from clwe_jax.embeddings import (
    dictionary_text,
    dictionary_vectors,
    duong,
    given_links,
    joint_replace,
    mining,
    pair_vectors,
    phrase_counts,
    train,
    word_rows,
)
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.text_links import TextLinks
from clwe_jax.embeddings.linking import WordLinks
from clwe_jax.embeddings.lazy_vectors import LazyVectors
from clwe_jax.embeddings.ngrams import Regression
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.embeddings.word_rows import WordRows
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.options.embeddings import EmbeddingsOptions
from clwe_jax.options.static import StaticRun
from clwe_jax.options.text import PAIRS
from clwe_jax.static import finished_space, made_with, meanings, unaligned
from clwe_jax.static.finished_space import FinishedSpace
from clwe_jax.static.run_corpus import RunCorpus
from clwe_jax.static.unaligned import UnalignedVectors
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words import spellings
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.spellings import Spellings
from clwe_jax.text.words.words import Segmenter

SUBWORDS = "subwords.npz"  # of joint vectors, where they are kept
GROWN = "mined.npz"  # what was mined
GIVEN = "given.npz"  # links of given pairs
PAIRED = "paired.npz"  # what given pairs teach
RecordOf = Callable[[StaticRun], dict[str, Any]]  # the options that a file depends on
_CACHED_TEXTS = 1 << 16  # sentences whose words are kept


@dataclasses.dataclass(frozen=True, eq=False)
class Trainer:
    """Trains vectors and mines links on a run's text, or loads those of an earlier start.

    Every result is a file with a record of the options that it was made with (`made_with`,
    `cached.CachedResult`). Runs that differ only in reallocation and alignment may share the folder.
    Properties are lazy: the text is read when something needs it that no earlier start has kept.

    Attributes:
      config: of the run.
      folder: of the files, `static.trained` or WORKDIR/trained.
      folders: option that names data -> its folder.
      normalizer: of the text.
      dictionary: training dictionary, for 'replace', 'duong', 'dictionary' and mining.
    """

    config: StaticRun
    folder: str
    folders: Mapping[str, str]
    normalizer: Normalizer
    segmenter: Segmenter
    dictionary: Dictionary | None
    _rows: dict[int, WordRows] = dataclasses.field(default_factory=dict, init=False, repr=False)
    _paired: dict[str, Regression] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @property
    def _languages(self) -> tuple[str, ...]:
        return options.languages(self.config)

    def train_vectors(self, links: WordLinks) -> UnalignedVectors:
        """The vectors of every language, and the words that they share with the hub.

        Args:
          links: what was mined, for 'dictionary'.
        """
        config = self.config
        kind = self.config.static.training
        max_words = config.embeddings.max_vocab
        hub = options.hub_of(config)
        if kind == "dictionary":
            rows = self.rows(config.embeddings.dim, links)
            whole = dictionary_text.vectors(rows, self.pair_regressions(links))
            # Each when it is asked for, in half precision: all languages of such width fill the memory.
            top = LazyVectors(whole, lambda x: whole[x].top(max_words).to_float16())
            return UnalignedVectors(top)
        by_language = {"separate": self._separate, "duong": self._duong}
        if kind in by_language:
            whole = by_language[kind]()
            return UnalignedVectors({x: vectors.top(max_words) for x, vectors in whole.items()})
        joint = self._joint(replaces_words=kind == "replace")
        if not config.static.reallocation:
            return unaligned.split_by_text(joint, self._balanced_counts, hub, max_words)
        separate = self._separate() if config.static.rule == "neighbours" else None
        return unaligned.reallocate_words(config, joint, self._balanced_counts, hub, separate)

    def rows(self, dim: int, links: WordLinks) -> WordRows:
        """The dictionary's rows of all words, [words, dim], made once; with the mined `links`."""
        if dim not in self._rows:
            self._rows[dim] = word_rows.rows(self.graph, dim, self.config.seed, links)
        return self._rows[dim]

    def mine(self, links: WordLinks) -> TextLinks:
        """Mines the text for links that the dictionary and `links` lack."""

        def make() -> TextLinks:
            settings = self.config.static.mining
            seed = self.config.seed
            return mining.grow(self.graph, self.corpus.own, settings, seed, links)

        return self._keep(GROWN, made_with.of_links, make, TextLinks.save, TextLinks.load)

    @functools.cached_property
    def given_links(self) -> TextLinks:
        """The links of the words of the given pairs."""

        def make() -> TextLinks:
            settings = self.config.static.mining
            seed = self.config.seed
            return TextLinks(
                given_links.link_words(self.graph, self.corpus.given_text, settings, seed)
            )

        return self._keep(GIVEN, made_with.of_links, make, TextLinks.save, TextLinks.load)

    def pair_regressions(self, links: WordLinks) -> Mapping[str, Regression]:
        """What the given pairs teach of each language's words.

        Args:
          links: of words, from which the vectors of the sentences begin.
        """
        if not self.config.learns_from_pairs:
            return {}

        def make() -> Mapping[str, Regression]:
            hub = self._graph_hub
            graph = self.graph
            rows = word_rows.rows(graph, pair_vectors.DIM, self.config.seed, links).of(hub)
            # A fixed hub has rows of its own width.
            start = dict(zip(graph.words[hub], rows[:, : pair_vectors.DIM]))
            return pair_vectors.fit(graph.ngrams, self.corpus.given_text, hub, start)

        if not self._paired:
            fitted = self._keep(
                PAIRED, made_with.of_paired, make, pair_vectors.save, pair_vectors.load
            )
            self._paired.update(fitted)
        return self._paired

    @functools.cached_property
    def graph(self) -> WordGraph:
        """The words of the dictionary and of the text."""
        words = self.config.static.words
        has_hub = self._graph_hub in self._languages
        return WordGraph(
            self._known_dictionary,
            self._dictionary_counts,
            words,
            self._meanings if words.meanings and has_hub and not self.finished_space else None,
            self.finished_space.hub if self.finished_space else None,
        )

    @functools.cached_property
    def _known_dictionary(self) -> Dictionary:
        """The dictionary; if it has no pair, an empty one of the run's languages, the hub first."""
        if self.dictionary:
            return self.dictionary
        order = list(dict.fromkeys([options.hub_of(self.config), *self._languages]))
        # A dictionary without pairs can still have pairs that a person has rejected.
        return Dictionary.empty(order, () if self.dictionary is None else self.dictionary.rejected)

    @property
    def _graph_hub(self) -> str:
        return dictionary_vectors.hub(self._known_dictionary)

    @functools.cached_property
    def finished_space(self) -> FinishedSpace | None:
        """The space that languages are added to; None: the run makes a new one."""
        return finished_space.load(self.config) if self.config.static.add_to else None

    def _meanings(self, words: Sequence[str]) -> np.ndarray:
        """The meanings of the hub's words, float32 [words, M]; zeros for unknown words."""
        settings = self.config.static.words
        dim = settings.meaning_dim
        hub = self._graph_hub
        if settings.meanings == "text":
            seed = self.config.seed
            make = lambda: meanings.of_text(self.corpus.whole, hub, dim, seed)
        else:
            counts = self.counts.get(hub, {})
            make = lambda: meanings.of_encoder(settings.meanings, words, hub, counts, dim)
        vectors = self._keep("meanings.npz", made_with.of_meanings, make)
        rows = vectors.rows(words)
        return vectors.vectors[rows] * (rows >= 0)[:, None]

    @property
    def _dictionary_counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences, of the words of the text that dictionary vectors have."""
        alone = self.config.static.training == "dictionary"
        min_count = self.config.embeddings.min_count if alone else 2
        return {
            language: {word: count for word, count in words.items() if count >= min_count}
            for language, words in self.counts.items()
        }

    def encoder(self, model: StaticSpaces) -> StaticEncoder:
        """The aligned vectors as an encoder that segments text as the training did."""

        # Evaluators ask for the words of the same sentences several times.
        @functools.lru_cache(_CACHED_TEXTS)
        def words(text: str, language: str) -> list[str]:
            cut = self.segmenter.words(self.normalizer(text, language), language)
            return model.phrases(language)(cut)

        return model.encoder(split=words)

    def description(self) -> dict[str, Any]:
        """Words of each language's text and their share in the dictionary, for the report."""
        rows = {}
        for language, words in self.counts.items():
            total = sum(words.values())
            rows[language] = {"words": total}
            if self.dictionary is not None:
                rows[language]["coverage"] = self._covered_counts[language] / max(1, total)
        return {"languages": rows, "skipped": self.corpus.repairs}

    @functools.cached_property
    def _covered_counts(self) -> dict[str, int]:
        """language -> running words that are entries of the dictionary, or parts of one."""
        entries = {x: self.dictionary.language_words(x) for x in self._languages}
        # Without phrases the counts of words say all; with them the text is read again.
        if not any(" " in entry for entry in itertools.chain.from_iterable(entries.values())):
            return {x: sum(self.counts[x].get(y, 0) for y in some) for x, some in entries.items()}

        def count() -> dict[str, int]:
            text = self.corpus.whole
            return {x: phrase_counts.count_covered(text, x, some) for x, some in entries.items()}

        return self._keep_json("covered.json", made_with.of_entries, count)

    @functools.cached_property
    def _corpus(self) -> Corpus:
        """The running words of the text, in the balance of `static.temperature`."""
        return self.corpus.whole.sample(self.config.static.temperature, self.config.seed)

    @property
    def _settings(self) -> EmbeddingsOptions:
        """The options of the training, with the number of passes."""
        words = sum(map(self._corpus.size, self._languages)) // len(self._languages)
        return self.config.embeddings.over(words)

    @functools.cached_property
    def corpus(self) -> RunCorpus:
        """The text of the run."""
        return RunCorpus(self.config, self.folders, self.normalizer, self.segmenter)

    @functools.cached_property
    def stamps(self) -> dict[str, str]:
        """Name -> stamp of each file of the text, the dictionaries and the test words left out of them."""
        return self.corpus.stamps | training_dictionary.stamps(self.config, self.folders)

    def other_words(self, language: str) -> frozenset[str]:
        """The words of the text files, beside the given pairs."""
        if self.config.data.source == PAIRS:
            return frozenset()
        own = self._keep_counts("own_counts.json", made_with.of_text, lambda: self.corpus.own)
        return frozenset(own[language])

    @functools.cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences in the whole text, most frequent first."""
        return self._keep_counts("counts.json", made_with.of_text, lambda: self.corpus.whole)

    @functools.cached_property
    def spellings(self) -> Spellings:
        """How the language writes the words of the text and, of those that it lacks, the dictionary's."""
        own = self._keep_json(
            "spellings.json", made_with.of_text, lambda: self.corpus.whole.spellings
        )
        entries = self.dictionary.spellings if self.dictionary is not None else {}
        return spellings.merge(own, self.counts, entries)

    @functools.cached_property
    def _balanced_counts(self) -> dict[str, dict[str, int]]:
        """As `counts`, of the text that vectors are trained on."""
        return self._keep_counts(
            "balanced_counts.json", made_with.of_balanced_counts, lambda: self._corpus
        )

    def _keep_counts(
        self, name: str, record_of: RecordOf, text: Callable[[], Corpus]
    ) -> dict[str, dict[str, int]]:
        counts = lambda: {language: text().counts(language) for language in self._languages}
        return self._keep_json(name, record_of, counts)

    def _keep_json(self, name: str, record_of: RecordOf, make: Callable[[], Any]) -> Any:
        save = lambda values, path: atomic.write_json(path, values)
        return self._keep(name, record_of, make, save, atomic.read_json)

    def _joint(self, replaces_words: bool) -> Vectors:
        """One set of vectors, trained on the text of all languages together.

        Args:
          replaces_words: whether words become their translations in the dictionary at random.
        """
        seed = self.config.seed

        # One training gives the words' and the n-grams' vectors, which are two files.
        @functools.cache
        def make() -> tuple[Vectors, Subwords]:
            text = self._corpus
            if replaces_words:
                share = self.config.static.replace_share
                text = joint_replace.joint_replace(text, self.dictionary, share, seed)
            return train.fasttext_with_subwords(text.sentences(seed), self._settings, seed)

        record_of = made_with.of_replaced_vectors if replaces_words else made_with.of_vectors
        if self.config.static.keep_subwords:
            self._keep(SUBWORDS, record_of, lambda: make()[1], Subwords.save, Subwords.load)
        name = "replace.npz" if replaces_words else "joint.npz"
        return self._keep(name, record_of, lambda: make()[0])

    def _separate(self) -> dict[str, Vectors]:
        """Vectors of each language, trained on its text alone."""

        def train_language(language: str) -> Vectors:
            seed = self.config.seed
            text = self._corpus.only(language).sentences(seed)
            return train.fasttext(text, self._settings, seed)

        return {
            language: self._keep(
                f"separate-{language}.npz",
                made_with.of_vectors,
                functools.partial(train_language, language),
            )
            for language in self._languages
        }

    def _duong(self) -> dict[str, Vectors]:
        """Vectors of each language, all trained together with the dictionary."""

        # One training gives all languages; it runs if the file of any is missing.
        @functools.cache
        def make() -> dict[str, Vectors]:
            return duong.train(self._corpus, self.dictionary, self._settings, self.config.seed)

        kept = {}
        for language in self._languages:
            make_own = functools.partial(lambda language: make()[language], language)
            name = f"duong-{language}.npz"
            kept[language] = self._keep(name, made_with.of_taught_vectors, make_own)
        return kept

    def _stamps_of(self, record: Mapping[str, Any]) -> dict[str, str]:
        """The stamps of the files that a file with these options depends on."""
        # The dictionary's words also decide how text without spaces is cut.
        if "tests" in record or any(self.segmenter.lexicons.values()):
            return self.stamps
        return self.corpus.stamps

    def _keep(
        self,
        name: str,
        record_of: RecordOf,
        make: Callable[[], Any],
        save: Callable[[Any, str], None] = Vectors.save,
        load: Callable[[str], Any] = Vectors.load,
    ) -> Any:
        record = record_of(self.config)
        return CachedResult(
            os.path.join(self.folder, name),
            record,
            make,
            save,
            load,
            "Delete it, or give another folder with --config.static.trained=DIR",
            self._stamps_of(record),
        ).result()

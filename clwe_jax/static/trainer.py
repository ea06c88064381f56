"""Static vectors that a run trains on its text, each set once, and keeps for its next start."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import types
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
_CACHED_TEXTS = 1 << 16  # sentences whose words are kept
# Reads and writes values that JSON can hold, as `Vectors.load` and `save` do vectors.
_JSON = types.SimpleNamespace(
    load=atomic.read_json, save=lambda values, path: atomic.write_json(path, values)
)


@dataclasses.dataclass(frozen=True, eq=False)
class Trainer:
    """Trains vectors and mines links on a run's text, or loads those of an earlier start.

    Every result is a file with a record of the options that it was made with (`_keep`, `made_with`). Runs
    that differ only in reallocation and alignment may share the folder. Properties are lazy: the text is
    read when something needs it that no earlier start has kept.

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
    _fitted: dict[str, Regression] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @property
    def _languages(self) -> tuple[str, ...]:
        return options.languages(self.config)

    def train_vectors(self, links: WordLinks) -> UnalignedVectors:
        """The vectors of every language, and the words that they share with the hub.

        Args:
          links: what was mined, for 'dictionary'.
        """
        static = self.config.static
        max_words = self.config.embeddings.max_vocab
        hub = options.hub_of(self.config)
        if static.training == "dictionary":
            rows = self.rows(self.config.embeddings.dim, links)
            vectors = dictionary_text.vectors(rows, self.pair_regressions(links))
            # Each when it is asked for, in half precision: all languages of such width fill the memory.
            return UnalignedVectors(
                LazyVectors(vectors, lambda x: vectors[x].top(max_words).to_float16())
            )
        if static.training in ("separate", "duong"):
            alone = static.training == "separate"
            vectors = self._separate_vectors() if alone else self._duong_vectors()
            return UnalignedVectors({x: of_x.top(max_words) for x, of_x in vectors.items()})
        joint = self._joint_vectors()
        if not static.reallocation:
            return unaligned.split_by_text(joint, self._balanced_counts, hub, max_words)
        separate = self._separate_vectors() if static.rule == "neighbours" else None
        return unaligned.reallocate_words(self.config, joint, self._balanced_counts, hub, separate)

    def rows(self, dim: int, links: WordLinks) -> WordRows:
        """The dictionary's rows of all words, [words, dim], made once; with the mined `links`."""
        if dim not in self._rows:
            self._rows[dim] = word_rows.rows(self.graph, dim, self.config.seed, links)
        return self._rows[dim]

    def mine(self, links: WordLinks) -> TextLinks:
        """Mines the text for links that the dictionary and `links` lack."""
        mine = lambda: mining.grow(
            self.graph, self.corpus.of_files, self.config.static.mining, self.config.seed, links
        )
        return self._keep(GROWN, made_with.of_links(self.config), mine, TextLinks)

    @functools.cached_property
    def given_links(self) -> TextLinks:
        """The links of the words of the given pairs."""
        settings = self.config.static.mining
        link = lambda: TextLinks(
            given_links.link_words(self.graph, self.corpus.given_text, settings, self.config.seed)
        )
        return self._keep(GIVEN, made_with.of_links(self.config), link, TextLinks)

    def pair_regressions(self, links: WordLinks) -> Mapping[str, Regression]:
        """What the given pairs teach of each language's words.

        Args:
          links: of words, from which the vectors of the sentences begin.
        """
        if self.config.learns_from_pairs and not self._fitted:
            fit = lambda: self._fit_pairs(links)
            fitted = self._keep(PAIRED, made_with.of_paired(self.config), fit, pair_vectors)
            self._fitted.update(fitted)
        return self._fitted

    def _fit_pairs(self, links: WordLinks) -> Mapping[str, Regression]:
        hub = self._graph_hub
        graph = self.graph
        rows = word_rows.rows(graph, pair_vectors.DIM, self.config.seed, links).of(hub)
        # A fixed hub has rows of its own width.
        start = dict(zip(graph.words[hub], rows[:, : pair_vectors.DIM]))
        return pair_vectors.fit(graph.ngrams, self.corpus.given_text, hub, start)

    @functools.cached_property
    def graph(self) -> WordGraph:
        """The words of the dictionary and of the text."""
        words = self.config.static.words
        space = self.finished_space
        has_meanings = words.meanings and self._graph_hub in self._languages and not space
        return WordGraph(
            self._dictionary_or_empty,
            self._dictionary_counts,
            words,
            self._meanings if has_meanings else None,  # of words that the graph lists
            space.hub if space else None,
        )

    @functools.cached_property
    def _dictionary_or_empty(self) -> Dictionary:
        """The dictionary; if it has no pair, an empty one of the run's languages, the hub first."""
        if self.dictionary:
            return self.dictionary
        order = list(dict.fromkeys([options.hub_of(self.config), *self._languages]))
        # A dictionary without pairs can still have pairs that a person has rejected.
        return Dictionary.empty(order, () if self.dictionary is None else self.dictionary.rejected)

    @property
    def _graph_hub(self) -> str:
        return dictionary_vectors.hub(self._dictionary_or_empty)

    @functools.cached_property
    def finished_space(self) -> FinishedSpace | None:
        """The space that languages are added to; None: the run makes a new one."""
        return finished_space.load(self.config) if self.config.static.add_to else None

    def _meanings(self, words: Sequence[str]) -> np.ndarray:
        """The meanings of the hub's words, float32 [words, M]; zeros for unknown words."""
        make = lambda: self._compute_meanings(words)
        record = made_with.of_meanings(self.config)
        vectors = self._keep("meanings.npz", record, make, Vectors)
        rows = vectors.rows(words)
        meanings_of_words = np.zeros((len(words), vectors.dim), np.float32)
        meanings_of_words[rows >= 0] = vectors.vectors[rows[rows >= 0]]
        return meanings_of_words

    def _compute_meanings(self, words: Sequence[str]) -> Vectors:
        settings = self.config.static.words
        dim = settings.meaning_dim
        hub = self._graph_hub
        if settings.meanings == "text":
            return meanings.of_text(self.corpus.all_text, hub, dim, self.config.seed)
        counts = self.counts.get(hub, {})
        return meanings.of_encoder(settings.meanings, words, hub, counts, dim)

    @property
    def _dictionary_counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences, of the words of the text that dictionary vectors have."""
        is_alone = self.config.static.training == "dictionary"
        min_count = self.config.embeddings.min_count if is_alone else 2
        return {
            language: {word: count for word, count in words.items() if count >= min_count}
            for language, words in self.counts.items()
        }

    def encoder(self, model: StaticSpaces) -> StaticEncoder:
        """The aligned vectors as an encoder that segments text as the training did."""

        # Evaluators ask for the words of the same sentences several times.
        @functools.lru_cache(_CACHED_TEXTS)
        def words(text: str, language: str) -> list[str]:
            return model.phrases(language)(self.cut(text, language))

        return model.encoder(split=words)

    def cut(self, text: str, language: str) -> list[str]:
        """The single words of a text, without phrases."""
        return self.segmenter.words(self.normalizer(text, language), language)

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
            return {
                language: sum(self.counts[language].get(word, 0) for word in words)
                for language, words in entries.items()
            }
        count = lambda: {
            language: phrase_counts.count_covered(self.corpus.all_text, language, words)
            for language, words in entries.items()
        }
        return self._keep("covered.json", made_with.of_entries(self.config), count, _JSON)

    @functools.cached_property
    def _balanced_text(self) -> Corpus:
        """The running words of the text, in the balance of `static.temperature`."""
        return self.corpus.all_text.sample(self.config.static.temperature, self.config.seed)

    @property
    def _settings(self) -> EmbeddingsOptions:
        """The options of the training, with the number of passes."""
        words = sum(map(self._balanced_text.size, self._languages)) // len(self._languages)
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
        count = lambda: self._count_words(self.corpus.of_files)
        counts = self._keep("own_counts.json", made_with.of_text(self.config), count, _JSON)
        return frozenset(counts[language])

    @functools.cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences in the whole text, most frequent first."""
        count = lambda: self._count_words(self.corpus.all_text)
        return self._keep("counts.json", made_with.of_text(self.config), count, _JSON)

    @functools.cached_property
    def spellings(self) -> Spellings:
        """How the language writes the words of the text and, of those that it lacks, the dictionary's."""
        collect = lambda: self.corpus.all_text.spellings
        of_text = self._keep("spellings.json", made_with.of_text(self.config), collect, _JSON)
        entries = self.dictionary.spellings if self.dictionary is not None else {}
        return spellings.merge(of_text, self.counts, entries)

    @functools.cached_property
    def _balanced_counts(self) -> dict[str, dict[str, int]]:
        """As `counts`, of the text that vectors are trained on."""
        count = lambda: self._count_words(self._balanced_text)
        record = made_with.of_balanced_counts(self.config)
        return self._keep("balanced_counts.json", record, count, _JSON)

    def _count_words(self, text: Corpus) -> dict[str, dict[str, int]]:
        return {language: text.counts(language) for language in self._languages}

    def _joint_vectors(self) -> Vectors:
        """One set of vectors, trained on the text of all languages together."""
        if self.config.static.training == "replace":
            name = "replace.npz"
            record = made_with.of_replaced_vectors(self.config)
        else:
            name = "joint.npz"
            record = made_with.of_vectors(self.config)
        # One training gives the words' and the n-grams' vectors, which are two files.
        train_once = functools.cache(self._train_joint)
        if self.config.static.keep_subwords:
            self._keep(SUBWORDS, record, lambda: train_once()[1], Subwords)
        return self._keep(name, record, lambda: train_once()[0], Vectors)

    def _train_joint(self) -> tuple[Vectors, Subwords]:
        static = self.config.static
        seed = self.config.seed
        text = self._balanced_text
        if static.training == "replace":
            # Words become their translations in the dictionary at random.
            text = joint_replace.joint_replace(text, self.dictionary, static.replace_share, seed)
        return train.fasttext_with_subwords(text.sentences(seed), self._settings, seed)

    def _separate_vectors(self) -> dict[str, Vectors]:
        """Vectors of each language, trained on its text alone."""
        record = made_with.of_vectors(self.config)
        vectors = {}
        for language in self._languages:
            make = functools.partial(self._train_separate, language)
            vectors[language] = self._keep(f"separate-{language}.npz", record, make, Vectors)
        return vectors

    def _train_separate(self, language: str) -> Vectors:
        sentences = self._balanced_text.only(language).sentences(self.config.seed)
        return train.fasttext(sentences, self._settings, self.config.seed)

    def _duong_vectors(self) -> dict[str, Vectors]:
        """Vectors of each language, all trained together with the dictionary."""
        record = made_with.of_taught_vectors(self.config)
        # One training gives all languages; it runs if the file of any is missing.
        seed = self.config.seed
        train_once = functools.cache(
            lambda: duong.train(self._balanced_text, self.dictionary, self._settings, seed)
        )
        vectors = {}
        for language in self._languages:
            make = lambda language=language: train_once()[language]
            vectors[language] = self._keep(f"duong-{language}.npz", record, make, Vectors)
        return vectors

    def _stamps_of(self, record: Mapping[str, Any]) -> dict[str, str]:
        """The stamps of the files that a file with these options depends on."""
        # The dictionary's words also decide how text without spaces is cut.
        if "tests" in record or any(self.segmenter.lexicons.values()):
            return self.stamps
        return self.corpus.stamps

    def _keep(self, name: str, record: dict[str, Any], make: Callable[[], Any], form: Any) -> Any:
        """The result in a file of the folder if it was made with the options `record`; else a new one, saved there.

        Args:
          make: makes the result; not called where the file has it.
          form: class or module whose `save` and `load` write and read the file.
        """
        return CachedResult(
            os.path.join(self.folder, name),
            record,
            make,
            form.save,
            form.load,
            "Delete it, or give another folder with --config.static.trained=DIR",
            self._stamps_of(record),
        ).result()

"""Static vectors that a run trains on its text, each set once, and keeps for its next start."""

from __future__ import annotations

import functools
import json
import os
from typing import Any, Callable, Iterator, Mapping, Sequence

from clwe_jax import atomic, options
from clwe_jax.api.static import StaticModel
from clwe_jax.embeddings import (
    corpus as corpora, dictionary_text, duong, mining, train,
)  # fmt: skip
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.grown import Grown
from clwe_jax.embeddings.subwords import Subwords
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.evaluate.static_encoder import StaticEncoder
from clwe_jax.jobs import forecast, vocabularies
from clwe_jax.jobs.kept import Kept
from clwe_jax.jobs.vocabularies import Vocabularies
from clwe_jax.options.section import to_dict, values_of
from clwe_jax.options.static import StaticRun
from clwe_jax.text import frequencies, training_dictionary, world
from clwe_jax.text.corpora import TextCorpus
from clwe_jax.text.frequencies import Frequencies
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.test_dictionaries import TestSet
from clwe_jax.text.words import Segmenter

GROWN = "mined.npz"  # what was mined
SUBWORDS = "subwords.npz"  # of joint vectors, where they are kept
# The options that decide which words are counted, and how often.
_TEXT = (
    "source", "languages", "lower_case", "simplify_chinese", "dictionaries", "dictionary_clean",
    "exclude_dictionaries", "pocket_sentences", "pocket_domains",
    "pocket_shared", "pocket_shared_order", "pocket_apart",
)  # fmt: skip


class Trainer:
    """Trains vectors, or loads the vectors of an earlier start.

    Every set of vectors is a file in `static.trained` (by default WORKDIR/trained) with a record of
    the options that it was made with. Runs that differ only in reallocation and alignment may share
    the folder.

    Attributes:
      stage: name of the job's stage that calls `vocabularies`.
      normalizer: normalizer of the text and of the dictionaries.
      aligned: whether the job aligns the vocabularies.
      made_with: record of the files that an alignment depends on besides the vocabularies.
    """

    stage = "training"
    made_with: Mapping[str, Any] = {}

    def __init__(self, config: StaticRun, workdir: str):
        self._config = config
        self.normalizer = Normalizer(config.data.lower_case, config.data.simplify_chinese)
        self._workdir = workdir
        self.aligned = config.static.refinement
        self._folder = config.static.trained or os.path.join(workdir, "trained")
        self._languages = options.languages(config)
        self._dictionary: Dictionary | None = None
        self._segmenter = Segmenter({})
        self._grown = Grown()

    @functools.cached_property
    def folders(self) -> dict[str, str]:
        """Option -> its folder; see `world.resolve_folders`."""
        return world.resolve_folders(self._config, self._workdir)

    def about(self) -> Iterator[str]:
        """The lines of a dry run."""
        yield from forecast.text_files(self._config, self._workdir)
        yield from forecast.vectors(self._config)

    def vocabularies(
        self, dictionary: Dictionary | None, tests: Sequence[TestSet]
    ) -> Vocabularies:
        """The vectors of every language, and the words that they share with the hub.

        Args:
          dictionary: the training dictionary, for 'replace', 'duong' and 'dictionary'.
          tests: test sets, whose words the segmenter of text without spaces has to know, or they
            would not occur in the segmented text. Their translations are not used.
        """
        self._set_words(dictionary, tests)
        config, kind = self._config, self._config.static.training
        most, hub = config.embeddings.max_vocab, options.hub_of(config)
        apart = {
            "separate": self._separate, "duong": self._duong, "dictionary": self._of_dictionary,
        }  # fmt: skip
        if kind in apart:
            found = apart[kind]()
            return Vocabularies({language: found[language].top(most) for language in found})
        joint = self._joint(replaced=kind == "replace")
        if not config.static.reallocation:
            return vocabularies.shared_by_text(joint, self._balanced_counts, hub, most)
        separate = self._separate() if config.static.rule == "neighbours" else None
        return vocabularies.reallocated(config, joint, self._balanced_counts, hub, separate)

    def mine(self, dictionary: Dictionary | None, tests: Sequence[TestSet]) -> Grown:
        """Mines the whole text for links that the dictionary lacks; see `embeddings.mining`.

        Args: as of `vocabularies`, which takes the result into account.
        """
        self._set_words(dictionary, tests)
        options = self._config.static.mining

        def made() -> Grown:
            return mining.grow(self._graph, self._text, options, self._config.seed)

        self._grown = self._kept(GROWN, made, Grown.save, Grown.load)
        return self._grown

    def dictionary_vectors(self, dim: int) -> Mapping[str, Vectors]:
        """Vectors of the dictionary, and of what was mined, for the words of the text."""
        return dictionary_text.vectors(self._graph, dim, self._config.seed, self._grown.links)

    @functools.cached_property
    def _graph(self) -> WordGraph:
        """The words of the dictionary and of the text."""
        return WordGraph(self._dictionary, self._dictionary_counts)

    def _set_words(self, dictionary: Dictionary | None, tests: Sequence[TestSet]) -> None:
        lexicons = {
            language: set(dictionary.lexicon(language)) if dictionary is not None else set()
            for language in self._languages
        }
        for test in tests:
            lexicons[test.source] |= set(test.entries)
            lexicons[test.target] |= set().union(*test.entries.values())
        self._dictionary, self._segmenter = dictionary, Segmenter(lexicons)

    @property
    def _dictionary_counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences, of the words of the text that dictionary vectors have."""
        apart = self._config.static.training == "dictionary"
        least = self._config.embeddings.min_count if apart else 2
        return {
            language: {word: count for word, count in words.items() if count >= least}
            for language, words in self._counts.items()
        }

    def encoder(self, model: StaticModel) -> StaticEncoder:
        """The aligned vectors as an encoder that segments text as the training did."""

        def words(text: str, language: str) -> list[str]:
            return self._segmenter.words(self.normalizer(text, language), language)

        return StaticEncoder(model, words, frequencies=self.frequencies)

    @property
    def frequencies(self) -> Frequencies:
        """The counts of the most frequent words of the text."""
        return frequencies.most_frequent(self._counts)

    def description(self) -> dict[str, Any]:
        """Words of each language's text and their share in the dictionary, for the report."""
        rows = {}
        for language, words in self._counts.items():
            total = sum(words.values())
            rows[language] = {"words": total}
            if self._dictionary is not None:
                known = self._dictionary.language_words(language)
                covered = sum(words.get(word, 0) for word in known)
                rows[language]["coverage"] = covered / max(1, total)
        # An earlier start may have kept all results that depend on the text.
        read = self.__dict__.get("_text")
        return {"languages": rows, "skipped": dict(read.mended) if read else {}}

    @functools.cached_property
    def _corpus(self) -> Corpus:
        """The running words of the text, in the balance of `static.temperature`."""
        return self._text.sampled(self._config.static.temperature, self._config.seed)

    @functools.cached_property
    def _text(self) -> Corpus:
        """The running words of the whole text."""
        text = TextCorpus(self.folders["text"], self._languages)
        return corpora.read(text, self.normalizer, self._segmenter)

    @functools.cached_property
    def _counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> occurrences in the whole text, most frequent first."""
        return self._kept_counts("counts.json", lambda: self._text)

    @functools.cached_property
    def _balanced_counts(self) -> dict[str, dict[str, int]]:
        """As `_counts`, of the text that vectors are trained on."""
        return self._kept_counts("balanced_counts.json", lambda: self._corpus)

    def _kept_counts(self, name: str, text: Callable[[], Corpus]) -> dict[str, dict[str, int]]:
        return self._kept(
            name,
            lambda: {language: text().counts(language) for language in self._languages},
            save=lambda counts, path: atomic.write_json(path, counts),
            load=_read_json,
        )

    def _joint(self, replaced: bool) -> Vectors:
        """One set of vectors, trained on the text of all languages together.

        Args:
          replaced: whether words are replaced at random by their translations in the dictionary.
        """
        seed = self._config.seed

        @functools.cache
        def made() -> tuple[Vectors, Subwords]:
            text = self._corpus
            if replaced:
                share = self._config.static.replace_share
                text = corpora.joint_replace(text, self._dictionary, share, seed)
            settings = self._config.embeddings
            return train.fasttext_with_subwords(text.sentences(seed), settings, seed)

        if self._config.static.keep_subwords:
            self._kept(SUBWORDS, lambda: made()[1], Subwords.save, Subwords.load)
        return self._kept("replace.npz" if replaced else "joint.npz", lambda: made()[0])

    def _separate(self) -> dict[str, Vectors]:
        """Vectors of each language, trained on its text alone."""
        seed, settings = self._config.seed, self._config.embeddings

        def one(language: str) -> Vectors:
            return train.fasttext(self._corpus.only(language).sentences(seed), settings, seed)

        return {
            language: self._kept(f"separate-{language}.npz", functools.partial(one, language))
            for language in self._languages
        }

    def _duong(self) -> dict[str, Vectors]:
        """Vectors of each language, all trained together with the dictionary."""

        @functools.cache
        def made() -> dict[str, Vectors]:
            settings = self._config.embeddings
            return duong.train(self._corpus, self._dictionary, settings, self._config.seed)

        return {
            language: self._kept(f"duong-{language}.npz", lambda language=language: made()[language])
            for language in self._languages
        }

    def _of_dictionary(self) -> Mapping[str, Vectors]:
        """Vectors of the dictionary for the words of the text, without training."""
        return self.dictionary_vectors(self._config.embeddings.dim)

    def _made_with(self, name: str) -> dict[str, Any]:
        """The options that a file depends on."""
        config, kind = self._config, name.partition(".")[0].partition("-")[0]
        found = {key: getattr(config.data, key) for key in _TEXT}
        found |= {"split": config.align.split, "seed": config.seed}
        if kind == "mined":
            return found | {
                "mining": to_dict(config.static.mining), "training": config.static.training,
                "min_count": config.embeddings.min_count,
                "tests": training_dictionary.tests_of(config),
            }  # fmt: skip
        if kind == "counts":
            return found
        found["temperature"] = config.static.temperature
        if kind != "balanced_counts":
            found |= {k: v for k, v in values_of(config.embeddings).items() if k != "max_vocab"}
        if kind == "replace":
            found["replace_share"] = config.static.replace_share
        # The dictionary in the training leaves out test words.
        if kind in ("replace", "duong"):
            found["tests"] = training_dictionary.tests_of(config)
        return found

    def _kept(
        self,
        name: str,
        make: Callable[[], Any],
        save: Callable[[Any, str], None] = Vectors.save,
        load: Callable[[str], Any] = Vectors.load,
    ) -> Any:
        return Kept(
            os.path.join(self._folder, name),
            self._made_with(name),
            make,
            save,
            load,
            "Delete it, or give another folder with --config.static.trained=DIR",
        ).result()


def _read_json(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)

"""The trained vectors of a static run: each trained once, kept in a folder, used again."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from typing import Any, Callable, Iterable, Mapping

from absl import logging
from ml_collections import ConfigDict
import numpy as np

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax.embeddings import corpus as corpora, duong, train
from clwe_jax.embeddings import vectors as vector_files
from clwe_jax.embeddings.corpus import Corpus
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.corpora import TextCorpus
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.text.words import Segmenter

_FOLDER = "trained"
# What decides which words are counted, and how often.
_TEXT = (
    "source", "languages", "lower_case", "simplify_chinese", "dictionaries", "dictionary_clean",
    "exclude_dictionaries", "pocket_sentences", "pocket_domains",
)  # fmt: skip


class Trainer:
    """Trains what is asked for, or finds it where an earlier start has left it whole.

    Every set of vectors is a file of `static.trained` (by default WORKDIR/trained) that says what
    it was made with; runs that differ in reallocation and alignment alone may share the folder.
    """

    def __init__(
        self,
        config: ConfigDict,
        workdir: str,
        text: str,
        normalizer: Normalizer,
        segmenter: Segmenter,
        dictionary: Dictionary | None,
    ):
        """Args:
        config: `data`, `static`, `embeddings` and the seed.
        workdir: of the run.
        text: the folder of the text.
        normalizer, segmenter: cut the text into words.
        dictionary: to train with, for 'replace' and 'duong'.
        """
        self._config, self._text = config, text
        self._normalizer, self._segmenter = normalizer, segmenter
        self._dictionary = dictionary
        self.folder = config.static.trained or os.path.join(workdir, _FOLDER)
        self.languages = options.languages(config)
        os.makedirs(self.folder, exist_ok=True)

    @functools.cached_property
    def corpus(self) -> Corpus:
        """The running words, as many of each language."""
        text = TextCorpus(self._text, self.languages)
        read = corpora.read(text, self._normalizer, self._segmenter)
        return read.equalised(self._config.seed)

    @functools.cached_property
    def counts(self) -> dict[str, dict[str, int]]:
        """language -> word -> how often it occurs in the text, most frequent first."""
        path, about = os.path.join(self.folder, "counts.json"), self._about("counts")
        if os.path.exists(path):
            try:
                with open(path, encoding="utf-8") as file:
                    found = json.load(file)
                self._check(path, found["about"], about)
                return found["counts"]
            except (KeyError, json.JSONDecodeError):
                logging.warning("%s is damaged and is written anew", path)
        counts = {language: self.corpus.counts(language) for language in self.languages}
        atomic.write_json(path, {"about": about, "counts": counts})
        return counts

    def joint(self, replaced: bool = False) -> Vectors:
        """One set of vectors on the text of all languages together.

        Args:
          replaced: whether words of the dictionary are replaced at random by translations.
        """
        seed = self._config.seed

        def made() -> Vectors:
            text = self.corpus
            if replaced:
                assert self._dictionary is not None
                share = self._config.static.replace_share
                text = corpora.joint_replace(text, self._dictionary, share, seed)
            return train.fasttext(text.sentences(seed), self._settings(train.FastText), seed)

        return self._kept("replace" if replaced else "joint", made)

    def separate(self) -> dict[str, Vectors]:
        """Vectors of each language on its text alone."""
        seed, settings = self._config.seed, self._settings(train.FastText)
        return {
            language: self._kept(
                f"separate-{language}",
                lambda language=language: train.fasttext(
                    self.corpus.only(language).sentences(seed), settings, seed
                ),
            )
            for language in self.languages
        }

    def duong(self) -> dict[str, Vectors]:
        """Vectors of each language, all trained together with the dictionary."""
        made: dict[str, Vectors] = {}

        def one(language: str) -> Vectors:
            if not made:
                assert self._dictionary is not None
                settings = self._settings(duong.Duong)
                made.update(duong.train(self.corpus, self._dictionary, settings, self._config.seed))
            return made[language]

        return {
            language: self._kept(f"duong-{language}", functools.partial(one, language))
            for language in self.languages
        }

    def _settings(self, kind: Any) -> Any:
        names = {field.name for field in dataclasses.fields(kind)}
        given = self._config.embeddings.to_dict()
        return kind(**{name: value for name, value in given.items() if name in names})

    def _about(self, name: str) -> dict[str, Any]:
        """What a file of this name is made with."""
        config, kind = self._config, name.partition("-")[0]
        about = {key: config.data[key] for key in _TEXT} | {
            "split": config.align.split,
            "seed": config.seed,
        }
        if kind != "counts":
            about |= {k: v for k, v in config.embeddings.to_dict().items() if k != "max_vocab"}
        if kind == "replace":
            about["replace_share"] = config.static.replace_share
        # The words to be tested are in the text as others; they are left out of the dictionary.
        if kind in ("replace", "duong"):
            about["tests"] = config.evals.bli.data
        return json.loads(json.dumps(about))

    def _kept(self, name: str, make: Callable[[], Vectors]) -> Vectors:
        path, about = os.path.join(self.folder, f"{name}.npz"), self._about(name)
        if os.path.exists(path):
            try:
                vectors, found = vector_files.load(path)
            except ValueError as error:
                logging.warning("%s; it is trained anew", error)
            else:
                self._check(path, found.get("made_with"), about)
                logging.info("%s: %s words, trained before", path, f"{len(vectors):,}")
                return vectors
        vectors = make()
        vectors.save(path, {"made_with": about})
        return vectors

    def _check(self, path: str, found: Any, wanted: Mapping[str, Any]) -> None:
        if found != wanted:
            changed = options.differences(found if isinstance(found, dict) else {}, dict(wanted))
            raise ValueError(
                f"{path} was made with other options: {'; '.join(changed)}. Delete it, or give "
                "another folder with --config.static.trained=DIR"
            )


def of_language(
    joint: Vectors, counts: Mapping[str, int], words: Iterable[str], most: int
) -> Vectors:
    """A language's part of joint vectors: its most frequent words, by its own text.

    Args:
      joint: vectors of all languages.
      counts: of the language's text.
      words: that are the language's; those without a vector are left out.
      most: words.
    """
    rows = [(joint.index[word], counts.get(word, 0)) for word in words if word in joint.index]
    rows.sort(key=lambda item: (-item[1], item[0]))
    rows = rows[:most]
    taken = joint.take([row for row, _ in rows])
    return dataclasses.replace(taken, counts=np.array([n for _, n in rows], np.int64))

"""The dictionary floor: what a dictionary alone finds, without text and without training.

The vectors of `embeddings.dictionary_vectors` are measured like any static vectors, by the run's own
evaluators of retrieval, lexicon induction and translation (word by word). A trained model has to be
better than them.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Callable, Sequence

from absl import logging

from clwe_jax import options, terminal
from clwe_jax.embeddings import dictionary_vectors
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.static import StaticEncoder
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.report import evaluations
from clwe_jax.report.headline import FLOOR
from clwe_jax.runs import evaluators, inputs
from clwe_jax.runs.evaluators import NamedEvaluator
from clwe_jax.text.dictionary import training_dictionary
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.text_of_run import RunText
from clwe_jax.text.words.words import Phrases

_DIM = 300


def measure_run(config: PretrainRun, run_text: RunText, workdir: str) -> dict[str, float]:
    """The floor's figures of a language model's run, under `headline.FLOOR`.

    Args:
      workdir: holds the cache of the dictionary.
    """
    context = inputs.context(run_text)
    suite = evaluators.build(
        config.evals, context, run_text.folders, names=evaluations.names_with_floor()
    )
    dictionary = run_text.dictionary
    if dictionary is None:  # that of prepared batches stays where they were made
        try:
            dictionary = training_dictionary.load(
                config, run_text.folders, workdir, run_text.tokenizer.normalizer
            )
        except (FileNotFoundError, ValueError) as error:
            logging.info("%s", error)
    return measure(config, suite, dictionary, run_text.frequencies, run_text.tokenizer.words)


def measure(
    config: options.Run,
    named: Sequence[NamedEvaluator],
    dictionary: Dictionary | None,
    frequencies: Frequencies | None,
    words: Callable[[str, str], Sequence[str]],
) -> dict[str, float]:
    """The floor's figures, under `headline.FLOOR`; {} where there is no dictionary or nothing to measure.

    Args:
      config: languages and seed.
      named: evaluators whose headlines have this floor.
      dictionary: of the run, without test words.
      frequencies: counts of the words of the run's text; None where they are not known.
      words: (text, language) -> its words, spelled as the dictionary's.
    """
    languages = options.languages(config)
    if dictionary is None or not named or len(languages) < 2:
        logging.info("There is no dictionary floor: it takes a dictionary and test sets")
        return {}
    # That a dictionary lacks the test words, of which evaluators warn, is as it should be.
    with terminal.log_only(logging.FATAL):
        figures, _ = evaluators.measure(named, encoder(dictionary, frequencies, config.seed, words))
    return {f"{FLOOR}{name}": value for name, value in figures.items()}


def encoder(
    dictionary: Dictionary,
    frequencies: Frequencies | None,
    seed: int,
    words: Callable[[str, str], Sequence[str]],
) -> StaticEncoder:
    """The floor's vectors as an encoder; the arguments as of `measure`."""
    spaces = _Spaces(dictionary, frequencies, seed)
    phrases = functools.cache(lambda language: Phrases(dictionary.language_words(language)))

    def join_phrases(text: str, language: str) -> list[str]:
        return phrases(language)(words(text, language))

    return StaticEncoder(spaces, join_phrases, frequencies=frequencies)


@dataclasses.dataclass(frozen=True, eq=False)
class _Spaces:
    """The dictionary's vectors, made for each pair of languages from their translations alone.

    A word that has a translation into a third language only would be noise in a sentence.
    """

    dictionary: Dictionary
    frequencies: Frequencies | None
    seed: int

    @property
    def languages(self) -> tuple[str, ...]:
        return self.dictionary.languages

    def common_vectors(self, language: str) -> Vectors:
        return self._make_vectors(self.dictionary, language)[0]

    def space(self, source: str, target: str) -> tuple[Vectors, Vectors]:
        # The vectors of the other languages follow from those of the hub's words.
        hub = dictionary_vectors.hub(self.dictionary)
        restricted = self.dictionary.restrict(list(dict.fromkeys((source, target, hub))))
        return self._make_vectors(restricted, source, target)

    def _make_vectors(self, dictionary: Dictionary, *languages: str) -> tuple[Vectors, ...]:
        """The words of each language, the text's most frequent ones first."""
        by_language = dictionary_vectors.vectors(dictionary, languages, _DIM, self.seed)
        by_frequency = []
        for language in languages:
            words, vectors = by_language[language]
            counts = self.frequencies.words.get(language, {}) if self.frequencies else {}
            order = sorted(range(len(words)), key=lambda i: -counts.get(words[i], 0))
            by_frequency.append(Vectors([words[i] for i in order], vectors[order]))
        return tuple(by_frequency)

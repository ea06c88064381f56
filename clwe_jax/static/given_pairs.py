"""Links of given pairs of sentences: as files for people and other programs, as figures and a section."""

from __future__ import annotations

import itertools
from typing import Sequence

from absl import logging
import numpy as np

from clwe_jax.embeddings.linking import WordLinks
from clwe_jax.embeddings.word_graph import CountedLinks
from clwe_jax.evaluate.retrieval import SentenceRetrieval
from clwe_jax.report import data
from clwe_jax.report.data import Column, Language, Metric, Number, Section, Table
from clwe_jax.report.figure_tables import pair_name
from clwe_jax.runs.evaluators import NamedEvaluator
from clwe_jax.static.mined import LinkReport, sort_links
from clwe_jax.static.trainer import Trainer
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.dictionary.test_dictionaries import TestSet

_MANY_UNSEEN = 0.2  # of a test's words
_ABOUT = (
    "Words of given pairs of sentences are linked to the words of their translations, and the links take "
    "part in the vectors of words. mined/dictionary/ has all links with their counts; lexicon-xx-yy.html, which "
    "`clwe-jax lexicon RUN --languages=xx,yy` writes, proposes entries of them, with sentences. Precision: of the "
    "test dictionaries' words that have links, the share whose most frequent link is a translation there "
    "(a right one that the dictionary lacks counts as wrong)."
)


def report_links(
    links: WordLinks,
    trainer: Trainer,
    dictionary: Dictionary | None,
    tests: Sequence[TestSet],
    tested: Sequence[str] = (),
) -> LinkReport:
    """The links with their figures and their section of the report.

    Args:
      links: of the words of given pairs.
      trainer: has the given text.
      dictionary: the dictionary before; None: there is none.
      tests: test dictionaries, which no link has seen.
      tested: languages whose test sentences are measured by `register_shares`.
    """
    figures = {}
    rows = []
    tested_words = []
    given_text = trainer.corpus.given_text.parallel
    for pair, pair_links in links.items():
        name = "-".join(pair)
        entries = set(dictionary.pairs(*pair)) if dictionary is not None else set()
        words = sort_links(pair_links)
        new = sum(link[:2] not in entries for link in words)
        count = len(given_text.pairs.get(pair, given_text.pairs.get(pair[::-1], ())))
        rows.append([pair_name(name), Number(count), Number(len(words)), Number(new)])
        right = judge_links(pair_links, pair, tests)
        tested_words.append(Number(len(right)))
        if right:
            figures[f"given/{name}/precision"] = share = sum(right) / len(right)
            logging.info(
                "Given pairs, %s: links of %d test words, precision %.3f", name, len(right), share
            )
    columns = [Column("Pair"), *(Column(x, "count") for x in ("Sentences", "Links", "New"))]
    if figures:
        columns += [Column("Precision", "percent"), Column("Tested words", "count")]
        precisions = [Metric(f"given/{'-'.join(pair)}/precision") for pair in links]
        rows = [[*row, *cells] for row, *cells in zip(rows, precisions, tested_words)]
    blocks: list[data.Block] = [Table(columns, rows)]
    if tested:
        blocks.append(_coverage(tested))
    return LinkReport(links, figures, [data.to_json(Section("Given pairs", _ABOUT, blocks))])


def _coverage(tested: Sequence[str]) -> Table:
    """How well the text covers the words of the tests, of the languages that are tested."""
    columns = ["Language", Column("Only in pairs", "percent"), Column("In no text", "percent")]
    rows = [
        [Language(x), *(Metric(f"given/{x}/{y}") for y in ("only_in_pairs", "unseen"))]
        for x in tested
    ]
    return Table(columns, rows, title="Words of the test sentences, and where else they occur")


def list_tested_languages(evaluators: Sequence[NamedEvaluator]) -> list[str]:
    """The languages whose sentences the evaluator under the key 'retrieval' tests."""
    of_run = [named.evaluator for named in evaluators if not named.prefix]
    return list(itertools.chain(*(x.texts for x in of_run if isinstance(x, SentenceRetrieval))))


def register_shares(trainer: Trainer, evaluators: Sequence[NamedEvaluator]) -> dict[str, float]:
    """How well the text that was read covers the words of the tests: a Bible is of one register.

    The log warns of a test many of whose words no text has: their vectors follow from spelling.

    Args:
      trainer: has the given text, and cuts the tests as it cuts that.
      evaluators: evaluators, of which those of sentence retrieval are asked.

    Returns:
      {prefix}given/{language}/only_in_pairs and unseen: the shares of the running words of the test's
      sentences that only the given pairs have, and that no text has.
    """
    figures = {}
    for entry in evaluators:
        texts = entry.evaluator.texts if isinstance(entry.evaluator, SentenceRetrieval) else {}
        for language, sentences in texts.items():
            corpus = trainer.corpus.given_text.corpus
            in_pairs = {corpus.words[i] for i in np.unique(corpus.ids.get(language, ())).tolist()}
            other_words = trainer.other_words(language)
            words = list[str]()
            for sentence in sentences:
                words += trainer.cut(sentence, language)
            only_count = sum(word in in_pairs and word not in other_words for word in words)
            unseen_count = sum(word not in in_pairs and word not in other_words for word in words)
            name = f"{entry.prefix}given/{language}"
            figures[f"{name}/only_in_pairs"] = only_count / max(1, len(words))
            figures[f"{name}/unseen"] = share = unseen_count / max(1, len(words))
            if share > _MANY_UNSEEN:
                logging.warning(
                    "%s: %.0f%% of the test's words are in no text that was read. Text of the test's kind "
                    "helps beside the pairs: --config.data.source=text:DIR",
                    language,
                    100 * share,
                )
    return figures


def judge_links(links: CountedLinks, pair: tuple[str, str], tests: Sequence[TestSet]) -> list[bool]:
    """Whether the most frequent link of each test word that has one is a translation in the test."""
    best: dict[str, dict[str, tuple[float, str]]] = {pair[0]: {}, pair[1]: {}}
    for source, target, count in zip(links.source, links.target, links.counts.tolist()):
        for language, word, translation in ((pair[0], source, target), (pair[1], target, source)):
            best[language][word] = max(best[language].get(word, (0.0, "")), (count, translation))
    right = []
    for test in tests:
        if {test.source, test.target} != set(pair):
            continue
        linked = best[test.source]
        right += [
            linked[word][1] in others for word, others in test.entries.items() if word in linked
        ]
    return right

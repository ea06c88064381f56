"""Masked language modelling on whole words (BERT-Tiny, A11): the pipeline with a word vocabulary."""

import collections

import numpy as np
import pytest

from clwe_jax.data.graph import pipeline
from clwe_jax.options.tasks import DictMlm, Mlm
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def words(small):
    return Tokenizer.build(
        languages=small.tokenizer.languages,
        normalizer=Normalizer(),
        corpus=small.corpus,
        dictionary=small.dictionary,
        kind="word",
        size=4_000,
    )


def build(small, words, task, **changes):
    return pipeline.build(
        small.config(**changes),
        task=task,
        tokenizer=words,
        dictionary=small.dictionary,
        text=small.corpus,
        batch_size=16,
        seed=0,
    ).source()


def test_rows_hold_the_words_of_the_text(small, words):
    """Against the tokenizer in Python, in all six languages."""
    vocabulary = words.vocabulary
    expected = collections.Counter()
    for number, language in enumerate(words.languages):
        for line in small.corpus.lines(language):
            ids, index = words.encode(line, language)
            assert len(index) == len(set(index))  # one piece a word
            expected[number, (0, *ids, 1)] += 1
    found = collections.Counter()
    source = build(small, words, Mlm(), sequence_length=64, heldout_share=0.0)
    for batch in (next(source) for _ in range(100)):
        for ids, segments, languages in zip(
            batch["targets"], batch["segment_ids"], batch["source_language_ids"]
        ):
            assert (ids[segments == 0] == vocabulary.pad_id).all()
            for segment in range(1, segments.max() + 1):
                mine = segments == segment
                found[int(languages[mine][0]), tuple(ids[mine].tolist())] += 1
    assert len({language for language, _ in found}) == 6
    whole = sum(n for key, n in found.items() if key in expected)
    assert whole > 0.9 * sum(found.values()) > 2_000  # the others were cut to fill a row


def test_masked_words_are_single_positions(small, words):
    source = build(small, words, Mlm(mask_share=0.8), sequence_length=64)
    batches = [next(source) for _ in range(60)]
    join = lambda name: np.concatenate([batch[name].ravel() for batch in batches])
    masked = join("loss_weights") > 0
    inputs, targets = join("inputs")[masked], join("targets")[masked]
    assert abs((inputs == words.vocabulary.mask_id).mean() - 0.8) < 0.03
    assert not np.isin(targets, (0, 1, 3, 4)).any()
    random = (inputs != words.vocabulary.mask_id) & (inputs != targets)
    assert 0.05 < random.mean() < 0.13
    assert inputs[random].max() < len(words.vocabulary)


def test_synonyms_are_words_of_the_dictionary(small, words):
    source = build(small, words, DictMlm(cross_lingual_share=0.9), sequence_length=64)
    pieces, checked = words.vocabulary.pieces, 0
    names = words.languages
    known = {name: {word for word in small.dictionary.lexicon(name)} for name in names}
    for batch in (next(source) for _ in range(20)):
        crossing = batch["language_ids"] != batch["source_language_ids"]
        crossing &= batch["loss_weights"] > 0
        for target, language in zip(batch["targets"][crossing], batch["language_ids"][crossing]):
            if target != words.vocabulary.unk_id:
                checked += 1
                assert pieces[target] in known[names[language]]
    assert checked > 500

"""A small embedded world, its dictionary and its tokenizer, made once for all tests of the room."""

import dataclasses
import os

import pytest

from clwe_jax import pocket
from clwe_jax.options.text import BatchesOptions
from clwe_jax.text import dictionary as dictionaries
from clwe_jax.text.corpus import corpora
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

LANGUAGES = ("de", "en", "es", "fr", "ja", "zh")
SENTENCES = 1_200


@dataclasses.dataclass(frozen=True, eq=False)
class Small:
    """Arguments of `pipeline.build`."""

    directory: str
    corpus: corpora.TextCorpus
    dictionary: dictionaries.Dictionary
    tokenizer: Tokenizer

    def config(self, **changes):
        data = BatchesOptions(
            source="text:" + self.directory,
            languages=",".join(LANGUAGES),
            sequence_length=32,
            chunk_lines=128,
            shuffle_lines=256,
            heldout_share=0.05,
        )
        return dataclasses.replace(data, **changes)


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    text, lists = os.path.join(folder, "text"), os.path.join(folder, "dictionaries")
    pocket.write_corpus(text, LANGUAGES, SENTENCES, 0)
    pocket.write_dictionaries(lists, LANGUAGES)
    dictionary = dictionaries.load(lists, LANGUAGES)
    corpus = corpora.TextCorpus(text, LANGUAGES)
    tokenizer = Tokenizer.build(
        languages=LANGUAGES,
        normalizer=Normalizer(),
        corpus=corpus,
        dictionary=dictionary,
        kind="wordpiece",
        size=6_000,
        path="",
        temperature=5.0,
        sample_bytes=1_000_000,
    )
    return Small(text, corpus, dictionary, tokenizer)

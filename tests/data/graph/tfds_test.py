"""Text from TFDS: one builder config a language, documents cut at sentence ends."""

import collections
import os

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from clwe_jax import options, presets
from clwe_jax.data import prepare, prepared
from clwe_jax.data.graph import pipeline
from clwe_jax.data.graph.encoding import TextEncoder
from clwe_jax.options.section import to_dict
from clwe_jax.options.tasks import BiLm, DictMlm
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

LANGUAGES = ("de", "en")
DOCUMENTS = {}


class TinyWiki(tfds.core.GeneratorBasedBuilder):
    """Stands in for Wikipedia: the same names, the same features."""

    VERSION = tfds.core.Version("1.0.0")
    BUILDER_CONFIGS = [
        tfds.core.BuilderConfig(name=f"7.{language}", version="1.0.0") for language in LANGUAGES
    ]

    def _info(self):
        features = {"title": tfds.features.Text(), "text": tfds.features.Text()}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {"train": self._generate_examples()}

    def _generate_examples(self):
        for number, text in enumerate(DOCUMENTS[self.builder_config.name.split(".")[1]]):
            yield number, {"title": str(number), "text": text}


@pytest.fixture(scope="module")
def folder(small, tmp_path_factory):
    directory = str(tmp_path_factory.mktemp("tfds"))
    for language in LANGUAGES:
        lines = list(small.corpus.lines(language))
        # Documents of two paragraphs; the headline ends without a full stop.
        DOCUMENTS[language] = [
            "Headline of it\n\n" + " ".join(lines[place : place + 12])
            for place in range(0, 1_200, 12)
        ]
        TinyWiki(config=f"7.{language}", data_dir=directory).download_and_prepare()
    return directory


def test_documents_of_every_language(small, folder):
    tokenizer = Tokenizer(
        LANGUAGES, small.tokenizer.normalizer, small.tokenizer.segmenter, small.tokenizer.vocabulary
    )
    given = dict(
        task=DictMlm(),
        tokenizer=tokenizer,
        dictionary=small.dictionary,
        text="tfds:tiny_wiki/7",
        batch_size=8,
        seed=0,
    )
    config = small.config(languages="de,en", tfds_dir=folder, sequence_length=48)
    made = pipeline.build(config, **given)
    source = made.source()
    batches = [next(source) for _ in range(60)]
    stats = source.stats()
    assert abs(stats["language_share/de"] - 0.5) < 0.1 and stats["cut_pieces"] == 0
    # A headline is a sentence by itself: where a row ends after it, it ends a segment.
    vocabulary = tokenizer.vocabulary
    ends = {
        tuple(row[max(0, place - 3) : place])
        for batch in batches
        for row in batch["targets"]
        for place in np.flatnonzero(row == vocabulary.sep_id)
    }
    full_stop = vocabulary.encode_word(".")[-1]
    assert sum(end[-1] == full_stop for end in ends) > 0.5 * len(ends)

    other = pipeline.build(config, **given).source()
    other.set_state(source.get_state())
    one, two = next(source), next(other)
    assert all(np.array_equal(one[name], two[name]) for name in one)

    examples = made.examples(4)
    assert {example["language"] for example in examples} == set(LANGUAGES)


def test_documents_as_streams_of_words(small, folder):
    """Every document is a text of its own, its lines are its sentences."""
    tokenizer = Tokenizer.build(
        languages=LANGUAGES,
        normalizer=Normalizer(),
        corpus=small.corpus,
        dictionary=None,
        kind="word",
        size=3_000,
    )
    given = dict(
        task=BiLm(reset="document"),
        tokenizer=tokenizer,
        dictionary=None,
        text="tfds:tiny_wiki/7",
        batch_size=4,
        seed=0,
    )
    config = small.config(tfds_dir=folder, heldout_share=0.1)
    made = pipeline.build(config, **given)
    source = made.source()
    batches = [next(source) for _ in range(40)]
    words = np.concatenate([batch["words"] for batch in batches], axis=1)
    reset = np.concatenate([batch["reset"] for batch in batches], axis=1)
    begins = words == tokenizer.vocabulary.cls_id
    assert (begins[reset > 0]).all() and 10 < reset.sum() < 0.7 * begins.sum()
    assert abs(source.stats()["language_share/de"] - 0.5) < 0.15
    other = pipeline.build(config, **given).source()
    other.set_state(source.get_state())
    one, two = next(source), next(other)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    held = made.heldout(2)
    assert set(held) == set(LANGUAGES)


def test_what_is_not_there_is_named(small, folder, tmp_path):
    given = dict(
        task=DictMlm(),
        tokenizer=small.tokenizer,
        dictionary=None,
        text="tfds:tiny_wiki/7",
        batch_size=8,
        seed=0,
    )
    with pytest.raises(ValueError, match="no data set tiny_wiki/7.es"):
        pipeline.build(small.config(tfds_dir=folder), **given).source()
    with pytest.raises(FileNotFoundError, match="tfds build tiny_wiki --config=7.de"):
        pipeline.build(small.config(tfds_dir=str(tmp_path)), **given).source()


def test_line_breaks_end_sentences_and_segments(small):
    text = tf.constant(["one two\n\nthree"])
    encoder = TextEncoder(small.tokenizer, small.dictionary)
    ends = encoder.encode(text, tf.constant([1])).ends_sentence.numpy()
    assert ends.tolist() == [False, True, False]


def test_apache_beam_counts_the_words_of_documents(small, folder, tmp_path):
    pytest.importorskip("apache_beam", reason="Apache Beam is of the extra 'beam'")
    config = presets.start_from("mbert", "laptop")
    config.data.update(to_dict(small.config(source="tfds:tiny_wiki/7", languages="de,en")))
    config.data.update(
        tfds_dir=folder, dictionaries=os.path.join(small.directory, "../dictionaries")
    )
    config.evals.retrieval.data = config.evals.bli.data = ""
    config.vocab.size = 1_500
    meta = prepare.prepare(
        options.parse(config), str(tmp_path), pipeline_options=["--runner=DirectRunner"], parts=2
    )
    found = prepared.open_folder(str(tmp_path))
    known = frozenset(small.dictionary.language_words("de"))
    words = [word for text in DOCUMENTS["de"] for word in found.tokenizer.words(text, "de")]
    assert found.extras["counts"]["de"]["words"] == collections.Counter(words)
    described = found.extras["description"]["languages"]["de"]
    assert described["words"] == len(words) and described["lines"] == len(DOCUMENTS["de"])
    assert described["coverage"] == pytest.approx(sum(x in known for x in words) / len(words))
    assert meta["rows"] > 0

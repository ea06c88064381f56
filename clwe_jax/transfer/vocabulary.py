"""The joint vocabulary of pieces for embedders that learn with the head (C4)."""

from __future__ import annotations

import collections
import itertools
import os

from absl import logging
import numpy as np

from clwe_jax import cached, options, pocket
from clwe_jax.encoders import load as encoders
from clwe_jax.options.transfer import TransferOptions, TransferRun
from clwe_jax.text import stamps
from clwe_jax.text.corpus import corpora
from clwe_jax.text.vocab import tokenizer as tokenizers, vocab
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import fine_tuned
from clwe_jax.transfer.data import LabelledData
from clwe_jax.transfer.loaded import VOCABULARY


def tokenizer_of(config: TransferRun, workdir: str, data: LabelledData) -> Tokenizer:
    """The tokenizer in WORKDIR/vocab, trained first on the text of all languages.

    The text is that of `config.data.source` (pocket, text:DIR), or with '' the training rows alone.
    No test row is read.
    """
    folder = os.path.join(workdir, VOCABULARY)
    languages = tuple(dict.fromkeys([*options.languages(config), *data.train, *data.tests]))
    source = config.data.source
    corpus = None
    if source.startswith("text:"):
        corpus = corpora.TextCorpus(source.removeprefix("text:"), languages)
    text_files = itertools.chain(*corpus.files.values()) if corpus else ()
    rows = {name: facts for name, facts in data.files.items() if name.startswith("train")}
    cached.claim(folder, {"rows": rows, "text": stamps.stamps(text_files)})
    # `Tokenizer.save` writes this file last.
    if os.path.exists(os.path.join(folder, "text.json")):
        return Tokenizer.load(folder)
    normalizer = Normalizer(config.data.lower_case, config.data.simplify_chinese)
    segmenter = Segmenter({})
    counts = {}
    for language in languages:
        counter: collections.Counter[str] = collections.Counter()
        for row in data.train.get(language, ()):
            texts = row.texts if data.task.kind == "texts" else row.words
            for text in texts:
                counter.update(segmenter.words(normalizer(text, language), language))
        if source == "pocket" and language in pocket.LANGUAGES:
            sentences = pocket.sentences(language, seed=config.seed)
            for sentence in itertools.islice(sentences, config.data.pocket_sentences):
                counter.update(segmenter.words(normalizer(sentence.text, language), language))
        elif corpus:
            text_counts, _ = corpus.count_words(
                language,
                lambda text: segmenter.words(normalizer(text, language), language),
                config.vocab.sample_bytes,
            )
            counter.update(text_counts)
        counts[language] = dict(counter)
    logging.info("Training a %s vocabulary of %d pieces", config.vocab.kind, config.vocab.size)
    # At temperature 5 a language of little text weighs more than its share of the words.
    weighted_counts = tokenizers.mixed_counts(counts, 5.0)
    vocabulary = vocab.train(config.vocab.kind, weighted_counts, config.vocab.size, (), 0.0)
    tokenizer = Tokenizer(languages, normalizer, segmenter, vocabulary)
    tokenizer.save(folder)
    return tokenizer


def load_pretrained(
    settings: TransferOptions, workdir: str, data: LabelledData
) -> tuple[Tokenizer, np.ndarray]:
    """The tokenizer and the table of pieces of `config.transfer.pieces`; the tokenizer is kept.

    Raises:
      ValueError: a model without a table of pieces, or a table of another width.
    """
    origin = settings.pieces
    model = encoders.tunable(encoders.load(origin, data.languages), origin)
    flat = fine_tuned.backbone_of(model.variables)
    # LASER's table of pieces, and that of masked language models.
    names = ("backbone/source_pieces", "backbone/token_embedding")
    table = np.asarray(next(flat[name] for name in names if name in flat), np.float32)
    if table.shape[1] != settings.embedder.width:
        raise ValueError(
            f"config.transfer.pieces={origin}: its pieces have {table.shape[1]} dimensions: "
            f"--config.transfer.embedder.width={table.shape[1]}"
        )
    model.tokenizer.save(os.path.join(workdir, VOCABULARY))
    return model.tokenizer, table[: model.tokenizer.vocabulary.size]

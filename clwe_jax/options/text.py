"""Options of text, dictionaries and vocabularies."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from clwe_jax.options.section import Count, OneOf, Range, Options, Share, Size, option

# The value of an option that names data: the embedded world's for a run on the embedded world, else
# none; `systems.Run.resolve` replaces it.
SOURCE = "source"
# The value of an evaluator's option `data`: the verses of config.data.pairs that training leaves out.
PAIRS = "pairs"


@dataclasses.dataclass(frozen=True)
class TextOptions(Options):
    """Text, dictionaries and parallel text, as every kind of run reads them."""

    source: str = option(
        "pocket",
        "the text: pocket (the embedded world) | text:DIR | pairs, only for static vectors: the"
        " sentences of config.data.pairs",
    )
    languages: str = option("en,de,es,fr,ja,zh", "codes of the languages, separated by commas")
    dictionaries: str = option(
        SOURCE,
        "source (pocket where data.source is) | pocket | folders of xx-yy.txt, with commas between them | '' for none",
    )
    lower_case: bool = option(True, "whether text and dictionaries become lower case")
    simplify_chinese: bool = option(False, "whether Chinese characters become simplified ones")
    pocket_sentences: Size = option(60_000, "sentences of a language, when the source is pocket")
    pairs: str = option(
        "",
        "parallel text to learn from: a folder, or the beginning of its files' names (DIR/train) | pocket | "
        "source, pocket unless the text is your own | ''; docs/data.md has the formats",
    )
    held_out: str = option(
        "",
        "verses of config.data.pairs that training leaves out, such as JHN or 'JHN,LUK 3'; an evaluator's "
        "data=pairs tests them",
    )


@dataclasses.dataclass(frozen=True)
class WorldOptions(TextOptions):
    """Text, of which the embedded world's domains and shared lines can be chosen."""

    pocket_domains: str = option(
        "", "domains of the embedded world, with commas between them; '' for all"
    )
    pocket_shared: Share = option(
        0.0, "share of the embedded world's lines that translate other languages' lines"
    )
    pocket_shared_order: Annotated[str, OneOf("documents", "scattered")] = option(
        "documents", "documents (shared lines stand in stretches, in one order) | scattered"
    )
    pocket_apart: bool = option(
        False, "whether each language's other lines of the embedded world have domains of their own"
    )


@dataclasses.dataclass(frozen=True)
class CorpusOptions(WorldOptions):
    """Text that words are trained on, and the dictionaries that training may use."""

    dictionary_clean: str = option(
        "", "pairs to leave out of the dictionary, any of: identical,one_to_many"
    )
    dictionary_pivot: str = option(
        "",
        "language through which a dictionary is composed for two languages without one, without"
        " the words of any test; '': only for languages without a dictionary with any other",
    )
    exclude_tests: bool = option(
        True,
        "whether the test words of config.evals and of the dictionaries' folder are left out of "
        "training",
    )
    exclude_dictionaries: str = option("", "a folder of more test dictionaries to leave out")
    sample_bytes: Count = option(
        100_000, "bytes of a language's text over which bli averages word vectors"
    )


@dataclasses.dataclass(frozen=True)
class BatchesOptions(CorpusOptions):
    """Text that becomes batches of a language model."""

    source: str = option("pocket", "the text: pocket | text:DIR | tfds:NAME | batches:DIR")
    temperature: Annotated[float, Range(1e-6)] = option(
        5.0, "temperature of the language sampling; 1 is proportional to size"
    )
    sequence_length: Annotated[int, Range(8)] = option(64, "pieces or words of a row")
    max_predictions: Count = option(0, "masked pieces a row; 0: a fifth of sequence_length")
    distinct_words: Count = option(
        0, "maximum number of distinct words of a biLM's batch; 0: by the text"
    )
    heldout_share: Annotated[float, Range(0, 0.5, below=True)] = option(
        0.01, "share of the lines that are held out, chosen by a hash of their text"
    )
    chunk_lines: Size = option(512, "lines that the graph handles at once")
    shuffle_lines: Size = option(4_096, "lines of the shuffle buffer, over all languages together")
    tfds_dir: str = option("", "folder of TensorFlow Datasets; '' for its default")


@dataclasses.dataclass(frozen=True)
class LabelledOptions(TextOptions):
    """Text and languages of a transfer run."""

    source: str = option(
        "pocket", "text of the encoders joint, bow, gru and lstm: pocket | text:DIR"
    )
    languages: str = option(
        "", "languages to test | '': those of the test files that the encoder knows"
    )
    tfds_dir: str = option("", "folder of TensorFlow Datasets; '' for its default")


@dataclasses.dataclass(frozen=True)
class SmallVocabOptions(Options):
    """A vocabulary that is made of text."""

    kind: Annotated[str, OneOf("wordpiece", "unigram", "bpe", "word")] = option(
        "wordpiece", "wordpiece | unigram | bpe | word"
    )
    size: Annotated[int, Range(16)] = option(8_192, "pieces or words")
    sample_bytes: Size = option(20_000_000, "bytes of a language's text in which words are counted")


@dataclasses.dataclass(frozen=True)
class VocabOptions(SmallVocabOptions):
    """The vocabulary of a language model."""

    path: str = option(
        "",
        "vocab.txt, a SentencePiece .model, fastBPE's .fcodes, a run's vocab or a folder of "
        "Hugging Face; '': the vocabulary is made from the text",
    )
    min_count: Size = option(1, "minimum number of occurrences of a word that counts")
    dictionary_share: Annotated[float, Range(0, 0.9)] = option(
        0.0, "largest share of the pieces that the dictionary's frequent words fill as whole words"
    )

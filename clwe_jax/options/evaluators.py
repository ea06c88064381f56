"""Options of evaluators."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from clwe_jax.options.section import Amount, Count, OneOf, Options, Share, Size, option

METHODS = ("mutual_argmax", "itermax", "softmax")
LEVELS = ("pieces", "words")


@dataclasses.dataclass(frozen=True)
class WordAlignerOptions(Options):
    """Links the words of sentences by the vectors of an encoder."""

    method: Annotated[str, OneOf(*METHODS)] = option(
        "mutual_argmax",
        "'mutual_argmax' and 'itermax' of cosines (SimAlign), or 'softmax', the intersection "
        "of two softmaxes of inner products (awesome-align)",
    )
    layers: str | int = option(
        "",
        "a layer's number; '5-7', the mean of these layers; 'mean_last4'; '': the layer at "
        "two thirds of the depth, which is layer 8 of 12 as in both papers",
    )
    level: Annotated[str, OneOf(*LEVELS)] = option(
        "pieces",
        "'pieces': words are linked where any of their pieces are; 'words': by the means of "
        "their pieces",
    )
    threshold: Share = option(
        0.1,
        "minimum probability of a link, in both directions, for 'softmax'. The published .001 "
        "links far too much where hidden states have few dimensions",
    )
    temperature: Amount = option(1.0, "of the softmaxes; the inner products are divided by it")
    rounds: Size = option(2, "rounds of 'itermax'")


@dataclasses.dataclass(frozen=True)
class EvaluationOptions(Options):
    """Options of every evaluator."""

    every_steps: Count = option(0, "training steps between two runs; 0: at the end only")

    @property
    def has_data(self) -> bool:
        """Whether the options name data; a run skips the evaluator otherwise."""
        return bool(getattr(self, "data", ""))


@dataclasses.dataclass(frozen=True)
class MlmEvaluation(EvaluationOptions):
    """Loss, perplexity and accuracy on held-out text, which has the same masks every time."""

    name = "mlm"
    batches: Count = option(0, "maximum number of held-out batches of a language; 0: all batches")


@dataclasses.dataclass(frozen=True)
class RetrievalEvaluation(EvaluationOptions):
    """Accuracy of sentence retrieval by language pair, for any encoder."""

    name = "retrieval"
    data: str = option("", "parallel text (docs/data.md); '' leaves the evaluation out")
    max_sentences: Count = option(
        1_000, "maximum number of sentences of a language pair, from the beginning; 0: all"
    )
    neighbourhood: Size = option(10, "number of neighbours that CSLS averages over")


@dataclasses.dataclass(frozen=True)
class BleuEvaluation(EvaluationOptions):
    """BLEU and chrF of a model's translations in both directions of each language pair."""

    name = "bleu"
    data: str = option(
        "",
        "folder of parallel text or the beginning of its files' names (docs/data.md); "
        "'' leaves the evaluation out",
    )
    max_sentences: Count = option(
        200, "maximum number of sentences of a pair, from the beginning; 0: all"
    )
    width: Size = option(5, "number of beams; 1: greedy search. Static vectors have none")
    penalty: Amount = option(1.0, "exponent of the length in a beam's scores")


@dataclasses.dataclass(frozen=True)
class MiningEvaluation(EvaluationOptions):
    """Bitext mining by the margin of sentence vectors, as on BUCC."""

    name = "mining"
    data: str = option("", "parallel text (docs/data.md); '' leaves the evaluation out")
    max_sentences: Count = option(
        0, "maximum number of sentences of a pair, from the beginning; 0: all"
    )
    neighbourhood: Size = option(4, "neighbours over which the margin averages")


@dataclasses.dataclass(frozen=True)
class BliEvaluation(EvaluationOptions):
    """P@k on test dictionaries, for the words of any encoder."""

    name = "bli"
    data: str = option(
        "", "folder of test dictionaries (docs/data.md); '' leaves the evaluation out"
    )
    methods: str = option(
        "nn,csls", "comma-separated methods among `nn` (cosine), `csls` and `inverted_softmax`"
    )
    layer: int | str = option(
        "mean_last4",
        "layer of the metrics whose names have no layer: a number or 'mean_last4', the mean "
        "of the vectors of the last four layers",
    )
    occurrences: Size = option(
        10, "maximum number of occurrences that a word's vector is the mean of"
    )
    min_count: Size = option(
        2, "minimum occurrences of a frequent word in the text (in the lines, without counts)"
    )
    max_words: Count = option(20_000, "maximum number of frequent words of a language; 0: all")
    neighbourhood: Size = option(10, "number of neighbours that CSLS averages over")
    beta: Amount = option(30.0, "inverse temperature of the inverted softmax")
    tags: str = option(
        "", "folder of xx*.tsv or xx*.conllu, words with their parts of speech; '': none"
    )


@dataclasses.dataclass(frozen=True)
class SensesEvaluation(EvaluationOptions):
    """Purity of the assigned senses, and accuracy of the chosen translations' senses (A4, A8)."""

    name = "senses"
    data: str = option("", "'pocket', the embedded world; '' leaves the evaluation out")
    sentences: Size = option(1_000, "sentences of each language, each with an ambiguous word")
    labelled: Size = option(
        100,
        "occurrences of each ambiguous word that label the meanings of its senses, for the "
        "accuracy of translations; from text like the training text, not the held-out "
        "sentences",
    )
    batch_size: Size = option(64, "rows encoded at once")


@dataclasses.dataclass(frozen=True)
class WsdEvaluation(EvaluationOptions):
    """Table 2: senses learned from annotated text (A14), and predicted in the test sets."""

    name = "wsd"
    training: str = option(
        "",
        "annotated text, `NAME.data.xml` or `.gz`, with its keys beside it, "
        "`NAME.gold.key.txt` or `.gz`",
    )
    tests: str = option("", "folder of test sets in the same format; all of them are used")
    wordnet: str = option(
        "",
        "table of WordNet's senses (sense_key, lemma, pos, sense_number); '': the first sense is the "
        "most frequent one in the annotated text, and other lemmas get no answer",
    )
    development: str = option(
        "semeval2007", "test set that selects the layer; if it is absent, the mean of all sets does"
    )
    max_sentences: Count = option(0, "maximum number of training sentences; 0: all")
    language: str = option("en", "language of the annotated text")
    batch_size: Size = option(64, "sentences encoded at once")


@dataclasses.dataclass(frozen=True)
class SimilarityEvaluation(EvaluationOptions):
    """Word similarity, for the words of any encoder."""

    name = "similarity"
    data: str = option(
        "",
        "folder of EN_NAME.txt and EN-DE-NAME.txt, with lines `word word score`; '' leaves the evaluation out",
    )


@dataclasses.dataclass(frozen=True)
class WordAlignmentEvaluation(EvaluationOptions, WordAlignerOptions):
    """Alignment error rate of the words of parallel sentences, for any encoder of words."""

    name = "word_alignment"
    data: str = option(
        "",
        "folder of links and sentences (docs/evaluate.md); 'pocket': sentences that the "
        "embedded world writes with their gold links; '' leaves the evaluation out",
    )
    max_sentences: Count = option(
        0,
        "maximum number of sentences of a language pair, from the beginning; 0: all (of the "
        "embedded world, 500)",
    )

"""Options of tasks: how batches are made of text."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar

from clwe_jax.options.section import (
    AT,
    Count,
    OneOf,
    OptionError,
    Range,
    Rate,
    Options,
    Share,
    Size,
    option,
)
from clwe_jax.options.text import SOURCE

CHOICES = ("uniform", "context")
KEPT_PIECES = ("text", "label")
LABELS = ("drawn", "expected")
SENTENCES = ("lines", "marks")
RESETS = ("never", "document")
BACKWARD = ("reversed", "window")


def check_source(source: str, *forms: str) -> None:
    """Raises ValueError for a source that is neither 'pocket' nor of one of the forms 'KIND:NAME'
    or 'NAME'."""
    kinds = tuple(x[: x.index(":") + 1] for x in forms if ":" in x)
    if source != "pocket" and source not in forms and not source.startswith(kinds):
        raise ValueError(f"config.data.source={source!r}: expected pocket, {', '.join(forms)}")


def check_translating(run: Any, option: str) -> None:
    """Raises ValueError where an option needs dictionaries and the run has none."""
    if not run.data.dictionaries and not run.data.source.startswith("batches:"):
        raise ValueError(
            f"{option} needs dictionaries: set --config.data.dictionaries=DIR, a folder of "
            "xx-yy.txt; --config=configs/mbert.py needs none"
        )


@dataclasses.dataclass(frozen=True)
class TaskOptions(Options):
    """Options of a task."""

    # The sources of text that the task reads beside pocket.
    sources: ClassVar[tuple[str, ...]] = ("text:DIR", "tfds:NAME", "batches:DIR")
    # Whether a batch stands alone, so that batches can be prepared and shuffled.
    independent: ClassVar[bool] = True
    parallel: ClassVar[str] = ""  # the parallel text that the task reads; an option of some
    backward: ClassVar[str] = ""  # of the windows of words
    max_characters: ClassVar[int] = 0  # of the words that a model of characters reads
    labels: ClassVar[str] = "drawn"  # an option of one

    def check(self, run: Any, path: str) -> None:
        check_source(run.data.source, *self.sources)


@dataclasses.dataclass(frozen=True)
class Mlm(TaskOptions):
    """Plain whole-word masked language modelling (BERT; the paper's baseline)."""

    name = "mlm"
    # Constants in tasks whose labels are the words themselves.
    cross_lingual_share = 0.0
    choice = "uniform"
    kept_piece = "label"

    masking_rate: Share = option(0.15, "expected share of masked words among the words of a line")
    mask_share: Share = option(
        0.8,
        "share of the masked words' pieces that become [MASK]; these, those that stay unchanged and "
        "those that become a random piece all contribute to the loss",
    )
    keep_share: Share = option(0.1, "share of the masked words' pieces that stay unchanged")
    random_share: Share = option(
        0.1, "share of the masked words' pieces that become a random piece"
    )
    only_words_with_entries: bool = option(
        False,
        "whether to mask only words that the dictionary has, as DICT-MLM does; in languages "
        "without any entry, all words may be masked",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        total = self.mask_share + self.keep_share + self.random_share
        if abs(total - 1) > 1e-6:
            raise OptionError(
                f"{AT}.mask_share, keep_share and random_share must add up to 1, not {total:g}"
            )


@dataclasses.dataclass(frozen=True)
class DictMlm(Mlm):
    """Masked words are labelled with a synonym in another language (DICT-MLM, D1-D4).

    The paper keeps 10% of the masked words as they are (D4), and masks the sentence after words were
    exchanged for synonyms (D3): read so, a kept word shows the label itself. By the order of its steps
    (words are chosen and masked, then labels exchanged) it shows the text's word. `kept_piece` chooses.
    """

    name = "dict_mlm"
    only_words_with_entries: bool = option(
        True,
        "whether to mask only words that the dictionary has, as DICT-MLM does; in languages "
        "without any entry, all words may be masked",
    )
    cross_lingual_share: Share = option(
        0.5, "probability that a masked word's label is a synonym (x: .5, .7, .9)"
    )
    choice: Annotated[str, OneOf(*CHOICES)] = option(
        "uniform",
        "'uniform' draws one of the entry's languages uniformly, then one of the language's "
        "words uniformly; 'context' (beyond the paper) prefers the words of the language "
        "whose meanings fit the sentence",
    )
    kept_piece: Annotated[str, OneOf(*KEPT_PIECES)] = option(
        "label",
        "what an unchanged piece of a masked word shows (D4): 'text', the word of the text, which "
        "teaches to translate it in context; 'label', the word to predict, which teaches to copy",
    )
    labels: Annotated[str, OneOf(*LABELS)] = option(
        "drawn",
        "'drawn', one label for a masked word (D3); 'expected', the labels of all languages at once, "
        "the expectation of the loss over the draw, exact for words of one piece. A label of several "
        "pieces is then predicted as a bag of pieces at the word's first position",
    )
    equal_languages: bool = option(
        False,
        "whether, with labels='expected', the word itself and its synonyms in each language "
        "have equal weights (beyond the paper), instead of the weights that follow from "
        "cross_lingual_share",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "drawn" and self.equal_languages:
            raise OptionError(f"{AT}.equal_languages=True needs {AT}.labels=expected")
        if self.labels == "expected" and self.choice != "uniform":
            raise OptionError(
                f"{AT}.labels='expected' is the expectation over a uniform draw: {AT}.choice=uniform"
            )
        if self.labels == "expected" and not self.only_words_with_entries:
            raise OptionError(
                f"{AT}.labels='expected' predicts words of the dictionary: "
                f"{AT}.only_words_with_entries=True"
            )

    def check(self, run: Any, path: str) -> None:
        super().check(run, path)
        check_translating(run, f"{path}.name={self.name!r}")
        if self.labels == "expected" and run.objective.name != "mlm":
            raise ValueError(
                f"{path}.labels='expected' is for config.objective.name='mlm', not "
                f"{run.objective.name!r}: --{path}.labels=drawn"
            )


@dataclasses.dataclass(frozen=True)
class DictTlm(Mlm):
    """A text and its code-switched copy in one segment, masked over both (DICT-TLM, D6)."""

    name = "dict_tlm"
    copy_switch_rate: Share = option(
        0.5, "probability that a word of the copy is replaced, if it has an entry"
    )

    def check(self, run: Any, path: str) -> None:
        super().check(run, path)
        check_translating(run, f"{path}.name={self.name!r}")


@dataclasses.dataclass(frozen=True)
class Tlm(Mlm):
    """Translation language modelling on parallel text, beside plain MLM (XLM, section 3.3)."""

    name = "tlm"
    parallel: str = option(
        SOURCE,
        "parallel text: source (config.data.pairs, else pocket where data.source is) | mined | a place as of "
        "config.data.pairs",
    )
    parallel_share: Share = option(0.5, "share of the rows that hold sentence pairs")


@dataclasses.dataclass(frozen=True)
class Copies(Mlm):
    """A sentence and its code-switched copy or its translation, a row each, without masks (the
    contrastive finish).
    """

    masking_rate: Share = option(0.0, "share of masked words: none")
    parallel: str = option(
        "",
        "parallel text, a place as of config.data.pairs, whose translations replace the copies "
        "| '': copies of the run's text",
    )
    copy_switch_rate: Share = option(
        0.9, "the chance that a word of the copy that has an entry is replaced"
    )
    drop: Rate = option(
        0.0,
        "highest chance that a word of the sentence, and that one of the copy, is left out; the "
        "chance of each of the two is drawn uniformly between 0 and `drop`",
    )


@dataclasses.dataclass(frozen=True)
class BiLm(TaskOptions):
    """Language modelling in both directions over contiguous windows of words (ELMo; A1, A12)."""

    name = "bilm"
    independent = False  # each window continues the one before
    sentences: Annotated[str, OneOf(*SENTENCES)] = option(
        "lines",
        "'lines' puts `<S>` and `</S>` around each line; 'marks' also cuts lines after full "
        "stops and other marks that end a sentence",
    )
    reset: Annotated[str, OneOf(*RESETS)] = option(
        "never",
        "'document' resets the state at the beginning of each line of a text file or document"
        " of a data set; 'never' does not",
    )
    backward: Annotated[str, OneOf(*BACKWARD)] = option(
        "reversed",
        "'reversed' feeds the backward model the reversed text as a separate stream; 'window'"
        " feeds it each window backwards. With 'window' its state must not be carried, "
        "because it has read the labels of the next window",
    )
    # The character CNN keeps the number of a filter's best window in 8 bits.
    max_characters: Annotated[int, Range(3, 256)] = option(
        50, "number of characters of a word's frame, begin and end included"
    )


@dataclasses.dataclass(frozen=True)
class Translation(TaskOptions):
    """Sentences and their translations (LASER; C1)."""

    name = "translation"
    parallel: str = option(
        SOURCE,
        "parallel text: source (config.data.pairs, else pocket where data.source is) | mined | a place as of "
        "config.data.pairs",
    )
    targets: str = option(
        "", "the languages to translate into, with commas between them; '': every language"
    )
    widths: Size = option(
        3, "number of widths of batches, whose sentences have similar lengths; each is compiled"
    )

    def check(self, run: Any, path: str) -> None:
        super().check(run, path)
        if not self.parallel:
            raise ValueError(
                "config.data.pairs is empty: a translation model needs parallel text, "
                "--config.data.pairs=DIR (xx-yy.xx and xx-yy.yy) or DIR/train (train.xx, train.yy)"
            )


@dataclasses.dataclass(frozen=True)
class Sentences(TaskOptions):
    """Sentences of every language, without translations (unsupervised translation; E10)."""

    name = "sentences"
    sources = ("text:DIR",)
    max_sentences: Count = option(
        0, "maximum number of sentences of a language, from the beginning; 0: all"
    )
    widths: Size = option(
        3, "number of widths of batches, whose sentences have similar lengths; each is compiled"
    )


Task = Mlm | BiLm | Translation | Sentences

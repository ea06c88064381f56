"""Tasks: the options by which a system makes examples of text, checked when a task is made."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from clwe_jax.fields import Count, OneOf, Rate, Share, Size

CHOICES = ("uniform", "context")
SENTENCES = ("lines", "marks")
RESETS = ("never", "document")
BACKWARD = ("reversed", "window")


@dataclasses.dataclass(frozen=True)
class Mlm:
    """Plain whole-word masked language modelling (BERT; the paper's baseline).

    Attributes:
      masking_rate: expected share of masked words among the words of a line.
      mask_share, keep_share, random_share: shares of the masked words' pieces that become [MASK],
        stay unchanged, or become a random piece. All of them contribute to the loss.
      only_words_with_entries: whether to mask only words that the dictionary has, as DICT-MLM does;
        in languages without any entry, all words may be masked.
      cross_lingual_share, choice: see `DictMlm`. They are constants in the other tasks, whose
        labels are the words themselves.
    """

    cross_lingual_share = 0.0
    choice = "uniform"

    masking_rate: Share = 0.15
    mask_share: Share = 0.8
    keep_share: Share = 0.1
    random_share: Share = 0.1
    only_words_with_entries: bool = False

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            is_share = field.name.endswith(("_rate", "_share"))
            if is_share and not (isinstance(value, (int, float)) and 0 <= value <= 1):
                raise ValueError(f"config.task.{field.name}={value!r}: must be in [0, 1]")
        total = self.mask_share + self.keep_share + self.random_share
        if abs(total - 1) > 1e-6:
            raise ValueError(
                "config.task.mask_share, keep_share and random_share must add up to 1, not "
                f"{total:g}"
            )


@dataclasses.dataclass(frozen=True)
class DictMlm(Mlm):
    """Masked words are labelled with a synonym in another language (DICT-MLM, D1-D4).

    Attributes:
      cross_lingual_share: probability that a masked word's label is a synonym (x: .5, .7, .9).
      choice: 'uniform' draws one of the entry's languages uniformly, then one of the language's
        words uniformly; 'context' (beyond the paper) prefers the words of the language whose
        meanings fit the sentence.
    """

    only_words_with_entries: bool = True
    cross_lingual_share: Share = 0.5
    choice: Annotated[str, OneOf(*CHOICES)] = "uniform"

    def __post_init__(self):
        super().__post_init__()
        if self.choice not in CHOICES:
            raise ValueError(f"config.task.choice={self.choice!r}: one of {', '.join(CHOICES)}")


@dataclasses.dataclass(frozen=True)
class DictTlm(Mlm):
    """A text and its code-switched copy in one segment, masked over both (DICT-TLM, D6).

    Attributes:
      copy_switch_rate: probability that a word of the copy is replaced, if it has an entry.
    """

    copy_switch_rate: Share = 0.5


@dataclasses.dataclass(frozen=True)
class Tlm(Mlm):
    """Translation language modelling on parallel text, beside plain MLM (XLM, section 3.3).

    Attributes:
      parallel: folder of parallel text or the beginning of its files' names, see `text.parallel`.
      parallel_share: share of the rows that hold sentence pairs.
    """

    parallel: str = ""
    parallel_share: Share = 0.5


@dataclasses.dataclass(frozen=True)
class Copies(Mlm):
    """A sentence and its code-switched copy, a row each, without masks (the contrastive finish).

    Attributes:
      copy_switch_rate: the chance that a word of the copy that has an entry is replaced.
      drop: highest chance that a word of the sentence, and that one of the copy, is left out. The
        chance of each of the two is drawn uniformly between 0 and `drop`.
    """

    masking_rate: float = 0.0
    copy_switch_rate: Share = 0.9
    drop: Rate = 0.0


@dataclasses.dataclass(frozen=True)
class BiLm:
    """Language modelling in both directions over contiguous windows of words (ELMo; A1, A12).

    Attributes:
      sentences: 'lines' puts `<S>` and `</S>` around each line; 'marks' also cuts lines after full
        stops and other marks that end a sentence.
      reset: 'document' resets the state at the beginning of each line of a text file or document of
        a data set; 'never' does not.
      backward: 'reversed' feeds the backward model the reversed text as a separate stream; 'window'
        feeds it each window backwards. With 'window' its state must not be carried, because it has
        read the labels of the next window.
      max_characters: number of characters of a word's frame, begin and end included.
    """

    sentences: Annotated[str, OneOf(*SENTENCES)] = "lines"
    reset: Annotated[str, OneOf(*RESETS)] = "never"
    backward: Annotated[str, OneOf(*BACKWARD)] = "reversed"
    max_characters: Size = 50

    def __post_init__(self):
        for name, known in (("sentences", SENTENCES), ("reset", RESETS), ("backward", BACKWARD)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"config.task.{name}={value!r}: one of {', '.join(known)}")
        if self.max_characters < 3:
            raise ValueError(
                f"config.task.max_characters={self.max_characters}: must be at least 3, for a "
                "word's begin, one byte and its end"
            )


@dataclasses.dataclass(frozen=True)
class Translation:
    """Sentences and their translations (LASER; C1).

    Attributes:
      parallel: folder of parallel text or the beginning of its files' names, see `text.parallel`.
      targets: the languages to translate into, with commas between them; '': every language.
      widths: number of widths of batches, whose sentences have similar lengths; each is compiled.
    """

    parallel: str = ""
    targets: str = ""
    widths: Size = 3


@dataclasses.dataclass(frozen=True)
class Sentences:
    """Sentences of every language, without translations (unsupervised translation; E10).

    Attributes:
      most: most sentences of a language, from the beginning; 0: all.
      widths: number of widths of batches, whose sentences have similar lengths; each is compiled.
    """

    most: Count = 0
    widths: Size = 3


Task = Mlm | BiLm | Translation | Sentences

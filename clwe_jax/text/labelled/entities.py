"""Entities in sequences of tags, by the definition of seqeval (Nakayama 2018), and IOB2.

seqeval's default mode is that of CoNLL's script conlleval: an entity also begins at I- after O, and
where the type changes. The same definition on bare tags (NOUN, VERB) gives runs of equal tags,
which is how XTREME (Hu et al. 2020) scores parts of speech. A tag's first letter is its prefix in
both cases and the rest its type, so that each SCONJ and SYM is an entity of its own, and X ('_', as
O) hardly ever one.
"""

from __future__ import annotations

import functools
import re
from typing import NamedTuple, Sequence

_TAG = re.compile(r"O|[BIESLU]-\S+")
_SAME = {"L": "E", "U": "S"}  # prefixes of BILOU -> BIOES


class Entity(NamedTuple):
    """An entity: its type, and its first and last word."""

    type: str
    first: int
    last: int


@functools.cache
def is_tag(tag: str) -> bool:
    """Whether a tag is O, or a type after one of the prefixes of IOB, BIOES and BILOU."""
    return _TAG.fullmatch(tag) is not None


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of a sentence, or of sentences with 'O' between them, as seqeval finds them."""
    chunks: list[Entity] = []
    before = "O"
    type_before = ""
    first = 0
    for place, tag in enumerate([*tags, "O"]):
        prefix = tag[0]
        type_ = tag[1:].split("-", maxsplit=1)[-1] or "_"
        if _ends(before, prefix, type_before, type_):
            chunks.append(Entity(type_before, first, place - 1))
        if _begins(before, prefix, type_before, type_):
            first = place
        before = prefix
        type_before = type_
    return chunks


def _ends(before: str, prefix: str, type_before: str, type_: str) -> bool:
    """Whether an entity ends before a word."""
    if before in "ES" or (before in "BI" and prefix in "BSO"):
        return True
    return before not in "O." and type_before != type_


def _begins(before: str, prefix: str, type_before: str, type_: str) -> bool:
    """Whether an entity begins at a word."""
    if prefix in "BS" or (before in "ESO" and prefix in "EI"):
        return True
    return prefix not in "O." and type_before != type_


def to_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags of one sentence in IOB2, from IOB1, IOB2, BIOES or BILOU."""
    if set(tags) == {"O"}:
        return tuple(tags)
    renamed = [f"{_SAME.get(tag[0], tag[0])}{tag[1:]}" for tag in tags]
    result = ["O"] * len(renamed)
    for type_, first, last in entities(renamed):
        result[first] = f"B-{type_}"
        result[first + 1 : last + 1] = [f"I-{type_}"] * (last - first)
    return tuple(result)


def scheme(sentences: Sequence[Sequence[str]]) -> str:
    """The scheme of a file's tags: 'IOB2', 'IOB1' or 'BIOES'.

    BIOES where a prefix is E, S, L or U. Else IOB1 where each B- follows an entity of its own type,
    which is the only place where IOB1 writes B-, and some entity begins with I-. Else IOB2.
    """
    begun = False  # whether some entity begins with I-
    first_elsewhere = False  # whether some B- stands where IOB1 writes I-
    for tags in sentences:
        before = "O"
        for tag in tags:
            if tag[0] in "ESLU":
                return "BIOES"
            follows = before[1:] == tag[1:] and before != "O"
            if tag[0] == "B" and not follows:
                first_elsewhere = True
            elif tag[0] == "I" and not follows:
                begun = True
            before = tag
    return "IOB1" if begun and not first_elsewhere else "IOB2"

"""The parts of speech of CoNLL-2002 and 2003 as the 12 universal ones (Petrov et al. 2012; C7).

English has the tags of the Penn Treebank, German STTS, Dutch those of the MBT tagger and Spanish
EAGLES. The maps are those of the release (slavpetrov/universal-pos-tags: en-ptb, de-tiger and de-negra,
nl-alpino, es-eagles).
"""

from __future__ import annotations

import re
from typing import Mapping

from clwe_jax.text.words.languages import code_of

TAGS = tuple(". ADJ ADP ADV CONJ DET NOUN NUM PRON PRT VERB X".split())

_PENN = {
    ".": "# $ '' ( ) , -LRB- -RRB- . : `` \"",
    "ADJ": "JJ JJR JJS",
    "ADP": "IN",
    "ADV": "RB RBR RBS WRB",
    "CONJ": "CC",
    "DET": "DT EX PDT WDT",
    "NOUN": "NN NNP NNPS NNS NN|SYM",
    "NUM": "CD",
    "PRON": "PRP PRP$ WP WP$",
    "PRT": "POS RP TO",
    "VERB": "MD VB VBD VBG VBN VBP VBZ",
    "X": "FW LS SYM UH",
}
_STTS = {
    ".": "$( $, $. $*LRB* --",
    "ADJ": "ADJA ADJD",
    "ADP": "APPO APPR APPRART APZR",
    "ADV": "ADV",
    "CONJ": "KOKOM KON KOUI KOUS",
    "DET": "ART",
    "NOUN": "NE NN NNE",
    "NUM": "CARD",
    "PRON": "PAV PDAT PDS PIAT PIDAT PIS PPER PPOSAT PPOSS PRELAT PRELS PRF PROAV PROP PWAT PWAV PWS",
    "PRT": "PTKA PTKANT PTKNEG PTKVZ PTKZU",
    "VERB": "VAFIN VAIMP VAINF VAPP VMFIN VMINF VMPP VVFIN VVIMP VVINF VVIZU VVPP",
    "X": "FM ITJ TRUNC XY",
}
_DUTCH = {
    ".": "Punc",
    "ADJ": "Adj",
    "ADP": "Prep",
    "ADV": "Adv",
    "CONJ": "Conj",
    "DET": "Art",
    "NOUN": "N",
    "NUM": "Num",
    "PRON": "Pron",
    "VERB": "V",
    "X": "Int Misc",
}
_EAGLES_TAG = re.compile(r"[A-Z][A-Za-z0-9]*(\+[A-Z][A-Za-z0-9]*)?")
# By the first letter, as DA, NC and VMI are an article, a common noun and an indicative; of a verb with
# its pronoun, VMN0000+PP3CN000, by the verb's.
_EAGLES = dict(
    entry.split(":")
    for entry in "A:ADJ C:CONJ D:DET F:. I:X N:NOUN P:PRON R:ADV S:ADP V:VERB W:X X:X Y:X Z:NUM".split()
)


def _names_by_tag(tags_by_name: Mapping[str, str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name, tags in tags_by_name.items():
        names |= dict.fromkeys(tags.split(), name)
    return names


_MAPS = {"en": _names_by_tag(_PENN), "de": _names_by_tag(_STTS), "nl": _names_by_tag(_DUTCH)}


def universal_tag(tag: str, language: str) -> str:
    """The universal part of speech of a language's own tag; '' where it is none."""
    language = code_of(language)
    if language == "es":
        return _EAGLES.get(tag[:1], "") if _EAGLES_TAG.fullmatch(tag) else ""
    return _MAPS.get(language, {}).get(tag, "")

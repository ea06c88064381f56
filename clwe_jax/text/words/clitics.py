"""Languages whose apostrophe does more than stand inside a word.

Between two letters an apostrophe is a part of the word (Unicode's word boundaries), as in Ukrainian
п'ять, Breton c'hoar and English don't. In some languages it separates a short word from the next one
instead (French l'eau, English the king's), and in some it is a letter at the edge of a word too
(Hawaiian 'okina, Uzbek tog').
"""

from __future__ import annotations

from typing import Mapping

# Language -> the short words before an apostrophe that stand apart, as alternatives of a pattern.
PROCLITICS: Mapping[str, str] = {
    "ca": "l|d|m|t|s|n",
    "co": "l|d|m|t|s|n|c|un|quell|st|qu",
    "el": "σ|τ|μ|θ|ν|δ|γι|κι|απ|αφ|παρ|μετ|κατ|αλλ",
    "eo": "l|d",
    "fr": "l|d|j|m|t|s|n|c|ç|qu|jusqu|lorsqu|puisqu|quoiqu",
    "fur": "l|d|un",
    "ga": "d|m|b",
    "gd": "d|m|b|dh|th|a",
    "gsw": "d|s",
    "gv": "d|v",
    "it": "l|d|c|m|t|s|v|n|gl|ch|un|all|dall|dell|nell|sull|coll|agl|dagl|degl|negl|sugl|"
    "quest|quell|bell|sant|anch|dov|com|nessun|ciascun|alcun|senz|tutt|mezz|quand|pover",
    "lb": "d|m",
    "lij": "l|d|un",
    "lmo": "l|d|un",
    "mt": "b|f|m|s|t|x|d",
    "nap": "l|d|n|st|ll",
    "oc": "l|d|m|t|s|n|qu|c",
    "pms": "l|d|n|ch|un",
    "rm": "l|d|in",
    "sc": "l|d|s|un",
    "scn": "l|d|n|st|un",
    "sq": "s|t|m|ç",
    "vec": "l|d|un",
    "wa": "l|d|dj|m|t|s|n|c|qu",
}
# Language -> the short words behind an apostrophe that stand apart.
ENCLITICS: Mapping[str, str] = {
    "ca": "l|ls|m|n|ns|s|t|hi|ho",
    "cy": "r|n|i|w|u|m|th|ch",
    "de": "s",
    "en": "s|m|d|ll|ve|re",
    "tl": "y|t",
    "tr": "[a-zçğıöşüâîû]+",  # the suffixes of names: İstanbul'da
}
# Languages in which an apostrophe before the first letter of a word is a letter.
INITIAL = frozenset(("haw", "sm", "to", "ty", "ha"))
# Language -> the letters behind which an apostrophe is a letter at the end of a word too.
FINAL: Mapping[str, str] = {"uz": "ogOG"}

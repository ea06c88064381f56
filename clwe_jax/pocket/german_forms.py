"""German inflection: articles, adjective endings, genitives, verbs."""

from __future__ import annotations

import re

NOM = "nom"
ACC = "acc"
DAT = "dat"
GEN = "gen"
CASES = {"a": ACC, "d": DAT, "acc": ACC, "dat": DAT}
# Rows: case. Columns: masculine, feminine, neuter, plural.
COLUMN = {"der": 0, "die": 1, "das": 2}
DEFINITE = {
    NOM: ("der", "die", "das", "die"),
    ACC: ("den", "die", "das", "die"),
    DAT: ("dem", "der", "dem", "den"),
    GEN: ("des", "der", "des", "der"),
}
DIES = {
    NOM: ("dieser", "diese", "dieses", "diese"),
    ACC: ("diesen", "diese", "dieses", "diese"),
    DAT: ("diesem", "dieser", "diesem", "diesen"),
    GEN: ("dieses", "dieser", "dieses", "dieser"),
}
EIN = {
    NOM: ("", "e", "", "e"),
    ACC: ("en", "e", "", "e"),
    DAT: ("em", "er", "em", "en"),
    GEN: ("es", "er", "es", "er"),
}
WEAK = {
    NOM: ("e", "e", "e", "en"),
    ACC: ("en", "e", "e", "en"),
    DAT: ("en", "en", "en", "en"),
    GEN: ("en", "en", "en", "en"),
}
MIXED = {
    NOM: ("er", "e", "es", "en"),
    ACC: ("en", "e", "es", "en"),
    DAT: ("en", "en", "en", "en"),
    GEN: ("en", "en", "en", "en"),
}
STRONG = {
    NOM: ("er", "e", "es", "e"),
    ACC: ("en", "e", "es", "e"),
    DAT: ("em", "er", "em", "en"),
    GEN: ("en", "er", "en", "er"),
}
RELATIVE = ("der", "die", "das", "die")
STEMS = {"my": "mein", "our": "unser", "his": "sein", "her": "ihr", "no": "kein", "indef": "ein"}
PREPOSITIONS = {
    "at": "in",
    "in": "in",
    "inside": "in",
    "on": "auf",
    "open": "auf",
    "under": "unter",
    "beside": "neben",
    "behind": "hinter",
    "before": "vor",
    "to": "zu",
}
CONTRACTIONS = {
    "in dem": "im",
    "an dem": "am",
    "zu dem": "zum",
    "zu der": "zur",
    "bei dem": "beim",
    "von dem": "vom",
    "in das": "ins",
    "an das": "ans",
}
PRONOUN_FORMS = {
    NOM: {"I": "ich", "we": "wir", "he": "er", "she": "sie", "they": "sie"},
    ACC: {"I": "mich", "we": "uns", "he": "ihn", "she": "sie", "they": "sie"},
    DAT: {"I": "mir", "we": "uns", "he": "ihm", "she": "ihr", "they": "ihnen"},
}
# First person singular, third person singular, plural; the past of modals is not used.
MODAL_VERBS = {
    "want": ("wollen", "will", "will", "wollen"),
    "can": ("können", "kann", "kann", "können"),
    "must": ("müssen", "muss", "muss", "müssen"),
    "may.permission": ("dürfen", "darf", "darf", "dürfen"),
}
WERDEN = ("werde", "wird", "werden")
BE = {"present": ("bin", "ist", "sind"), "past": ("war", "war", "waren")}


def genitive(noun: str) -> str:
    """The genitive singular of a strong masculine or neuter noun."""
    if noun.endswith(("nis",)):
        return noun + "ses"
    if noun.endswith(("s", "ß", "x", "z", "tsch")):
        return noun + "es"
    # A vowel after another one belongs to the same syllable.
    vowels = len(re.findall("(?<![aeiouäöü])[aeiouäöüy]", noun.lower()))
    return noun + ("es" if vowels == 1 and noun[-1] not in "aeiouäöühn" else "s")


def conjugate(spec: str) -> dict[str, str]:
    """Forms of `essen/isst/aß` or of a weak `kaufen`: inf, 1sg, 3sg, 3pl, past, past_pl."""
    prefix, _, spec = spec.rpartition("~")
    parts = spec.split("/")
    infinitive = parts[0]
    stem = infinitive[:-2] if infinitive.endswith("en") else infinitive[:-1]
    linked = stem[-1] in "td" or (
        stem[-1] in "mn"
        and stem[-2] not in "aeiouäöülrmn"
        and (stem[-2] != "h" or stem[-3] == "c")
        and infinitive.endswith("en")
    )
    link = "e" if linked else ""
    present = parts[1] if len(parts) > 1 else stem + link + "t"
    preterite = parts[2] if len(parts) > 2 else stem + link + "te"
    first = infinitive[:-1]
    if infinitive.endswith("eln"):
        first = infinitive[:-3] + "le"
    if len(parts) > 1 and present[-1] != "t":
        first = present
    return {
        "prefix": prefix,
        "inf": infinitive,
        "1sg": first,
        "3sg": present,
        "3pl": infinitive,
        "past": preterite,
        "past_pl": preterite + ("n" if preterite[-1] == "e" else "en"),
    }

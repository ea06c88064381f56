"""French inflection: plurals, feminines, verbs, articles."""

from __future__ import annotations

VOWELS = "aeiouyàâäéèêëîïôöùûüœh"
THIS = {False: ("ce", "cette"), True: ("ces", "ces")}
POSSESSIVE = {
    "my": {False: ("mon", "ma"), True: ("mes", "mes")},
    "our": {False: ("notre", "notre"), True: ("nos", "nos")},
    "his": {False: ("son", "sa"), True: ("ses", "ses")},
    "her": {False: ("son", "sa"), True: ("ses", "ses")},
}
PREPOSITIONS = {
    "at": "à",
    "in": "dans",
    "inside": "dans",
    "on": "sur",
    "open": "sur",
    "under": "sous",
    "beside": "à côté de",
    "behind": "derrière",
    "before": "devant",
    "to": "à",
}
CONTRACTIONS = {"de le": "du", "de les": "des", "à le": "au", "à les": "aux"}
SUBJECTS = {
    "I": "je",
    "we": "nous",
    "he": "il",
    "she": "elle",
    "they": "ils",
    "they.women": "elles",
}
ELIDED = {"je", "ne", "que", "de", "le", "la", "me", "se"}
SLOTS = ("1sg", "3sg", "1pl", "3pl", "participle")
MODAL_VERBS = {
    "want": ("vouloir", "veux", "veut", "veulent", "voulons"),
    "can": ("pouvoir", "peux", "peut", "peuvent", "pouvons"),
    "must": ("devoir", "dois", "doit", "doivent", "devons"),
    "may.permission": ("pouvoir", "peux", "peut", "peuvent", "pouvons"),
}
GO = ("vais", "va", "vont", "allons")
AVOIR = ("ai", "a", "ont", "avons")
BE = {"present": ("suis", "est", "sont", "sommes"), "past": ("étais", "était", "étaient", "étions")}


def plural(word: str) -> str:
    """The regular plural of a noun or adjective."""
    if word[-1] in "sxz":
        return word
    if word.endswith(("eau", "eu")):
        return word + "x"
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + "s"


def feminine(adjective: str) -> str:
    for ending, fem in (
        ("er", "ère"),
        ("eux", "euse"),
        ("f", "ve"),
        ("el", "elle"),
        ("en", "enne"),
        ("on", "onne"),
        ("eil", "eille"),
    ):
        if adjective.endswith(ending):
            return adjective[: -len(ending)] + fem
    return adjective if adjective.endswith("e") else adjective + "e"


def conjugate(spec: str) -> dict[str, str]:
    """Forms of `manger`, `finir`, `vendre`, `acheter:è` or `boire{bois,boit,buvons,boivent,bu}`."""
    spec, _, irregular_forms = spec.rstrip("}").partition("{")
    verb, _, change = spec.partition(":")
    stem = verb[:-2]
    ending = verb[-2:]
    strong = stem
    if change in ("è",):
        at = max(stem.rfind("e"), stem.rfind("é"))
        strong = stem[:at] + "è" + stem[at + 1 :]
    elif change:
        strong = stem + change
    if ending == "er":
        if stem.endswith("y"):
            strong = stem[:-1] + "i"
        soft = {"g": "ge", "c": "ç"}.get(stem[-1])
        we = (stem[:-1] + soft if soft else stem) + "ons"
        forms = (strong + "e", strong + "e", we, strong + "ent", stem + "é")
    elif ending == "ir":
        forms = (stem + "is", stem + "it", stem + "issons", stem + "issent", stem + "i")
    else:
        forms = (
            stem + "s",
            stem if stem[-1] == "d" else stem + "t",
            stem + "ons",
            stem + "ent",
            stem + "u",
        )
    if irregular_forms:
        forms = tuple(irregular_forms.split(","))
    return dict(zip(SLOTS, forms, strict=True), inf=verb)

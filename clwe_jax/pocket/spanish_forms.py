"""Spanish inflection: plurals, feminines, verbs, articles."""

from __future__ import annotations

ARTICLES = {False: ("el", "la"), True: ("los", "las")}
INDEFINITE = {False: ("un", "una"), True: ("unos", "unas")}
THIS = {False: ("este", "esta"), True: ("estos", "estas")}
MANY = {False: ("mucho", "mucha"), True: ("muchos", "muchas")}
POSSESSIVE = {
    "my": {False: ("mi", "mi"), True: ("mis", "mis")},
    "our": {False: ("nuestro", "nuestra"), True: ("nuestros", "nuestras")},
    "his": {False: ("su", "su"), True: ("sus", "sus")},
    "her": {False: ("su", "su"), True: ("sus", "sus")},
}
PREPOSITIONS = {
    "at": "en",
    "in": "en",
    "inside": "en",
    "on": "sobre",
    "open": "en",
    "under": "debajo de",
    "beside": "al lado de",
    "behind": "detrás de",
    "before": "delante de",
    "to": "a",
}
CONTRACTIONS = {"de el": "del", "a el": "al"}
SUBJECTS = {"he": "él", "she": "ella", "they": "ellos", "they.women": "ellas"}
PLAIN = str.maketrans("áéíóú", "aeiou")
SLOTS = ("1sg", "3sg", "3pl", "past_1sg", "past", "past_pl")
MODAL_VERBS = {
    "want": ("querer", "quiero", "quiere", "quieren", "queremos"),
    "can": ("poder", "puedo", "puede", "pueden", "podemos"),
    "must": ("deber", "debo", "debe", "deben", "debemos"),
    "may.permission": ("poder", "puedo", "puede", "pueden", "podemos"),
}
GO = ("voy", "va", "van", "vamos")
SER = {"present": ("soy", "es", "son", "somos"), "past": ("era", "era", "eran", "éramos")}
ESTAR = {
    "present": ("estoy", "está", "están", "estamos"),
    "past": ("estaba", "estaba", "estaban", "estábamos"),
}
THERE = {"present": "hay", "past": "había"}


def plural(word: str) -> str:
    """The regular plural of a noun or adjective."""
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word.endswith("z"):
        return word[:-1] + "ces"
    if word[-2:] in ("ón", "és", "án", "ín", "ás", "ún"):
        return word[:-2] + word[-2:].translate(PLAIN) + "es"
    if word[-1] in "sx":
        return word if not word.endswith("s") or len(word) > 5 else word + "es"
    return word + "es"


def feminine(adjective: str) -> str:
    if adjective.endswith("o"):
        return adjective[:-1] + "a"
    if adjective.endswith("or"):
        return adjective + "a"
    return adjective


def _raise(stem: str, change: str) -> str:
    vowel = {"ie": "e", "ue": "u" if stem == "jug" else "o", "i": "e"}[change]
    at = stem.rindex(vowel)
    return stem[:at] + change + stem[at + 1 :]


def _preterite(stem: str, kind: str, change: str) -> tuple[str, str, str]:
    if kind == "ar":
        first = stem
        for ending, spelling in (("gu", "gü"), ("c", "qu"), ("g", "gu"), ("z", "c")):
            if stem.endswith(ending):
                first = stem[: -len(ending)] + spelling
                break
        return first + "é", stem + "ó", stem + "aron"
    third = stem
    if kind == "ir" and change:
        vowel, weak = ("o", "u") if change == "ue" else ("e", "i")
        at = stem.rindex(vowel)
        third = stem[:at] + weak + stem[at + 1 :]
    if stem[-1:] in ("a", "e", "o", "u") and not stem.endswith(("gu", "qu")):
        return stem + "í", third + "yó", third + "yeron"
    return stem + "í", third + "ió", third + "ieron"


def conjugate(spec: str) -> dict[str, str]:
    """Forms of `comer`, `cerrar:ie` or `dar{doy,da,dan,di,dio,dieron}`: inf, `SLOTS`, 1pl."""
    spec, _, irregular_forms = spec.rstrip("}").partition("{")
    verb, _, change = spec.partition(":")
    stem = verb[:-2]
    kind = verb[-2:].replace("í", "i")
    strong = _raise(stem, change) if change else stem
    theme = "a" if kind == "ar" else "e"
    first = strong
    if kind != "ar":
        if stem.endswith(("c",)) and stem[-2:-1] in "aeiou":
            first = strong[:-1] + "zc"
        elif stem.endswith("c"):
            first = strong[:-1] + "z"
        elif stem.endswith("gu"):
            first = strong[:-1]
        elif stem.endswith("g"):
            first = strong[:-1] + "j"
    if kind == "ir" and stem.endswith("u") and not stem.endswith(("gu", "qu")):
        strong = first = stem + "y"
    forms = dict(
        zip(
            SLOTS,
            (first + "o", strong + theme, strong + theme + "n", *_preterite(stem, kind, change)),
            strict=True,
        )
    )
    for slot, form in zip(SLOTS, irregular_forms.split(","), strict=False):
        if form not in ("", "-"):
            forms[slot] = form
    forms["inf"] = verb
    forms["1pl"] = stem + {"ar": "amos", "er": "emos", "ir": "imos"}[kind]
    if verb == "ir":
        forms["1pl"] = "vamos"
    past = forms["past_pl"].removesuffix("ron")
    # The first person plural of the past: the third person's stem, but its own vowel in -ir verbs.
    if kind == "ar" and past.endswith("a"):
        forms["past_1pl"] = past + "mos"
    elif forms["past_1sg"].endswith("í"):
        forms["past_1pl"] = forms["past_1sg"][:-1] + ("ímos" if stem[-1] in "aeo" else "imos")
    else:
        forms["past_1pl"] = forms["past_1sg"][:-1] + "imos"
    return forms

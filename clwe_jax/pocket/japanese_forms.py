"""Japanese inflection: verbs and adjectives."""

from __future__ import annotations

# Rows of the kana table that a consonant verb moves through: a, i, u.
ROWS = {
    "う": "わい",
    "く": "かき",
    "ぐ": "がぎ",
    "す": "さし",
    "つ": "たち",
    "ぬ": "なに",
    "ぶ": "ばび",
    "む": "まみ",
    "る": "らり",
}
TE = {
    "う": "って",
    "つ": "って",
    "る": "って",
    "む": "んで",
    "ぶ": "んで",
    "ぬ": "んで",
    "く": "いて",
    "ぐ": "いで",
    "す": "して",
}
# Slots of the dictionary that a form belongs to.
FORM_SLOTS = {
    "masu": ("inf", "1sg", "3sg", "3pl"),
    "masen": ("inf",),
    "plain": ("inf", "3sg", "3pl"),
    "nai": ("inf",),
    "tai": ("inf",),
    "nakereba": ("inf",),
    "te": ("inf", "3sg", "3pl", "past", "past_pl"),
    "mashita": ("past", "past_pl"),
    "ta": ("past", "past_pl"),
    "masendeshita": ("inf",),
    "nakatta": ("inf",),
}


def conjugate(spec: str) -> dict[str, str]:
    """Forms of `飲む:5`, `食べる:1`, `掃除する`, `来る`, of a state `知る:5~`, of `好き:な`."""
    verb, _, kind = spec.rstrip("~").partition(":")
    if kind == "な":
        return {
            "masu": verb,
            "mashita": verb,
            "masen": verb,
            "masendeshita": verb,
            "plain": verb,
            "ta": verb,
            "nai": verb,
            "nakatta": verb,
            "te": verb,
        }
    if verb.endswith("する"):
        stem = nai = verb[:-2] + "し"
        te = stem + "て"
    elif verb.endswith("くる"):
        stem = verb[:-2] + "き"
        nai = verb[:-2] + "こ"
        te = stem + "て"
    elif kind == "1" or verb.endswith("来る"):
        stem = nai = verb[:-1]
        te = stem + "て"
    else:
        rows = ROWS[verb[-1]]
        nai = verb[:-1] + rows[0]
        stem = verb[:-1] + rows[1]
        te = verb[:-1] + ("って" if verb.endswith(("行く", "いく")) else TE[verb[-1]])
    forms = {
        "masu": stem + "ます",
        "mashita": stem + "ました",
        "masen": stem + "ません",
        "masendeshita": stem + "ませんでした",
        "plain": verb,
        "ta": te[:-1] + ("た" if te[-1] == "て" else "だ"),
        "nai": nai + "ない",
        "nakatta": nai + "なかった",
        "te": te,
        "tai": stem + "たい",
        "nakereba": nai + "なければ",
    }
    if spec.endswith("~"):
        forms |= conjugate(te + "いる:1") | {k: forms[k] for k in ("tai", "nakereba")}
    return forms


def adjective(spec: str) -> dict[str, str]:
    """Forms of `大きい`, `静か:な`, `緑:の`, and `疲れる:1て`, a verb whose state is meant."""
    word, _, kind = spec.partition(":")
    if kind in ("な", "の"):
        return {"kind": kind, "base": word}
    if kind.endswith("て"):
        base = conjugate(f"{word}:{kind[:-1]}")
        return {**conjugate(f"{word}:{kind[:-1]}~"), "kind": "て", "base": base["ta"]}
    stem = "よ" if word == "いい" else word[:-1]
    return {"kind": "い", "base": word, "ta": stem + "かった", "ku": stem + "く"}

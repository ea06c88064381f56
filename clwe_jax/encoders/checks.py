"""Checks of the arguments of a loaded model; each names the argument and what is expected."""

from __future__ import annotations

import numbers
from typing import Any, Iterable, Sequence

from clwe_jax import options
from clwe_jax.options.section import nearest
from clwe_jax.text.corpus.frequencies import FILE, INFORMATION, SIF
from clwe_jax.text.words.languages import hint

# Name of a retrieval method -> its name in `align.csls`.
METHODS = {
    "nn": "cosine",
    "cosine": "cosine",
    "csls": "csls",
    "inverted_softmax": "inverted_softmax",
}


def check_languages(languages: Sequence[str], **codes: Any) -> None:
    """Raises ValueError, which names the argument, unless each is one of the known languages."""
    missing = [f"{name}=None" for name, code in codes.items() if code is None]
    if missing:
        raise ValueError(
            f"{', '.join(missing)}: expected the code of a language. {nearest('', languages)}"
        )
    for name, code in codes.items():
        check_type(name, code, str, "the code of a language, such as 'en'")
        if code not in languages:
            message = f"{name}={code!r} is not a language of this model. {hint(code, languages)}"
            # A downloaded encoder is taken to know these where nobody has named its languages.
            if set(options.MBERT_LANGUAGES.split(",")) <= set(languages):
                message += f" Load a downloaded encoder with languages=[{code!r}]."
            raise ValueError(message)


def choose_pool(pool: str | None, part: str, known: Sequence[str] = ()) -> str | None:
    """How texts are pooled: 'mean', a weighted pool or None; 'own' is the weighted pool where words were counted.

    Args:
      part: what has a vector of its own with pool=None.
      known: the encoder's pools; SIF or INFORMATION, which weigh frequent words less, where words were counted.

    Raises:
      ValueError: another pool, or a weighted one without counts.
    """
    weighted = next((x for x in (SIF, INFORMATION) if x in known), "")
    # Where all words weigh the same, half as many Swahili news find their translation by cosine.
    if pool == "own":
        return weighted or "mean"
    pools = list(filter(None, ("own", "mean", weighted)))
    if pool is None or pool in pools:
        return pool
    if pool in (SIF, INFORMATION) and not weighted:
        raise ValueError(
            f"pool={pool!r}: this model, or one of those beside each other, has no counts of words (WORKDIR/{FILE}): it "
            "is a downloaded one, an older run, or its text was in no files: pool='mean'"
        )
    names = ", ".join(map(repr, pools))
    raise ValueError(f"pool={pool!r}: expected one of {names}, or None for a vector of each {part}")


def check_strings(**strings: Any) -> None:
    """Raises ValueError, which names the argument, unless each is a string."""
    for name, value in strings.items():
        check_type(name, value, str, "one string")


def check_texts(texts: Any) -> list[str]:
    """The texts as a list; ValueError unless `texts` yields strings, as a generator may."""
    if isinstance(texts, str):
        raise ValueError("texts: expected a list of sentences, got one string; write [text]")
    check_type("texts", texts, Iterable, "a list of sentences")
    texts = list(texts)
    for i, text in enumerate(texts):
        check_type(f"texts[{i}]", text, str, "a string")
    return texts


def check_search(k: Any, method: Any) -> str:
    """The name of a retrieval method in `align.csls`.

    Raises:
      ValueError: an unknown method, or a `k` that is not a positive whole number.
    """
    check_count(k=k)
    if method not in METHODS:
        raise ValueError(f"There is no method {method!r}. {nearest(str(method), METHODS)}")
    return METHODS[method]


def check_count(**counts: Any) -> None:
    """Raises ValueError, which names the argument, unless each is a positive whole number."""
    for name, value in counts.items():
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r}: expected a whole number, at least 1")


def check_type(name: str, value: Any, kind: type, expected: str) -> None:
    """Raises ValueError unless a value is of a type; `expected` names it."""
    if not isinstance(value, kind):
        text = repr(value) if len(repr(value)) <= 60 else repr(value)[:59] + "…"
        raise ValueError(
            f"{name}={text}: expected {expected}, got an object of type {type(value).__name__}"
        )

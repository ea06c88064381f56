"""Sentences with the universal part of speech of each word."""

from __future__ import annotations

from clwe_jax.pocket.generate import grammar
from clwe_jax.pocket.tasks import heldout
from clwe_jax.pocket.tasks.function_words import tag

Row = tuple[tuple[str, ...], tuple[str, ...]]


def parts_of_speech(
    language: str, split: str, rows: int, seed: int, domains: tuple[str, ...]
) -> list[Row]:
    """Distinct sentences: words, and tags of Universal Dependencies 2.

    Args, errors: as of `named_entities`.
    """
    render = grammar(language).render
    tagged = []
    seen_texts = set()
    for meaning in heldout.meanings("speech", language, split, seed, domains):
        if len(tagged) == rows:
            break
        sentence = render(meaning)
        if sentence.text not in seen_texts:
            seen_texts.add(sentence.text)
            tokens = sentence.tokens
            tags = tuple(tag(tokens, place, language) for place in range(len(tokens)))
            tagged.append((tuple(token.text for token in tokens), tags))
    return tagged

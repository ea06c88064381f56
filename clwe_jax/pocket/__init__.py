"""The embedded world: a handwritten lexicon and six small grammars that generate endless text.

The sentences are grammatical English, German, Spanish, French, Japanese and Chinese about everyday
domains. The sense of every word is known, and the text is NOT parallel across languages, unless
`Shared` plants translations in it, all of which `shared_pairs` knows. `meanings` draws a meaning
(who does what to what, where, when, how) from the combinations that the lexicon (`lexicon/*.txt`)
allows; a grammar (`english`, `german`, ...) renders it. One meaning in eight is held out of the
training text; `parallel` renders held-out meanings in every language.

    >>> from clwe_jax import pocket
    >>> row = pocket.parallel(pocket.LANGUAGES, 1)[0]
    >>> row["fr"].text, row["fr"].tokens

One meaning in six languages:

    en  The customer withdraws the money at night.
    de  Der Kunde hebt in der Nacht das Geld ab.
    es  El cliente retira el dinero por la noche.
    fr  Le client retire l'argent la nuit.
    ja  客は夜お金を引き出します。
    zh  顾客夜里取出钱。

A token's `text` is the word as the sentence spells it. Its `concept` is an id such as 'bank.money',
or None for function words and punctuation. In spaced scripts a token is a maximal run of letters or
a single mark; in Japanese and Chinese it is a word or particle. In a separated German verb
("hebt ... ab") the finite part carries the concept.
"""

from clwe_jax.pocket.base import LANGUAGES, Sentence, Token
from clwe_jax.pocket.generate import (
    ambiguous,
    concepts,
    dictionary,
    domains,
    parallel,
    sentences,
    translations,
)
from clwe_jax.pocket.gold import GoldSentence, gold_sentences, occurrences, senses, shares
from clwe_jax.pocket.links import LinkedSentences, link_sentences
from clwe_jax.pocket.planted import Shared, SharedPair, read_pairs, shared_pairs
from clwe_jax.pocket.write import (
    write_bli,
    write_corpus,
    write_dictionaries,
    write_parallel,
    write_retrieval,
    write_shared,
)

__all__ = [
    "GoldSentence",
    "LANGUAGES",
    "LinkedSentences",
    "Sentence",
    "Shared",
    "SharedPair",
    "Token",
    "ambiguous",
    "concepts",
    "dictionary",
    "domains",
    "gold_sentences",
    "link_sentences",
    "occurrences",
    "parallel",
    "read_pairs",
    "senses",
    "sentences",
    "shared_pairs",
    "shares",
    "translations",
    "write_bli",
    "write_corpus",
    "write_dictionaries",
    "write_parallel",
    "write_retrieval",
    "write_shared",
]

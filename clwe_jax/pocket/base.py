"""Tokens, meanings, and the assembly of a sentence, shared by the six grammars.

A meaning is independent of languages: a `Meaning` holds one or two clauses of noun phrases (`NP`)
whose words are concept ids. A `Grammar` renders it into one language, from *segments*
`(text, tokens)`. The segments of noun phrases are cached, because noun phrases repeat often.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

LANGUAGES = ("de", "en", "es", "fr", "ja", "zh")


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """A word or punctuation mark with its concept (None for function words and punctuation)."""

    text: str
    concept: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Sentence:
    """A rendered meaning: its tokens, and its text with natural spacing and capitals."""

    language: str
    domain: str
    tokens: tuple[Token, ...]
    text: str


class NP(NamedTuple):
    """A noun phrase.

    `noun` is a concept id, or one of `PRONOUNS`. `det` is 'def', 'indef', 'this', 'many', one of
    `POSSESSIVES`, 'num' (then `count` is a number's concept id), or 'name' (a proper name, which has
    no article). `owner` is a possessor, `other` a coordinated phrase, `relative` a clause whose
    subject is this noun.
    """

    noun: str
    plural: bool = False
    det: str = "def"
    adj: str | None = None
    count: str | None = None
    owner: Any = None
    other: Any = None
    relative: Any = None


class Place(NamedTuple):
    """A location: a relation ('in', 'under', ...) and its ground."""

    relation: str
    ground: NP


class Clause(NamedTuple):
    """A clause: who does what with what, to whom, where, when and how.

    `tense` is 'present', 'past' or 'future'; `modal` a concept id of `MODALS` or None. `kind` is
    'event', 'is' (subject is `adj`), 'more' (subject is more `adj` than `obj`), 'at' (subject is at
    `place`) or 'there' (there is `subject` at `place`).
    """

    kind: str
    subject: NP
    verb: str | None = None
    obj: NP | None = None
    receiver: NP | None = None
    tool: NP | None = None
    place: Place | None = None
    goal: Place | None = None
    time: str | None = None
    often: str | None = None
    manner: str | None = None
    adj: str | None = None
    tense: str = "present"
    negated: bool = False
    modal: str | None = None
    fronted: bool = False


class Meaning(NamedTuple):
    """The meaning of one sentence.

    `frame` is 'say' (a statement), 'ask' (yes or no), 'who', 'what', 'where', or joins two clauses:
    'and', 'but', 'when', 'if', 'because', 'report' (`first` holds subject and verb of saying).
    `key` is the sequence of the concepts that its sentence says; it decides whether the meaning is
    held out.
    """

    frame: str
    domain: str
    first: Clause
    second: Clause | None
    key: str


PRONOUNS = {
    "I": (1, False),
    "we": (1, True),
    "he": (3, False),
    "she": (3, False),
    "they": (3, True),
    "they.women": (3, True),
}
POSSESSIVES = ("my", "our", "his", "her")
PEOPLE = ("person", "woman")
PLACES = ("at", "in", "on", "open")
MODALS = ("want", "can", "must", "may.permission")
CACHE_SIZE = 60_000
QUESTIONS = ("ask", "who", "what", "where")  # frames of meanings
MASCULINE = 0
FEMININE = 1

Segment = tuple[str, tuple[Token, ...]]


def segment(text: str, concept: str | None = None) -> Segment:
    """The segment of one word."""
    return text, (Token(text, concept),)


def phrase(text: str, concept: str | None = None, space: str = " ") -> Segment:
    """The segment of a fixed phrase; the word that begins with `*` carries the concept."""
    words = text.split()
    tokens = tuple(Token(w.lstrip("*"), concept if w[0] == "*" else None) for w in words)
    return space.join(token.text for token in tokens), tokens


class Grammar:
    """Renders meanings into one language. Subclasses render clauses and noun phrases."""

    language = ""
    space = " "
    stop = "."
    question = "?"
    comma = ","
    # Whether the reason stands before what it explains, so that it names the person.
    reason_first = False

    def __init__(self, lexicon):
        self.lexicon = lexicon
        self.words: dict[str, Segment] = {}
        self.phrases: dict[Any, Segment] = {}
        self.comma_segment = segment(self.comma)
        self.inflect(lexicon)

    def inflect(self, lexicon) -> None:
        """Fills the tables of inflected forms."""
        raise TypeError(f"{type(self).__name__} has no inflection")

    def forms(self, concept: str) -> dict[str, tuple[str, ...]]:
        """A concept's surface forms by slot, for the dictionaries: 'sg', 'pl', '3sg', ..."""
        raise TypeError(f"{type(self).__name__} lists no forms of {concept}")

    def word(self, text: str) -> Segment:
        """A function word's segment."""
        cached = self.words.get(text)
        if cached is None:
            cached = self.words[text] = segment(text)
        return cached

    def join(self, *segments: Segment) -> Segment:
        texts, tokens = zip(*segments) if segments else ((), ())
        return self.space.join(texts), tuple(itertools.chain(*tokens))

    def render_once(self, key, make, *args) -> Segment:
        """`make(*args)`, computed once for each `key`."""
        rendered = self.phrases.get(key)
        if rendered is None:
            if len(self.phrases) >= CACHE_SIZE:
                self.phrases.clear()
            rendered = self.phrases[key] = make(*args)
        return rendered

    def render_with_phrases(
        self, meaning: Meaning
    ) -> tuple[Sentence, list[tuple[Any, tuple[Token, ...]]]]:
        """The sentence of a meaning, and the phrases that were made for it.

        Returns:
          The sentence, and pairs of a phrase and its tokens. A phrase is an `NP` (in some languages
          with its preposition), a `Place`, or the concept of an adverbial. A question also makes the
          phrase that it asks for, whose tokens are not in the sentence.
        """
        old_phrases = self.phrases
        self.phrases = {}
        try:
            sentence = self.render(meaning)
            new_phrases = self.phrases
        finally:
            self.phrases = old_phrases
        phrases = []
        for key, (_, tokens) in new_phrases.items():
            is_np = isinstance(key, NP)
            phrases.append((key if is_np else key[key[0] in ("time", "adverb")], tokens))
        return sentence, phrases

    def time(self, concept: str) -> Segment:
        """An adverbial of time, such as 'in the morning'."""
        text = self.lexicon.times[concept][self.language]
        return self.render_once(("time", concept), phrase, text, concept, self.space)

    def own_preposition(self, place: Place) -> str | None:
        """The preposition that the lexicon entry of the ground sets for this language (`de=an`)."""
        if place.relation in PLACES:
            for flag in self.lexicon.nouns[place.ground.noun]["flags"]:
                if flag.startswith(f"{self.language}="):
                    return flag[3:]
        return None

    def adverb(self, concept: str) -> Segment:
        """An adverb of manner or frequency."""
        text = self.lexicon.adverbs[concept][self.language]
        return self.render_once(("adverb", concept), phrase, text, concept, self.space)

    def render(self, meaning: Meaning) -> Sentence:
        asks = meaning.frame in QUESTIONS
        placed = self.place_subjects(meaning)
        segments = self.ask(placed.frame, placed.first) if asks else self.compose(placed)
        return self.finish(meaning.domain, segments, asks)

    def place_subjects(self, meaning: Meaning) -> Meaning:
        """The meaning with the subjects that the clauses of this language have."""
        first = meaning.first
        second = meaning.second
        is_turned = self.reason_first and meaning.frame == "because"
        if not is_turned or not self.lexicon.refers_back(first, second):
            return meaning
        return meaning._replace(
            first=first._replace(subject=second.subject),
            second=second._replace(subject=first.subject),
        )

    def ask(self, frame: str, clause: Clause) -> list[Segment]:
        """The segments of a question without its mark."""
        raise TypeError(f"{type(self).__name__} asks nothing: {frame} {clause}")

    def compose(self, meaning: Meaning) -> list[Segment]:
        """The segments of a statement without the final mark."""
        raise TypeError(f"{type(self).__name__} composes nothing: {meaning}")

    def finish(self, domain: str, segments: list[Segment], asks: bool) -> Sentence:
        """Joins the segments, appends the final mark and capitalises the first letter."""
        mark = self.question if asks else self.stop
        text = self.space.join([s[0] for s in segments]).replace(" ,", ",")
        tokens = [token for s in segments for token in s[1]]
        text = self.capital(text)
        first = tokens[0]
        upper = self.capital(first.text)
        if upper != first.text:
            tokens[0] = Token(upper, first.concept)
        tokens.append(Token(mark.strip()))
        return Sentence(self.language, domain, tuple(tokens), text + mark)

    def capital(self, text: str) -> str:
        """The text with its first letter capitalised."""
        return text[0].upper() + text[1:]


class Romance(Grammar):
    """What the grammars of Spanish and French share; `nouns` has a noun's gender first."""

    nouns: dict[str, tuple[Any, ...]]

    def agreement(self, np: NP) -> tuple[bool, int]:
        """(plural, gender) of a subject."""
        if np.noun in PRONOUNS:
            return PRONOUNS[np.noun][1], FEMININE if np.noun in ("she", "they.women") else MASCULINE
        gender = self.nouns[np.noun][0]
        if np.other:
            return True, gender & self.nouns[np.other.noun][0]
        return np.plural, gender

    def person(self, np: NP) -> int:
        """0 first singular, 1 third singular, 2 third plural, 3 first plural."""
        if np.noun in PRONOUNS:
            return {"I": 0, "he": 1, "she": 1, "they": 2, "we": 3}[np.noun.split(".")[0]]
        return 2 if np.plural or np.other else 1

"""English: inflection and clauses (subject verb object, do-support)."""

from __future__ import annotations

from clwe_jax.pocket.base import NP, PLACES, PRONOUNS, Clause, Grammar, Meaning, Place, segment

PREPOSITIONS = {
    "at": "at",
    "in": "in",
    "inside": "in",
    "on": "on",
    "open": "on",
    "under": "under",
    "beside": "beside",
    "behind": "behind",
    "before": "in front of",
    "to": "to",
}
# Words whose first letter is a vowel and first sound a consonant, or the reverse.
AN_EXCEPTIONS = {"university": "a", "uniform": "a", "hour": "an", "honest": "an", "useful": "a"}
BE = {"present": ("am", "is", "are"), "past": ("was", "was", "were")}
OBJECT_PRONOUNS = {"I": "me", "we": "us", "he": "him", "she": "her", "they": "them"}


def plural(noun: str) -> str:
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + "s"


def third(verb: str) -> str:
    """The third person singular of the present."""
    if verb == "have":
        return "has"
    return verb + "es" if verb.endswith("o") else plural(verb)


def past(verb: str) -> str:
    if verb.endswith("e"):
        return verb + "d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ied"
    return verb + "ed"


def article(word: str) -> str:
    return AN_EXCEPTIONS.get(word, "an" if word[0] in "aeiou" else "a")


class English(Grammar):
    """The grammar of English."""

    language = "en"

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        for concept, entry in lexicon.nouns.items():
            sg, _, pl = entry["en"].partition("/")
            self.nouns[concept] = (sg, sg if pl == "-" else pl or plural(sg))
        for concept, entry in lexicon.verbs.items():
            verb, _, preposition = entry["en"].partition(" +")
            base, _, preterite = verb.partition("/")
            forms = (base, third(base), preterite or past(base))
            self.verbs[concept] = (*[segment(f, concept) for f in forms], preposition)
        for concept, entry in lexicon.adjectives.items():
            base, _, comparative = entry["en"].partition("/")
            self.adjectives[concept] = (base, comparative)

    def forms(self, concept):
        slots = {}
        if concept in self.nouns:
            sg, pl = self.nouns[concept]
            slots |= {"sg": (sg,)} if self.lexicon.mass(concept) else {"sg": (sg,), "pl": (pl,)}
        if concept in self.verbs:
            base, present, preterite = [s[0] for s in self.verbs[concept][:3]]
            slots |= {"inf": (base,), "1sg": (base,), "3sg": (present,), "3pl": (base,)}
            slots["past"] = slots["past_pl"] = (preterite,)
        if concept in self.adjectives:
            base, comparative = self.adjectives[concept]
            slots |= {"adj_sg": (base,), "adj_pl": (base,)}
            slots["cmp"] = (comparative or base,)
        return slots

    def person(self, np: NP) -> int:
        """0 for 'I', 1 for the third person singular, 2 for plurals."""
        if np.noun in PRONOUNS:
            number, is_plural = PRONOUNS[np.noun]
            return 2 if is_plural else 0 if number == 1 else 1
        return 2 if np.plural or np.other else 1

    def np(self, np: NP, role: str = "subject"):
        """A noun phrase; `role` matters for pronouns."""
        return self.render_once((np, role), self._np, np, role)

    def _np(self, np, role):
        if np.noun in PRONOUNS:
            pronoun = np.noun.split(".")[0]
            return self.word(pronoun if role == "subject" else OBJECT_PRONOUNS[pronoun])
        sg, pl = self.nouns[np.noun]
        mass = self.lexicon.mass(np.noun)
        noun = segment(pl if np.plural else sg, np.noun)
        inner = [segment(self.adjectives[np.adj][0], np.adj)] if np.adj else []
        inner.append(noun)
        if np.owner:
            owner = self.np(np.owner)
            ending = ("'",) if owner[0].endswith("s") else ("'", "s")
            tokens = [segment(mark)[1][0] for mark in ending]
            parts = [(owner[0] + "".join(ending), owner[1] + tuple(tokens))]
        elif np.det == "def":
            parts = [self.word("the")]
        elif np.det == "name":
            parts = []
        elif np.det == "indef":
            parts = [] if mass or np.plural else [self.word(article(inner[0][0]))]
        elif np.det == "num":
            parts = [segment(self.nouns[np.count][0], np.count)]
        elif np.det == "this":
            parts = [self.word("these" if np.plural else "this")]
        elif np.det == "many":
            parts = [self.word("much" if mass else "many")]
        else:
            parts = [self.word(np.det)]
        parts += inner
        if np.relative:
            parts.append(self.word("that" if self._thing(np.noun) else "who"))
            parts += self.predicate(np.relative._replace(subject=np._replace(relative=None)))
        if np.other:
            parts += [self.word("and"), self.np(np.other, role)]
        return self.join(*parts)

    def _thing(self, noun: str) -> bool:
        return self.lexicon.nouns[noun]["flags"][0] not in ("person", "woman")

    def place(self, place: Place):
        """A location, or a goal with the relation 'to'."""
        return self.render_once((place, "place"), self._place, place)

    def _place(self, place):
        preposition = self.own_preposition(place) or PREPOSITIONS[place.relation]
        words = [self.word(w) for w in preposition.split()]
        return self.join(*words, self.np(place.ground, "object"))

    def verb(self, c: Clause):
        """The auxiliaries, negation, adverb of frequency and verb; and the object's preposition."""
        base, present, preterite, preposition = self.verbs[c.verb]
        person = self.person(c.subject)
        often = [self.adverb(c.often)] if c.often else []
        if c.modal == "want":
            if c.negated:
                auxiliary = "does" if person == 1 else "do"
                parts = [self.word(auxiliary), self.word("not"), segment("want", "want")]
            else:
                parts = [segment("wants" if person == 1 else "want", "want")]
            parts += [self.word("to"), base]
        elif c.modal:
            modal = segment(c.modal.split(".")[0], c.modal)
            parts = [modal, *([self.word("not")] if c.negated else []), base]
        elif c.tense == "future":
            parts = [self.word("will"), *([self.word("not")] if c.negated else []), *often, base]
        elif c.negated:
            did = "did" if c.tense == "past" else "does" if person == 1 else "do"
            parts = [self.word(did), self.word("not"), *often, base]
        elif c.tense == "past":
            parts = [*often, preterite]
        else:
            parts = [*often, present if person == 1 else base]
        return parts, preposition

    def be(self, c: Clause):
        """The copula, negated where the clause is."""
        if c.tense == "future":
            parts = [self.word("will"), *([self.word("not")] if c.negated else []), self.word("be")]
            return parts
        parts = [self.word(BE[c.tense][self.person(c.subject)])]
        return parts + [self.word("not")] if c.negated else parts

    def state(self, c: Clause):
        """The complement of the copula."""
        if c.kind == "is":
            return [segment(self.adjectives[c.adj][0], c.adj)]
        if c.kind == "more":
            base, comparative = self.adjectives[c.adj]
            degree = (
                [segment(comparative, c.adj)]
                if comparative
                else [self.word("more"), segment(base, c.adj)]
            )
            return [*degree, self.word("than"), self.np(c.obj, "object")]
        if c.kind == "there":
            return [self.np(c.subject), self.place(c.place)]
        return [self.place(c.place)]

    def complements(self, c: Clause, preposition: str = ""):
        """Object, receiver, goal, tool, manner, place."""
        parts = []
        if c.obj:
            if preposition:
                parts.append(self.word(preposition))
            parts.append(self.np(c.obj, "object"))
        if c.receiver:
            parts += [self.word("to"), self.np(c.receiver, "object")]
        if c.goal:
            goal = c.goal
            if goal.relation in PLACES:
                goal = Place("to", goal.ground)
            parts.append(self.place(goal))
        if c.tool:
            parts += [self.word("with"), self.np(c.tool, "object")]
        if c.manner:
            parts.append(self.adverb(c.manner))
        if c.place:
            parts.append(self.place(c.place))
        return parts

    def predicate(self, c: Clause):
        """The clause without its subject."""
        if c.kind != "event":
            return self.be(c) + self.state(c)
        verb, preposition = self.verb(c)
        return verb + self.complements(c, preposition)

    def clause(self, c: Clause):
        parts = [self.time(c.time)] if c.time and c.fronted else []
        if c.kind == "there":
            parts.append(self.word("there"))
        else:
            parts.append(self.np(c.subject))
        parts += self.predicate(c)
        if c.time and not c.fronted:
            parts.append(self.time(c.time))
        return parts

    def ask(self, frame: str, c: Clause):
        """A question about the clause."""
        time = [self.time(c.time)] if c.time else []
        subject = self.np(c.subject)
        if c.kind != "event":
            if frame == "where":
                return [self.word("where"), *self.be(c), subject, *time]
            be = self.be(c)
            if c.kind == "there":
                return [be[0], self.word("there"), *be[1:], *self.state(c), *time]
            return [be[0], subject, *be[1:], *self.state(c), *time]
        if frame == "who":
            c = c._replace(subject=NP("he"))
            return [self.word("who"), *self.predicate(c), *time]
        verb, preposition = self.verb(c._replace(often=None))
        if c.modal in (None, "want") and c.tense != "future" and not c.negated:
            did = "did" if c.tense == "past" else "does" if self.person(c.subject) == 1 else "do"
            rest = [segment("want", "want"), *verb[1:]] if c.modal else [self.verbs[c.verb][0]]
            verb = [self.word(did), *rest]
        often = [self.adverb(c.often)] if c.often else []
        wh = [] if frame == "ask" else [self.word(frame)]
        rest = c
        if frame == "what":
            rest = c._replace(obj=None)
        elif frame == "where":
            rest = c._replace(place=None, goal=None)
        complements = self.complements(rest, preposition)
        if frame == "what" and preposition:
            complements.insert(0, self.word(preposition))
        return [*wh, verb[0], subject, *often, *verb[1:], *complements, *time]

    def compose(self, m: Meaning):
        first = self.clause(m.first)
        if m.frame == "say":
            return first
        if m.frame == "report":
            return first + [self.word("that"), *self.clause(m.second)]
        second = self.clause(m.second)
        link = self.word(m.frame)
        if m.frame in ("when", "if"):
            return [link, *first, self.comma_segment, *second]
        if m.frame == "because":
            return [*first, link, *second]
        return [*first, self.comma_segment, link, *second]

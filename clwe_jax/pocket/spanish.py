"""Spanish: gender and number, contractions, ser and estar, personal a, clitic doubling."""

from __future__ import annotations

from clwe_jax.pocket.base import (
    FEMININE,
    MASCULINE,
    NP,
    PEOPLE,
    PLACES,
    PRONOUNS,
    Clause,
    Meaning,
    Romance,
    Segment,
    segment,
)
from clwe_jax.pocket.spanish_forms import (
    ARTICLES,
    CONTRACTIONS,
    ESTAR,
    GO,
    INDEFINITE,
    MANY,
    MODAL_VERBS,
    POSSESSIVE,
    PREPOSITIONS,
    SER,
    SUBJECTS,
    THERE,
    THIS,
    conjugate,
    feminine,
    plural,
)


class Spanish(Romance):
    """The grammar of Spanish."""

    language = "es"

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        for concept, entry in lexicon.nouns.items():
            gender, _, word = entry["es"].partition(" ")
            sg, _, pl = word.partition("/")
            if gender == "num":
                self.nouns[concept] = (MASCULINE, False, sg, sg)
                continue
            self.nouns[concept] = (
                FEMININE if gender[0] == "f" else MASCULINE,
                gender == "fa",
                sg,
                pl or plural(sg),
            )
        for concept, entry in lexicon.verbs.items():
            spec, _, preposition = entry["es"].partition(" +")
            forms = {k: segment(v, concept) for k, v in conjugate(spec).items()}
            self.verbs[concept] = (forms, preposition)
        for concept, entry in lexicon.adjectives.items():
            word, _, copula = entry["es"].partition(" ")
            word, fem, pl = (word.split("/") + ["", ""])[:3]
            fem = fem or feminine(word)
            forms = {False: (word, fem), True: (pl, pl) if pl else (plural(word), plural(fem))}
            self.adjectives[concept] = (
                {n: tuple(segment(f, concept) for f in pair) for n, pair in forms.items()},
                ESTAR if copula else SER,
            )

    def forms(self, concept):
        slots = {}
        if concept in self.nouns:
            _, _, sg, pl = self.nouns[concept]
            slots["sg"] = (sg,)
            if not self.lexicon.mass(concept) and pl != sg:
                slots["pl"] = (pl,)
        if concept in MODAL_VERBS:
            infinitive, first, third, pl, we = MODAL_VERBS[concept]
            slots |= {"inf": (infinitive,), "1sg": (first,), "3sg": (third,), "3pl": (pl, we)}
        elif concept in self.verbs:
            verb = self.verbs[concept][0]
            slots |= {slot: (verb[slot][0],) for slot in ("inf", "1sg", "3sg")}
            slots["3pl"] = (verb["3pl"][0], verb["1pl"][0])
            slots["past"] = (verb["past"][0], verb["past_1sg"][0])
            slots["past_pl"] = (verb["past_pl"][0], verb["past_1pl"][0])
        if concept in self.adjectives:
            forms = self.adjectives[concept][0]
            for slot, pl in (("adj_sg", False), ("adj_pl", True)):
                slots[slot] = tuple(dict.fromkeys(f[0] for f in forms[pl]))
            slots["cmp"] = slots["adj_sg"]
        return slots

    def np(self, np: NP, preposition: str = "", role: str = "object") -> Segment:
        """A noun phrase after its preposition; subjects keep an article in the plural."""
        return self.render_once((np, preposition, role), self._np, np, preposition, role)

    def _np(self, np, preposition, role):
        parts = [self.word(w) for w in preposition.split()]
        if np.noun in PRONOUNS:
            return self.join(*parts, self.word(SUBJECTS[np.noun]))
        gender, stressed, sg, pl = self.nouns[np.noun]
        determiner = self._determiner(np, gender, stressed, role)
        if parts and determiner == "el" and parts[-1][0] in ("a", "de"):
            parts[-1] = self.word(CONTRACTIONS[f"{parts[-1][0]} el"])
        elif determiner:
            parts.append(segment(determiner, np.count if np.det == "num" else None))
        parts.append(segment(pl if np.plural else sg, np.noun))
        if np.adj:
            parts.append(self.adjectives[np.adj][0][np.plural][gender])
        if np.owner:
            parts.append(self.np(np.owner, "de"))
        if np.relative:
            inner = np.relative._replace(subject=np._replace(relative=None))
            parts += [self.word("que"), *self.predicate(inner)]
        if np.other:
            # "y" is "e" before the sound i.
            conjunct = self.np(np.other, preposition, role)
            sound = conjunct[0].lower()
            i_sound = sound.startswith("i") or (sound.startswith("hi") and sound[2:3] != "e")
            parts += [self.word("e" if i_sound else "y"), conjunct]
        return self.join(*parts)

    def _determiner(self, np, gender, stressed, role):
        if stressed and not np.plural and np.det in ("def", "indef"):
            gender = MASCULINE
        if np.det == "def" or np.owner:
            if stressed and not np.plural:
                gender = MASCULINE
            return ARTICLES[np.plural][gender]
        if np.det == "name":
            return ""
        if np.det == "indef":
            if self.lexicon.mass(np.noun):
                return ""
            if np.plural and role != "subject":
                return ""
            return INDEFINITE[np.plural][gender]
        if np.det == "num":
            return self.nouns[np.count][2]
        table = {"this": THIS, "many": MANY}.get(np.det) or POSSESSIVE[np.det]
        return table[np.plural][gender]

    def place(self, place, moving: bool = False) -> Segment:
        """A location, or a goal after 'a'."""
        preposition = self.own_preposition(place) or PREPOSITIONS[place.relation]
        if moving and place.relation in (*PLACES, "to"):
            preposition = "a"
        return self.np(place.ground, preposition)

    def _human(self, np: NP) -> bool:
        return np.noun not in PRONOUNS and self.lexicon.nouns[np.noun]["flags"][0] in PEOPLE

    def verb(self, c: Clause) -> tuple[list[Segment], str]:
        """The negation, clitic, adverb of frequency and verb; and the object's preposition."""
        forms, preposition = self.verbs[c.verb]
        person = self.person(c.subject)
        parts = [self.word("no")] if c.negated else []
        if c.often:
            parts.insert(0, self.adverb(c.often))
        if c.receiver:
            is_plural = c.receiver.plural or c.receiver.other
            parts.append(self.word("les" if is_plural else "le"))
        if c.modal:
            parts += [segment(MODAL_VERBS[c.modal][1 + person], c.modal), forms["inf"]]
        elif c.tense == "future":
            parts += [self.word(GO[person]), self.word("a"), forms["inf"]]
        elif c.tense == "past":
            slot = ("past_1sg", "past", "past_pl", "past_1pl")[person]
            parts.append(forms[slot])
        else:
            parts.append(forms[("1sg", "3sg", "3pl", "1pl")[person]])
        return parts, preposition

    def complements(self, c: Clause, preposition: str) -> list[Segment]:
        """Object, receiver, goal, tool, place, manner."""
        parts = []
        if c.obj:
            specific = c.obj.det != "indef" or c.obj.owner
            if not preposition and specific and self._human(c.obj):
                preposition = "a"
            parts.append(self.np(c.obj, preposition))
        if c.receiver:
            parts.append(self.np(c.receiver, "a"))
        if c.goal:
            parts.append(self.place(c.goal, moving=True))
        if c.tool:
            parts.append(self.np(c.tool, "con"))
        if c.manner:
            parts.append(self.adverb(c.manner))
        if c.place:
            parts.append(self.place(c.place))
        return parts

    def predicate(self, c: Clause) -> list[Segment]:
        """The clause without its subject."""
        if c.kind != "event":
            return [*([self.word("no")] if c.negated else []), *self._state(c)]
        verb, preposition = self.verb(c)
        return verb + self.complements(c, preposition)

    def _state(self, c: Clause) -> list[Segment]:
        person = self.person(c.subject)
        if c.kind == "there":
            if c.tense == "future":
                words = [self.word(w) for w in ("va", "a", "haber")]
            else:
                words = [self.word(THERE[c.tense])]
            return [*words, self.np(c.subject), self.place(c.place)]
        if c.kind == "at":
            copula = ESTAR
        else:
            forms, copula = self.adjectives[c.adj]
            plural_, gender = self.agreement(c.subject)
        if c.tense == "future":
            infinitive = "ser" if copula is SER else "estar"
            words = [self.word(GO[person]), self.word("a"), self.word(infinitive)]
        else:
            words = [self.word(copula[c.tense][person])]
        if c.kind == "at":
            return [*words, self.place(c.place)]
        adjective = forms[plural_][gender]
        if c.kind == "more":
            than = [self.word("que"), self.np(c.obj, role="subject")]
            return [*words, self.word("más"), adjective, *than]
        return [*words, adjective]

    def subject(self, np: NP, known: bool = False) -> list[Segment]:
        """The subject; first persons are omitted, and so are pronouns for a person just named."""
        if known or np.noun in ("I", "we"):
            return []
        return [self.np(np, role="subject")]

    def clause(self, c: Clause, known: bool = False) -> list[Segment]:
        time = [self.time(c.time)] if c.time else []
        subject = [] if c.kind == "there" else self.subject(c.subject, known)
        if c.fronted:
            return [*time, *subject, *self.predicate(c)]
        return [*subject, *self.predicate(c), *time]

    def ask(self, frame: str, c: Clause) -> list[Segment]:
        """A question: the subject follows the verb."""
        time = [self.time(c.time)] if c.time else []
        if c.kind != "event":
            negation = [self.word("no")] if c.negated else []
            if frame == "where":
                there = c._replace(kind="at")
                copula = self._state(there)[:-1]
                return [self.word("dónde"), *negation, *copula, *self.subject(c.subject), *time]
            if c.kind == "there":
                return [*negation, *self._state(c), *time]
            state = self._state(c)
            at = 3 if c.tense == "future" else 1
            return [*negation, *state[:at], *self.subject(c.subject), *state[at:], *time]
        if frame == "who":
            return [self.word("quién"), *self.predicate(c._replace(subject=NP("he"))), *time]
        if frame == "what":
            c = c._replace(obj=None)
        wh = {"ask": [], "what": ["qué"], "where": ["adónde" if c.goal else "dónde"]}[frame]
        if frame == "where":
            c = c._replace(place=None, goal=None)
        verb, preposition = self.verb(c)
        after = self.complements(c, preposition)
        return [*[self.word(w) for w in wh], *verb, *self.subject(c.subject), *after, *time]

    def compose(self, m: Meaning):
        first = self.clause(m.first)
        if m.frame == "say":
            return first
        second = self.clause(m.second, known=self.lexicon.refers_back(m.first, m.second))
        if m.frame in ("when", "if"):
            link = {"when": "cuando", "if": "si"}[m.frame]
            return [self.word(link), *first, self.comma_segment, *second]
        if m.frame in ("because", "report"):
            link = {"because": "porque", "report": "que"}[m.frame]
            return [*first, self.word(link), *second]
        link = {"and": "y", "but": "pero"}[m.frame]
        if link == "y" and second[0][0][:1] == "i":
            link = "e"
        return [*first, self.comma_segment, self.word(link), *second]

    def finish(self, domain, segments, asks):
        sentence = super().finish(domain, segments, asks)
        if not asks:
            return sentence
        return type(sentence)(
            "es", domain, (self.word("¿")[1][0], *sentence.tokens), "¿" + sentence.text
        )

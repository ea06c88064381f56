"""French: elision, contractions, partitives, passé composé with avoir and être, est-ce que."""

from __future__ import annotations

from clwe_jax.pocket.base import (
    FEMININE,
    MASCULINE,
    NP,
    PRONOUNS,
    Clause,
    Meaning,
    Romance,
    Segment,
    Token,
    segment,
)
from clwe_jax.pocket.french_forms import (
    AVOIR,
    BE,
    CONTRACTIONS,
    ELIDED,
    GO,
    MODAL_VERBS,
    POSSESSIVE,
    PREPOSITIONS,
    SUBJECTS,
    THIS,
    VOWELS,
    conjugate,
    feminine,
    plural,
)


class French(Romance):
    """The grammar of French."""

    language = "fr"
    question = " ?"

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        self.aspirated: set[str] = set()
        for concept, entry in lexicon.nouns.items():
            gender, _, word = entry["fr"].partition(" ")
            word = self._aspirate(word)
            sg, _, pl = word.partition("/")
            column = FEMININE if gender == "f" else MASCULINE
            self.nouns[concept] = (column, sg, sg if gender == "num" else pl or plural(sg))
        for concept, entry in lexicon.verbs.items():
            spec, _, preposition = entry["fr"].partition(" +")
            spec, _, auxiliary = spec.partition(" ")
            spec = self._aspirate(spec)
            forms = {k: segment(v, concept) for k, v in conjugate(spec).items()}
            self.verbs[concept] = (forms, preposition, bool(auxiliary))
        for concept, entry in lexicon.adjectives.items():
            before = entry["fr"].startswith("<")
            word, fem, vowel = (self._aspirate(entry["fr"].lstrip("<")).split("/") + ["", ""])[:3]
            fem = fem or feminine(word)
            forms = {False: (word, fem), True: (plural(word), plural(fem))}
            self.adjectives[concept] = (
                {n: tuple(segment(f, concept) for f in pair) for n, pair in forms.items()},
                before,
                segment(vowel, concept) if vowel else None,
            )

    def _aspirate(self, word: str) -> str:
        if word[0] == "*":
            self.aspirated |= {word[1:].split("/")[0], plural(word[1:].split("/")[0])}
            return word[1:]
        return word

    def forms(self, concept):
        slots = {}
        if concept in self.nouns:
            _, sg, pl = self.nouns[concept]
            slots["sg"] = (sg,)
            if not self.lexicon.mass(concept):
                slots["pl"] = (pl,)
        if concept in MODAL_VERBS:
            infinitive, first, third, pl, we = MODAL_VERBS[concept]
            slots |= {"inf": (infinitive,), "1sg": (first,), "3sg": (third,), "3pl": (pl, we)}
        elif concept in self.verbs:
            verb, _, uses_etre = self.verbs[concept]
            slots |= {slot: (verb[slot][0],) for slot in ("inf", "1sg", "3sg")}
            slots["3pl"] = (verb["3pl"][0], verb["1pl"][0])
            participle = verb["participle"][0]
            slots["past"] = (participle, participle + "e") if uses_etre else (participle,)
            slots["past_pl"] = (participle,)
            if uses_etre:
                slots["past_pl"] = (participle + "s", participle + "es")
        if concept in self.adjectives:
            forms, _, vowel = self.adjectives[concept]
            for slot, pl in (("adj_sg", False), ("adj_pl", True)):
                slots[slot] = tuple(dict.fromkeys(f[0] for f in forms[pl]))
            slots["cmp"] = slots["adj_sg"]
            if vowel:
                slots["adj_sg"] += (vowel[0],)
        return slots

    def vowel(self, following: Segment) -> bool:
        """Whether elision takes place before the segment."""
        first = following[1][0].text
        return first[0].lower() in VOWELS and first not in self.aspirated

    def elide(self, word: str, following: Segment) -> Segment:
        """`word` and the segment after it, as in l'eau."""
        if word in ELIDED and self.vowel(following):
            text = f"{word[:-1]}'{following[0]}"
            return text, (Token(word[:-1]), Token("'"), *following[1])
        return self.join(self.word(word), following)

    def np(self, np: NP, preposition: str = "", negated: bool = False) -> Segment:
        """A noun phrase after its preposition; with de after a negated verb."""
        return self.render_once((np, preposition, negated), self._np, np, preposition, negated)

    def _np(self, np, preposition, negated):
        parts = [self.word(w) for w in preposition.split()]
        if np.noun in PRONOUNS:
            return self.word(SUBJECTS[np.noun])
        gender, sg, pl = self.nouns[np.noun]
        noun = segment(pl if np.plural else sg, np.noun)
        body = noun
        before = False
        if np.adj:
            forms, before, special = self.adjectives[np.adj]
            adjective = forms[np.plural][gender]
            if before:
                if special and not np.plural and gender == MASCULINE and self.vowel(noun):
                    adjective = special
                body = self.join(adjective, noun)
            else:
                body = self.join(noun, adjective)
        body = self._add_determiner(np, gender, body, before, parts, negated)
        modifiers = []
        if np.owner:
            modifiers.append(self.np(np.owner, "de"))
        if np.relative:
            inner = np.relative._replace(subject=np._replace(relative=None))
            modifiers += [self.word("qui"), *self.predicate(inner)]
        if np.other:
            modifiers += [self.word("et"), self.np(np.other, preposition, negated)]
        return self.join(*body, *modifiers)

    def _add_determiner(self, np, gender, body, before, parts, negated):
        """Preposition, determiner and body of a noun phrase, contracted and elided."""
        last = parts[-1][0] if parts else ""
        mass = self.lexicon.mass(np.noun)
        if np.det == "def" or np.owner:
            article = "les" if np.plural else ("le", "la")[gender]
            if article != "les" and self.vowel(body):
                return [*parts, self.elide(article, body)]
            contraction = CONTRACTIONS.get(f"{last} {article}")
            if contraction:
                return [*parts[:-1], self.word(contraction), body]
            return [*parts, self.word(article), body]
        if np.det == "indef":
            if negated or (last == "de" and (mass or np.plural)):
                return [*(parts if negated else parts[:-1]), self.elide("de", body)]
            if mass:
                if self.vowel(body):
                    article = self.elide("la", body)
                    return [*parts, self.word("de"), article]
                article = (
                    [self.word("du")] if gender == MASCULINE else [self.word("de"), self.word("la")]
                )
                return [*parts, *article, body]
            if np.plural:
                return [
                    *parts,
                    self.elide("de", body) if before else self.join(self.word("des"), body),
                ]
            return self._prepose(parts, self.join(self.word(("un", "une")[gender]), body))
        if np.det == "name":
            return self._prepose(parts, body)
        if np.det == "many":
            return [*parts, self.word("beaucoup"), self.elide("de", body)]
        if np.det == "num":
            return self._prepose(parts, self.join(segment(self.nouns[np.count][1], np.count), body))
        table = THIS if np.det == "this" else POSSESSIVE[np.det]
        word = table[np.plural][gender]
        if not np.plural and self.vowel(body):
            word = {"ma": "mon", "sa": "son", "ce": "cet"}.get(word, word)
        return [*parts, self.word(word), body]

    def _prepose(self, parts, body):
        if not parts:
            return [body]
        return [*parts[:-1], self.elide(parts[-1][0], body)]

    def place(self, place, moving: bool = False) -> Segment:
        """A location, or a goal."""
        shore = "shore" in self.lexicon.nouns[place.ground.noun]["flags"]
        preposition = self.own_preposition(place)
        if moving and (shore or not preposition and place.relation in ("at", "on", "open", "to")):
            preposition = "à"
        preposition = preposition or PREPOSITIONS[place.relation]
        if preposition == "à" and not moving and place.ground.det in ("indef", "this"):
            preposition = "dans"
        return self.np(place.ground, preposition)

    def negate(self, c: Clause, finite: Segment) -> list[Segment]:
        """The finite verb, between ne and pas where the clause is negated."""
        return [self.elide("ne", finite), self.word("pas")] if c.negated else [finite]

    def verb(self, c: Clause) -> tuple[list[Segment], str]:
        """The verb group, and the object's preposition."""
        forms, preposition, uses_etre = self.verbs[c.verb]
        person = self.person(c.subject)
        often = [self.adverb(c.often)] if c.often else []
        if c.modal:
            finite = segment(MODAL_VERBS[c.modal][1 + person], c.modal)
            nonfinite = [forms["inf"]]
        elif c.tense == "future":
            finite = self.word(GO[person])
            nonfinite = [forms["inf"]]
        elif c.tense == "past" and uses_etre:
            is_plural, gender = self.agreement(c.subject)
            ending = ("e" if gender == FEMININE else "") + ("s" if is_plural else "")
            finite = self.word(BE["present"][person])
            nonfinite = [segment(forms["participle"][0] + ending, c.verb)]
        elif c.tense == "past":
            finite = self.word(AVOIR[person])
            nonfinite = [forms["participle"]]
        else:
            finite = forms[("1sg", "3sg", "3pl", "1pl")[person]]
            nonfinite = []
        return [*self.negate(c, finite), *often, *nonfinite], preposition

    def complements(self, c: Clause, preposition: str) -> list[Segment]:
        """Object, receiver, goal, manner, tool, place."""
        parts = []
        if c.obj:
            negated = c.negated and not preposition and not c.obj.owner
            parts.append(self.np(c.obj, preposition, negated and c.obj.det == "indef"))
        if c.receiver:
            parts.append(self.np(c.receiver, "à"))
        if c.goal:
            parts.append(self.place(c.goal, moving=True))
        if c.manner:
            parts.append(self.adverb(c.manner))
        if c.tool:
            parts.append(self.np(c.tool, "avec"))
        if c.place:
            parts.append(self.place(c.place))
        return parts

    def predicate(self, c: Clause) -> list[Segment]:
        """The clause without its subject."""
        if c.kind != "event":
            return self._state(c)
        verb, preposition = self.verb(c)
        return verb + self.complements(c, preposition)

    def _state(self, c: Clause) -> list[Segment]:
        person = self.person(c.subject)
        if c.kind == "there":
            place = self.place(c.place)
            subject = self.np(c.subject, "", c.negated)
            if c.tense == "future":
                parts = [self.word("va"), *([self.word("pas")] if c.negated else [])]
                words = [*parts, self.word("y"), self.word("avoir")]
                return [*([self.word("ne")] if c.negated else []), *words, subject, place]
            has = "avait" if c.tense == "past" else "a"
            if c.negated:
                words = [self.elide("ne", self.word("y")), self.word(has), self.word("pas")]
            else:
                words = [self.word("y"), self.word(has)]
            return [*words, subject, place]
        if c.tense == "future":
            words = [*self.negate(c, self.word(GO[person])), self.word("être")]
        else:
            words = self.negate(c, self.word(BE[c.tense][person]))
        if c.kind == "at":
            return [*words, self.place(c.place)]
        is_plural, gender = self.agreement(c.subject)
        adjective = self.adjectives[c.adj][0][is_plural][gender]
        if c.kind == "more":
            return [*words, self.word("plus"), adjective, self.elide("que", self.np(c.obj))]
        return [*words, adjective]

    def attach(self, np: NP, predicate: list[Segment]) -> list[Segment]:
        """Subject and predicate, with j' before a vowel."""
        if np.noun == "I":
            return [self.elide("je", predicate[0]), *predicate[1:]]
        return [self.np(np), *predicate]

    def clause(self, c: Clause) -> list[Segment]:
        time = [self.time(c.time)] if c.time else []
        subject = NP("he") if c.kind == "there" else c.subject
        parts = self.attach(subject, self.predicate(c))
        if c.fronted and time:
            return [*time, self.comma_segment, *parts]
        return [*parts, *time]

    def ask(self, frame: str, c: Clause) -> list[Segment]:
        """A question: est-ce que and a statement."""
        time = [self.time(c.time)] if c.time else []
        if frame == "who":
            return [self.word("qui"), *self.predicate(c._replace(subject=NP("he"))), *time]
        if frame == "where" and c.kind != "event":
            be = self._state(c)[:-1]
            return [self.word("où"), *be, self.np(c.subject), *time]
        if frame == "what":
            c = c._replace(obj=None)
        elif frame == "where":
            c = c._replace(place=None, goal=None)
        statement = self.clause(c._replace(time=None))
        opening = "qu'est" if frame == "what" else "est"
        question = ("-", "ce")
        tokens = [Token(t) for t in (*(("qu", "'") if frame == "what" else ()), "est", *question)]
        start = (f"{opening}-ce", tuple(tokens))
        wh = [self.word("où")] if frame == "where" else []
        return [*wh, start, self.elide("que", statement[0]), *statement[1:], *time]

    def compose(self, m: Meaning):
        first = self.clause(m.first)
        if m.frame == "say":
            return first
        second = self.clause(m.second)
        if m.frame == "when":
            return [self.word("quand"), *first, self.comma_segment, *second]
        if m.frame == "if":
            if first[0][1][0].text in ("il", "ils"):
                opening = (f"s'{first[0][0]}", (Token("s"), Token("'"), *first[0][1]))
            else:
                opening = self.join(self.word("si"), first[0])
            return [opening, *first[1:], self.comma_segment, *second]
        if m.frame == "because":
            link = [self.word("parce"), self.elide("que", second[0])]
            return [*first, *link, *second[1:]]
        if m.frame == "report":
            return [*first, self.elide("que", second[0]), *second[1:]]
        link = self.word({"and": "et", "but": "mais"}[m.frame])
        return [*first, self.comma_segment, link, *second]

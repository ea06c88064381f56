"""German: case, gender, strong and weak inflection, verb second and verb final clauses."""

from __future__ import annotations

from clwe_jax.pocket.base import NP, PRONOUNS, Clause, Grammar, Meaning, Segment, segment
from clwe_jax.pocket.german_forms import (
    ACC,
    BE,
    CASES,
    COLUMN,
    CONTRACTIONS,
    DAT,
    DEFINITE,
    DIES,
    EIN,
    GEN,
    MIXED,
    MODAL_VERBS,
    NOM,
    PREPOSITIONS,
    PRONOUN_FORMS,
    RELATIVE,
    STEMS,
    STRONG,
    WEAK,
    WERDEN,
    conjugate,
    genitive,
)


class German(Grammar):
    """The grammar of German."""

    language = "de"

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        for concept, entry in lexicon.nouns.items():
            spec = entry["de"]
            weak = spec.endswith("*")
            article, _, noun = spec.rstrip("*").partition(" ")
            sg, _, pl = noun.partition("/")
            if article == "num":
                self.nouns[concept] = (0, {(NOM, False): sg})
                continue
            self.nouns[concept] = (COLUMN[article], self._decline(article, sg, pl, weak))
        for concept, entry in lexicon.verbs.items():
            spec, _, government = entry["de"].partition(" +")
            forms = conjugate(spec)
            segments = {k: segment(v, concept) for k, v in forms.items()}
            prefix = forms["prefix"]
            segments |= {"end_" + k: segment(prefix + v, concept) for k, v in forms.items()}
            preposition, _, case = government.partition(":")
            if government in ("dat", "acc"):
                preposition = ""
                case = government
            self.verbs[concept] = (segments, forms["prefix"], preposition, CASES[case or "acc"])
        for concept, entry in lexicon.adjectives.items():
            base, comparative, stem = (entry["de"].split("/") + ["", ""])[:3]
            stem = stem or base
            stem = stem[:-1] if stem.endswith("e") else stem
            self.adjectives[concept] = (base, comparative or base + "er", stem)

    @staticmethod
    def _decline(article, one, many, weak):
        forms = {}
        many = one if many in ("-", "=", "") else many
        for case in (NOM, ACC, DAT, GEN):
            forms[case, False] = one
            forms[case, True] = many
        if weak:
            for case in (ACC, DAT, GEN):
                forms[case, False] = many
        elif article != "die":
            forms[GEN, False] = genitive(one)
        if many[-1] not in "ns":
            forms[DAT, True] = many + "n"
        return forms

    def forms(self, concept):
        slots = {}
        if concept in self.nouns:
            declined = self.nouns[concept][1]
            slots["sg"] = tuple(dict.fromkeys(v for (_, many), v in declined.items() if not many))
            if not self.lexicon.mass(concept) and len(declined) > 1:
                slots["pl"] = tuple(dict.fromkeys(v for (_, many), v in declined.items() if many))
        if concept in MODAL_VERBS:
            infinitive, first, third, many = MODAL_VERBS[concept]
            slots |= {"inf": (infinitive,), "1sg": (first,), "3sg": (third,), "3pl": (many,)}
        elif concept in self.verbs:
            verb, prefix = self.verbs[concept][:2]
            for slot in ("inf", "1sg", "3sg", "3pl", "past", "past_pl"):
                main_forms = (verb[slot][0],) if slot != "inf" or not prefix else ()
                slots[slot] = main_forms + ((verb["end_" + slot][0],) if prefix else ())
        if concept in self.adjectives:
            base, comparative, stem = self.adjectives[concept]
            slots["adj_sg"] = (base, *[stem + e for e in ("e", "er", "es", "en", "em")])
            slots["adj_pl"] = (base, stem + "e", stem + "en")
            slots["cmp"] = (comparative,)
        return slots

    def person(self, np: NP) -> int:
        """0 for 'ich', 1 for the third person singular, 2 for plurals."""
        if np.noun in PRONOUNS:
            number, is_plural = PRONOUNS[np.noun]
            return 2 if is_plural else 0 if number == 1 else 1
        return 2 if np.plural or np.other else 1

    def np(self, np: NP, case: str = NOM, preposition: str = "") -> Segment:
        """A noun phrase in a case, after its preposition if there is one."""
        return self.render_once((np, case, preposition), self._np, np, case, preposition)

    def _np(self, np, case, preposition):
        if np.noun in PRONOUNS:
            words = [preposition] if preposition else []
            return self.join(
                *[self.word(w) for w in words + [PRONOUN_FORMS[case][np.noun.split(".")[0]]]]
            )
        gender, declined = self.nouns[np.noun]
        column = 3 if np.plural else gender
        determiner, endings = self._determiner(np, case, column)
        parts = []
        if preposition:
            fusion = CONTRACTIONS.get(f"{preposition} {determiner}") if np.det == "def" else None
            if fusion and not np.owner and not np.relative:
                determiner = fusion
            else:
                parts += [self.word(preposition)]
        if determiner:
            concept = np.count if np.det == "num" else None
            parts.append(segment(determiner, concept))
        if np.adj:
            stem = self.adjectives[np.adj][2]
            parts.append(segment(stem + endings[case][column], np.adj))
        parts.append(segment(declined[case, np.plural], np.noun))
        if np.owner:
            parts.append(self.np(np.owner, GEN))
        if np.relative:
            inner = np.relative._replace(subject=np._replace(relative=None))
            pronoun = RELATIVE[column]
            parts += [self.comma_segment, self.word(pronoun)]
            parts += [*self.middle(inner), *self.end(inner), self.comma_segment]
        if np.other:
            parts += [self.word("und"), self.np(np.other, case)]
        return self.join(*parts)

    def _determiner(self, np, case, column):
        if np.det == "def" or np.owner:
            return DEFINITE[case][column], WEAK
        if np.det == "this":
            return DIES[case][column], WEAK
        if np.det == "num":
            return self.nouns[np.count][1][NOM, False], STRONG
        if np.det == "many":
            return (
                "viel" if self.lexicon.mass(np.noun) else "vielen" if case == DAT else "viele",
                STRONG,
            )
        if np.det == "name" or np.det == "indef" and (np.plural or self.lexicon.mass(np.noun)):
            return "", STRONG
        return STEMS[np.det] + EIN[case][column], MIXED

    def place(self, place, moving: bool = False):
        """A location (dative), or a goal (accusative after in, an, auf; dative after zu)."""
        flags = self.lexicon.nouns[place.ground.noun]["flags"]
        preposition = self.own_preposition(place) or PREPOSITIONS[place.relation]
        case = DAT
        if moving and preposition == "in" and "shore" in flags:
            preposition = "zu"
        if moving and preposition == "in" and place.ground.det == "name":
            preposition = "nach"
        if moving and preposition in ("in", "auf", "an"):
            case = ACC
        return self.np(place.ground, case, preposition)

    def object(self, c: Clause):
        """The object's segment, and whether it follows the negation (after a preposition)."""
        _, _, preposition, case = self.verbs[c.verb]
        return self.np(c.obj, case, preposition), bool(preposition)

    def middle(self, c: Clause) -> list[Segment]:
        """The middle field without the subject: between the finite verb and the clause's end."""
        if c.kind != "event":
            return self._state(c)
        head = []
        tail = []
        bare = None
        if c.often:
            head.append(self.adverb(c.often))
        if c.receiver:
            head.append(self.np(c.receiver, DAT))
        negated = c.negated
        if c.obj:
            indefinite = c.obj.det in ("indef", "many", "num") and not c.obj.owner
            if c.negated and c.obj.det == "indef" and not self.verbs[c.verb][2]:
                c = c._replace(obj=c.obj._replace(det="no"))
                negated = False
            obj, prepositional = self.object(c)
            if prepositional:
                tail.append(obj)
            elif indefinite:
                bare = obj
            else:
                head.append(obj)
        if negated and not (bare and c.obj.det == "num"):
            head.append(self.word("nicht"))
        elif negated:
            bare = self.join(self.word("nicht"), bare)
        if c.manner:
            head.append(self.adverb(c.manner))
        if c.tool:
            head.append(self.np(c.tool, DAT, "mit"))
        if c.place:
            head.append(self.place(c.place))
        if bare:
            head.append(bare)
        if c.goal:
            tail.append(self.place(c.goal, moving=True))
        return head + tail

    def _state(self, c: Clause):
        parts = [self.word("nicht")] if c.negated else []
        if c.kind == "is":
            return [*parts, segment(self.adjectives[c.adj][0], c.adj)]
        if c.kind == "more":
            return [
                *parts,
                segment(self.adjectives[c.adj][1], c.adj),
                self.word("als"),
                self.np(c.obj),
            ]
        return [*parts, self.place(c.place)]

    def finite(self, c: Clause) -> tuple[Segment, list[Segment]]:
        """The finite verb of a main clause, and the verbs at the end of the clause."""
        person = self.person(c.subject)
        slot = ("1sg", "3sg", "3pl")[person]
        if c.kind != "event":
            if c.tense == "future":
                return self.word(WERDEN[person]), [self.word("sein")]
            return self.word(BE[c.tense][person]), []
        forms, prefix = self.verbs[c.verb][:2]
        if c.modal:
            return segment(MODAL_VERBS[c.modal][1 + person], c.modal), [forms["end_inf"]]
        if c.tense == "future":
            return self.word(WERDEN[person]), [forms["end_inf"]]
        if c.tense == "past":
            slot = "past_pl" if person == 2 else "past"
        return forms[slot], [self.word(prefix)] if prefix else []

    def end(self, c: Clause) -> list[Segment]:
        """The verbs at the end of a subordinate clause."""
        finite, nonfinite = self.finite(c)
        if c.kind == "event" and not c.modal and c.tense != "future":
            slot = ("1sg", "3sg", "3pl")[self.person(c.subject)]
            if c.tense == "past":
                slot = "past_pl" if self.person(c.subject) == 2 else "past"
            return [self.verbs[c.verb][0]["end_" + slot]]
        return [*nonfinite, finite]

    def main(self, c: Clause, inverted: bool = False) -> list[Segment]:
        """A verb-second clause; `inverted` when another phrase already precedes the verb."""
        finite, nonfinite = self.finite(c)
        time = [self.time(c.time)] if c.time else []
        if c.kind == "there":
            return self._there(c, finite, time, inverted) + nonfinite
        subject = self.np(c.subject)
        if inverted:
            return [finite, subject, *time, *self.middle(c), *nonfinite]
        if c.fronted and time:
            return [*time, finite, subject, *self.middle(c), *nonfinite]
        return [subject, finite, *time, *self.middle(c), *nonfinite]

    def _there(self, c, finite, time, inverted):
        place = self.place(c.place)
        if inverted:
            return [finite, *time, place, self.np(c.subject)]
        if c.fronted and time:
            return [*time, finite, place, self.np(c.subject)]
        return [place, finite, *time, self.np(c.subject)]

    def subordinate(self, link: str, c: Clause) -> list[Segment]:
        """A verb-final clause after a conjunction."""
        time = [self.time(c.time)] if c.time else []
        if c.kind == "there":
            return [self.word(link), *time, self.place(c.place), self.np(c.subject), *self.end(c)]
        return [self.word(link), self.np(c.subject), *time, *self.middle(c), *self.end(c)]

    def ask(self, frame: str, c: Clause) -> list[Segment]:
        """A question about the clause."""
        if frame == "ask":
            return self.main(c, inverted=True)
        if frame == "where":
            finite, nonfinite = self.finite(c)
            if c.kind != "event":
                time = [self.time(c.time)] if c.time else []
                return [self.word("wo"), finite, self.np(c.subject), *time, *nonfinite]
            word = "wohin" if c.goal else "wo"
            return [self.word(word), *self.main(c._replace(place=None, goal=None), True)]
        if frame == "who":
            c = c._replace(subject=NP("he"))
            finite, nonfinite = self.finite(c)
            time = [self.time(c.time)] if c.time else []
            return [self.word("wer"), finite, *time, *self.middle(c), *nonfinite]
        return [self.word("was"), *self.main(c._replace(obj=None), True)]

    def compose(self, m: Meaning):
        if m.frame == "say":
            return self.main(m.first)
        comma = self.comma_segment
        if m.frame in ("when", "if"):
            link = "als" if m.frame == "when" and m.first.tense == "past" else "wenn"
            return [*self.subordinate(link, m.first), comma, *self.main(m.second, True)]
        first = self.main(m.first)
        if m.frame in ("because", "report"):
            link = "weil" if m.frame == "because" else "dass"
            return [*first, comma, *self.subordinate(link, m.second)]
        link = {"and": "und", "but": "aber"}[m.frame]
        return [*first, comma, self.word(link), *self.main(m.second)]

    def finish(self, domain, segments, asks):
        # A relative clause closes with a comma unless the sentence ends there or has one already.
        flat = []
        for text, tokens in segments:
            if flat and flat[-1][0].endswith(",") and text == ",":
                continue
            flat.append((text, tokens))
        if flat[-1][0].endswith(","):
            text, tokens = flat[-1]
            flat[-1] = (text.removesuffix(",").rstrip(), tokens[:-1])
        return super().finish(domain, flat, asks)

"""Japanese: particles, polite and plain verb forms, counters; subject object verb, no spaces."""

from __future__ import annotations

from clwe_jax.pocket.base import NP, Clause, Grammar, Meaning, Segment, segment
from clwe_jax.pocket.japanese_forms import FORM_SLOTS, adjective, conjugate

PRONOUN_WORDS = {
    "I": "私",
    "we": "私たち",
    "he": "彼",
    "she": "彼女",
    "they": "彼ら",
    "they.women": "彼女たち",
    "what": "何",
}
POSSESSIVE = {"my": "私", "our": "私たち", "his": "彼", "her": "彼女"}
SUFFIX = {
    "on": "の 上",
    "under": "の 下",
    "beside": "の 隣",
    "behind": "の 後ろ",
    "before": "の 前",
}
# (tense, whether it is negated); the tables below are in this order.
TENSES = (("present", False), ("past", False), ("present", True), ("past", True))
COPULA = dict(zip(TENSES, ("です", "でした", "では ありません", "では ありませんでした")))
PLAIN_COPULA = dict(zip(TENSES, ("だ", "だった", "では ない", "では なかった")))
POLITE_FORMS = dict(zip(TENSES, ("masu", "mashita", "masen", "masendeshita")))
PLAIN_FORMS = dict(zip(TENSES, ("plain", "ta", "nai", "nakatta")))
POLITE_EXISTENCE = dict(zip(TENSES, ("ます", "ました", "ません", "ませんでした")))
LIFE = dict(zip(TENSES, ("いる", "いた", "いない", "いなかった")))
EXISTENCE = dict(zip(TENSES, ("ある", "あった", "ない", "なかった")))
MODAL_WORDS = {
    "want": ("思っています", "思っていません", "思っている"),
    "can": ("できます", "できません", "できる"),
    "must": ("なりません",),
    "may.permission": ("いい",),
}


def _tense(c: Clause) -> tuple[str, bool]:
    return "past" if c.tense == "past" else "present", c.negated


class Japanese(Grammar):
    """The grammar of Japanese."""

    language = "ja"
    space = ""
    stop = "。"
    question = "。"
    comma = "、"
    reason_first = True

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        for concept, entry in lexicon.nouns.items():
            word, _, counter = entry["ja"].partition(":")
            kind = entry["flags"][0]
            default = "人" if kind in ("person", "woman") else "匹" if kind == "animal" else "つ"
            self.nouns[concept] = (word, counter or default)
        for concept, entry in lexicon.verbs.items():
            spec, _, particle = entry["ja"].partition(" +")
            forms = {k: segment(v, concept) for k, v in conjugate(spec).items()}
            self.verbs[concept] = (forms, particle or "を", spec.endswith(":な"))
        for concept, entry in lexicon.adjectives.items():
            self.adjectives[concept] = adjective(entry["ja"])

    def forms(self, concept):
        slots: dict[str, tuple[str, ...]] = {}
        if concept in self.nouns:
            slots["sg"] = slots["pl"] = (self.nouns[concept][0],)
        if concept in MODAL_WORDS:
            words = MODAL_WORDS[concept]
            slots |= {slot: words for slot in ("inf", "1sg", "3sg", "3pl")}
        elif concept in self.verbs:
            for form, written in self.verbs[concept][0].items():
                for slot in FORM_SLOTS[form]:
                    slots[slot] = tuple(dict.fromkeys(slots.get(slot, ()) + (written[0],)))
        if concept in self.adjectives:
            forms = dict(self.adjectives[concept])
            kind = forms.pop("kind")
            words = [forms["base"]]
            if kind == "て":
                words += [forms[f] for f in FORM_SLOTS if f not in ("tai", "nakereba", "te")]
            else:
                words += [forms[f] for f in ("ta", "ku") if f in forms]
            slots["adj_sg"] = slots["adj_pl"] = slots["cmp"] = tuple(dict.fromkeys(words))
        return slots

    def animate(self, np: NP) -> bool:
        """Whether the noun's existence verb is いる."""
        kinds = ("person", "woman", "animal")
        return np.noun in PRONOUN_WORDS or self.lexicon.nouns[np.noun]["flags"][0] in kinds

    def np(self, np: NP) -> Segment:
        """A noun phrase without its particle."""
        return self.render_once(np, self._np, np)

    def _np(self, np):
        if np.noun in PRONOUN_WORDS:
            return self.word(PRONOUN_WORDS[np.noun])
        word, counter = self.nouns[np.noun]
        parts = []
        if np.relative:
            inner = np.relative._replace(subject=np._replace(relative=None))
            parts += self.predicate(inner, "relative")
        if np.owner:
            parts += [self.np(np.owner), self.word("の")]
        elif np.det == "this":
            parts.append(self.word("この"))
        elif np.det == "many":
            parts += [self.word("多く"), self.word("の")]
        elif np.det == "num":
            number = self.nouns[np.count][0]
            if number == "十" and counter == "つ":
                counter = "個"
            parts += [segment(number, np.count), self.word(counter), self.word("の")]
        elif np.det in POSSESSIVE:
            parts += [self.word(POSSESSIVE[np.det]), self.word("の")]
        if np.adj:
            form = self.adjectives[np.adj]
            parts.append(segment(form["base"], np.adj))
            if form["kind"] in "なの":
                parts.append(self.word(form["kind"]))
        parts.append(segment(word, np.noun))
        if np.other:
            parts += [self.word("と"), self.np(np.other)]
        return self.join(*parts)

    def place(self, place, particle: str) -> Segment:
        """A location with its particle."""
        return self.render_once((place, particle), self._place, place, particle)

    def _place(self, place, particle):
        preposition = self.own_preposition(place)
        suffix = SUFFIX.get(place.relation, "") if preposition is None else preposition
        words = [self.word(w) for w in suffix.split()]
        return self.join(self.np(place.ground), *words, self.word(particle))

    def verb(self, c: Clause, style: str) -> list[Segment]:
        """The verb group. `style`: 'polite', 'plain', 'relative' (before a noun), 'te'."""
        forms, _, nominal = self.verbs[c.verb]
        if c.modal:
            return self._modal(c, forms, style != "polite")
        if nominal:
            return [forms["masu"], *self._copula(c, style)]
        return [forms["te" if style == "te" else self._form_of(c, style)]]

    def _form_of(self, c: Clause, style: str) -> str:
        """The name of a verb's form that has the clause's tense and negation."""
        return (POLITE_FORMS if style == "polite" else PLAIN_FORMS)[_tense(c)]

    def _modal(self, c, forms, plain):
        def words(*texts):
            return [self.word(t) for t in texts]

        index = 2 if plain and not c.negated else 1 if c.negated else 0
        if c.modal == "want":
            return [forms["tai"], *words("と"), segment(MODAL_WORDS["want"][index], "want")]
        if c.modal == "can":
            return [forms["plain"], *words("こと", "が"), segment(MODAL_WORDS["can"][index], "can")]
        if c.modal == "must":
            return [forms["nakereba"], segment("なりません", "must")]
        if c.negated:
            return [forms["te"], *words("は", "いけません")]
        good = segment("いい", c.modal)
        return [forms["te"], *words("も"), good, *([] if plain else words("です"))]

    def _copula(self, c: Clause, style: str, kind: str = "な") -> list[Segment]:
        key = _tense(c)
        if style == "polite":
            return [self.word(w) for w in COPULA[key].split()]
        if key == ("present", False):
            if style == "relative":
                return [self.word(kind)]
            if style == "if":
                return []
        if style == "te":
            return [self.word("で")]
        return [self.word(w) for w in PLAIN_COPULA[key].split()]

    def _state(self, c: Clause, style: str) -> list[Segment]:
        """An adjective as the predicate."""
        form = self.adjectives[c.adj]
        past = c.tense == "past"
        if form["kind"] == "い":
            if c.negated:
                word = [segment(form["ku"], c.adj), self.word("なかった" if past else "ない")]
            else:
                word = [segment(form["ta"] if past else form["base"], c.adj)]
            return word + ([self.word("です")] if style == "polite" else [])
        if form["kind"] == "て":
            return [segment(form[self._form_of(c, style)], c.adj)]
        return [segment(form["base"], c.adj), *self._copula(c, style, form["kind"])]

    def _exist(self, c: Clause, style: str) -> Segment:
        animate = self.animate(c.subject)
        if style == "polite":
            return self.word(("い" if animate else "あり") + POLITE_EXISTENCE[_tense(c)])
        return self.word((LIFE if animate else EXISTENCE)[_tense(c)])

    def predicate(self, c: Clause, style: str) -> list[Segment]:
        """The clause without its subject and time."""
        if c.kind == "is":
            return self._state(c, style)
        if c.kind == "more":
            return [self.np(c.obj), self.word("より"), *self._state(c, style)]
        if c.kind in ("at", "there"):
            return [self.place(c.place, "に"), self._exist(c, style)]
        _, particle, _ = self.verbs[c.verb]
        parts = [self.adverb(c.often)] if c.often else []
        if c.place:
            dwells = "dwell" in self.lexicon.verbs[c.verb]["flags"]
            parts.append(self.place(c.place, "に" if dwells else "で"))
        if c.tool:
            parts += [self.np(c.tool), self.word("で")]
        if c.receiver:
            parts += [self.np(c.receiver), self.word("に")]
        if c.goal:
            parts.append(self.place(c.goal, "に"))
        if c.obj:
            parts += [self.np(c.obj), *[self.word(p) for p in particle.split("_")]]
        if c.manner:
            parts.append(self.adverb(c.manner))
        return parts + self.verb(c, style)

    def clause(self, c: Clause, style: str = "polite", mark: str = "は") -> list[Segment]:
        """A clause; `mark` is the particle of the subject, '' for an omitted subject."""
        parts = []
        if c.time and c.fronted:
            parts += [self.time(c.time), self.comma_segment]
        if c.kind == "there":
            time = [self.time(c.time)] if c.time and not c.fronted else []
            subject = [self.np(c.subject), self.word("が")]
            exist = self._exist(c, style)
            return [*parts, *time, self.place(c.place, "に"), *subject, exist]
        if mark:
            parts += [self.np(c.subject), self.word(mark)]
        if c.time and not c.fronted:
            parts.append(self.time(c.time))
        return parts + self.predicate(c, style)

    def ask(self, frame: str, c: Clause) -> list[Segment]:
        """A question, which ends in か."""
        time = [self.time(c.time)] if c.time else []
        asks = self.word("か")
        if frame == "ask":
            return [*self.clause(c), asks]
        if frame == "who":
            return [*time, self.word("誰"), self.word("が"), *self.predicate(c, "polite"), asks]
        subject = [*time, self.np(c.subject), self.word("は")]
        if frame == "what":
            return [*subject, *self.predicate(c._replace(obj=NP("what")), "polite"), asks]
        if c.kind != "event":
            return [*subject, self.word("どこ"), self.word("に"), self._exist(c, "polite"), asks]
        dwells = c.goal or "dwell" in self.lexicon.verbs[c.verb]["flags"]
        words = [self.word("どこ"), self.word("に" if dwells else "で")]
        predicate = self.predicate(c._replace(place=None, goal=None), "polite")
        return [*subject, *words, *predicate, asks]

    def compose(self, m: Meaning):
        if m.frame == "say":
            return self.clause(m.first)
        first = m.first
        second = m.second
        if m.frame == "report":
            opening = [self.np(first.subject), self.word("は")]
            particle = self.verbs[first.verb][1]
            linked = [self.word(p) for p in particle.split("_")]
            style = "relative" if particle.startswith("こと") else "plain"
            inner = self.clause(second, style, "が")
            return [*opening, self.comma_segment, *inner, *linked, *self.verb(first, "polite")]
        comma = self.comma_segment
        if m.frame == "because":
            reason = self.clause(second, "polite", "が")
            return [*reason, self.word("から"), comma, *self.clause(first)]
        if m.frame in ("when", "if"):
            style, link = ("relative", "とき") if m.frame == "when" else ("if", "なら")
            return [*self.clause(first, style, "が"), self.word(link), comma, *self.clause(second)]
        is_same_subject = m.frame in ("and", "but") and self.lexicon.refers_back(first, second)
        second = self.clause(second, mark="" if is_same_subject else "は")
        if m.frame == "and":
            simple = first.kind == "event" and not (first.negated or first.modal)
            if simple:
                return [*self.clause(first, "te"), comma, *second]
            return [*self.clause(first), self.word("し"), comma, *second]
        return [*self.clause(first), self.word("が"), comma, *second]

    def capital(self, text):
        return text

"""Chinese: classifiers, coverbs before the verb, 了 for the past, no spaces and no inflection."""

from __future__ import annotations

from clwe_jax.pocket.base import NP, PLACES, Clause, Grammar, Meaning, Segment, segment

PRONOUN_WORDS = {
    "I": "我",
    "we": "我们",
    "he": "他",
    "she": "她",
    "they": "他们",
    "they.women": "她们",
    "what": "什么",
}
POSSESSIVE = {"my": "我", "our": "我们", "his": "他", "her": "她"}
SUFFIX = {
    "in": "里",
    "inside": "里",
    "on": "上",
    "open": "上",
    "under": "下面",
    "beside": "旁边",
    "behind": "后面",
    "before": "前面",
}
MODAL_WORDS = {"want": "想", "can": "能", "must": "必须", "may.permission": "可以"}


class Chinese(Grammar):
    """The grammar of Chinese."""

    language = "zh"
    space = ""
    stop = "。"
    question = "？"
    comma = "，"
    reason_first = True

    def inflect(self, lexicon) -> None:
        self.nouns = {}
        self.verbs = {}
        self.adjectives = {}
        for concept, entry in lexicon.nouns.items():
            word, _, classifier = entry["zh"].partition(":")
            self.nouns[concept] = (word, classifier or "个")
        for concept, entry in lexicon.verbs.items():
            verb, _, government = entry["zh"].partition(" ")
            bare = verb.endswith("!")
            goal = government[1:] if government[:1] == ">" else ""
            preposition = government[1:] if government[:1] == "+" else ""
            order = government if government in ("前",) else ""
            self.verbs[concept] = (verb.rstrip("!"), bare, goal, preposition, order)
        for concept, entry in lexicon.adjectives.items():
            word, _, kind = entry["zh"].partition(":")
            self.adjectives[concept] = (word.rstrip("!"), "!" if word[-1] == "!" else kind)

    def forms(self, concept):
        slots = {}
        if concept in self.nouns:
            slots |= dict.fromkeys(("sg", "pl"), (self.nouns[concept][0],))
        verbal = ("inf", "1sg", "3sg", "3pl", "past", "past_pl")
        if concept in MODAL_WORDS:
            slots |= dict.fromkeys(verbal, (MODAL_WORDS[concept],))
        elif concept in self.verbs:
            slots |= dict.fromkeys(verbal, (self.verbs[concept][0],))
        if concept in self.adjectives:
            adjectival = ("adj_sg", "adj_pl", "cmp")
            slots |= dict.fromkeys(adjectival, (self.adjectives[concept][0],))
        return slots

    def np(self, np: NP) -> Segment:
        """A noun phrase."""
        return self.render_once(np, self._np, np)

    def _np(self, np):
        if np.noun in PRONOUN_WORDS:
            return self.word(PRONOUN_WORDS[np.noun])
        word, classifier = self.nouns[np.noun]
        parts = []
        if np.relative:
            inner = np.relative._replace(subject=np._replace(relative=None))
            parts += [*self.predicate(inner), self.word("的")]
        if np.owner:
            parts += [self.np(np.owner), self.word("的")]
        elif np.det == "this":
            parts += [self.word("这"), self.word("些" if np.plural else classifier)]
        elif np.det == "many":
            parts.append(self.word("很多"))
        elif np.det == "num":
            parts += [segment(self.nouns[np.count][0], np.count), self.word(classifier)]
        elif np.det in POSSESSIVE:
            parts += [self.word(POSSESSIVE[np.det]), self.word("的")]
        elif np.det == "indef" and not np.plural and not self.lexicon.mass(np.noun):
            parts += [self.word("一"), self.word(classifier)]
        if np.adj:
            adjective, kind = self.adjectives[np.adj]
            parts.append(segment(adjective, np.adj))
            if kind != "!":
                parts.append(self.word("的"))
        parts.append(segment(word, np.noun))
        if np.other:
            parts += [self.word("和"), self.np(np.other)]
        return self.join(*parts)

    def place(self, place) -> Segment:
        """A location without 在."""
        return self.render_once((place, "place"), self._place, place)

    def _place(self, place):
        preposition = self.own_preposition(place)
        suffix = SUFFIX.get(place.relation, "") if preposition is None else preposition
        words = [self.word(suffix)] if suffix else []
        return self.join(self.np(place.ground), *words)

    def predicate(self, c: Clause) -> list[Segment]:
        """The clause without its subject and time."""
        if c.kind == "at":
            return [*([self.word("不")] if c.negated else []), self.word("在"), self.place(c.place)]
        if c.kind in ("is", "more"):
            return self._state(c)
        verb, bare, link, preposition, order = self.verbs[c.verb]
        past = c.tense == "past" and not bare
        parts = [self.adverb(c.often)] if c.often else []
        if c.negated:
            acted = c.tense == "past" and "state" not in self.lexicon.verbs[c.verb]["flags"]
            never = verb == "有" or (acted and not c.modal)
            parts.append(self.word("没" if never else "不"))
        if c.modal:
            parts.append(segment(MODAL_WORDS[c.modal], c.modal))
        elif c.tense == "future":
            parts.append(self.word("会"))
        if c.place:
            parts += [self.word("在"), self.place(c.place)]
        if c.tool:
            parts += [self.word("用"), self.np(c.tool)]
        if c.manner:
            parts.append(self.adverb(c.manner))
        aspect = [self.word("了")] if past and not (c.negated or c.often or c.modal) else []
        head = segment(verb, c.verb)
        if c.receiver:
            return parts + self._giving(c, head, verb, order, aspect)
        if preposition:
            return [*parts, self.word(preposition), self.np(c.obj), head, *aspect]
        if c.goal:
            to = [self.word(link)] if link else []
            plain = c.goal.relation in PLACES and self.own_preposition(c.goal) != "上"
            goal = self.np(c.goal.ground) if plain else self.place(c.goal)
            if not link:
                aspect = []
            return [*parts, head, *to, *aspect, goal]
        return [*parts, head, *aspect, *([self.np(c.obj)] if c.obj else [])]

    def _giving(self, c, head, verb, order, done):
        receiver = self.np(c.receiver)
        obj = self.np(c.obj)
        give = [] if verb == "给" else [self.word("给")]
        if order == "前":
            return [self.word("给"), receiver, head, *done, obj]
        if c.obj.det in ("def", "this", "my", "our", "his", "her") and not c.obj.other:
            return [self.word("把"), obj, head, *give, *done, receiver]
        return [head, *give, *done, receiver, obj]

    def _state(self, c: Clause) -> list[Segment]:
        word, kind = self.adjectives[c.adj]
        adjective = segment(word, c.adj)
        no = [self.word("不")] if c.negated else []
        if c.kind == "more":
            return [*no, self.word("比"), self.np(c.obj), adjective]
        if kind == "的":
            return [*no, self.word("是"), adjective, self.word("的")]
        return [*(no or [self.word("很")]), adjective]

    def clause(self, c: Clause) -> list[Segment]:
        time = [self.time(c.time)] if c.time else []
        if c.kind == "there":
            has = [self.word("没")] if c.negated else []
            subject = self.np(c.subject)
            return [*time, self.place(c.place), *has, self.word("有"), subject]
        subject = self.np(c.subject)
        head = [*time, subject] if c.fronted else [subject, *time]
        return head + self.predicate(c)

    def ask(self, frame: str, c: Clause) -> list[Segment]:
        """A question, which keeps the order of the statement."""
        time = [self.time(c.time)] if c.time else []
        if frame == "ask":
            return [*self.clause(c), self.word("吗")]
        if frame == "who":
            return [*time, self.word("谁"), *self.predicate(c)]
        head = [*time, self.np(c.subject)]
        if frame == "what":
            return [*head, *self.predicate(c._replace(obj=NP("what")))]
        if c.kind != "event":
            return [*head, self.word("在"), self.word("哪里")]
        predicate = self.predicate(c._replace(place=None, goal=None))
        if c.goal:
            link = self.verbs[c.verb][2]
            if predicate[-1][0] == "了":
                predicate.pop()
            return [*head, *predicate, *([self.word(link)] if link else []), self.word("哪里")]
        return [*head, self.word("在"), self.word("哪里"), *predicate]

    def compose(self, m: Meaning):
        if m.frame == "say":
            return self.clause(m.first)
        word = self.word
        comma = self.comma_segment
        if m.frame == "report":
            first = self.clause(m.first._replace(tense="present"))
            return [*first, *self.clause(m.second)]
        first = m.first
        second = m.second
        if m.frame == "when":
            first = first._replace(tense="present")  # no 了 before 的时候
        first = self.clause(first)
        second = self.clause(second)
        if m.frame == "when":
            return [word("当"), *first, word("的"), word("时候"), comma, *second]
        if m.frame == "if":
            return [word("如果"), *first, comma, *second]
        if m.frame == "because":
            return [word("因为"), *second, comma, word("所以"), *first]
        link = {"and": "而", "but": "但是"}[m.frame]
        return [*first, comma, word(link), *second]

    def capital(self, text):
        return text

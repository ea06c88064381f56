"""Universal parts of speech of words, by language; by context where a function word has several.

The tags follow the Universal Dependencies' treebanks: GSD for German, Spanish, French, Japanese and
Chinese, EWT for English.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clwe_jax.pocket.base import Token
from clwe_jax.pocket.lexicon import load

# One tag a line, with the lower-cased words that always have it.
_TABLES = {
    "de": """
DET das den dem des diese dieser dieses diesen diesem ein eine einen einem einer eines
DET kein keine keinen keinem keiner mein meine meinen meinem meiner meines
DET unser unsere unseren unserem unserer unseres seine seinen seinem seiner seines
DET ihr ihre ihren ihrem ihrer ihres viel viele vielen jeden
ADP in im ins auf mit an am ans neben unter vor hinter zu zum zur beim bei um von vom nach für
ADP zurück her ab aus weg hin los fest über durch auf
AUX ist sind war waren bin wird werden werde
CCONJ und aber
SCONJ weil dass wenn
PART nicht
PRON er sie ich wir wer was
ADV wo wohin
""",
    "en": """
DET the a an this these every
ADJ many much
PRON my our his her he she they we i me him us them there who what
ADP in at on under beside behind with for of than into
NOUN front
AUX is are was were am be will do does did
PART not ' s
CCONJ and but
SCONJ when because if
ADV more where
""",
    "es": """
DET el la los las un una unos unas este esta estos estas mi mis su sus cada
DET nuestro nuestra nuestros nuestras mucho mucha muchos muchas
ADP en a con por de sobre al del
AUX es son era eran soy somos éramos está están estaba estaban estoy estamos estábamos
AUX va van voy vamos ser estar
VERB hay había haber
ADV no más debajo delante detrás dónde adónde
NOUN lado
PRON le les él ella ellos ellas qué quién
CCONJ y e pero
SCONJ cuando si porque
""",
    "fr": """
DET le la les l un une cet cette ces mon ma mes notre nos son sa ses chaque
ADP dans à sur avec sous devant derrière en au aux chez
NOUN côté
ADV ne n pas plus beaucoup où
AUX ont ai avons est sont suis sommes étaient était étais étions être va vont vais allons
VERB avoir
PRON il ils elle elles nous je j y qui
SCONJ quand parce si s
CCONJ et mais
PUNCT ' -
""",
    "ja": """
ADP は を に の より も
NOUN こと とき 多く 上 下 隣 前 後ろ
AUX です でした だ だった では ありませんでした なら いけません
PART か
DET この
PRON 彼 彼女 私 私たち 彼ら 彼女たち 何 誰 どこ
VERB います いました いません いませんでした いる いた いない いなかった
VERB あります ありました ある あった
SCONJ から し
""",
    "zh": """
PART 的 地 吗
NUM 一
AUX 了 会 是
ADP 里 上 用 给 比 把 到 当
NOUN 下面 旁边 前面 后面 时候 些
DET 这 每
ADV 很 不 没
ADJ 很多
VERB 有
PRON 他 她 我 我们 他们 她们 什么 谁 哪里
CCONJ 和 而 但是
SCONJ 因为 所以 如果
""",
}
_PUNCTUATION = frozenset(".,?¿。、，？")
# The tag of a modal verb, where it is not VERB.
_MODALS = {
    "de": dict.fromkeys(("want", "can", "must", "may.permission"), "AUX"),
    "en": dict.fromkeys(("can", "must", "may.permission"), "AUX"),
    "es": dict.fromkeys(("can", "must", "may.permission"), "AUX"),
    "fr": {},
    "ja": {"must": "AUX", "may.permission": "ADJ"},
    "zh": dict.fromkeys(("want", "can", "must", "may.permission"), "AUX"),
}
# Adverbials of one word; the others are nouns: "in the morning", "am Morgen".
_ADVERBS = {
    **dict.fromkeys(("de", "en", "es", "fr"), ("yesterday", "tomorrow", "now", "soon", "recently")),
    **dict.fromkeys(("ja", "zh"), ("soon",)),
}
# English writes days and months as names.
_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday may.month april july december "
    "march.month"
).split()


def _words(language: str) -> dict[str, str]:
    """Function word -> its only tag."""
    lines = [line.split() for line in _TABLES[language].strip().splitlines()]
    tags = {word: line[0] for line in lines for word in line[1:]}
    if language in ("ja", "zh"):
        # Counters and classifiers, and the Chinese prepositions of verbs.
        for entry in load().nouns.values():
            tags.setdefault(entry[language].partition(":")[2] or "个", "NOUN")
        tags |= dict.fromkeys(("人", "匹", "つ", "個"), "NOUN") if language == "ja" else {}
    if language == "zh":
        for entry in load().verbs.values():
            government = entry["zh"].partition(" ")[2]
            if government[:1] in (">", "+"):
                tags.setdefault(government[1:], "ADP")
    return tags


WORDS = {language: _words(language) for language in _TABLES}


def content(token: Token, language: str) -> str:
    """The tag of a word with a concept."""
    lexicon = load()
    concept = token.concept
    if concept in lexicon.times:
        if concept in _ADVERBS[language]:
            return "ADV"
        return "PROPN" if language == "en" and concept in _NAMES else "NOUN"
    if concept in lexicon.adverbs:
        return "ADV"
    if concept in lexicon.nouns:
        return "NUM" if "num" in lexicon.nouns[concept]["flags"] else "NOUN"
    if concept in lexicon.adjectives:
        # "Tired" is the state of a verb in Japanese.
        is_verb = language == "ja" and lexicon.adjectives[concept]["ja"].endswith("て")
        return "VERB" if is_verb else "ADJ"
    if language == "ja" and lexicon.verbs[concept]["ja"].partition(" ")[0].endswith(":な"):
        return _MODALS["ja"].get(concept, "ADJ")
    return _MODALS[language].get(concept, "VERB")


class _Place:
    """A place in a sentence, as the rules see it."""

    def __init__(self, tokens: Sequence[Token], place: int, language: str):
        self.tokens = tokens
        self.place = place
        self.language = language

    def text(self, step: int) -> str:
        """The lower-cased word so many places on; '' beyond the sentence."""
        place = self.place + step
        return self.tokens[place].text.lower() if 0 <= place < len(self.tokens) else ""

    def kind(self, step: int) -> str:
        """The tag of a word with a concept so many places on; '' for other words."""
        place = self.place + step
        has_concept = 0 <= place < len(self.tokens) and self.tokens[place].concept
        return content(self.tokens[place], self.language) if has_concept else ""

    def ends(self) -> bool:
        """Whether a punctuation mark follows."""
        return self.text(1) in _PUNCTUATION

    def verb(self) -> str:
        """The concept of the nearest verb before; '' without one."""
        before = range(-1, -self.place - 1, -1)
        offset = next((step for step in before if self.kind(step) == "VERB"), None)
        return self.tokens[self.place + offset].concept if offset else ""

    def verb_follows(self) -> bool:
        """Whether the clause has a verb after this place."""
        for step in range(1, len(self.tokens) - self.place):
            if self.text(step) in _PUNCTUATION:
                return False
            if self.kind(step) == "VERB":
                return True
        return False


def _german_article(at: _Place) -> str:
    """A relative pronoun stands after a noun and a comma."""
    return "PRON" if at.text(-1) == "," and at.kind(-2) == "NOUN" else "DET"


def _spanish_que(at: _Place) -> str:
    """`más ADJ que` and `dice que` are conjunctions; after a noun it is a relative pronoun."""
    return "SCONJ" if at.kind(-1) == "VERB" or at.text(-2) == "más" else "PRON"


def _french_de(at: _Place) -> str:
    """A preposition after nouns, adjectives, côté, beaucoup and verbs with de; else partitive."""
    if at.kind(-1) in ("NOUN", "ADJ") or at.text(-1) in ("côté", "beaucoup"):
        return "ADP"
    if at.kind(-1) in ("VERB", "ADV") or at.text(-1) in ("et", "pas"):
        verb = load().verbs.get(at.verb())
        return "ADP" if verb and verb["fr"].endswith("+de") else "DET"
    return "DET"


def _japanese_negation(at: _Place) -> str:
    """The negation of an adjective, or the absence of something."""
    return "AUX" if at.kind(-1) == "ADJ" or at.text(-1) == "では" else "ADJ"


def _existence(at: _Place) -> str:
    """The negated copula, or the absence of something."""
    return "AUX" if at.text(-1) == "では" else "VERB"


# Words whose tag depends on the context.
_RULES: dict[str, dict[str, Callable[[_Place], str]]] = {
    "de": {
        **dict.fromkeys(("der", "die", "das"), _german_article),
        "als": lambda at: "SCONJ" if at.text(-1) in ("", ",") else "ADP",
        "ein": lambda at: "ADP" if at.ends() else "DET",  # the prefix of "kauft ... ein"
        "sein": lambda at: (
            "AUX" if at.ends() or at.text(1) in ("wird", "werden", "werde") else "DET"
        ),
    },
    "en": {
        "there": lambda at: "PRON",
        "that": lambda at: "SCONJ" if at.kind(-1) == "VERB" else "PRON",
        "to": lambda at: "PART" if at.text(-1) in ("want", "wants") else "ADP",
    },
    "es": {"que": _spanish_que},
    "fr": {
        **dict.fromkeys(("de", "d", "du", "des"), _french_de),
        "a": lambda at: "VERB" if at.text(-1) == "y" else "AUX",
        "avait": lambda at: "VERB" if at.text(-1) == "y" else "AUX",
        "ce": lambda at: "PRON" if at.text(-1) == "-" else "DET",
        "que": lambda at: "SCONJ",
        "qu": lambda at: "PRON" if at.place == 0 else "SCONJ",
    },
    "ja": {
        "が": lambda at: "SCONJ" if at.text(1) == "、" else "ADP",
        "で": lambda at: "AUX" if at.kind(-1) == "ADJ" and at.text(1) == "、" else "ADP",
        "な": lambda at: "AUX",
        "ない": _japanese_negation,
        "なかった": _japanese_negation,
        "ありません": _existence,
        "ありませんでした": _existence,
        "と": lambda at: "ADP",
    },
    "zh": {"在": lambda at: "ADP" if at.verb_follows() else "VERB"},
}


def tag(tokens: Sequence[Token], place: int, language: str) -> str:
    """The universal part of speech of a token of a rendered sentence.

    Raises:
      KeyError: a function word that no table has.
    """
    token = tokens[place]
    if token.concept:
        return content(token, language)
    word = token.text.lower()
    if word in _PUNCTUATION:
        return "PUNCT"
    rule = _RULES[language].get(word)
    return rule(_Place(tokens, place, language)) if rule else WORDS[language][word]

"""The embedded world: grammar of its languages, concepts, splits and files."""

import collections
import functools
import hashlib
import itertools
import pathlib
import re
import subprocess
import sys

import pytest

from clwe_jax import pocket
from clwe_jax.pocket import generate, meanings, planted
from clwe_jax.pocket.base import NP, PRONOUNS, Clause, Meaning, Place
from clwe_jax.pocket.french_forms import conjugate as french_verb
from clwe_jax.pocket.german_forms import conjugate as german_verb
from clwe_jax.pocket.japanese_forms import conjugate as japanese_verb
from clwe_jax.pocket.lexicon import Lexicon, load
from clwe_jax.pocket.spanish_forms import conjugate as spanish_verb
from clwe_jax.pocket.world import split_of, zipf
from clwe_jax.pocket.tasks import heldout
from clwe_jax.pocket.write import ISO_639_3, dictionary_pairs

SPACED = ("de", "en", "es", "fr")
SAMPLE = 4000


@functools.cache
def sample(language, split="train", count=SAMPLE):
    return list(itertools.islice(pocket.sentences(language, 11, split), count))


@functools.cache
def parallel_rows():
    return pocket.parallel(pocket.LANGUAGES, 600, seed=2)


def base(concept, language):
    return pocket.translations(concept)[language][0]


# The lexicon.


def test_concepts_have_words_in_all_languages():
    concepts = load().concepts
    assert len(concepts) >= 400
    assert len({load().domain_of[c] for c in concepts}) >= 14
    for concept in concepts:
        found = pocket.translations(concept)
        assert set(found) == set(pocket.LANGUAGES)
        for language, words in found.items():
            assert words, f"{concept} has no word in {language}"
            for word in words:
                letters = r"[^\W\d_]+" if language in SPACED else r"[぀-ヿ一-鿿々]+"
                assert re.fullmatch(letters, word), f"{concept} {language}: {word!r}"


def senses_with_other_translations(language, others):
    """Words whose base form has two concepts with distinct translations in each of `others`."""
    found = set()
    for word, concepts in pocket.ambiguous(language).items():
        named = [c for c in concepts if base(c, language) == word]
        for one, two in itertools.combinations(named, 2):
            if all(base(one, other) != base(two, other) for other in others):
                found.add(word)
    return found


def test_ambiguous_english_words_have_other_translations_by_sense():
    found = senses_with_other_translations("en", ("de", "zh"))
    assert len(found) >= 40, sorted(found)
    asked = "bank may spring bat match light letter plant seal palm ring bark chest ruler trunk"
    assert set(asked.split()) <= found
    assert set(pocket.ambiguous("en")["bank"]) == {"bank.money", "bank.river"}


@pytest.mark.parametrize(
    "language, other, words",
    [
        ("de", "en", "bank schloss uhr karte hahn feder"),
        ("es", "en", "banco carta copa cola mañana vela"),
        ("fr", "de", "avocat glace livre fer grue"),
        ("ja", "en", "コート 鼻 監督"),
        ("zh", "en", "花 包 开 杯子"),
    ],
)
def test_other_languages_have_ambiguous_words(language, other, words):
    assert set(words.split()) <= senses_with_other_translations(language, (other,))


def test_ambiguous_words_occur_in_each_of_their_senses():
    seen = collections.defaultdict(collections.Counter)
    for sentence in sample("en"):
        for token in sentence.tokens:
            seen[token.text.lower()][token.concept] += 1
    for word in "bank spring match trunk letter plant light ring watch".split():
        senses = [c for c in pocket.ambiguous("en")[word] if base(c, "en") == word]
        assert len(senses) >= 2
        for sense in senses:
            forms = pocket.translations(sense)["en"]
            assert any(seen[form][sense] for form in forms), f"{word}: no {sense}"


# Splits and seeds.


def digest(language):
    lines = "\n".join(s.text for s in itertools.islice(pocket.sentences(language, 5), 150))
    return hashlib.sha256(lines.encode()).hexdigest()


def test_same_sentences_in_every_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import itertools, hashlib\n"
        "from clwe_jax import pocket\n"
        "for language in pocket.LANGUAGES:\n"
        "    lines = [s.text for s in itertools.islice(pocket.sentences(language, 5), 150)]\n"
        "    print(hashlib.sha256('\\n'.join(lines).encode()).hexdigest())\n"
        "print('numpy' in sys.modules, 'jax' in sys.modules, 'tensorflow' in sys.modules)\n"
    )
    root = str(pathlib.Path(pocket.__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code, root],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77", "PATH": ""},
    )
    *digests, imported = done.stdout.strip().splitlines()
    assert digests == [digest(language) for language in pocket.LANGUAGES]
    assert imported.endswith("False False")


def test_each_seed_and_language_draws_its_own_meanings():
    first = [s.text for s in itertools.islice(pocket.sentences("en", 0), 300)]
    other = [s.text for s in itertools.islice(pocket.sentences("en", 1), 300)]
    assert len(set(first) & set(other)) < 30
    english = [tuple(sorted(t.concept for t in s.tokens if t.concept)) for s in sample("en")]
    german = [tuple(sorted(t.concept for t in s.tokens if t.concept)) for s in sample("de")]
    same = sum(a == b for a, b in zip(english, german, strict=True))
    assert same < SAMPLE / 100


def test_training_text_holds_no_held_out_meaning():
    train = meanings.Sampler("any seed", "train")
    held_out_draws = meanings.Sampler("another", "heldout")
    drawn = [train.draw() for _ in range(16_000)]
    held = [held_out_draws.draw() for _ in range(2000)]
    assert {split_of(meaning.key) for meaning in drawn} == {"train"}
    # The keys decide, so that equal keys are no evidence.
    said, held_out = ({m[:1] + m[2:4] for m in some} for some in (drawn, held))
    assert len(said) > 14_000 and len(held_out) > 1800
    assert not said & held_out
    texts = {s.text for s in sample("en")}
    assert len(texts) > 0.95 * SAMPLE
    # Meanings differ; their texts differ too, except where words are ambiguous.
    assert sum(row["en"].text in texts for row in parallel_rows()) <= 2


def test_what_a_sentence_does_not_say_does_not_decide_on_its_split():
    """Parts that are drawn and left out, and the part that a question asks for."""
    key_of = meanings.Sampler("any seed").key_of
    woman = NP("woman")
    reads = Clause("event", woman, "read", NP("book"), place=Place("in", NP("house")))
    for frame, changed in (
        ("who", reads._replace(subject=NP("man"))),
        ("what", reads._replace(obj=NP("letter.mail"))),
        ("where", reads._replace(place=Place("in", NP("school")))),
    ):
        assert key_of(frame, reads, None) == key_of(frame, changed, None)
        assert key_of("say", reads, None) != key_of("say", changed, None)
    drawn = [meanings.Sampler(f"seed {n}").draw() for n in range(300)]
    for meaning in drawn:
        said = meaning.key.split("|")[1:]
        clauses = meaning.first, meaning.second
        concepts = set().union(*(heldout.concepts_in(c) for c in clauses if c))
        assert set(said) <= concepts | set(PRONOUNS)


def test_parallel_rows_are_distinct_translations():
    rows = parallel_rows()
    for language in pocket.LANGUAGES:
        assert len({row[language].text for row in rows}) == len(rows)
    for row in rows:
        by_language = {
            language: {t.concept for t in sentence.tokens if t.concept}
            for language, sentence in row.items()
        }
        for language in pocket.LANGUAGES:
            assert by_language[language] == by_language["en"], row[language].text


def test_parallel_leaves_out_equal_texts(monkeypatch):
    # Chinese has no plural: another meaning, the same text.
    clauses = [
        Clause("is", NP("dog", many), adj=adj)
        for many, adj in [(False, "big"), (True, "big"), (True, "small")]
    ]
    drawn = iter([Meaning("say", "animals", c, None, str(n)) for n, c in enumerate(clauses)])
    monkeypatch.setattr(meanings.Sampler, "draw", lambda self: next(drawn))
    rows = pocket.parallel(("en", "zh"), 2)
    assert [row["en"].text for row in rows] == ["The dog is big.", "The dogs are small."]


def test_tables_have_zipf_frequencies():
    counts = collections.Counter(zipf(tuple("abcdef")))
    assert [counts[c] for c in "abcdef"] == sorted(counts.values(), reverse=True)
    assert counts["a"] > 2 * counts["d"] > 0 and counts["f"] > 0


def test_parallel_is_deterministic_and_takes_any_languages():
    two = pocket.parallel(("fr", "zh"), 20, seed=9)
    assert [r["fr"] for r in two] == [r["fr"] for r in pocket.parallel(("fr", "zh"), 20, seed=9)]
    assert set(two[0]) == {"fr", "zh"}


# Tokens.


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_tokens_are_the_words_of_the_text(language):
    for sentence in sample(language):
        texts = [t.text for t in sentence.tokens]
        assert "".join(texts) == sentence.text.replace(" ", ""), sentence
        assert all(re.fullmatch(r"\w+|[^\w\s]", t) for t in texts), sentence
        if language in SPACED:
            assert re.findall(r"[^\W_]+|[^\w\s]", sentence.text) == texts, sentence
            assert not re.search(r"  |^ | $", sentence.text)
            assert sentence.text.lstrip("¿")[0].isupper() and sentence.text[-1] in ".?"
        else:
            assert " " not in sentence.text
            assert not re.search(r"[A-Za-z]", sentence.text)
            assert sentence.text[-1] in "。？"


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_longest_match_against_the_dictionary_finds_the_words(language):
    lexicon = {word for _, word in pocket.dictionary("en", language)}
    longest = max(map(len, lexicon))
    found = total = 0
    for sentence in sample(language):
        text, spans, at = sentence.text, set(), 0
        while at < len(text):
            size = next((n for n in range(longest, 0, -1) if text[at : at + n] in lexicon), 1)
            spans.add((at, at + size))
            at += size
        at = 0
        for token in sentence.tokens:
            total += token.concept is not None
            found += token.concept is not None and (at, at + len(token.text)) in spans
            at += len(token.text)
    assert found / total > 0.995


def test_sentences_are_neither_short_nor_monotonous():
    sentences = sample("en")
    lengths = [len(s.tokens) - 1 for s in sentences]
    assert 7 < sum(lengths) / len(lengths) < 12
    assert sum(4 <= n <= 20 for n in lengths) / len(lengths) > 0.97
    counts = collections.Counter(t.concept for s in sentences for t in s.tokens if t.concept)
    ranked = [n for _, n in counts.most_common()]
    assert len(ranked) > 800
    assert ranked[0] > 10 * ranked[len(ranked) // 2], "frequencies are not Zipf-like"
    starts = collections.Counter(s.tokens[0].text for s in sentences)
    assert {"When", "If", "Does", "Who", "Where", "What", "There", "Yesterday"} <= set(starts)
    assert len({s.domain for s in sentences}) >= 14


def test_verbs_choose_objects_of_their_domain():
    seen = collections.defaultdict(collections.Counter)
    for sentence in sample("en"):
        concepts = {t.concept for t in sentence.tokens if t.concept}
        for sense in concepts & {"bank.money", "bank.river"}:
            seen[sense].update(concepts - {sense})
    assert seen["bank.money"]["money"] > seen["bank.river"]["money"] == 0
    assert seen["bank.river"]["hiker"] > seen["bank.money"]["hiker"] == 0


# Dictionaries.


def test_dictionary_pairs_forms_of_the_same_number_and_tense():
    pairs = set(pocket.dictionary("en", "de"))
    assert {("bank", "bank"), ("bank", "ufer"), ("banks", "banken"), ("dog", "hund")} <= pairs
    assert {("dogs", "hunden"), ("ate", "aß"), ("eats", "isst"), ("bigger", "größer")} <= pairs
    assert {("the", "der"), ("because", "weil"), ("may", "mai"), ("may", "darf")} <= pairs
    assert not {("dogs", "hund"), ("dog", "hunde"), ("ate", "isst"), ("bank", "bänke")} & pairs
    assert {("comió", "mangé"), ("perros", "chiens")} <= set(pocket.dictionary("es", "fr"))


@pytest.mark.parametrize("source, target", [("en", "de"), ("es", "fr"), ("en", "ja"), ("zh", "en")])
def test_dictionary_is_clean_and_symmetric(source, target):
    pairs = pocket.dictionary(source, target)
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {(b, a) for a, b in pocket.dictionary(target, source)}
    for words in pairs:
        assert all(w and w == w.lower() and not re.search(r"\s", w) for w in words)


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_every_word_with_a_sense_is_in_the_dictionary(language):
    other = "en" if language != "en" else "de"
    words = {a for a, _ in pocket.dictionary(language, other)}
    covered = total = 0
    for sentence in sample(language):
        for token in sentence.tokens:
            total += 1
            covered += token.text.lower() in words
            assert token.concept is None or token.text.lower() in words, token
            assert token.concept is None or (
                token.text.lower() in pocket.translations(token.concept)[language]
            ), token
    assert covered / total > (0.55 if language in ("ja", "zh") else 0.7)


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_dictionary_words_occur_in_the_text(language):
    other = "en" if language != "en" else "de"
    seen = {t.text.lower() for s in sample(language, count=4 * SAMPLE) for t in s.tokens}
    bases = {a for a, _ in generate.dictionary(language, other, base_forms=True)}
    # A sixth of the base forms are infinitives, which some languages use only with modal verbs.
    assert len(bases & seen) / len(bases) > 0.8


# Grammar.

ENGLISH_A_WITH_VOWEL = {"uniform", "university", "useful"}


def bigrams(language):
    for sentence in sample(language):
        texts = [t.text.lower() for t in sentence.tokens]
        yield from ((a, b, sentence.text) for a, b in itertools.pairwise(texts))


def test_english_articles():
    for first, second, text in bigrams("en"):
        vowel = second[0] in "aeiou" and second not in ENGLISH_A_WITH_VOWEL
        vowel |= second in ("honest", "hour")
        assert not (first == "a" and vowel) and not (first == "an" and not vowel), text
        assert not (first in ("a", "an", "this") and second in ("children", "men", "mice")), text
        assert not (first == "these" and second in ("child", "man", "dog", "bank")), text


def test_spanish_contractions_and_agreement():
    nouns = generate.grammar("es").nouns
    gender = {}
    for concept, (column, stressed, one, many) in nouns.items():
        if concept != "two" and not stressed and load().nouns[concept]["flags"][0] != "num":
            gender.setdefault(one, set()).add((column, False))
            gender.setdefault(many, set()).add((column, True))
    articles = {
        "el": (0, False),
        "la": (1, False),
        "los": (0, True),
        "las": (1, True),
        "un": (0, False),
        "una": (1, False),
        "unos": (0, True),
        "unas": (1, True),
        "del": (0, False),
        "al": (0, False),
        "estos": (0, True),
        "esta": (1, False),
        "este": (0, False),
        "estas": (1, True),
        "muchas": (1, True),
        "muchos": (0, True),
    }
    checked = 0
    for first, second, text in bigrams("es"):
        assert (first, second) not in (("de", "el"), ("a", "el")), text
        if first in articles and second in gender:
            checked += 1
            assert articles[first] in gender[second], (first, second, text)
    assert checked > 3000
    texts = "\n".join(s.text for s in sample("es"))
    assert "la agua" not in texts.lower() and re.search(r"\b[Ee]l agua\b", texts)


def test_french_elision_and_contractions():
    vowel = re.compile(r"[aeiouâàéèêîïôûœ]")
    bad = {("de", "le"), ("de", "les"), ("à", "le"), ("à", "les")}
    bad |= {("si", "il"), ("si", "ils")}
    for first, second, text in bigrams("fr"):
        assert (first, second) not in bad, text
        if first in ("le", "la", "de", "ne", "que", "je"):
            assert not vowel.match(second), (first, second, text)
        if first in ("ma", "sa", "ce", "beau", "nouveau"):
            assert not vowel.match(second), (first, second, text)
    texts = [s.text for s in sample("fr")]
    assert any("l'eau" in t for t in texts) or any("l'arbre" in t for t in texts)
    assert any("Est-ce qu'" in t for t in texts) and all("l'*" not in t for t in texts)


def test_german_articles_agree_with_their_nouns():
    nouns = generate.grammar("de").nouns
    genders = collections.defaultdict(set)
    plurals = set()
    for concept, (column, forms) in nouns.items():
        if load().nouns[concept]["flags"][0] == "num":
            continue
        genders[forms["nom", False]].add(column)
        if not load().nouns[concept]["mass"]:
            plurals |= {forms["nom", True], forms["dat", True]}
    # The genders that each determiner may precede, independent of the tables of the grammar.
    allowed = {
        "der": {0, 1},
        "den": {0},
        "dem": {0, 2},
        "des": {0, 2},
        "das": {2},
        "die": {1},
        "ein": {0, 2},
        "eine": {1},
        "einen": {0},
        "einem": {0, 2},
        "einer": {1},
        "eines": {0, 2},
        "im": {0, 2},
        "am": {0, 2},
        "zur": {1},
        "zum": {0, 2},
        "ins": {2},
        "kein": {0, 2},
        "keine": {1},
        "keinen": {0},
        "dieser": {0, 1},
        "dieses": {0, 2},
        "diesen": {0},
    }
    checked = 0
    for sentence in sample("de"):
        texts = [t.text for t in sentence.tokens]
        texts[0] = texts[0].lower()
        # After a comma "die" may be a relative pronoun.
        for before, first, second in zip(["", *texts], texts, texts[1:], strict=False):
            if before != "," and first in allowed and second in genders and second not in plurals:
                checked += 1
                assert allowed[first] & genders[second], (first, second, sentence.text)
        opening = texts[0]
        if opening in ("der", "die", "das") and texts[1] in genders and texts[1] not in plurals:
            # The first word is a subject or a place in front, so "der" is no dative here.
            column = {"der": 0, "die": 1, "das": 2}[opening]
            assert column in genders[texts[1]], sentence.text
    assert checked > 2000


@pytest.mark.parametrize(
    "np, case, preposition, expected",
    [
        (NP("dog", adj="big"), "acc", "", "den großen Hund"),
        (NP("dog", det="indef", adj="big"), "nom", "", "ein großer Hund"),
        (NP("dog", det="indef", adj="big"), "dat", "mit", "mit einem großen Hund"),
        (NP("woman", adj="old.age"), "dat", "", "der alten Frau"),
        (NP("house"), "gen", "", "des Hauses"),
        (NP("river"), "dat", "in", "im Fluss"),
        (NP("house", adj="old.thing"), "acc", "in", "ins alte Haus"),
        (NP("child", True), "dat", "", "den Kindern"),
        (NP("child", True, "indef", "small"), "dat", "mit", "mit kleinen Kindern"),
        (NP("elephant"), "acc", "", "den Elefanten"),
        (NP("milk", det="indef", adj="cold"), "acc", "", "kalte Milch"),
        (NP("cheese", det="indef", adj="good"), "dat", "mit", "mit gutem Käse"),
        (NP("dog", True, "num", "small", "two"), "nom", "", "zwei kleine Hunde"),
        (NP("wine", det="no"), "acc", "", "keinen Wein"),
        (NP("dog", owner=NP("farmer")), "nom", "", "der Hund des Bauern"),
        (NP("tower", adj="high"), "nom", "", "der hohe Turm"),
        (NP("friend", True, "my", "new"), "dat", "", "meinen neuen Freunden"),
    ],
)
def test_german_noun_phrases(np, case, preposition, expected):
    assert generate.grammar("de").np(np, case, preposition)[0] == expected


VERBS = {
    spanish_verb: [
        ("comer", "como come comen comí comió comieron comemos comimos"),
        ("cerrar:ie", "cierro cierra cierran cerré cerró cerraron cerramos cerramos"),
        ("dormir:ue", "duermo duerme duermen dormí durmió durmieron dormimos dormimos"),
        ("pedir:i", "pido pide piden pedí pidió pidieron pedimos pedimos"),
        ("jugar:ue", "juego juega juegan jugué jugó jugaron jugamos jugamos"),
        (
            "construir",
            "construyo construye construyen construí construyó construyeron"
            " construimos construimos",
        ),
        ("leer", "leo lee leen leí leyó leyeron leemos leímos"),
        ("buscar", "busco busca buscan busqué buscó buscaron buscamos buscamos"),
        ("conocer", "conozco conoce conocen conocí conoció conocieron conocemos conocimos"),
        (
            "traer{traigo,trae,traen,traje,trajo,trajeron}",
            "traigo trae traen traje trajo trajeron traemos trajimos",
        ),
    ],
    french_verb: [
        ("manger", "mange mange mangeons mangent mangé"),
        ("commencer", "commence commence commençons commencent commencé"),
        ("acheter:è", "achète achète achetons achètent acheté"),
        ("finir", "finis finit finissons finissent fini"),
        ("vendre", "vends vend vendons vendent vendu"),
        ("nettoyer", "nettoie nettoie nettoyons nettoient nettoyé"),
    ],
    german_verb: [
        ("kaufen", "kaufe kauft kaufen kaufte kauften"),
        ("arbeiten", "arbeite arbeitet arbeiten arbeitete arbeiteten"),
        ("öffnen", "öffne öffnet öffnen öffnete öffneten"),
        ("zeichnen", "zeichne zeichnet zeichnen zeichnete zeichneten"),
        ("wohnen", "wohne wohnt wohnen wohnte wohnten"),
        ("lernen", "lerne lernt lernen lernte lernten"),
        ("sammeln", "sammle sammelt sammeln sammelte sammelten"),
        ("essen/isst/aß", "esse isst essen aß aßen"),
        ("wissen/weiß/wusste", "weiß weiß wissen wusste wussten"),
    ],
    japanese_verb: [
        ("食べる:1", "食べます 食べました 食べません 食べた 食べて 食べない"),
        ("飲む:5", "飲みます 飲みました 飲みません 飲んだ 飲んで 飲まない"),
        ("書く:5", "書きます 書きました 書きません 書いた 書いて 書かない"),
        ("行く:5", "行きます 行きました 行きません 行った 行って 行かない"),
        ("話す:5", "話します 話しました 話しません 話した 話して 話さない"),
        ("買う:5", "買います 買いました 買いません 買った 買って 買わない"),
        ("泳ぐ:5", "泳ぎます 泳ぎました 泳ぎません 泳いだ 泳いで 泳がない"),
        ("掃除する", "掃除します 掃除しました 掃除しません 掃除した 掃除して 掃除しない"),
        (
            "持ってくる",
            "持ってきます 持ってきました 持ってきません 持ってきた 持ってきて 持ってこない",
        ),
        (
            "住む:5~",
            "住んでいます 住んでいました 住んでいません 住んでいた 住んでいて 住んでいない",
        ),
    ],
}
SLOTS = {
    spanish_verb: "1sg 3sg 3pl past_1sg past past_pl 1pl past_1pl",
    french_verb: "1sg 3sg 1pl 3pl participle",
    german_verb: "1sg 3sg 3pl past past_pl",
    japanese_verb: "masu mashita masen ta te nai",
}


@pytest.mark.parametrize(
    "conjugate, spec, expected",
    [(rules, spec, forms) for rules, verbs in VERBS.items() for spec, forms in verbs],
)
def test_verbs(conjugate, spec, expected):
    found = conjugate(spec)
    assert [found[slot] for slot in SLOTS[conjugate].split()] == expected.split()


MARKET = Place("at", NP("market"))
WOMAN_SLEEPS = Clause("event", NP("woman"), "sleep")
WOMAN_IS_HAPPY = Clause("is", NP("woman"), adj="happy")
GOLDEN = [
    (
        Meaning(
            "say",
            "farm",
            Clause(
                "event",
                NP("farmer"),
                "sell",
                NP("cow", True, "num", count="three"),
                place=MARKET,
                time="yesterday",
                tense="past",
                fronted=True,
            ),
            None,
            "",
        ),
        {
            "en": "Yesterday the farmer sold three cows at the market.",
            "de": "Gestern verkaufte der Bauer auf dem Markt drei Kühe.",
            "es": "Ayer el granjero vendió tres vacas en el mercado.",
            "fr": "Hier, le fermier a vendu trois vaches au marché.",
            "ja": "昨日、農夫は市場で三頭の牛を売りました。",
            "zh": "昨天农夫在市场卖了三头奶牛。",
        },
    ),
    (
        Meaning(
            "say",
            "farm",
            Clause("event", NP("woman", True), "buy", NP("water", det="indef"), negated=True),
            None,
            "",
        ),
        {
            "en": "The women do not buy water.",
            "de": "Die Frauen kaufen kein Wasser.",
            "es": "Las mujeres no compran agua.",
            "fr": "Les femmes n'achètent pas d'eau.",
            "ja": "女は水を買いません。",
            "zh": "女人不买水。",
        },
    ),
    (
        Meaning(
            "when",
            "nature",
            Clause("event", NP("flower", True), "bloom", tense="past"),
            Clause(
                "event", NP("girl"), "go", goal=Place("in", NP("forest", adj="big")), tense="past"
            ),
            "",
        ),
        {
            "en": "When the flowers bloomed, the girl went to the big forest.",
            "de": "Als die Blumen blühten, ging das Mädchen in den großen Wald.",
            "es": "Cuando las flores florecieron, la chica fue al bosque grande.",
            "fr": "Quand les fleurs ont fleuri, la fille est allée dans la grande forêt.",
            "ja": "花が咲いたとき、少女は大きい森に行きました。",
            "zh": "当花开花的时候，女孩去大森林。",
        },
    ),
    (
        Meaning(
            "because",
            "home",
            Clause("is", NP("mother"), adj="tired"),
            Clause("event", NP("she"), "clean.wipe", NP("window", True), modal="must"),
            "",
        ),
        {
            "en": "The mother is tired because she must clean the windows.",
            "de": "Die Mutter ist müde, weil sie die Fenster putzen muss.",
            "es": "La madre está cansada porque debe limpiar las ventanas.",
            "fr": "La mère est fatiguée parce qu'elle doit nettoyer les fenêtres.",
            "ja": "母親が窓を掃除しなければなりませんから、彼女は疲れています。",
            "zh": "因为母亲必须打扫窗户，所以她很累。",
        },
    ),
    (
        Meaning(
            "ask",
            "office",
            Clause(
                "event",
                NP("boss"),
                "give",
                NP("letter.mail", det="indef"),
                NP("secretary", det="my"),
                tense="past",
            ),
            None,
            "",
        ),
        {
            "en": "Did the boss give a letter to my secretary?",
            "de": "Gab der Chef meiner Sekretärin einen Brief?",
            "es": "¿Le dio el jefe una carta a mi secretaria?",
            "fr": "Est-ce que le patron a donné une lettre à ma secrétaire ?",
            "ja": "社長は私の秘書に手紙をあげましたか。",
            "zh": "老板给了我的秘书一封信吗？",
        },
    ),
    (
        Meaning(
            "where",
            "money",
            Clause(
                "event",
                NP("customer"),
                "withdraw",
                NP("money"),
                place=Place("at", NP("bank.money")),
            ),
            None,
            "",
        ),
        {
            "en": "Where does the customer withdraw the money?",
            "de": "Wo hebt der Kunde das Geld ab?",
            "es": "¿Dónde retira el cliente el dinero?",
            "fr": "Où est-ce que le client retire l'argent ?",
            "ja": "客はどこでお金を引き出しますか。",
            "zh": "顾客在哪里取出钱？",
        },
    ),
    (
        Meaning(
            "say",
            "animals",
            Clause("more", NP("elephant", True), adj="big", obj=NP("mouse.animal", True)),
            None,
            "",
        ),
        {
            "en": "The elephants are bigger than the mice.",
            "de": "Die Elefanten sind größer als die Mäuse.",
            "es": "Los elefantes son más grandes que los ratones.",
            "fr": "Les éléphants sont plus grands que les souris.",
            "ja": "象はネズミより大きいです。",
            "zh": "大象比老鼠大。",
        },
    ),
    (
        Meaning(
            "report",
            "school",
            Clause("event", NP("teacher"), "know"),
            Clause("event", NP("pupil.student"), "forget", NP("book", det="his")),
            "",
        ),
        {
            "en": "The teacher knows that the pupil forgets his book.",
            "de": "Der Lehrer weiß, dass der Schüler sein Buch vergisst.",
            "es": "El maestro sabe que el alumno olvida su libro.",
            "fr": "Le professeur sait que l'élève oublie son livre.",
            "ja": "先生は、生徒が彼の本を忘れることを知っています。",
            "zh": "老师知道小学生忘记他的书。",
        },
    ),
    (
        Meaning(
            "say",
            "kitchen",
            Clause(
                "event",
                NP(
                    "cook.person",
                    relative=Clause("event", NP("cook.person"), "bake", NP("bread", det="indef")),
                ),
                "want",
                None,
            ),
            None,
            "",
        )._replace(
            first=Clause(
                "event",
                NP(
                    "cook.person",
                    relative=Clause("event", NP("cook.person"), "bake", NP("bread", det="indef")),
                ),
                "drink",
                NP("coffee", det="indef"),
                modal="want",
            )
        ),
        {
            "en": "The cook who bakes bread wants to drink coffee.",
            "de": "Der Koch, der Brot backt, will Kaffee trinken.",
            "es": "El cocinero que hornea pan quiere beber café.",
            "fr": "Le cuisinier qui cuit du pain veut boire du café.",
            "ja": "パンを焼く料理人はコーヒーを飲みたいと思っています。",
            "zh": "烤面包的厨师想喝咖啡。",
        },
    ),
    (
        Meaning(
            "say",
            "home",
            Clause(
                "there",
                NP("cat", True, "num", "black", "two"),
                place=Place("under", NP("table", adj="old.thing")),
            ),
            None,
            "",
        ),
        {
            "en": "There are two black cats under the old table.",
            "de": "Unter dem alten Tisch sind zwei schwarze Katzen.",
            "es": "Hay dos gatos negros debajo de la mesa vieja.",
            "fr": "Il y a deux chats noirs sous la vieille table.",
            "ja": "古いテーブルの下に二匹の黒い猫がいます。",
            "zh": "旧桌子下面有两只黑色的猫。",
        },
    ),
    # A pronoun is left out, or stands for the person of the other clause, only where it refers to that person.
    (
        Meaning("and", "", WOMAN_SLEEPS, Clause("event", NP("he"), "read", NP("book")), ""),
        {
            "en": "The woman sleeps, and he reads the book.",
            "es": "La mujer duerme, y él lee el libro.",
            "ja": "女は眠って、彼は本を読みます。",
        },
    ),
    (
        Meaning("and", "", WOMAN_SLEEPS, Clause("event", NP("she"), "read", NP("book")), ""),
        {
            "en": "The woman sleeps, and she reads the book.",
            "es": "La mujer duerme, y lee el libro.",
            "ja": "女は眠って、本を読みます。",
        },
    ),
    (
        Meaning("because", "", WOMAN_IS_HAPPY, Clause("event", NP("I"), "sing"), ""),
        {
            "en": "The woman is happy because I sing.",
            "es": "La mujer está feliz porque canto.",
            "ja": "私が歌いますから、女は幸せです。",
            "zh": "因为我唱，所以女人很高兴。",
        },
    ),
    (
        Meaning("because", "", WOMAN_IS_HAPPY, Clause("event", NP("she"), "sing"), ""),
        {
            "en": "The woman is happy because she sings.",
            "es": "La mujer está feliz porque canta.",
            "ja": "女が歌いますから、彼女は幸せです。",
            "zh": "因为女人唱，所以她很高兴。",
        },
    ),
]


@pytest.mark.parametrize("meaning, expected", GOLDEN, ids=[g[1]["en"][:30] for g in GOLDEN])
def test_one_meaning_in_six_languages(meaning, expected):
    found = {language: generate.grammar(language).render(meaning).text for language in expected}
    assert found == expected


# Files.


def test_corpus_files(tmp_path):
    pocket.write_corpus(tmp_path, ("de", "ja"), sentences=50, seed=3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["de.txt", "ja.txt"]
    lines = (tmp_path / "de.txt").read_text(encoding="utf-8").splitlines()
    assert lines == [s.text for s in itertools.islice(pocket.sentences("de", 3), 50)]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    pocket.write_corpus(tmp_path, ("en",), sentences=5)
    before = (tmp_path / "en.txt").read_bytes()

    first = list(planted.lines("en", 3, 1))

    def broken(*arguments):
        yield from first
        raise OSError("disk full")

    monkeypatch.setattr(planted, "lines", broken)
    with pytest.raises(OSError, match="disk full"):
        pocket.write_corpus(tmp_path, ("en",), sentences=5)
    assert [p.name for p in tmp_path.iterdir()] == ["en.txt"]
    assert (tmp_path / "en.txt").read_bytes() == before


def test_dictionary_files(tmp_path):
    pocket.write_dictionaries(tmp_path)
    names = {p.stem for p in tmp_path.iterdir()}
    assert names == {f"{a}-{b}" for a, b in dictionary_pairs()}
    assert {"en-zh", "zh-en", "de-fr", "es-de"} <= names and "ja-zh" not in names
    rows = [r.split(" ") for r in (tmp_path / "en-fr.txt").read_text("utf-8").splitlines()]
    assert [tuple(r) for r in rows] == pocket.dictionary("en", "fr")
    assert dictionary_pairs(("ja", "zh")) == [("ja", "zh"), ("zh", "ja")]


def test_test_dictionaries_hold_every_translation_of_some_base_forms(tmp_path):
    pocket.write_bli(tmp_path, ("de", "en"))
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "de-en.5000-6500.txt",
        "en-de.5000-6500.txt",
    ]
    rows = (tmp_path / "en-de.5000-6500.txt").read_text("utf-8").splitlines()
    pairs = [tuple(row.split(" ")) for row in rows]
    whole = generate.dictionary("en", "de", base_forms=True)
    words = {a for a, _ in pairs}
    assert set(pairs) == {(a, b) for a, b in whole if a in words}
    assert 150 < len(words) < len({a for a, _ in whole}) / 2
    assert set(pairs) <= set(pocket.dictionary("en", "de")) and "the" not in words


def test_retrieval_files_are_lines_of_one_meaning(tmp_path):
    pocket.write_retrieval(tmp_path, ("fr", "zh"), count=40, seed=4)
    rows = pocket.parallel(("en", "fr", "zh"), 40, seed=4)
    for language in ("fr", "zh"):
        stem = f"tatoeba.{ISO_639_3[language]}-eng."
        for name, side in ((ISO_639_3[language], language), ("eng", "en")):
            lines = (tmp_path / (stem + name)).read_text("utf-8").splitlines()
            assert lines == [row[side].text for row in rows]


def test_text_about_some_domains_only(tmp_path):
    assert len(pocket.domains()) >= 14
    found = itertools.islice(pocket.sentences("en", among=("sea", "money")), 400)
    assert {s.domain for s in found} == {"sea", "money"}
    assert {s["fr"].domain for s in pocket.parallel(("fr",), 50, among=("music",))} == {"music"}
    pocket.write_corpus(tmp_path, ("en",), 30, 2, among=("farm",))
    lines = (tmp_path / "en.txt").read_text("utf-8").splitlines()
    only = itertools.islice(pocket.sentences("en", 2, among=("farm",)), 30)
    assert lines == [s.text for s in only]
    with pytest.raises(ValueError, match="no domain 'musik'.*music"):
        next(pocket.sentences("en", among=("musik",)))


def test_parallel_training_files(tmp_path):
    pocket.write_parallel(tmp_path, ("de", "en", "ja"), 30, seed=1)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "de-en.de",
        "de-en.en",
        "en-ja.en",
        "en-ja.ja",
    ]
    english = (tmp_path / "de-en.en").read_text("utf-8")
    assert english == (tmp_path / "en-ja.en").read_text("utf-8")
    rows = pocket.parallel(("de", "en", "ja"), 30, seed=1, split="train")
    assert english.splitlines() == [row["en"].text for row in rows]


# Bad input.


def test_unknown_language_and_split():
    with pytest.raises(ValueError, match="'xx'.*de, en, es"):
        next(pocket.sentences("xx"))
    with pytest.raises(ValueError, match="'train' or 'heldout'"):
        next(pocket.sentences("en", split="test"))
    with pytest.raises(KeyError):
        pocket.translations("no.such")


@pytest.mark.parametrize(
    "text, message",
    [
        ("== nouns\ndog | animal | dog", "a.txt:2: expected `id | flags"),
        ("== nouns\n\ndog | pet | a | b | c | d | e | f", "a.txt:3: 'pet' is no kind of noun"),
        ("dog | animal", "a.txt:1: expected a section"),
        ("== noun\n", "a.txt:1: no such section: 'noun'"),
        ("== events\ndog > bark", "a.txt:2: no such concept: dog"),
        ("== events\n$pets > bark", "a.txt:2: no set .pets"),
    ],
)
def test_lexicon_mistakes_are_named(text, message):
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        Lexicon().read([("a.txt", text)])


def test_a_concept_is_defined_once():
    line = "dog | animal | dog | der Hund/Hunde | m perro | m chien | 犬 | 狗"
    with pytest.raises(ValueError, match="a.txt:3: dog"):
        Lexicon().read([("a.txt", f"== nouns\n{line}\n{line}")])
    quality = "clean | - | clean | sauber | limpio | propre | 清潔:な | 干净"
    action = "clean | - | clean | putzen | limpiar | nettoyer | 掃除する | 打扫"
    with pytest.raises(ValueError, match="b.txt:2: clean"):
        Lexicon().read([("a.txt", f"== adjectives\n{quality}"), ("b.txt", f"== verbs\n{action}")])


def test_an_action_and_a_quality_of_one_word_are_two_concepts():
    assert set(pocket.ambiguous("en")["clean"]) == {"clean", "clean.wipe"}
    pairs = generate.dictionary("en", "de", base_forms=True)
    assert {("clean", "sauber"), ("clean", "putzen")} <= set(pairs)

"""Labelled rows of the embedded world: labels, balance, held-out words and templates."""

import collections
import functools
import itertools
import random
import re
import types

import pytest

from clwe_jax import pocket
from clwe_jax.pocket import generate, tasks
from clwe_jax.pocket.base import NP, Clause, Meaning, Place, Token
from clwe_jax.pocket.lexicon import load
from clwe_jax.pocket.tasks import (
    draws,
    entities,
    function_words,
    heldout,
    inference,
    names,
    opinions,
    paraphrases,
)
from clwe_jax.text.labelled.entities import scheme
from clwe_jax.text.labelled.tagged import UPOS

TAGGED = {"entities": tasks.named_entities, "speech": tasks.parts_of_speech}
ALL = {**TAGGED, **tasks.TEXTS}
SPACED = ("de", "en", "es", "fr")


@functools.cache
def rows(task, language, split="train", count=30, seed=0):
    return ALL[task](language, split, count, seed, tasks.DOMAINS)


def words(task, row):
    """The lower-cased words of a row of a spaced language."""
    if task in TAGGED:
        return {word.lower() for word in row[0]}
    return set(re.findall(r"[^\W\d_]+", " ".join(row[0]).lower()))


@functools.cache
def heldout_words(language, split):
    """All forms of the concepts that only one split has."""
    return {
        word
        for word, concepts in pocket.concepts(language).items()
        if {heldout.part(concept) for concept in concepts} == {split}
    }


# Splits.


def test_a_tenth_of_the_words_of_every_domain_is_held_out():
    for domain in tasks.DOMAINS:
        own = [c for c, d in load().domain_of.items() if d == domain]
        parts = collections.Counter(map(heldout.part, own))
        assert min(parts["dev"], parts["test"]) >= 2 and parts["train"] > len(own) / 2, domain


def test_words_that_are_spelled_alike_are_in_one_split():
    for language in pocket.LANGUAGES:
        for word, concepts in pocket.ambiguous(language).items():
            assert len({heldout.part(concept) for concept in concepts}) == 1, word


@pytest.mark.parametrize("task", ALL)
@pytest.mark.parametrize("language", SPACED)
def test_held_out_words_are_in_no_training_row(task, language):
    exempt = set()
    if task == "sentiment":  # the words of opinions occur in all splits
        known = pocket.concepts(language)
        exempt = {word for word in known if opinions._OPINIONS & set(known[word])}
    held = (heldout_words(language, "dev") | heldout_words(language, "test")) - exempt
    for row in rows(task, language):
        assert not words(task, row) & held, row
    own, others = heldout_words(language, "test"), heldout_words(language, "dev") - exempt
    if task == "entities":  # a name may stand for the word
        own |= name_words(language, "test")
    for row in rows(task, language, "test", 12):
        assert words(task, row) & own and not words(task, row) & others, row


def test_templates_are_in_one_split():
    shapes = {
        split: {
            heldout.shape(meaning)
            for meaning in itertools.islice(
                heldout.meanings("x", "en", split, 0, tasks.DOMAINS), 100
            )
        }
        for split in tasks.SPLITS
    }
    for a, b in itertools.combinations(tasks.SPLITS, 2):
        assert not shapes[a] & shapes[b]


def test_templates_with_names_are_in_one_split():
    for split in tasks.SPLITS:
        known = names.names("en", split)
        rendered = []
        grammar = types.SimpleNamespace(
            render=lambda meaning: rendered.append(meaning) or known.grammar.render(meaning)
        )
        stream = heldout.meanings("entities", "en", split, 0, tasks.DOMAINS)
        renamer = entities._Renamer(known, random.Random(0))
        rows = entities._rows(stream, known._replace(grammar=grammar), renamer, split)
        assert len(list(itertools.islice(rows, 100))) == 100
        assert {heldout.template_part(heldout.shape(meaning)) for meaning in rendered} == {split}


@pytest.mark.parametrize("task", ALL)
def test_rows_are_distinct_and_repeat_with_the_seed(task):
    first = rows(task, "en")
    assert len(set(first)) == len(first) == 30
    again = ALL[task]("en", "train", 30, 0, tasks.DOMAINS)
    assert first == again and first[:10] == ALL[task]("en", "train", 10, 0, tasks.DOMAINS)
    assert first != rows(task, "en", seed=1)


@pytest.mark.parametrize("task", ALL)
def test_bad_arguments_are_named(task):
    with pytest.raises(ValueError, match="train, dev, test, not 'heldout'"):
        ALL[task]("en", "heldout", 1, 0, tasks.DOMAINS)
    with pytest.raises(ValueError, match="'it'"):
        ALL[task]("it", "train", 1, 0, tasks.DOMAINS)
    with pytest.raises(ValueError, match="no domain 'cooking'"):
        ALL[task]("en", "train", 1, 0, ("cooking",))


def test_domains_are_named_in_a_text():
    assert tasks.join_domains("") == tasks.DOMAINS
    assert tasks.join_domains("money,sport") == ("money", "sport")


# Tags.


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_entities(language):
    found = rows("entities", language, count=60)
    for tokens, tags in found:
        assert len(tokens) == len(tags) and all(tokens)
    sentences = [tags for _, tags in found]
    assert scheme(sentences) == "IOB2"
    have = collections.Counter(tag for tags in sentences for tag in set(tags) if tag[0] == "B")
    assert {tag: n >= 18 for tag, n in have.items()} == {
        "B-PER": True,
        "B-LOC": True,
        "B-ORG": True,
    }
    assert 6 <= sum(set(tags) == {"O"} for tags in sentences) <= 12


@functools.cache
def name_words(language, split):
    """The words of all names; the common nouns of institutions occur in every split."""
    known = names.names(language, split)
    chosen = (*known.women, *known.men, *known.cities, *known.companies)
    return {w.lower() for key in chosen for w, tag in known.by_id[key].words if tag != "O"}


def test_names_of_test_rows_are_in_no_training_list_of_any_language():
    of = {
        split: set().union(*(name_words(language, split) for language in pocket.LANGUAGES))
        for split in tasks.SPLITS
    }
    for a, b in itertools.combinations(tasks.SPLITS, 2):
        assert not of[a] & of[b]


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_names_are_no_other_words(language):
    all_names = set().union(*(name_words(language, split) for split in tasks.SPLITS))
    assert not all_names & set(pocket.concepts(language))


@pytest.mark.parametrize(
    "language, sentence",
    [
        ("en", "Emily flew to London with James Smith."),
        ("de", "Greta flog nach London."),
        ("es", "María viajó a Londres."),
        ("fr", "Camille est rentrée à Londres."),
        ("ja", "佐藤美咲さんはロンドンに行きました。"),
        ("zh", "王芳飞到了伦敦。"),
    ],
)
def test_grammars_know_names(language, sentence):
    known = names.names(language, "train")
    by_text = {"".join(w for w, _ in name.words): key for key, name in known.by_id.items()}
    verbs = {"de": "fly.move", "es": "travel", "fr": "return", "ja": "go", "zh": "fly.move"}
    who = {
        "en": "Emily",
        "de": "Greta",
        "es": "María",
        "fr": "Camille",
        "ja": "佐藤美咲さん",
        "zh": "王芳",
    }[language]
    where = {"es": "Londres", "fr": "Londres", "ja": "ロンドン", "zh": "伦敦"}.get(
        language, "London"
    )
    person, city = (NP(by_text[text], det="name") for text in (who, where))
    clause = Clause(
        "event", person, verbs.get(language, "fly.move"), tense="past", goal=Place("in", city)
    )
    text = known.grammar.render(Meaning("say", "", clause, None, "")).text
    assert text == sentence.replace(" with James Smith", "").replace("rentrée", "retournée")


def test_a_pronoun_refers_to_a_name():
    known = names.names("es", "train")
    person = next(k for k in known.women if len(known.by_id[k].words) == 1)
    meaning = Meaning(
        "and",
        "",
        Clause("event", NP(person, det="name"), "sleep"),
        Clause("event", NP("she"), "sing"),
        "",
    )
    assert known.grammar.render(meaning).text.endswith(" duerme, y canta.")
    other = meaning._replace(second=Clause("event", NP("he"), "sing"))
    assert known.grammar.render(other).text.endswith(" duerme, y él canta.")


@pytest.mark.parametrize(
    "language, text",
    [
        ("en", "Emily works at Nordex."),
        ("de", "Greta arbeitet bei Nordex."),
        ("es", "María trabaja en Nordex."),
        ("fr", "Camille travaille chez Nordex."),
        ("ja", "佐藤美咲さんはノルデックスで働きます。"),
        ("zh", "李芳在诺德克斯工作。"),
    ],
)
def test_people_work_at_companies(language, text):
    known = names.names(language, "train")
    person = known.women[1 if language == "zh" else 0]
    if language != "zh" and language != "ja":
        person = next(k for k in known.women if len(known.by_id[k].words) == 1)
    clause = Clause(
        "event", NP(person, det="name"), "work", place=Place("at", NP("company.0", det="name"))
    )
    assert known.grammar.render(Meaning("say", "", clause, None, "")).text == text


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_every_word_has_a_part_of_speech(language):
    """All domains and frames: a function word without a tag is a KeyError."""
    render = generate.grammar(language).render
    for meaning in itertools.islice(
        heldout.meanings("all", language, "train", 0, pocket.domains()), 250
    ):
        tokens = render(meaning).tokens
        assert {function_words.tag(tokens, n, language) for n in range(len(tokens))} <= set(UPOS)


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "zh"])
def test_verbs_are_verbs_and_adjectives_are_adjectives(language):
    for table, tags in ((load().verbs, {"VERB", "AUX"}), (load().adjectives, {"ADJ"})):
        assert {function_words.content(Token("", x), language) for x in table} <= tags


TABLE = NP("table")
RED_BOOK = NP("book", det="indef", adj="red")
READER = NP("man", relative=Clause("event", NP("man"), "read", NP("book")))


@pytest.mark.parametrize(
    "language, clause, tagged",
    [
        (
            "en",
            Clause("event", NP("man"), "read", RED_BOOK, modal="want", time="monday"),
            "The/DET man/NOUN wants/VERB to/PART read/VERB a/DET red/ADJ book/NOUN on/ADP "
            "Monday/PROPN ./PUNCT",
        ),
        (
            "en",
            Clause("event", READER, "go", goal=Place("at", NP("school"))),
            "The/DET man/NOUN who/PRON reads/VERB the/DET book/NOUN goes/VERB to/ADP the/DET "
            "school/NOUN ./PUNCT",
        ),
        (
            "de",
            Clause("event", READER, "buy", NP("book", det="his"), tense="future"),
            "Der/DET Mann/NOUN ,/PUNCT der/PRON das/DET Buch/NOUN liest/VERB ,/PUNCT wird/AUX "
            "sein/DET Buch/NOUN kaufen/VERB ./PUNCT",
        ),
        (
            "de",
            Clause("is", NP("man"), adj="tired", tense="future"),
            "Der/DET Mann/NOUN wird/AUX müde/ADJ sein/AUX ./PUNCT",
        ),
        (
            "es",
            Clause("more", NP("man"), adj="young", obj=NP("woman")),
            "El/DET hombre/NOUN es/AUX más/ADV joven/ADJ que/SCONJ la/DET mujer/NOUN ./PUNCT",
        ),
        (
            "es",
            Clause("event", READER, "sleep"),
            "El/DET hombre/NOUN que/PRON lee/VERB el/DET libro/NOUN duerme/VERB ./PUNCT",
        ),
        (
            "fr",
            Clause("event", NP("woman"), "drink", NP("water", det="indef"), tense="past"),
            "La/DET femme/NOUN a/AUX bu/VERB de/DET l/DET '/PUNCT eau/NOUN ./PUNCT",
        ),
        (
            "fr",
            Clause("event", NP("woman"), "see", NP("book", owner=NP("man"))),
            "La/DET femme/NOUN voit/VERB le/DET livre/NOUN de/ADP l/DET '/PUNCT homme/NOUN ./PUNCT",
        ),
        (
            "ja",
            Clause("is", NP("book"), adj="red", negated=True),
            "本/NOUN は/ADP 赤く/ADJ ない/AUX です/AUX 。/PUNCT",
        ),
        (
            "zh",
            Clause("at", NP("book"), place=Place("on", TABLE)),
            "书/NOUN 在/VERB 桌子/NOUN 上/ADP 。/PUNCT",
        ),
        (
            "zh",
            Clause("event", NP("man"), "read", NP("book"), place=Place("on", TABLE)),
            "男人/NOUN 在/ADP 桌子/NOUN 上/ADP 读/VERB 书/NOUN 。/PUNCT",
        ),
    ],
)
def test_parts_of_speech_by_hand(language, clause, tagged):
    tokens = generate.grammar(language).render(Meaning("say", "", clause, None, "")).tokens
    tags = [function_words.tag(tokens, place, language) for place in range(len(tokens))]
    assert " ".join(f"{token.text}/{tag}" for token, tag in zip(tokens, tags)) == tagged


# Texts.


@pytest.mark.parametrize("task", ["xnli", "pawsx", "sentiment", "topics"])
@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_labels_are_balanced(task, language):
    counts = collections.Counter(label for _, label in rows(task, language))
    assert max(counts.values()) - min(counts.values()) <= 1
    assert len(counts) == {"xnli": 3, "pawsx": 2, "sentiment": 2, "topics": 8}[task]
    assert {len(texts) for texts, _ in rows(task, language)} == {1 + (task in ("xnli", "pawsx"))}


@functools.cache
def made(task, kind, label, count=40):
    """The parts of rows, before a grammar renders them."""
    free = opinions._OPINIONS if task == "opinions" else frozenset()
    source = draws.ClauseDraws(task, "en", "train", 3, tasks.DOMAINS, free)
    return [source._until(kind, label) for _ in range(count)]


def details(c):
    """The facts that a clause states of its event, besides who does what to what."""
    found = {(x, getattr(c, x)) for x in ("place", "time", "manner", "tool") if getattr(c, x)}
    found |= {
        (x, getattr(c, x).adj) for x in ("subject", "obj") if getattr(c, x) and getattr(c, x).adj
    }
    return frozenset(found)


def true_in(c, world):
    """Whether a clause holds in a world: a set of events, each with its facts."""
    return any(details(c) <= event for event in world) != c.negated


@pytest.mark.parametrize("label", inference.LABELS)
def test_inference_equals_enumeration_of_worlds(label):
    """In every world of up to two events with some of the details, the label must hold."""
    for premise, hypothesis in made("inference", inference._vary_details, label):
        if premise.verb != hypothesis.verb:
            assert label == "neutral"
            continue
        facts = sorted(details(premise) | details(hypothesis), key=str)
        events = [
            frozenset(some)
            for n in range(len(facts) + 1)
            for some in itertools.combinations(facts, n)
        ]
        worlds = [w for n in range(3) for w in itertools.combinations(events, n)]
        truths = {true_in(hypothesis, w) for w in worlds if true_in(premise, w)}
        wanted = {"entailment": {True}, "contradiction": {False}, "neutral": {True, False}}[label]
        assert truths == wanted, (premise, hypothesis)


def test_rows_with_translations_are_the_rows_of_the_task_and_mean_the_same():
    found = tasks.translated_pairs("ja", "de", "test", 60, 0, tasks.DOMAINS)
    own = rows("xnli", "ja", "test", 60)
    assert [(texts, label) for texts, _, label in found] == own
    again = tasks.translated_pairs("ja", "en", "test", 60, 0, tasks.DOMAINS)
    negated = [[bool(re.search(r"\b(nicht|kein\w*)\b", x)) for x in y] for _, y, _ in found]
    assert negated == [[bool(re.search(r"\bnot\b", x)) for x in y] for _, y, _ in again]
    assert any(map(any, negated))


def test_negation_says_nothing_about_the_label():
    for side in (0, 1):
        shares = [
            sum(
                pair[side].negated for pair in made("inference", inference._vary_details, label, 40)
            )
            / 40
            for label in inference.LABELS
        ]
        assert max(shares) - min(shares) < 0.4 and min(shares) > 0.15


def relation(c):
    """'A is bigger than B' as (bigger, A, B), the same for its converse."""
    turned = (draws.OPPOSITE[c.adj], c.obj.noun, c.subject.noun)
    return min((c.adj, c.subject.noun, c.obj.noun), turned)


PARAPHRASE_LABELS = (paraphrases.PARAPHRASE, paraphrases.DIFFERENT)


@pytest.mark.parametrize(
    "task, kind", [("inference", inference._compare), ("paraphrases", paraphrases._compare)]
)
def test_comparisons_keep_or_change_their_meaning(task, kind):
    for label in (
        ("entailment", "contradiction", "neutral") if task == "inference" else PARAPHRASE_LABELS
    ):
        for pair in made(task, kind, label, 20):
            first, second = pair if task == "inference" else (pair[0][0], pair[1][0])
            nouns = [{c.subject.noun, c.obj.noun} for c in (first, second)]
            assert (nouns[0] != nouns[1]) == (label == "neutral")
            if label != "neutral":
                assert (relation(first) == relation(second)) == (
                    label in ("entailment", "paraphrase")
                )


@pytest.mark.parametrize("kind", [paraphrases._exchange_people, paraphrases._turn_clauses])
def test_only_the_order_of_words_makes_a_paraphrase(kind):
    """Both labels have the same words; the roles of the two people decide."""

    def roles(clauses):
        return {
            (c.verb, c.subject.noun, (c.obj or NP("")).noun, (c.receiver or NP("")).noun)
            for c in clauses
        }

    def bag(clauses):
        return sorted(
            str(x) for c in clauses for x in (c.verb, c.subject, c.obj, c.receiver, c.time)
        )

    for label in PARAPHRASE_LABELS:
        for a, b in made("paraphrases", kind, label, 20):
            assert (roles(a) == roles(b)) == (label == "paraphrase")
            assert bag(a) == bag(b) and a != b


def test_who_meets_whom_makes_no_difference():
    source = draws.ClauseDraws("paraphrases", "en", "train", 0, ("city", "kingdom"))
    meets = Clause("event", NP("woman"), "meet", NP("friend"), time="yesterday", tense="past")
    for verb, is_drawn in (("meet", False), ("marry", False), ("help", True)):
        event = draws.DrawnEvent(meets._replace(verb=verb), None, "city")
        source.statement = lambda tables: event
        row = paraphrases._exchange_people(source, paraphrases.DIFFERENT)
        assert (row is not None) == is_drawn


@pytest.mark.parametrize("label", opinions.LABELS)
def test_opinions_have_their_polarity(label):
    for sentences in made("opinions", opinions._review, label):
        said = [
            clauses
            for frame, *clauses in sentences
            if frame == "because"
            or clauses[0].kind == "is"
            or clauses[0].verb in opinions._FEELINGS
        ]
        assert said and len(sentences) - len(said) <= 1
        for clause, *_ in said:
            good = clause.verb in opinions._FEELINGS or (
                clause.adj in opinions._GOOD or clause.adj in opinions._MOODS["pos"]
            )
            assert (good != clause.negated) == (label == "pos")


def test_negations_of_opinions_do_not_give_the_label_away():
    shares = []
    for label in opinions.LABELS:
        found = made("opinions", opinions._review, label, 150)
        shares.append(sum(c[1].negated for review in found for c in review[-1:]) / 150)
    assert abs(shares[0] - shares[1]) < 0.12 and min(shares) > 0.15


def test_topics_have_a_word_of_their_domain():
    known = pocket.concepts("en")
    for (text,), domain in rows("topics", "en"):
        found = {
            load().domain_of[c]
            for w in re.findall("[a-z]+", text.lower())
            for c in known.get(w, ())
        }
        assert domain in found


def test_few_domains_without_held_out_words_are_an_error(monkeypatch):
    monkeypatch.setattr(heldout, "_PATIENCE", 50)
    monkeypatch.setattr(draws, "_PATIENCE", 50)
    monkeypatch.setattr(heldout, "part", lambda concept: "train")
    for task in ("speech", "xnli"):
        with pytest.raises(ValueError, match="money .* take more domains"):
            ALL[task]("en", "test", 1, 0, ("money",))


def test_rows_do_not_depend_on_the_state_of_random():
    first = tasks.named_entities("de", "dev", 5, 0, tasks.DOMAINS)
    random.seed(1)
    assert tasks.named_entities("de", "dev", 5, 0, tasks.DOMAINS) == first

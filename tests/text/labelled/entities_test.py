"""Entities, schemes of tags and scores, against enumeration and against seqeval."""

import itertools
import random

import pytest

from clwe_jax.text.labelled import entities, scores
from clwe_jax.text.labelled.entities import Entity, scheme, to_iob2
from clwe_jax.text.labelled.tagged import UPOS


def enumerated(tags):
    """All spans (type, first, last) that the definition allows, by trying every span.

    A word continues an entity where its prefix is I or E, the word before has the same type and the
    prefix B or I. An entity is a run of such words that cannot be made longer.
    """

    def continues(k):
        if k >= len(tags) or tags[k][0] not in "IE" or tags[k - 1][0] not in "BI":
            return False
        return tags[k][2:] == tags[k - 1][2:]

    found = set()
    for first, last in itertools.combinations_with_replacement(range(len(tags)), 2):
        inside = all(continues(k) for k in range(first + 1, last + 1))
        whole = not (first and continues(first)) and not continues(last + 1)
        if tags[first] != "O" and inside and whole:
            found.add(Entity(tags[first][2:], first, last))
    return found


def random_tags(generator, prefixes="BIESO"):
    tags = []
    for _ in range(generator.randint(1, 9)):
        prefix = generator.choice(prefixes)
        tags.append("O" if prefix == "O" else f"{prefix}-{generator.choice(('PER', 'LOC'))}")
    return tags


def sequences(seed, count=1000):
    generator = random.Random(seed)
    return [random_tags(generator) for _ in range(count)]


def with_errors(sentences, seed):
    """The sentences, a third of their tags drawn again."""
    generator = random.Random(seed)
    return [
        [tag if generator.random() < 0.67 else random_tags(generator)[0] for tag in tags]
        for tags in sentences
    ]


def test_entities_equal_enumeration():
    for tags in sequences(0):
        assert set(entities.entities(tags)) == enumerated(tags), tags


def test_f1_equals_enumeration():
    gold = sequences(1)
    guess = with_errors(gold, 2)
    for some in (slice(0, 1000), slice(0, 1), slice(1, 2), slice(2, 9)):
        pairs = [(enumerated(a), enumerated(b)) for a, b in zip(gold[some], guess[some])]
        right = sum(len(a & b) for a, b in pairs)
        expected, found = sum(len(a) for a, _ in pairs), sum(len(b) for _, b in pairs)
        wanted = 2 * right / (expected + found) if right else 0.0
        assert scores.f1(scores.entity_counts(gold[some], guess[some]))["f1"] == pytest.approx(
            wanted
        )


def test_scores_equal_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    gold = sequences(3)
    guess = with_errors(gold, 4)
    mine = scores.f1(scores.entity_counts(gold, guess))
    assert mine["f1"] == pytest.approx(metrics.f1_score(gold, guess), abs=1e-12)
    assert mine["precision"] == pytest.approx(metrics.precision_score(gold, guess), abs=1e-12)
    assert mine["recall"] == pytest.approx(metrics.recall_score(gold, guess), abs=1e-12)
    for tags in gold:
        assert entities.entities(tags) == metrics.sequence_labeling.get_entities(tags)


def test_bare_tags_equal_seqeval():
    metrics = pytest.importorskip("seqeval.metrics")
    generator = random.Random(5)
    gold = [[generator.choice(UPOS) for _ in range(8)] for _ in range(300)]
    guess = [[x if generator.random() < 0.7 else generator.choice(UPOS) for x in r] for r in gold]
    assert scores.f1(scores.entity_counts(gold, guess))["f1"] == pytest.approx(
        metrics.f1_score(gold, guess)
    )


def test_bare_tags_are_runs_of_equal_tags():
    # seqeval reads the first letter as a prefix, the rest as the type.
    assert entities.entities(["DET", "NOUN", "NOUN", "VERB"]) == [
        ("ET", 0, 0),
        ("OUN", 1, 2),
        ("ERB", 3, 3),
    ]
    assert entities.entities(["SYM", "SYM"]) == [("YM", 0, 0), ("YM", 1, 1)]
    assert entities.entities(["NOUN", "X", "O"]) == [("OUN", 0, 0)]


def test_no_entities_score_zero():
    assert scores.f1(scores.entity_counts([["O"]], [["O"]])) == {
        "f1": 0.0,
        "precision": 0.0,
        "recall": 0.0,
    }
    assert scores.f1(scores.entity_counts([["B-PER"]], [["O"]]))["f1"] == 0.0


@pytest.mark.parametrize(
    "tags, iob2, name",
    [
        # "EU Paris" of one type: IOB1 writes B- only to part two neighbours.
        ("I-PER I-PER O I-LOC B-LOC", "B-PER I-PER O B-LOC B-LOC", "IOB1"),
        ("I-PER O I-LOC", "B-PER O B-LOC", "IOB1"),
        ("B-PER I-PER O B-LOC B-LOC", "B-PER I-PER O B-LOC B-LOC", "IOB2"),
        ("B-PER E-PER O S-LOC", "B-PER I-PER O B-LOC", "BIOES"),
        ("B-PER I-PER L-PER U-LOC U-LOC", "B-PER I-PER I-PER B-LOC B-LOC", "BIOES"),
        ("O I-PER O B-LOC", "O B-PER O B-LOC", "IOB2"),  # I- after O among B-: a mistake
        ("O O", "O O", "IOB2"),
    ],
)
def test_schemes_become_iob2(tags, iob2, name):
    assert scheme([tags.split()]) == name
    assert to_iob2(tags.split()) == tuple(iob2.split())


def test_conversion_keeps_entities():
    for tags in sequences(6, 300):
        assert entities.entities(to_iob2(tags)) == entities.entities(tags)
        assert scheme([to_iob2(tags)]) == "IOB2"


def test_scheme_is_of_the_whole_file():
    assert scheme([["I-PER", "O"], ["O", "B-LOC"]]) == "IOB2"
    assert scheme([["I-PER", "O"], ["I-LOC", "B-LOC"]]) == "IOB1"
    assert scheme([["I-PER", "O"], ["S-LOC"]]) == "BIOES"


def test_accuracy_by_hand():
    gold, guess = [["NOUN", "VERB"], ["DET"]], [["NOUN", "NOUN"], ["DET"]]
    assert scores.accuracy(scores.tag_counts(gold, guess)) == pytest.approx(2 / 3)
    assert scores.accuracy(scores.row_counts(["a", "b"], ["a", "a"])) == 0.5


@pytest.mark.parametrize("count", [scores.entity_counts, scores.tag_counts])
def test_shapes_must_agree(count):
    with pytest.raises(ValueError, match="sentence 0: 2 words, but 1 predicted"):
        count([["O", "O"]], [["O"]])
    with pytest.raises(ValueError, match="2 rows, but predictions for 1"):
        count([["O"], ["O"]], [["O"]])

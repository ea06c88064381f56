"""The texts and tables of a transfer report, on made-up results."""

import types

import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.text.labelled import Labelled, Spanned, Tagged
from clwe_jax.text.labelled.edges import PartsOfSpeech
from clwe_jax.text.labelled.texts import Xnli
from clwe_jax.transfer import data, results, sections

GOLD = {"en": [Tagged(("a", "b"), ("NOUN", "VERB"))], "de": [Tagged(("c", "d"), ("NOUN", "NOUN"))]}


def section(name, seeds=2, tests=None, made_with=None):
    """A section of the report on parts of speech whose predictions are all NOUN."""
    tests = tests or GOLD
    tags = isinstance(tests["en"][0], Tagged)
    config = presets.transfer("laptop", "pos", "linear")
    config.transfer.seeds, config.report.errors = seeds, 0
    rows = types.SimpleNamespace(
        task=types.SimpleNamespace(
            name="pos", metric="acc", title="Parts of speech", kind="tags" if tags else "texts"
        ),
        tags=tags,
        labelled=("en",),
        coverage={},
        train={"en": tests["en"]},
        tests=tests,
        labels=["NOUN", "VERB"] if tags else ["no", "yes"],
        gold=lambda rows: [x.tags if tags else x.label for x in rows],
    )
    reader = types.SimpleNamespace(encoder=types.SimpleNamespace(layers=1))
    encoder = results.OpenedEncoder(reader, {"encoder": "joint"} | (made_with or {}))
    speed = {"transfer/training_seconds": 3.0, "transfer/training_rows_per_second": 4.0}
    training = results.Training([{1: 0.5, 2: 0.7}] * seeds, {}, speed)
    labels = {
        language: [[["NOUN"] * len(x.words) if tags else "no" for x in rows]] * seeds
        for language, rows in tests.items()
    }
    scores = {language: [{"acc": 0.5, "f1": 0.4}] * seeds for language in tests}
    tested = results.Tested({"": labels}, {"": scores}, {})
    made = sections.sections(options.parse(config), "", rows, encoder, training, tested)
    [found] = [x for x in made if x["title"] == f"Parts of speech: {name}"]
    return found


def test_confusions_count_words_and_leave_out_labels_without_words():
    found = section("confusions")
    assert "gold label" in found["text"]
    assert [[row[0] for row in table["rows"]] for table in found["blocks"]] == [
        ["NOUN", "VERB"],
        ["NOUN"],
    ]
    verb = found["blocks"][0]["rows"][1]  # predicted as NOUN: a count of 0 leaves its cell empty
    assert verb[1]["value"] == 1 and verb[1]["below"] == "1" and verb[2] == ""


def test_confusions_of_texts_count_rows():
    found = section("confusions", tests={"en": [Labelled(("a",), "no")]})
    assert "the gold label's test rows" in found["text"]


@pytest.mark.parametrize("seeds, words", [(1, "One seed, so"), (2, "Means of 2 seeds")])
def test_the_first_table_says_what_was_learned_where(seeds, words):
    found = section("by language", seeds)
    assert words in found["text"] and "1 seeds" not in found["text"]
    assert "joint-align" in found["text"]
    assert "Zero-shot: no label of the language was learned" in found["text"]
    assert found["blocks"][0]["columns"][1] == "Setting"
    assert (seeds > 1) == ("Seeds" in [x["head"] for x in found["blocks"][0]["columns"][2:]])
    assert [row[1] for row in found["blocks"][0]["rows"]] == ["training", "zero-shot"]


def test_the_section_on_training_has_the_figures_of_training():
    chart, table = section("training")["blocks"]
    assert [len(line["points"]) for line in chart["lines"]] == [2, 2]
    assert [cell["metric"] for cell in table["rows"][0][1:]] == [
        "transfer/dev_acc",
        "transfer/training_seconds",
        "transfer/training_rows_per_second",
    ]
    assert [column["form"] for column in table["columns"][1:]] == ["percent", "seconds", "count"]


def test_mapped_layers_are_named():
    made_with = {"align": {"languages": ["en", "de"]}}
    assert "onto those of en" in section("by language", made_with=made_with)["text"]
    assert "mapped onto" not in section("by language")["text"]


def test_wrong_texts_and_spans_stand_apart_from_their_labels():
    """The words of a sentence have spaces between them, unlike the parts of a text."""
    pair = sections._error(Labelled(("a b.", "c."), "yes"), "no", "de", "texts")
    assert pair.kind == "sentence" and pair.language == "de"
    assert [word.text for word in pair.words] == ["a b.", "c.", "yes → no"]
    span = sections._error(Spanned(("a", "b"), ((1, 2),), ("X",)), (), "de", "spans")
    assert [word.text for word in span.words] == ["a", "b", "X → no label"]
    assert span.kind == "sentence" and span.words[1].style == "strong"


def test_rows_of_a_sentence_are_one_observation_of_a_gain(tmp_path):
    """Ours is right in every second of 120 sentences, theirs nowhere: ten rows a sentence add nothing."""
    intervals = []
    signs = []
    for targets in (1, 10):
        rows = [Spanned((f"w{n // targets}",), ((0, 1),), ("X",)) for n in range(120 * targets)]
        labelled = data.LabelledData(PartsOfSpeech(), {}, {}, {"de": rows}, (), {}, {}, ())
        counts = np.ones((1, len(rows), 3), int)
        for name, right in (("ours", np.arange(len(rows)) // targets % 2), ("theirs", 0)):
            (tmp_path / name / "predictions").mkdir(parents=True, exist_ok=True)
            counts[..., 0] = right
            np.savez(tmp_path / name / "predictions" / "de.npz", counts=counts, gold="x")
        config = presets.transfer("laptop", "edge/pos", "edge")
        config.report.compare_with = str(tmp_path / "theirs")
        config = options.parse(config)
        found = sections._gains(config, str(tmp_path / "ours"), labelled, {"de": [{"f1": 0.5}]})
        _, _, gain, _, _, better, worse, p = found.blocks[0].rows[0]
        signs.append((better.value, worse.value, p.value))
        intervals.append((gain.low, gain.high))
    np.testing.assert_allclose(intervals[0], intervals[1], atol=0.01)
    assert signs == [(60, 0, 0.5**59)] * 2


def test_pairs_with_one_premise_are_one_item():
    rows = [Labelled(("a", "b"), "x"), Labelled(("c", "b"), "x"), Labelled(("a", "d"), "y")]
    labelled = data.LabelledData(Xnli(), {}, {}, {}, (), {}, {}, ())
    assert labelled.items(rows).tolist() == [0, 1, 0]

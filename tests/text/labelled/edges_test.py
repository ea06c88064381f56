"""Files of labelled spans: JSON lines, CoNLL-U, tagged words; errors name the file and the line."""

import json

import pytest

from clwe_jax import registry
from clwe_jax.text.labelled import Spanned, scores

GOOD = {"text": "He sleeps .", "targets": [{"span1": [1, 2], "span2": [0, 1], "label": "A0"}]}
CONLLU = (
    "# text = He was seen .\n1\tHe\the\tPRON\t_\t_\t3\tnsubj:pass\t_\t_\n"
    "2-3\twas seen\t_\t_\t_\t_\t_\t_\t_\t_\n2\twas\tbe\tAUX\t_\t_\t3\taux\t_\t_\n"
    "3\tseen\tsee\tVERB\t_\t_\t0\troot\t_\t_\n4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
)


def task(name):
    return registry.lookup("transfer_task", name)()


def read(folder, name, *lines):
    path = folder / "en.json"
    texts = [x if isinstance(x, str) else json.dumps(x) for x in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return task(name).read(str(path), "en")


def test_pairs_of_spans(tmp_path):
    second = {"text": "She reads it", "targets": [], "info": {"id": 3}}
    found = read(tmp_path, "edge/srl", GOOD, "", second)
    assert found.rows == (Spanned(("He", "sleeps", "."), ((1, 2), (0, 1)), ("A0",)),)


def test_several_labels_of_a_pair(tmp_path):
    target = {**GOOD["targets"][0], "label": ["volition", "awareness"], "info": {}}
    (row,) = read(tmp_path, "edge/spr", {**GOOD, "targets": [target]}).rows
    assert row.labels == ("awareness", "volition")


def test_one_span(tmp_path):
    (row,) = read(
        tmp_path, "edge/consts", {"text": "a b", "targets": [{"span1": [0, 2], "label": "NP"}]}
    ).rows
    assert row == Spanned(("a", "b"), ((0, 2),), ("NP",))


def target(**changes):
    return {**GOOD, "targets": [{**GOOD["targets"][0], **changes}]}


@pytest.mark.parametrize(
    "line, message",
    [
        ('{"text": "a"', r"en.json:2: .*Expecting.*expected \{\"text\""),
        ({"targets": []}, r"en.json:2: KeyError\('text'\)"),
        (
            {"text": "a b", "targets": [[0, 1]]},
            "en.json:2: a target of edge/srl has span1, span2 and label",
        ),
        (
            {"text": "a", "targets": [{"span1": [0, 1], "label": "A0"}]},
            "en.json:2: a target of edge/srl",
        ),
        (
            target(span2=[2, 4]),
            r"en.json:2: span2 \[2, 4\] ends outside the sentence, which has 3 words",
        ),
        (target(span1=[1, 1]), r"en.json:2: span1 \[1, 1\] is empty"),
        (target(span1=[-1, 1]), r"en.json:2: span1 \[-1, 1\] is empty"),
        (target(span1="0"), "en.json:2: span1 '0': expected"),
        (target(span1=[0, True]), "en.json:2: span1 .*True.*: expected"),
        (target(label=3), "en.json:2: label 3: expected a text or a list of texts"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "edge/srl", GOOD, line)


def test_files_of_other_kinds_are_named(tmp_path):
    with pytest.raises(ValueError, match="en.json:1"):
        read(tmp_path, "edge/srl", "He\tA0")
    with pytest.raises(ValueError, match="en.json"):
        read(tmp_path, "edge/srl", {"text": "a", "targets": []})
    with pytest.raises(ValueError, match="en.json:1: .*edge/pos .*span1 .*label"):
        read(tmp_path, "edge/pos", GOOD)
    with pytest.raises(ValueError, match="en.json:1: 'NN' .*2 .*17"):
        read(tmp_path, "edge/pos", "He\tNN")


def test_tagged_words_are_spans(tmp_path):
    rows = read(tmp_path, "edge/pos", "He\tPRON", "sleeps\tVERB").rows
    assert [(row.spans, row.labels) for row in rows] == [
        (((0, 1),), ("PRON",)),
        (((1, 2),), ("VERB",)),
    ]
    (row,) = read(tmp_path, "edge/entities", "Anna\tB-PER", "Lee\tI-PER", "sleeps\tO").rows
    assert row == Spanned(("Anna", "Lee", "sleeps"), ((0, 2),), ("PER",))


def test_arcs_of_conllu(tmp_path):
    rows = read(tmp_path, "edge/deps", CONLLU).rows
    assert [(row.spans[0][0], row.spans[1][0], *row.labels) for row in rows] == [
        (0, 2, "nsubj"),
        (1, 2, "aux"),
        (2, 2, "root"),
        (3, 2, "punct"),
    ]
    with pytest.raises(ValueError, match="en.json:5: .*'7' .* 7: .* 0 "):
        read(tmp_path, "edge/deps", CONLLU.replace("\t0\troot", "\t7\troot"))
    with pytest.raises(ValueError, match="en.json:1: .* 10 .*CoNLL-U"):
        read(tmp_path, "edge/deps", "He\tPRON")


def test_f1_counts_every_label_of_every_row():
    gold = [("a",), ("a", "b"), (), ("c",)]
    found = [("a", "c"), ("b",), ("a",), ()]
    pairs = [(label in x, label in y) for x, y in zip(gold, found) for label in "abc"]
    right = sum(x and y for x, y in pairs)
    precision, recall = right / sum(y for _, y in pairs), right / sum(x for x, _ in pairs)
    expected = {
        "f1": 2 * right / sum(x + y for x, y in pairs),
        "precision": precision,
        "recall": recall,
    }
    assert scores.f1(scores.label_counts(gold, found)) == pytest.approx(expected)
    assert scores.f1(scores.label_counts([()], [()])) == {"f1": 0, "precision": 0, "recall": 0}
    with pytest.raises(ValueError, match="1 rows, but predictions for 2"):
        scores.label_counts([()], [(), ()])

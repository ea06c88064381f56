"""Results by family and by size of text."""

import json
import types

from clwe_jax.transfer import groups


def section(folder, accuracies, words):
    """The section on the accuracies of a run whose encoder read so many words."""
    (folder / "report.json").write_text(
        json.dumps({"languages": {x: {"words": n} for x, n in words.items()}})
    )
    task = types.SimpleNamespace(name="pos", title="Parts of speech", metric="acc")
    rows = types.SimpleNamespace(task=task, labelled=("en",))
    scores = {x: [{"acc": y}, {"acc": y}] for x, y in accuracies.items()}
    return groups.section(rows, scores, f"run:{folder}")


def test_families_are_means_and_sizes_ascend(tmp_path):
    families, sizes, chart = section(
        tmp_path, {"en": 1.0, "de": 0.8, "nl": 0.6, "fr": 0.5}, {"de": 1000, "nl": 10, "fr": 100}
    ).blocks
    assert [(row[0], row[2].value) for row in families.rows] == [
        ("Germanic", 0.7),
        ("Romance", 0.5),
    ]
    assert [row[0].language for row in sizes.rows] == ["nl", "fr", "de"]
    germanic, romance = chart.lines
    assert germanic.label == "Germanic" and germanic.points == [[1.0, 0.6], [3.0, 0.8]]
    assert romance.label == "Romance" and romance.points == [[2.0, 0.5]]
    accuracies = {"en": 1.0, "de": 0.8, "nl": 0.6}
    [line] = section(tmp_path, accuracies, {"de": 1000, "nl": 10}).blocks[-1].lines
    assert line.label == "" and line.points == [[1.0, 0.6], [3.0, 0.8]]


def test_one_family_without_sizes_has_no_section(tmp_path):
    assert section(tmp_path, {"en": 1.0, "de": 0.8, "nl": 0.6}, {}) is None
    assert groups.family("xx") == "Other"

"""The page's section on senses: what is shown, what is left out, and pictures that can be read."""

import json
import re

import matplotlib
import numpy as np
import pytest

from clwe_jax.report import html, plots, senses


def near(word, language, score):
    return {"word": word, "language": language, "sense": 1, "score": score}


def point(label, language, x, y, of, own=False):
    found = {"label": label, "language": language, "x": x, "y": y, "of": of}
    return {**found, "own": True} if own else found


POINTS = [
    point("bank_1", "en", 0.0, 0.0, 1, own=True),
    point("bank_2", "en", 1.0, 1.0, 2, own=True),
    point("money_1", "en", 0.0, 0.02, 1),
    point("Geld_2", "de", 0.02, 0.0, 1),
    point("銀行_1", "ja", -0.02, 0.0, 1),
    point("river_1", "en", 1.0, 0.97, 2),
]
SENSES = [
    {
        "sense": 1, "share": 0.75, "uses": 30, "enabled": True,
        "translations": [
            {"word": "Kasse", "language": "de", "share": 0.9},
            {"word": "<b>", "language": "ja"},
        ],
        "nearest": [near("money", "en", 0.8), near("Geld", "de", 0.7)],
        "examples": ["A <b>bank</b> in the embankment.", "Bank!"],
    },
    {"sense": 2, "share": 0.25, "uses": 10, "enabled": True, "nearest": [], "examples": []},
    {"sense": 3, "share": 0.0, "uses": 0, "enabled": True, "nearest": [], "examples": []},
    {"sense": 4, "share": 0.0, "uses": 0, "enabled": False, "nearest": [], "examples": []},
]  # fmt: skip
FOUND = {
    "census": {"forward": {"words": 10, "used": 30, "unused": 7, "removed": 3}},
    "words": [
        {
            "word": "bank", "language": "en",
            "directions": {"forward": {"senses": SENSES, "points": POINTS}},
        }
    ],
    "files": ["senses/vectors.tsv", "senses/bank_en_forward.png"],
}  # fmt: skip


def section(folder):
    text = html.build(folder).read_text(encoding="utf-8")
    found = re.search(r'<section id="senses">.*?</section>', text, re.DOTALL)
    return found and found.group()


def test_shares_neighbours_and_dead_senses(write_run):
    page = section(write_run(extras={"senses": FOUND}))
    for shown in ("bank_1", "75.0%", "money_1", "0.80", "Geld_1", "senses/vectors.tsv"):
        assert shown in page
    assert page.count("never used") == 1 and page.count(">removed<") == 1
    # 30 of 40 live, 7 and 3 do not.
    for share in ("75.0%", "17.5%", "7.5%"):
        assert f"> {share}</small>" in page


def test_translations_are_shown_where_there_are_any(write_run):
    page = section(write_run(extras={"senses": FOUND}))
    assert "Kasse" in page and " 90%<" in page and "&lt;b&gt;" in page
    heads = re.findall(r"<th[^>]*>(?:<button[^>]*>)?([^<]+)", page)
    assert heads[:5] == ["Sense", "Share", "Translations", "Nearest senses", "Examples"]
    none = json.loads(json.dumps(FOUND))
    for sense in none["words"][0]["directions"]["forward"]["senses"]:
        sense.pop("translations", None)
    page = section(write_run("other", extras={"senses": none}))
    heads = re.findall(r"<th[^>]*>(?:<button[^>]*>)?([^<]+)", page)
    assert heads[:4] == ["Sense", "Share", "Nearest senses", "Examples"]
    for shown in ("bank_1", "75.0%", "money_1", "A &lt;b&gt;"):
        assert shown in page


def test_examples_are_escaped_and_only_the_word_is_bold(write_run):
    page = section(write_run(extras={"senses": FOUND}))
    assert "A &lt;b&gt;<b>bank</b>&lt;/b&gt; in the embankment." in page
    assert "<b>Bank</b>!" in page


def test_the_figures_over_training(write_run):
    folder = write_run(extras={"senses": FOUND})
    rows = [
        {"step": step, "name": f"senses/{name}", "value": value}
        for step in (100, 200)
        for name, value in (("purity", step / 400), ("enabled_senses", 3.0))
    ]
    with open(folder / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    page = section(folder)
    assert "Assigned senses against those that were meant" in page
    assert "Enabled senses of a word" not in page  # it never changed


def test_the_picture_labels_every_sense(write_run):
    page = section(write_run(extras={"senses": FOUND}))
    drawn = re.search(r'<svg role="img" aria-label="senses of bank".*?</svg>', page, re.DOTALL)
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", drawn.group())
    assert sorted(labels) == sorted(p["label"] for p in POINTS)


def test_labels_do_not_cover_each_other():
    draw = np.random.default_rng(0)
    points = [point(f"word_{i}", "en", *draw.normal(size=2), 1, own=i == 0) for i in range(20)]
    with matplotlib.rc_context({**plots.STYLE, "figure.dpi": 72}):
        figure = senses.draw(points, ["en"])
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    covered = [
        (i, j)
        for i in range(len(boxes))
        for j in range(i)
        if min(boxes[i].x1, boxes[j].x1) - max(boxes[i].x0, boxes[j].x0) > 2
        and min(boxes[i].y1, boxes[j].y1) - max(boxes[i].y0, boxes[j].y0) > 2
    ]
    assert len(boxes) == 20 and not covered


def test_pictures_as_files(tmp_path):
    word = {"word": "a/b bank", "language": "en"}
    found = senses.write(str(tmp_path), word, "forward", {"points": POINTS}, ["en", "de", "ja"])
    assert found == ["a_b_bank_en_forward.png", "a_b_bank_en_forward.svg"]
    assert (tmp_path / found[0]).read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / found[1]).read_text().rstrip().endswith("</svg>")
    assert sorted(path.name for path in tmp_path.iterdir()) == found
    assert senses.write(str(tmp_path), word, "forward", {"points": []}, ["en"]) == []


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        {"words": "bank", "census": 3, "files": {}},
        {"words": [None, {"word": "x"}, {"word": "x", "directions": {"forward": None}}]},
        {"words": [{"word": "x", "directions": {"f": {"senses": [None], "points": [1, {}]}}}]},
        {"census": {"forward": {"words": "many"}}},
    ],
)
def test_extras_are_taken_as_they_come(write_run, damaged):
    page = section(write_run(extras={"senses": damaged}))
    assert page is None or "bank" not in page


def test_a_run_without_senses_has_no_section(write_run):
    assert section(write_run()) is None

"""The page's section on senses: what is shown, what is left out, and pictures that can be read."""

import json

import pytest

from clwe_jax.pretrain import pictures as senses


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
        "sense": 1,
        "share": 0.75,
        "uses": 30,
        "enabled": True,
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
]
FOUND = {
    "census": {"forward": {"words": 10, "used": 30, "unused": 7, "removed": 3}},
    "words": [
        {
            "word": "bank",
            "language": "en",
            "directions": {"forward": {"senses": SENSES, "points": POINTS}},
        }
    ],
    "files": ["senses/vectors.tsv", "senses/bank_en_forward.png"],
}


@pytest.fixture
def section(page_of):
    return lambda folder: page_of(folder).section("Senses")


def test_shares_neighbours_and_dead_senses(write_run, section):
    page = section(write_run(extras={"senses": FOUND}))
    head, first, second, unused, removed = page.rows()[:5]
    assert head == ["Sense", "Share", "Translations", "Nearest senses", "Examples"]
    assert first[:2] == ["bank_1", "75.0%"] and first[3] == "English money_1 0.80German Geld_1 0.70"
    assert second[:2] == ["bank_2", "25.0%"]
    assert unused[:2] == ["bank_3", "never used"] and removed[:2] == ["bank_4", "removed"]
    assert "senses/vectors.tsv" in page.text and "bank_en_forward.png" not in page.text
    # 30 of 40 live, 7 and 3 do not.
    assert page.rows()[-1] == ["forward", "10", "40", "3075.0%", "717.5%", "37.5%"]


def test_translations_are_shown_where_there_are_any(write_run, section):
    page = section(write_run(extras={"senses": FOUND}))
    assert page.rows()[1][2] == "German Kasse 90%Japanese <b>"
    plain = [{**sense, "translations": []} for sense in SENSES]
    words = [{**FOUND["words"][0], "directions": {"forward": {"senses": plain, "points": POINTS}}}]
    page = section(write_run("other", extras={"senses": {**FOUND, "words": words}}))
    head, first = page.rows()[:2]
    assert head == ["Sense", "Share", "Nearest senses", "Examples"]
    assert first[2] == "English money_1 0.80German Geld_1 0.70"


def test_examples_are_escaped_and_only_the_word_is_bold(write_run, section):
    cell = section(write_run(extras={"senses": FOUND})).all("tr")[1].all("td")[-1]
    first, second = cell.all("div")
    assert first.text == "A <b>bank</b> in the embankment." and second.text == "Bank!"
    assert [bold.text for bold in cell.all("b")] == ["bank", "Bank"]


def test_the_figures_over_training(write_run, section):
    folder = write_run(extras={"senses": FOUND})
    rows = [
        {"step": step, "name": f"senses/{name}", "value": value}
        for step in (100, 200)
        for name, value in (("purity", step / 400), ("enabled_senses", 3.0))
    ]
    with open(folder / "metrics.jsonl", "a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    page = section(folder)
    assert "intended meanings" in page.text
    assert "Enabled senses" not in page.text  # it never changed


def test_the_picture_labels_every_sense(write_run, section):
    page = section(write_run(extras={"senses": FOUND}))
    (drawn,) = page.all("svg", **{"aria-label": "bank"})
    assert sorted(x.text for x in drawn.all("text")) == sorted(p["label"] for p in POINTS)
    assert page.all("span", **{"class": "legend"})[0].text == "EnglishGermanJapanese"


def test_a_line_joins_each_neighbour_to_its_sense():
    drawn = senses.picture("bank", POINTS, ["en", "de", "ja"])
    own = {point["of"]: (point["x"], point["y"]) for point in POINTS if point.get("own")}
    near = [point for point in POINTS if not point.get("own")]
    assert drawn.joins == [(own[point["of"]], (point["x"], point["y"])) for point in near]
    assert {dots.colour for dots in drawn.dots} == {0, 1, 2}
    assert [dots.labels for dots in drawn.dots if dots.strong] == [["bank_1", "bank_2"]]


def test_pictures_as_files(tmp_path):
    word = {"word": "a/b bank", "language": "en"}
    found = senses.write(str(tmp_path), word, "forward", {"points": POINTS}, ["en", "de", "ja"])
    assert found == ["a_b_bank_en_forward.png", "a_b_bank_en_forward.svg"]
    assert (tmp_path / found[0]).read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / found[1]).read_text().rstrip().endswith("</svg>")
    assert sorted(path.name for path in tmp_path.iterdir()) == found
    assert senses.write(str(tmp_path), word, "forward", {"points": []}, ["en"]) == []


def test_characters_without_a_font_are_told_in_one_sentence(tmp_path, monkeypatch, caplog, recwarn):
    monkeypatch.setattr(senses, "_EASTERN", ())
    word = {"word": "bank", "language": "en"}
    senses.write(str(tmp_path), word, "forward", {"points": POINTS}, ["en", "de", "ja"])
    assert not recwarn.list
    (told,) = caplog.messages
    assert "No installed font" in told and "Noto Sans CJK" in told
    caplog.clear()
    senses.write(str(tmp_path), word, "forward", {"points": POINTS[:3]}, ["en", "de", "ja"])
    assert not caplog.messages


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
def test_damaged_extras_are_named_or_left_out(write_run, page_of, damaged):
    without = ("metrics.jsonl", "results.json")
    page = page_of(write_run(without=without, extras={"senses": damaged}))
    assert page.section("Senses") is None and page.section("Languages")
    assert bool(damaged) == ("pretrain.senses is left out" in page.text)


def test_a_run_without_senses_has_no_section(write_run, section):
    assert section(write_run()) is None

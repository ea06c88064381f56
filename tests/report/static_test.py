"""The page of a run of static vectors: complete and safe, with a table of errors to filter."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from clwe_jax.report import html, projection, run_folder, tables
from clwe_jax.static import report as static

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LANGUAGES = ("en", "de", "zh")


def figures_of(reach=0.6):
    found = {}
    for pair in ("de-en", "en-de", "en-zh", "zh-en"):
        name = f"bli/{pair}"
        for method, gain in (("", 0.0), ("_csls", 0.1), ("_softmax", 0.05)):
            for variant, loss in (("", 0), ("_distinct", 0.07)):
                for reading, more in (("", 0), ("_covered", 0.2)):
                    ending = f"{method}{variant}{reading}"
                    value = reach + gain - loss + more
                    found |= {f"{name}/p@1{ending}": value, f"{name}/p@5{ending}": value + 0.05}
                    found |= {f"{name}/p@10{ending}": value + 0.06, f"{name}/mrr{ending}": value}
                    found |= {f"{name}/p@1{ending}_low": value - 0.02}
                    found |= {f"{name}/p@1{ending}_high": value + 0.02}
        found |= {f"{name}/coverage": 0.8, f"{name}/words": 150.0, f"{name}/words_distinct": 140.0}
        found |= {f"{name}/pairs": 213.0, f"{name}/coverage_distinct": 0.74}
        for part, words in (("frequency/1-200", 40), ("frequency/201-1000", 110), ("tag/NOUN", 80)):
            found |= {f"{name}/{part}/p@1_csls": 0.5, f"{name}/{part}/words": float(words)}
    found |= {f"bli/{k}": v for k, v in (("p@1", reach), ("p@1_csls", reach + 0.1))}
    found |= {"bli/p@1_csls_distinct_covered": reach + 0.23, "bli/coverage_distinct": 0.74}
    found |= {"bli/chance": 0.00005}
    found |= {"similarity/en/simlex/spearman": 0.31, "similarity/en/simlex/coverage": 0.9}
    found |= {"similarity/en/simlex/pairs": 999.0, "retrieval/de-en/mean": 0.5}
    found |= {"retrieval/de-en/mean_csls": 0.625, "retrieval/mean_csls": 0.625}
    found |= {"retrieval/de-en/coverage": 0.9, "retrieval/en-de/mean_csls": 0.5}
    return found


def error_rows(word="haus", gold="house", near="home"):
    kinds = list(static.KINDS)
    return [
        {
            "pair": pair,
            "word": f"{word}{i}",
            "rank": 10 * i + 1,
            "gold": [gold],
            "found": [[near, 0.71], [gold, 0.6]],
            "place": 2 if kinds[i % 5] == "near" else 0,
            "kind": kinds[i % 5],
        }
        for pair in ("de-en", "en-de")
        for i in range(20)
    ]


def extras_of(**more):
    r = np.random.RandomState(0)
    points = {
        "source": r.randn(30, 2).tolist(),
        "target": r.randn(30, 2).tolist(),
        "shared": r.randn(5, 2).tolist(),
        "pairs": [[[0, 0], [1, 1]], [[1, 0], [0, 1]]],
    }
    static = {
        "stages": {"training": 31.0, "alignment": 2.5},
        "vocabulary": {
            "text": "Words go by the ratio of their frequencies.",
            "languages": {x: {"words": 900, "own": 850, "shared": 50} for x in LANGUAGES},
            "examples": {"shared": ["hotel", "taxi"], "de": ["haus"], "en": ["house"]},
        },
        "alignments": {
            "de-en": {"aligner": "rcsls", "loss": [3.0, 2.0, 1.5], "dictionary_pairs": 412},
            "zh-en": {"aligner": "rcsls", "loss": [2.0, 1.0], "dictionary_pairs": 310},
        },
        "projection": {"de-en": {"before": points, "after": points}},
        "errors": error_rows(),
        "errors_left_out": 7,
        "induced": {"de-en": 640},
    }
    return {"static": static, "speed": {"seconds": 61.0}, "device": "cpu", **more}


@pytest.fixture
def write(tmp_path):
    def write(name="ja", reach=0.6, **more):
        folder = tmp_path / name
        folder.mkdir()
        config = {
            "job": "static",
            "system": f"Joint-Align {name}",
            "scale": "laptop",
            "data": {"source": "pocket", "languages": ",".join(LANGUAGES)},
            "static": {"gamma": 0.9},
            "report": {"title": ""},
            "evals": {"bli": {"data": "lists/muse/"}, "retrieval": {"data": "pocket"}},
        }
        for file, content in (
            ("config.json", config),
            ("results.json", figures_of(reach)),
            ("report.json", extras_of(**more)),
        ):
            (folder / file).write_text(json.dumps(content), encoding="utf-8")
        return folder

    return write


def text_of(page):
    return page.text.replace("\u00a0", " ")


def test_the_page_shows_every_reading(write, page_of):
    page = page_of(write())
    text = text_of(page)
    for part in (
        "Joint-Align ja at the laptop scale",
        "70.0%",
        "83.0%",  # tiles
        "74.0% of the test items are covered",
        "chance 0.005%",
        "muse, 4 directions, 600 words, 852 pairs",
        "81.0–85.0",
        "All test words, the papers' convention (muse",
        "muse/de-en.5000-6500.txt, 150 words, 213 pairs",
        "Covered: P@1 CSLS",
        "MRR",
        "By frequency rank",
        "1–200",
        "110 words",
        "NOUN",
        "hotel",
        "Its own",
        "dictionary pairs",
        "412",
        "near miss",
        "7 more errors",
        "after alignment",
        "induced/de-en.txt",
        "640",
        "0.31",
        "simlex",
        "62.5%",
        "31 s",
        "Words with a vector",
    ):
        assert part in text, part
    head, row, *_ = page.section("Lexicon induction").rows()
    found = dict(zip(head, row))
    assert found["P@1 CSLS"].startswith("83.0%") and found["Covered"] == "74.0%"
    assert found["Words"] == "140" and found["Test set"].startswith("muse/de-en")
    retrieval = page.section("Sentence retrieval").rows()
    assert retrieval[0] == ["Pair", "plain", "CSLS", "Words with a vector"]
    assert [row[0] for row in retrieval[1:]] == ["German → English", "English → German", "mean"]
    drawn = [drawing.attributes["aria-label"] for drawing in page.all("svg")]
    assert drawn == ["before", "after alignment", "Alignment: loss"]
    assert "at step" not in text and "Isolated" not in text
    # Figures of another section are not repeated.
    assert page.section("Other figures") is None


def test_a_baseline_stands_beside_it(write, page_of):
    page = page_of(write(), compare_with=str(write("base", 0.5)))
    assert "Joint-Align base 60.0%, +10.0 points" in page.text
    head, row, *_ = page.section("Lexicon induction").rows()
    place = head.index("P@1 CSLS, Joint-Align base")
    assert row[place - 1 : place + 1] == ["83.0%81.0–85.0", "73.0% +10.0"]


def test_figures_of_missing_files_are_left_out(write, page_of):
    folder = write()
    (folder / "report.json").write_text(json.dumps({"static": {"errors": [3, {"word": 4}]}}))
    page = page_of(folder)
    assert page.section("Lexicon induction") and page.section("Vocabulary reallocation") is None
    assert "report.json: static.errors is left out" in page.text
    (folder / "results.json").unlink()
    page = page_of(folder)
    assert page.section("Configuration") and "P@1" not in page.text


@pytest.mark.parametrize("value", [None, 3, "x", [], [1], {"x": None}, {"de-en": 3}], ids=repr)
def test_extras_of_an_unexpected_kind_do_not_break_the_page(write, page_of, value):
    keys = extras_of()["static"]
    page = page_of(write(static={key: value for key in keys}))
    assert page.section("Configuration") and page.section("Lexicon induction")


def test_words_are_text_and_never_markup(write, page_of):
    static = extras_of()["static"]
    static["errors"] = error_rows(HOSTILE, HOSTILE, HOSTILE)
    static["vocabulary"]["examples"] = {HOSTILE: [HOSTILE]}
    static["alignments"] = {HOSTILE: {HOSTILE: HOSTILE}}
    static["projection"] = {HOSTILE: static["projection"]["de-en"]}
    static["induced"] = {HOSTILE: 3}
    page = page_of(write(static=static))
    (script,) = page.all("script")
    assert HOSTILE in page.text and not page.all("img") and "alert" not in script.children[0]


def test_principal_components_are_those_of_all_groups():
    r = np.random.RandomState(0)
    groups = {"source": r.randn(7, 5) * [9, 4, 1, 1, 1] + 3, "target": r.randn(6, 5)}
    found = projection.principal(groups)
    whole = np.concatenate(list(groups.values()))
    whole -= whole.mean(0)
    plane = whole @ np.linalg.svd(whole, full_matrices=False)[2][:2].T
    mine = np.array(found["source"] + found["target"])
    assert len(found["source"]) == 7
    for ours, theirs in zip(mine.T, plane.T):
        assert min(abs(ours - theirs).max(), abs(ours + theirs).max()) < 1e-3
        assert ours[np.abs(ours).argmax()] > 0


def test_of_many_languages_those_with_most_mined_pairs_have_examples():
    sentence = ("1.200", "a.txt:1", "en.txt:1", "ein Satz", "a sentence")
    pairs = [static.Pair(f"q{i}-en", [sentence] * i, [], [], 0, 0) for i in range(40)]
    counts = dict.fromkeys(("mutual", "supported", "by_chance", "taken"), 0)
    rounds = [{"round": n, "pair": pair.name, **counts} for n in (1, 2) for pair in pairs]
    [section] = static.sections(rounds, pairs, {})
    table, chart, *examples = section["blocks"]
    assert len(table["rows"]) == 40 and len(chart["lines"]) <= 10
    titles = [block["closed"].replace("\u00a0", " ") for block in examples]
    assert len(titles) == static.MAX_PAIRS and "q39 → en" in titles[0]


def test_the_terminal_shows_both_readings(write):
    from rich.console import Console

    console = Console(record=True, width=160)
    tables.print_summary(figures_of(), write(), console)
    printed = console.export_text().replace("\u00a0", " ")
    for part in ("Lexicon induction", "70.0%", "83.0%", "Covered", "de → en", "62.5%"):
        assert part in printed, part


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


@pytest.mark.skipif(
    BROWSER is None, reason="no Chromium: apt-get install chromium to open the page in a browser"
)
def test_a_browser_filters_and_sorts_the_errors(write, tmp_path):
    markup = html.build(write()).read_text(encoding="utf-8")
    probe = """
    document.querySelector('#section-5 details').open = true;
    const shown = () => [...document.querySelectorAll('#section-5 table tbody tr')]
      .filter(row => row.getBoundingClientRect().height > 0).length;
    const bar = document.querySelector('.filters'), [pair, kind] = bar.querySelectorAll('select');
    const set = (field, value) => {
      field.value = value; field.dispatchEvent(new Event('input', {bubbles: true})); return shown();
    };
    const body = document.body.dataset;
    body.all = shown();
    body.pair = set(pair, pair.options[1].value);
    body.kind = set(kind, 'near miss');
    body.said = bar.querySelector('output').textContent;
    body.word = set(bar.querySelector('input'), 'HAUS5 house');
    set(pair, ''); set(kind, ''); set(bar.querySelector('input'), '');
    for (const n of [1, 2]) document.querySelectorAll('#section-5 table th button')[2].click();
    body.first = document.querySelector('#section-5 table tbody tr').cells[2].textContent;
    const narrow = document.querySelector('#section-2 .scroll');
    narrow.style.width = '200px';
    dispatchEvent(new Event('resize'));
    body.cues = [...document.querySelectorAll('#section-2 .cue')]
      .filter(x => !x.hidden && !x.closest('details')).length;
    body.overflow = document.documentElement.scrollWidth > innerWidth;
    """
    policy = re.compile(r"<meta http-equiv=.*?>")
    page = tmp_path / "probed.html"
    page.write_text(policy.sub("", markup).replace("</body>", f"<script>{probe}</script></body>"))
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *(f"--user-data-dir={tmp_path}/profile", "--window-size=1200,3000"),
        *("--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert not [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    names = "all|pair|kind|said|word|first|overflow|cues"
    found = dict(re.findall(rf'data-({names})="([^"]*)"', done.stdout))
    assert (found["all"], found["pair"], found["kind"]) == ("40", "20", "4")
    assert found["said"] == "4 of 40 rows" and found["word"] == "1"
    assert found["first"] == "1" and found["overflow"] == "false"
    assert found["cues"] == "1"  # the table in the narrow box


@pytest.mark.parametrize("written", [True, False])
def test_a_folder_of_vectors_is_named_only_where_it_is_written(write_run, written):
    folder = write_run(extras={"static": {"induced": {"de-en": 640}}})
    config = json.loads((folder / "config.json").read_text())
    config["static"] = {"write_text": written}
    (folder / "config.json").write_text(json.dumps(config))
    section = static.files(run_folder.read(folder), ())
    assert ("vectors/" in section.text) == written == ("vectors" in section.title)

"""The page: complete, honest about what is missing, and safe whatever stood in the corpus."""

import json
import re
import shutil
import subprocess

import pytest

from clwe_jax.report import html

HOSTILE = "<script>alert(1)</script>"
NO_FIGURES = ("metrics.jsonl", "results.json")  # a page without charts is made faster


def test_the_page_shows_what_was_run_and_what_came_of_it(write_run, page_of):
    folder = write_run()
    results = json.loads((folder / "results.json").read_text())
    page = page_of(folder)
    drawn = [drawing.attributes["aria-label"] for drawing in page.all("svg")]
    assert drawn == [
        "Accuracy by layer, plain",
        "Accuracy by layer, centered",
        "Accuracy by layer, CSLS",
        "Over training, mean of layers 1 to 4",
        "Over training, SIF, mean of layers 1 to 4",
        "P@1 by layer, mean over pairs",
        "Over training, covered words of different spelling",
        "Training loss",
        "Held-out loss by language",
        "Cross-lingual labels",
    ]
    for part in (
        "DICT-MLM-50 at the laptop scale, 4 layers of width 128, 6 languages (English, German,",
        "3,000 steps of 64 × 64 pieces, 9 min 41 s on cpu",
        "python -m clwe_jax.main --config=configs/dict_mlm_50.py",
        f"{100 * results['retrieval/mean_last4']:.1f}%",
        f"{100 * results['retrieval/mean_last4_csls']:.1f}%",
        f"{100 * results['bli/en-ja/p@1']:.1f}%",
        f"{results['eval/mlm/fr/perplexity']:.2f}",
        f"{results['eval/mlm/fr/monolingual_loss']:.2f}",
        f"{100 * results['retrieval/fr-en/mean_last4_low']:.1f}–",
        "1.2% of the sentences were too long",
        "dictionary/coverage",
        "(asked 50%)",
        "21,480",
        "2.31 GB",
        "2,412,032",
        "銀行",
        "ru-en",
        '"sequence_length": 64',
    ):
        assert part in page.text, part
    assert "Mind this" not in page.text
    assert not (folder / "report.html.tmp").exists()


def test_examples_show_masks_tags_and_what_stood_there(write_run, page_of):
    words = (
        page_of(write_run())
        .section("Masked and code-switched examples")
        .all("span", **{"class": "word"})
    )
    (switched,) = [word for word in words if "comida" in word.text]
    assert switched.text.split() == ["comida", "esFood"] and switched.all("b")[0].text == "comida"
    assert switched.all(lang="es") and switched.all("small")[0].text == "Food"
    # Masked but not switched: bold, without a tag and without a second line.
    home, better = ([x for x in words if x.text == word][0] for word in ("home", "better"))
    assert home.all("b") and not better.all("b") and not home.all("small")


def test_other_runs_stand_beside_it(write_run, page_of):
    folders = [write_run(), write_run("mbert", "mBERT", 0.33), write_run("x", "XLM", 0.5)]
    results = [json.loads((f / "results.json").read_text()) for f in folders]
    page = page_of(folders[0], compare_with=f"{folders[1]}, {folders[2]}")
    a, b, c = (r["retrieval/mean_last4"] for r in results)
    assert f"mBERT {100 * b:.1f}%, +{100 * (a - b):.1f} points" in page.text
    assert f"XLM {100 * c:.1f}%, +{100 * (a - c):.1f} points" in page.text
    assert "other conditions" not in page.text
    # A column a run in tables, with the difference in points; a line a run in charts.
    retrieval = page.section("Sentence retrieval")
    head, *rows = retrieval.rows()
    assert head[:5] == ["Pair", "plain", "plain, mBERT", "plain, XLM", "centered"]
    total = [row for row in rows if row[0] == "mean"][0]
    assert total[1:3] == [f"{100 * a:.1f}%", f"{100 * b:.1f}% +{100 * (a - b):.1f}"]
    legends = [x.text for x in retrieval.all("span", **{"class": "legend"})]
    assert legends[0] == "DICT-MLM-50mBERTXLM"
    styles = [x.attributes["style"] for x in retrieval.all("figure")[0].all("i")]
    assert "solid" in styles[0] and "dashed" in styles[1] and "dotted" in styles[2]
    comparison = page.section("Comparison")
    assert all(str(folder) in comparison.text for folder in folders[1:])
    assert ["task.name", "dict_mlm", "mlm", "mlm"] in comparison.rows()
    shown = [f"{x['eval/mlm/de/loss']:.2f}" for x in results]
    (row,) = [row for row in comparison.rows() if row[0] == "eval/mlm/de/loss"]
    assert [cell.split()[0] for cell in row[1:]] == shown


def test_an_unfair_comparison_is_called_one(write_run, page_of):
    ours, theirs = write_run(), write_run("mbert", "mBERT", 0.33, steps=2000)
    page = page_of(ours, compare_with=str(theirs))
    assert "Compared with mBERT" in page.text
    assert "step 3,000, mBERT at step 2,000" in page.text
    assert "train.steps (3000, 2000)" in page.text


def test_a_comparison_that_is_not_there_is_a_warning(write_run, tmp_path, caplog, page_of):
    page = page_of(write_run(), compare_with=str(tmp_path / "nowhere"))
    assert "nowhere" in page.text and "no config.json" in page.text
    assert "nowhere" in caplog.text


def test_pairs_that_were_left_out_and_pairs_that_were_not_are_counted(write_run, page_of):
    tested = {"en-de": [1_203, 3_721], "de-en": [0, 3_660]}
    dictionary = {"pairs": 14_677, "words": 9_000, "left_out": 4_757, "tested": tested}
    text = page_of(write_run(extras={"dictionary": dictionary})).text
    assert "4,757" in text
    assert "en-de 1,203 of 3,721" in text and "3,660" not in text


FILES = ("metrics.jsonl", "results.json", "report.json")


@pytest.mark.parametrize("without", [*((file,) for file in FILES), FILES], ids=str)
def test_what_is_missing_is_left_out(write_run, without, page_of):
    page = page_of(write_run(without=without))
    if "metrics.jsonl" in without:
        assert "step 0 of 3,000" in page.text
    elif "results.json" in without:
        assert "results.json is missing" in page.text
        assert "held-out text" in page.text.lower()
    assert '"system": "DICT-MLM-50"' in page.text


def test_a_run_that_is_still_training_says_so(write_run, page_of):
    folder = write_run(without=("results.json", "report.json"))
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(lines[: len(lines) // 2]) + '{"step": 15')
    page = page_of(folder)
    assert re.search(r"The run is at step 1,\d{3} of 3,000", page.text)
    assert "metrics.jsonl: 1 unreadable" in page.text


def test_steps_that_were_not_applied_are_reported(write_run, page_of):
    folder = write_run()
    assert "not applied" not in page_of(folder).text
    with open(folder / "metrics.jsonl", "a") as file:
        for step, share in ((50, 0.0), (100, 0.02), (150, 0.0), (1200, 1.0)):
            file.write(json.dumps({"step": step, "name": "train/skipped", "value": share}) + "\n")
    text = page_of(folder).text
    assert "step 100, the last at step 1,200" in text


def test_memory_that_the_platform_does_not_give_is_not_zero(write_run, page_of):
    speed = {"step_flops": 4e9, "steps_per_second": 2.0}
    memory = {"peak_host_bytes": 3_000_000, "peak_device_bytes": 0}
    text = page_of(write_run(without=NO_FIGURES, extras={"speed": speed, "memory": memory})).text
    assert "3 MB" in text and "Peak device memory" not in text and "8 GFLOP/s" in text


def hostile_run(folder):
    """Puts markup into every place that a corpus, a dictionary or a user can reach."""
    extras = json.loads((folder / "report.json").read_text())
    extras["examples"] = [
        {
            "language": HOSTILE,
            "original": [HOSTILE, '" onload="alert(1)'],
            "transformed": ["x", HOSTILE],
            "masked": [True, False],
            "languages": [HOSTILE, '"><img src=x onerror=alert(1)>'],
        }
    ]
    near = {"word": HOSTILE, "language": HOSTILE, "score": 0.5}
    extras["neighbours"] = [{**near, "neighbours": [near]}]
    extras["command"] = extras["device"] = HOSTILE
    extras["notes"] = [HOSTILE]
    for key in ("versions", "skipped"):
        extras[key] = {HOSTILE: HOSTILE}
    extras["languages"] = {HOSTILE: {"lines": 1, "words": 1, "coverage": 0.5}}
    extras["vocabulary"] = {"kind": HOSTILE, "size": 1, "sample_pieces": {HOSTILE: [HOSTILE]}}
    (folder / "report.json").write_text(json.dumps(extras))
    config = json.loads((folder / "config.json").read_text())
    config["system"] = config["report"]["title"] = config["data"]["source"] = HOSTILE
    config["data"]["languages"] = f"en,{HOSTILE}"
    config[HOSTILE] = HOSTILE
    (folder / "config.json").write_text(json.dumps(config))
    results = {
        f"retrieval/{HOSTILE.replace('/', '')}-en/layer1/acc@1": 0.5,
        f"bli/{HOSTILE.replace('/', '')}-en/p@1": 0.5,
        f"eval/mlm/{HOSTILE.replace('/', '')}/loss": 0.5,
        f"{HOSTILE}": 0.5,
    }
    (folder / "results.json").write_text(json.dumps(results))


def test_the_share_that_was_asked_for_is_shown_where_it_is_known(write_run, page_of):
    folder = write_run()
    assert "Share asked" in page_of(folder).text
    extras = json.loads((folder / "report.json").read_text())
    for row in extras["languages"].values():
        del row["target_share"]
    (folder / "report.json").write_text(json.dumps(extras))
    text = page_of(folder).text
    assert "Share asked" not in text and "Sampled" in text
    for row in extras["languages"].values():
        row.update(target_share=0.5, sampled_share=None)  # the rows are pairs of sentences
    (folder / "report.json").write_text(json.dumps(extras))
    text = page_of(folder).text
    assert "Share asked" not in text and "Sampled" not in text and "In dictionary" in text


def test_markup_in_the_data_is_shown_as_text(write_run, page_of):
    folder, other = write_run(), write_run("other")
    hostile_run(folder)
    hostile_run(other)
    page = page_of(folder, compare_with=str(other))
    (script,) = page.all("script")
    assert "alert" not in script.children[0]
    assert page.text.count(HOSTILE) > 20
    assert not page.all("img")
    assert not [name for node in page.all() for name in node.attributes if name.startswith("on")]


@pytest.mark.parametrize(
    "string",
    [
        "</p><img src=x onerror=alert(1)>",
        '" onclick="alert(1)',
        "' onclick='alert(1)",
        "&lt;b&gt; &amp; &#60;",
        "<!-- ",
        "a < b && c > d",
        "{{ 1 + 1 }} {% raw %}",
    ],
)
def test_strings_come_back_as_they_are(write_run, page_of, string):
    cells = [string, {"text": string, "language": string, "tagged": True, "below": string}]
    table = {"kind": "table", "columns": ["a", string], "rows": [cells], "title": string}
    section = {"title": string, "text": string, "blocks": [table]}
    folder = write_run(without=NO_FIGURES, extras={"sections": [section]})
    found = page_of(folder).section(string)
    assert found.all("p")[0].text == found.all("h3")[0].text == string
    assert found.all("td")[0].text == string and found.all("button")[1].text == string
    assert found.all("td")[1].all("span")[1].text == string
    assert not found.all("img") and not found.all(onclick="alert(1)")


def test_nothing_is_fetched_and_no_foreign_script_may_run(write_run, page_of):
    folder = write_run()
    page = page_of(folder)
    markup = (folder / "report.html").read_text(encoding="utf-8")
    assert "http://" not in markup and "https://" not in markup and "@import" not in markup
    assert not {"link", "img", "iframe", "object", "base"} & {node.name for node in page.all()}
    attributes = [item for node in page.all() for item in node.attributes.items()]
    assert "src" not in dict(attributes)
    links = [value for name, value in attributes if name in ("href", "xlink:href")]
    assert links and all(link.startswith("#") for link in links)
    assert any("default-src 'none'" in value for name, value in attributes if name == "content")


def test_a_models_directions_are_no_languages(write_run, page_of):
    folder = write_run()
    results = json.loads((folder / "results.json").read_text())
    heads = [row[0] for row in page_of(folder).section("Training").rows()]
    assert heads[0] == "Language"
    (folder / "results.json").write_text(json.dumps({**results, "eval/mlm/forward/loss": 1.25}))
    heads = [row[0] for row in page_of(folder).section("Training").rows()]
    assert heads[0] == "Language or direction" and "forward" in heads


def test_ids_are_unique_and_links_lead_somewhere(write_run, page_of):
    page = page_of(write_run(), compare_with=str(write_run("mbert", "mBERT", 0.33)))
    attributes = [item for node in page.all() for item in node.attributes.items()]
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name, value in attributes:
        if name in ("href", "xlink:href"):
            assert value[1:] in ids, value


KEYS = ("command", "device", "processor", "cores", "versions", "parameters")
KEYS += (
    "vocabulary",
    "languages",
    "dictionary",
    "examples",
    "neighbours",
    "speed",
    "memory",
    "notes",
    "skipped",
)
KEYS += ("senses", "static", "sections")


@pytest.mark.parametrize(
    "value", [None, "x", 3, 0.5, True, [], [1, None], {}, {"x": None}], ids=repr
)
def test_extras_of_an_unexpected_kind_do_not_break_the_page(write_run, value, page_of):
    page = page_of(write_run(without=NO_FIGURES, extras={key: value for key in KEYS}))
    assert page.section("Configuration")


def test_a_damaged_part_of_report_json_is_named_and_costs_no_other(write_run, page_of):
    page = page_of(write_run(without=NO_FIGURES, extras={"neighbours": [{"word": "x"}]}))
    assert "report.json: corpus.neighbours is left out (KeyError" in page.text
    assert page.section("Nearest neighbours") is None
    assert page.section("Masked and code-switched examples") and page.section("Languages")


def test_examples_of_uneven_length_are_counted(write_run, page_of):
    row = {"language": "en", "original": ["a"], "transformed": ["b", "c"]}
    row |= {"masked": [True], "languages": ["de"]}
    page = page_of(write_run(without=NO_FIGURES, extras={"examples": [row, row]}))
    assert "2 examples with" in page.text


def test_endless_words_and_lines_are_cut(write_run):
    count = 5000
    row = {"language": "en", "original": ["a"] * count, "transformed": ["b" * 10_000] * count}
    row |= {"masked": [True] * count, "languages": ["de"] * count}
    text = html.build(write_run(without=NO_FIGURES, extras={"examples": [row]})).read_text(
        encoding="utf-8"
    )
    assert "4940 more words" in text and len(text) < 1_000_000


def test_a_hundred_languages_fit(write_run, page_of):
    folder = write_run(languages=tuple(f"l{i}" for i in range(104)))
    page = page_of(folder)
    assert "104 languages" in page.text and "All 104 rows" in page.text
    assert (folder / "report.html").stat().st_size < 2_000_000


def test_a_lone_surrogate_does_not_break_the_file(write_run, page_of):
    chart = {"kind": "chart", "title": "c\ud800d", "lines": [{"points": [[0, 1], [1, 2]]}]}
    chart["x"] = "e\ud800f"
    extras = {"notes": ["a\ud800b"], "sections": [{"title": "Curves", "blocks": [chart]}]}
    page = page_of(write_run(without=NO_FIGURES, extras=extras))
    # matplotlib refuses such a text, and its section is named.
    assert "a\ufffdb" in page.text and "sections[0] is left out" in page.text


# In a browser.

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium: apt-get install chromium to open the page in a browser"
)


def open_in_browser(path, profile):
    """The page's elements after its scripts have run, and what it said on the console."""
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--disable-sync", f"--user-data-dir={profile}", "--window-size=1200,3000"),
        *("--enable-logging=stderr", "--v=0", "--dump-dom", path.as_uri()),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console


@needs_browser
def test_a_browser_draws_the_charts_and_has_nothing_to_say(write_run, tmp_path):
    folder, other = write_run(), write_run("mbert", "mBERT", 0.33)
    path = html.build(folder, compare_with=str(other))
    # A script at the end measures what was laid out; the page's own policy has to let it in.
    probe = (
        "document.body.dataset.drawn = [...document.querySelectorAll('figure svg')].filter(svg => "
        "!svg.closest('details:not([open])') && "  # some browsers lay out what is folded up
        "svg.getBoundingClientRect().height > 100 && [...svg.querySelectorAll('path')].some("
        "path => path.getBoundingClientRect().width > 100)).length;"
        "document.body.dataset.overflow = document.documentElement.scrollWidth > innerWidth;"
        "for (const n of [1, 2]) document.querySelectorAll('section th button')[1].click();"
        "document.body.dataset.order = [...document.querySelectorAll('section tbody')[0].rows]"
        ".map(row => row.cells[0].textContent).join();"
    )
    markup = path.read_text(encoding="utf-8")
    probed = tmp_path / "probed.html"
    policy = re.compile(r"<meta http-equiv=.*?>")
    probed.write_text(policy.sub("", markup).replace("</body>", f"<script>{probe}</script></body>"))
    dom, console = open_in_browser(probed, tmp_path / "profile")
    assert console == []
    found = dict(re.findall(r'data-(drawn|overflow|order)="([^"]*)"', dom))
    assert found["drawn"] == "9" and found["overflow"] == "false"
    # Twice on the head: from the lowest to the highest, and the mean stays last.
    results = json.loads((folder / "results.json").read_text())
    means = {}
    names = {"German": "de", "Spanish": "es", "French": "fr", "Japanese": "ja", "Chinese": "zh"}
    for name, code in names.items():
        means[f"{name}-English"] = results[f"retrieval/{code}-en/mean_last4"]
    order = found["order"].replace("\u00a0→\u00a0", "-").replace("&nbsp;→&nbsp;", "-").split(",")
    assert order == [*sorted(means, key=means.get), "mean"]


@needs_browser
def test_a_browser_runs_nothing_from_the_data(write_run, tmp_path):
    folder = write_run()
    hostile_run(folder)
    # As it is, with its policy: the console would name a refused script.
    dom, console = open_in_browser(html.build(folder), tmp_path / "profile")
    assert console == []
    assert (
        'aria-label="Training loss"' in dom
        and HOSTILE.replace("<", "&lt;").replace(">", "&gt;") in dom
    )


def test_words_from_the_right_are_isolated_and_read_from_there(write_run, page_of):
    word = lambda text, **more: {"text": text, "language": "fa", **more}
    rows = [
        ["ranked", [word("خانه", after="0.52"), word("منزل", after="0.41")]],
        ["words", [word("این", style="soft"), word("خانه‌ها", style="strong")]],
        ["text", ["این ", word("خانه", style="strong"), " است"]],
        ["mixed", [word("خانه"), {"text": "Haus", "language": "de"}]],
    ]
    table = {"kind": "table", "columns": ["Kind", "Words"], "rows": rows}
    sentence = {
        "kind": "sentence",
        "language": "ckb",
        "words": [{"text": "ماڵ", "language": "ckb"}],
    }
    blocks = [table, sentence]
    folder = write_run(
        extras={"sections": [{"title": "Right", "blocks": blocks}]}, without=NO_FIGURES
    )
    page = page_of(folder).section("Right")
    cells = [row.all("td")[1] for row in page.all("tr")[1:]]
    # Else "0.52" would stand before the word that it follows.
    assert [x.attributes.get("dir") for x in cells[0].all("span") if x.text == "خانه"] == ["auto"]
    assert [x.all("span")[0].attributes.get("dir") for x in cells] == [None, "rtl", "auto", None]
    # Words of a running text are one paragraph to the browser.
    assert cells[2].all("b")[0].attributes.get("dir") is None
    assert "خانه‌ها" in cells[1].text
    assert [x.attributes.get("dir") for x in page.all("div") if "lang" in x.attributes] == ["rtl"]

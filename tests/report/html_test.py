"""The page: complete, honest about what is missing, and safe whatever stood in the corpus."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from clwe_jax.report import html, style

HOSTILE = "<script>alert(1)</script>"


class Page(HTMLParser):
    """What a browser makes of the page: elements, attributes, text outside of scripts."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.elements, self.attributes, self.text, self.scripts = [], [], "", []
        self._inside = []
        self.feed(markup)
        self.close()
        assert not self._inside

    def handle_starttag(self, element, attributes):
        self.handle_startendtag(element, attributes)
        if element != "meta":
            self._inside.append(element)

    def handle_startendtag(self, element, attributes):
        self.elements.append(element)
        self.attributes += attributes

    def handle_endtag(self, element):
        assert self._inside.pop() == element, f"</{element}> closes another element"

    def handle_data(self, data):
        if "script" in self._inside:
            self.scripts.append(data)
        elif "style" not in self._inside:
            self.text += data


def page_of(folder, **options):
    path = html.build(folder, **options)
    assert path == folder / "report.html"
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_shows_what_was_run_and_what_came_of_it(write_run):
    folder = write_run()
    results = json.loads((folder / "results.json").read_text())
    page = page_of(folder)
    # Three by layer, one over training, one of induction, two losses, and one more curve.
    assert page.elements.count("svg") == 8
    for part in (
        "DICT-MLM-50 at the laptop scale, 4 layers of width 128, 6 languages (en, de,",
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


def test_examples_show_masks_tags_and_what_stood_there(write_run):
    markup = html.build(write_run()).read_text(encoding="utf-8")
    (word,) = re.findall(r'<span class="word"><span lang="es"><b>comida</b>.*?</small>', markup)
    assert ">es</span>" in word and word.endswith("<small>Food</small>")
    # Masked but not switched: bold, without a tag and without a second line.
    assert '<span class="word"><span lang="en"><b>home</b></span></span>' in markup
    assert '<span class="word"><span lang="en">better</span></span>' in markup


def test_another_run_stands_beside_it(write_run):
    ours, theirs = write_run(), write_run("mbert", "mBERT", 0.33)
    results = [json.loads((f / "results.json").read_text()) for f in (ours, theirs)]
    page = page_of(ours, compare_with=str(theirs))
    a, b = (r["retrieval/mean_last4"] for r in results)
    assert f"mBERT {100 * b:.1f}%, +{100 * (a - b):.1f} points" in page.text
    assert "other conditions" not in page.text
    assert "task.name" in page.text and str(theirs) in page.text


def test_an_unfair_comparison_is_called_one(write_run):
    ours, theirs = write_run(), write_run("mbert", "mBERT", 0.33, steps=2000)
    page = page_of(ours, compare_with=str(theirs))
    assert "Compared with mBERT, but under other conditions" in page.text
    assert "DICT-MLM-50 is at step 3,000, mBERT at step 2,000." in page.text
    assert "config.train.steps: 3000 here, 2000 there." in page.text


def test_a_comparison_that_is_not_there_is_a_warning(write_run, tmp_path, caplog):
    page = page_of(write_run(), compare_with=str(tmp_path / "nowhere"))
    assert "nowhere cannot be shown" in page.text and "no config.json" in page.text
    assert "nowhere cannot be shown" in caplog.text


FILES = ("metrics.jsonl", "results.json", "report.json")


@pytest.mark.parametrize("without", [*((file,) for file in FILES), FILES], ids=str)
def test_what_is_missing_is_left_out(write_run, without):
    page = page_of(write_run(without=without))
    if "metrics.jsonl" in without:
        assert "step 0 of 3,000" in page.text
    elif "results.json" in without:
        assert "There is no results.json" in page.text
        assert "held-out text" in page.text.lower()
    assert '"system": "DICT-MLM-50"' in page.text


def test_a_run_that_is_still_training_says_so(write_run):
    folder = write_run(without=("results.json", "report.json"))
    lines = (folder / "metrics.jsonl").read_text().splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(lines[: len(lines) // 2]) + '{"step": 15')
    page = page_of(folder)
    assert re.search(r"The run is at step 1,\d{3} of 3,000", page.text)
    assert "metrics.jsonl: 1 unreadable line skipped" in page.text


def test_steps_that_were_not_applied_are_told(write_run):
    folder = write_run()
    assert "not applied" not in page_of(folder).text
    with open(folder / "metrics.jsonl", "a") as file:
        for step, share in ((50, 0.0), (100, 0.02), (150, 0.0), (1200, 1.0)):
            file.write(json.dumps({"step": step, "name": "train/skipped", "value": share}) + "\n")
    text = page_of(folder).text
    assert "2 of the logged intervals hold some, the first ends at step 100, the last" in text


def test_memory_that_the_platform_does_not_tell_is_not_zero(write_run):
    speed = {"step_flops": 4e9, "steps_per_second": 2.0}
    memory = {"peak_host_bytes": 3_000_000, "peak_device_bytes": 0}
    text = page_of(write_run(extras={"speed": speed, "memory": memory})).text
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


def test_the_share_that_was_asked_for_is_shown_where_it_is_known(write_run):
    folder = write_run()
    assert "Share asked" in page_of(folder).text
    extras = json.loads((folder / "report.json").read_text())
    for row in extras["languages"].values():
        del row["target_share"]
    (folder / "report.json").write_text(json.dumps(extras))
    text = page_of(folder).text
    assert "Share asked" not in text and "Sampled" in text


def test_markup_in_the_data_is_shown_as_text(write_run):
    folder, other = write_run(), write_run("other")
    hostile_run(folder)
    hostile_run(other)
    page = page_of(folder, compare_with=str(other))
    assert page.scripts == [style.SCRIPT]
    assert page.text.count(HOSTILE) > 20
    assert "img" not in page.elements
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_nothing_is_fetched_and_no_foreign_script_may_run(write_run):
    path = html.build(write_run())
    markup = path.read_text(encoding="utf-8")
    assert "http://" not in markup and "https://" not in markup and "@import" not in markup
    page = Page(markup)
    assert not {"link", "img", "iframe", "object", "base"} & set(page.elements)
    assert not [value for name, value in page.attributes if name == "src"]
    links = [value for name, value in page.attributes if name in ("href", "xlink:href")]
    assert links and all(link.startswith("#") for link in links)
    policies = [value for name, value in page.attributes if name == "content"]
    assert any("default-src 'none'" in policy for policy in policies)


def test_a_models_directions_are_no_languages(write_run):
    folder = write_run()
    results = json.loads((folder / "results.json").read_text())
    assert "Language or direction" not in html.build(folder).read_text(encoding="utf-8")
    (folder / "results.json").write_text(json.dumps({**results, "eval/mlm/forward/loss": 1.25}))
    markup = html.build(folder).read_text(encoding="utf-8")
    assert "Language or direction" in markup and re.search(r"<td[^>]*>forward</td>", markup)


def test_ids_are_unique_and_links_lead_somewhere(write_run):
    page = page_of(write_run(), compare_with=str(write_run("mbert", "mBERT", 0.33)))
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name, value in page.attributes:
        if name in ("href", "xlink:href"):
            assert value[1:] in ids, value


KEYS = ("command", "device", "cores", "versions", "parameters", "vocabulary", "languages")
KEYS += ("dictionary", "examples", "neighbours", "speed", "memory", "notes", "skipped")


@pytest.mark.parametrize(
    "value", [None, "x", 3, 0.5, True, [], [1, None], {}, {"x": None}], ids=repr
)
def test_extras_of_an_unexpected_kind_do_not_break_the_page(write_run, value):
    page = page_of(write_run(extras={key: value for key in KEYS}))
    assert "Configuration" in page.text


def test_examples_of_uneven_length_are_counted(write_run):
    row = {"language": "en", "original": ["a"], "transformed": ["b", "c"]}
    row |= {"masked": [True], "languages": ["de"]}
    page = page_of(write_run(extras={"examples": [row, row]}))
    assert "2 whose lists are of different lengths left out." in page.text


def test_endless_words_and_lines_are_cut(write_run):
    count = 5000
    row = {"language": "en", "original": ["a"] * count, "transformed": ["b" * 10_000] * count}
    row |= {"masked": [True] * count, "languages": ["de"] * count}
    path = html.build(write_run(extras={"examples": [row]}))
    text = path.read_text(encoding="utf-8")
    assert "4940 more words" in text and len(text) < 1_000_000


def test_a_hundred_languages_fit(write_run):
    folder = write_run(languages=tuple(f"l{i}" for i in range(104)))
    page = page_of(folder)
    assert "104 languages" in page.text and "All 104 rows" in page.text
    assert (folder / "report.html").stat().st_size < 2_000_000


def test_a_lone_surrogate_does_not_break_the_file(write_run):
    folder = write_run(extras={"notes": ["a\ud800b"]})
    assert "a\ufffdb" in page_of(folder).text


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
        "svg.getBoundingClientRect().height > 100 && [...svg.querySelectorAll('path')].some("
        "path => path.getBoundingClientRect().width > 100)).length;"
        "document.body.dataset.overflow = document.documentElement.scrollWidth > innerWidth;"
        "for (const n of [1, 2]) document.querySelectorAll('#retrieval th button')[1].click();"
        "document.body.dataset.order = [...document.querySelectorAll('#retrieval tbody')[0].rows]"
        ".map(row => row.cells[0].textContent).join();"
    )
    markup = path.read_text(encoding="utf-8")
    probed = tmp_path / "probed.html"
    policy = re.compile(r"<meta http-equiv=.*?>")
    probed.write_text(policy.sub("", markup).replace("</body>", f"<script>{probe}</script></body>"))
    dom, console = open_in_browser(probed, tmp_path / "profile")
    assert console == []
    found = dict(re.findall(r'data-(drawn|overflow|order)="([^"]*)"', dom))
    assert found["drawn"] == "8" and found["overflow"] == "false"
    # Twice on the head: from the lowest to the highest, and the mean stays last.
    results = json.loads((folder / "results.json").read_text())
    means = {}
    for pair in ("de-en", "es-en", "fr-en", "ja-en", "zh-en"):
        means[pair] = sum(results[f"retrieval/{pair}/layer{k}/acc@1"] for k in range(1, 5)) / 4
    order = found["order"].replace("\u00a0→\u00a0", "-").replace("&nbsp;→&nbsp;", "-").split(",")
    assert order == [*sorted(means, key=means.get), "mean"]


@needs_browser
def test_a_browser_runs_nothing_from_the_data(write_run, tmp_path):
    folder = write_run()
    hostile_run(folder)
    # As it is, with its policy: a refused script would be told on the console.
    dom, console = open_in_browser(html.build(folder), tmp_path / "profile")
    assert console == []
    assert dom.count("<svg") == 5 and HOSTILE.replace("<", "&lt;").replace(">", "&gt;") in dom

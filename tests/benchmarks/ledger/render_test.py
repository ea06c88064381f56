"""Generated pages: they equal the ledger, show intervals and dates, and test orders."""

import dataclasses
import json
import pathlib
import re

import numpy as np
import pytest
from scipy import stats

from clwe_jax.evaluate.agreement import Outcomes, number_texts
from benchmarks.ledger import layout, orders, readme, render, rows
from clwe_jax.options import shipped
from clwe_jax.runs import record

ROOT = pathlib.Path(rows.ROOT)
MAIN = "python -m clwe_jax.main --config=configs/"


def row(name, seed=0, **figures):
    figures = {key.replace("__", "/"): value for key, value in figures.items()}
    return {
        "name": name,
        "seed": seed,
        "figures": figures,
        "commands": [f"{MAIN}{name}.py"],
        "seconds": {"processor": 120.0},
        "memory": {"host_peak": 2e9},
        "options": {
            "job": "static",
            "data": {"source": "pocket", "languages": "en,de", "pocket_sentences": 5},
        },
        "data": [{"name": "pocket", "hash": "0"}],
        "commit": "0" * 40,
        "date": "2020-01-01",
    }


def test_the_pages_are_those_of_the_ledger():
    assert not render.differing(), "python -m benchmarks.ledger render"


def test_a_figure_that_is_changed_by_hand_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(render, "ROOT", str(tmp_path))
    for folder in ("docs", "configs"):
        (tmp_path / folder).mkdir()
    render.write()
    assert not render.differing()
    page = tmp_path / "docs" / "results.md"
    text = page.read_text()
    figure = re.search(r"\| (\d+\.\d) \|", text)
    page.write_text(text[: figure.start(1)] + "99.9" + text[figure.end(1) :])
    (found,) = render.differing()
    assert found.startswith("docs/results.md:") and "99.9" in found
    page.write_text(text)
    assert not render.differing()


def test_the_table_of_the_readme_shows_cost_figure_and_floor():
    figures = {"retrieval/mean_csls": 0.9, "floor/retrieval/mean_csls": [0.8, 0.7, 0.9]}
    some = [row("joint_dictionary", seed, **figures) for seed in (0, 1)]
    lines = readme.table({"joint_dictionary": some})
    shown = "| `joint_dictionary` | 2 | 2.0 | sentences found: 90.0 (80.0) |"
    assert shown in lines[2] and lines[3].count("–") == 3
    assert json.loads(readme.minutes({"x": some}, ["x", "y"])) == {
        "x": {"minutes": 2.0, "work": 80}
    }
    systems = {"compare/x/minutes": 3.0, "compare/y/minutes": [4.0, 3.0, 5.0]}
    kept = readme.minutes({"compare": [row("compare", **systems)]}, ["compare"])
    assert json.loads(kept)["compare"]["minutes"] == 7.0
    with pytest.raises(ValueError, match="expected one table"):
        readme.filled("no marks", {})


def test_the_configs_of_the_table_are_shipped():
    assert {line.config for line in readme.LINES} <= shipped.configs().keys()


def test_the_foot_of_a_page_says_when_its_rows_were_measured():
    some = {"x": [row("x"), {**row("x", 1), "commit": "1", "date": "2020-02-01"}], "y": [row("y")]}
    *_, line = render._foot({"x", "absent"}, some)
    assert "2 rows, measured from 2020-01-01 to 2020-02-01 at 2 commits" in line
    assert render._foot({"absent"}, some) == []


def test_the_pages_are_short():
    made = render.pages()
    assert all(len(made[page].splitlines()) <= 250 for page in render.TABLES)


def test_every_table_and_figure_of_the_papers_is_named():
    _, papers, items = layout.items(rows.FOLDER)
    expected = {
        "A": (range(1, 6), range(3, 8)),
        "B": (range(1, 7), range(1, 4)),
        "C": (range(1, 4), range(3, 6)),
        "D": (range(1, 6), range(3, 7)),
        "E": (range(1, 4), range(1, 3)),
    }
    names = [
        f"{x} {kind} {n}"
        for x, both in expected.items()
        for kind, numbers in zip(("Table", "Fig"), both)
        for n in numbers
    ]
    assert [item.name for item in items] == names and list(papers) == list(expected)


def test_the_named_configs_exist():
    for path in render.commands():
        assert (ROOT / path).exists(), path


def test_different_commands_of_the_page_do_not_share_a_folder():
    runs = {}
    for item in layout.items(rows.FOLDER)[2]:
        words = dict(x.lstrip("-").partition("=")[::2] for x in item.command.split())
        if item.command.startswith(MAIN) and not {"help", "plan"} & words.keys():
            folder = words.get("workdir", f"runs/{pathlib.Path(words['config']).stem}")
            name = rows.name_of(item.command)
            assert runs.setdefault(folder, name) == name, item.name


def test_the_rows_of_reproduction_are_published_ones():
    published = layout.published(rows.FOLDER)
    for item in layout.items(rows.FOLDER)[2]:
        assert set(item.rows) <= published.get(item.name, {}).keys(), item.name


def test_no_row_names_a_path_of_one_machine():
    for line in rows.read():
        assert not re.search(r"(?<![\w.])/(tmp|work|root|home)/", str(line)), line["name"]


def test_seeds_give_a_mean_with_its_interval():
    some = [row("x", seed, a=value) for seed, value in enumerate((0.1, 0.2, 0.3))]
    found = orders.figure(some, "a")
    assert found.value == pytest.approx(0.2) and found.seeds == 3
    assert found.error == pytest.approx(4.303 * 0.1 / 3**0.5, rel=1e-3)
    assert render._shown(found, "percent") == "20.0 ± 24.8"
    assert render._shown(orders.figure(some[:1], "a"), "percent") == "10.0"
    assert orders.figure(some, "b") is None


def test_figures_show_three_digits_and_counts_none_behind_the_point():
    values = (0.0414, 1.565, 7.0004, 5.0, 49.0, 49.24, 1234.5)
    shown = [render._shown(orders.Figure(value, None, 1), "number") for value in values]
    assert shown == ["0.041", "1.56", "7.00", "5", "49", "49.2", "1,234"]


def test_a_sum_counts_what_the_row_has():
    some = [row("x", a=1.0, b=[2.0, 1.0, 3.0])]
    assert orders.figure(some, "a + b + absent") == orders.Figure(3.0, None, 1)
    assert orders.figure(some, "absent + gone") is None


def test_a_comparison_becomes_a_line_for_each_system():
    some = [row("compare", compare__a__x=0.1, compare__b__x=0.3)]
    line = layout.TableLine(row="compare", each="compare/", figures=["x"])
    table = layout.ResultsTable(title="T", columns=["x"], lines=[line], cost=False)
    found = list(render._lines(table, {"compare": some}, {}))
    assert [re.search(r"\[(\w)\].*\| ([\d.]+) \|", x).groups() for x in found] == [
        ("b", "30.0"),
        ("a", "10.0"),
    ]


def test_the_figures_of_an_order_have_its_form():
    found = {
        "x": [row("x", bleu__a=[40.25, 39.0, 41.5])],
        "y": [row("y", bleu__a=[30.0, 29.0, 31.0])],
    }
    order = layout.ClaimedOrder(text="T", better="x", worse="y", metric="bleu/*", form="number")
    assert render._both(order, found) == " (x 40.2 ± 1.2; y 30.0 ± 1.0)"
    long = {f"{name} data=a seed={name}": some for name, some in found.items()}
    order = dataclasses.replace(order, better="x data=a seed=x", worse="y data=a seed=y")
    assert render._both(order, long) == " (x seed=x 40.2 ± 1.2; y seed=y 30.0 ± 1.0)"
    with pytest.raises(ValueError, match="T: form 'per cent' is none of"):
        layout.ClaimedOrder(text="T", better="x", worse="y", metric="bleu/*", form="per cent")
    # BLEU is no fraction.
    own = [x for item in layout.items(rows.FOLDER)[2] for x in item.orders]
    pages = [layout.tables(rows.FOLDER, name) for name in render.TABLES.values()]
    own += [x for page in pages for table in page.tables for x in table.orders]
    assert all((x.form == "number") == x.metric.startswith(("bleu/", "clcr/distance")) for x in own)


def test_a_pattern_is_the_mean_of_its_figures():
    some = [row("x", bli__a=[0.2, 0.1, 0.3], bli__b=[0.4, 0.3, 0.5])]
    found = orders.figure(some, "bli/*")
    # Both may be of the same items: the interval is no narrower than that of one.
    assert found.value == pytest.approx(0.3) and found.error == pytest.approx(0.1)


@pytest.mark.parametrize(
    "better, worse, expected",
    [
        ([0.5, 0.45, 0.55], [0.2, 0.15, 0.25], orders.YES),
        ([0.2, 0.15, 0.25], [0.5, 0.45, 0.55], orders.NO),
        ([0.3, 0.2, 0.4], [0.25, 0.15, 0.35], orders.SAME),
    ],
)
def test_items_decide_the_order_of_one_seed(better, worse, expected):
    found = orders.verdict([row("x", a=better)], [row("y", a=worse)], "a")
    assert found == (expected if expected == orders.SAME else f"{expected} (one seed)")
    # A comparison is one row of several seeds, whose intervals are over them; a system may have one.
    figures = {"compare/a/x": better, "compare/b/x": worse, "compare/a/seeds": 3}
    for seeds, verdict in ((3, expected), (1, found)):
        compared = [row("x", **figures, **{"compare/b/seeds": seeds})]
        assert orders.verdict(compared, compared, "compare/a/x", "compare/b/x") == verdict
    assert orders.figure(compared, "compare/a/x").seeds == 3


def test_the_same_items_are_paired():
    # Of 400 items the first system alone has 20 right, the second alone 4: more than chance, although
    # the intervals overlap.
    right = np.zeros(400, bool)
    right[:200] = True
    other = right.copy()
    other[:20], other[396:] = False, True
    numbers = number_texts(map(str, range(400)))
    interval = [0.5, 0.45, 0.55], [0.46, 0.41, 0.51]
    some = [
        {**row("x", a=figure), **record._pack_outcomes({"a": Outcomes(items, numbers)})}
        for figure, items in zip(interval, (right, other))
    ]
    assert orders.verdict(some[:1], some[1:], "a") == "yes (one seed)"
    assert orders.verdict(some[1:], some[:1], "a") == "no (one seed)"
    some[1]["data"] = [{"name": "pocket", "hash": "1"}]  # other items: the intervals decide
    assert orders.verdict(some[:1], some[1:], "a") == orders.SAME
    again = record.outcomes(some[1], "a")
    assert again.right.tolist() == other.tolist() and again.items.tolist() == numbers.tolist()


def test_directions_of_the_same_items_are_one_observation():
    right = np.arange(400) < 200
    better = right | (np.arange(400) >= 393)  # seven items more
    numbers = {True: [np.arange(400)] * 4, False: np.split(np.arange(1_600), 4)}

    def of(name, hits, shared):
        parts = {f"a/{n}": Outcomes(hits, items) for n, items in enumerate(numbers[shared])}
        share = hits.mean()
        return {
            **row(name, **dict.fromkeys(parts, [share, share - 0.05, share + 0.05])),
            **record._pack_outcomes(parts),
        }

    errors = [orders.figure([of("x", right, shared)], "a/*").error for shared in (True, False)]
    quantiles = stats.t.ppf(0.975, [399, 1_599])
    np.testing.assert_allclose(errors, quantiles * 0.5 / np.sqrt([400, 1_600]))
    # 28 wins are 7 in four directions: p = .016; three items in four directions are no 12 wins.
    few = right | (np.arange(400) >= 397)
    for shared, expected in ((True, orders.SAME), (False, "yes (one seed)")):
        found = [of(name, hits, shared) for name, hits in (("x", few), ("y", right))]
        assert orders.verdict(found[:1], found[1:], "a/*") == expected
    two = [of("x", better, True)], [of("y", right, True)]
    assert orders.verdict(*two, "a/*") == "yes (one seed)"
    # A row without numbers counts items by their line.
    bare = [{k: v for k, v in x.items() if k != "items"} for x in found]
    assert orders.verdict(bare[:1], bare[1:], "a/*") == orders.SAME


def test_a_star_stands_for_a_part_of_a_path():
    """Outcomes of sif are not kept: with them among the pattern's figures no items were paired."""
    names = ["retrieval/de-en/mean", "retrieval/sif/de-en/mean", "retrieval/de-en/mean_csls"]
    assert orders.matching("retrieval/*-*/mean", names) == names[:1]
    assert orders.matching("retrieval/*", ["retrieval/mean", "retrieval/de-en/mean"]) == [
        "retrieval/mean"
    ]
    numbers, right = number_texts(map(str, range(400))), np.arange(400) < 200
    sides = []
    for name, hits in (("x", right | (np.arange(400) >= 385)), ("y", right)):
        figures = {"r/de-en/mean": float(hits.mean()), "r/sif/de-en/mean": 0.5}
        own = row(name) | {"figures": figures}
        sides.append([own | record._pack_outcomes({"r/de-en/mean": Outcomes(hits, numbers)})])
    assert orders.verdict(*sides, "r/*-*/mean") == "yes (one seed)"


def test_the_order_is_that_of_the_figures():
    """More items right in a large part, and a lower mean of both parts."""
    parts = {"r/a": np.arange(600), "r/b": 600 + np.arange(60)}
    sides = []
    for name, ours in (("x", {"r/a": 40, "r/b": 0}), ("y", {"r/a": 0, "r/b": 16})):
        found = {k: Outcomes(x - x[0] < ours[k], x) for k, x in parts.items()}
        figures = {k: float(x.right.mean()) for k, x in found.items()}
        sides.append([row(name) | {"figures": figures} | record._pack_outcomes(found)])
    assert orders.verdict(*sides, "r/*") == "no (one seed)"


def test_seeds_are_paired():
    # The same seeds differ by the same amount, and by less than other seeds do.
    x = [row("x", seed, a=value) for seed, value in enumerate((0.11, 0.31, 0.52))]
    y = [row("y", seed, a=value) for seed, value in enumerate((0.1, 0.3, 0.5))]
    assert orders.verdict(x, y, "a") == orders.SAME
    x[2]["figures"]["a"] = 0.511
    assert orders.verdict(x, y, "a") == orders.YES and orders.verdict(y, x, "a") == orders.NO
    assert orders.verdict(x, [], "a") == orders.ABSENT
    assert orders.verdict(x[:1], y[:1], "a") == orders.SAME  # one seed without an interval


def test_a_wrong_layout_is_named(tmp_path):
    (tmp_path / "some.toml").write_text('text = ""\n[[table]]\ntitle = "T"\nheads = []\n')
    with pytest.raises(ValueError, match="'T'.*heads"):
        layout.tables(str(tmp_path), "some.toml")
    with pytest.raises(ValueError, match="2 figures for 1 columns"):
        layout.ResultsTable(
            title="T", columns=["a"], figures=["b", "c"], lines=[layout.TableLine(row="x")]
        )

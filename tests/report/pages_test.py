"""What a wing says of its runs: it is found by the job alone, and `report/` knows no wing."""

import ast
import json
import pathlib
import re

from rich.console import Console

from clwe_jax import registry, report
from clwe_jax.report import page, pages, run_folder, tables
from clwe_jax.report.data import Section
from clwe_jax.report.headline import Headline
from clwe_jax.report.verdict import Verdict


def extra(run, others):
    return Section("A section of its own", "It stands behind retrieval.")


class Toy(page.Page):
    """The page of a kind of run outside the package."""

    purpose = "nothing"
    shown_prefixes = ("dictionary/",)
    own_sections = (extra,)

    def verdicts(self, run):
        return [None, Verdict("It runs.", "More:", "toy --more")]

    def headlines(self, run):
        return [Headline("dictionary/coverage", "Toys")]

    def facts(self, run):
        return {"Wheels": "four"}

    def vectors(self, run):
        return "toy.vec"

    def code(self, run):
        return ""


def test_a_wing_outside_says_its_own(write_run, page_of, monkeypatch):
    folder = write_run()
    before = page_of(folder)
    monkeypatch.setitem(registry.TABLES["page"], "toy", f"{__name__}:Toy")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "job": "toy"}))
    after = page_of(folder)
    titles = [[x.text for x in one.all("h2")] for one in (before, after)]
    place = titles[1].index("A section of its own")
    assert titles[1][place - 1] == "Lexicon induction" and titles[1][place + 1] == "Training"
    assert "Use this model" in titles[0] and "Use this model" not in titles[1]
    assert "Other figures" in titles[0] and "Other figures" not in titles[1]
    tile = after.all("div", **{"class": "tile first"})[0]
    assert tile.text.split() == ["Toys34.2%"]
    assert after.section("Speed and memory").text.count("four") == 1
    assert "Intended for nothing" in after.text and "toy.vec" in after.text
    assert "It runs." in after.all("p", **{"class": "reached"})[0].text
    console = Console(record=True, width=100)
    tables.print_summary({}, folder, console)
    assert "It runs.\nMore:\n  toy --more" in console.export_text()


def test_every_job_with_a_folder_has_a_page():
    assert registry.TABLES["page"].keys() == registry.TABLES["job"].keys() - {"evaluate"}


def test_an_unknown_kind_of_run_has_the_page_of_all(write_run):
    folder = write_run()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "job": "unheard of"}))
    assert type(pages.choose_page(run_folder.read(folder))) is page.Page


def test_only_the_choice_of_a_page_asks_for_the_job():
    asked = {"registry": set(), "job": set()}
    for path in pathlib.Path(report.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node)
                if called.startswith("registry."):
                    asked["registry"].add(path.name)
                if re.search(r"\.option\('job'", called):
                    asked["job"].add(path.name)
    assert asked == {"registry": {"pages.py", "evaluations.py"}, "job": {"pages.py"}}

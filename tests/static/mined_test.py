"""A static run that mines its text: files, figures, report, resume, and vectors."""

import json
import os

import pytest

from clwe_jax import options, pocket, presets
from clwe_jax.embeddings import mining
from clwe_jax.embeddings.text_links import TextLinks
from clwe_jax.static import job as static, mined
from clwe_jax.text.corpus import parallel
from clwe_jax.text.dictionary import pair_files
from clwe_jax.text.dictionary.merged import Dictionary


def _config(**overrides):
    config = presets.static("laptop")
    config.static.update(training="dictionary", refinement=False, mine=True, induced_words=0)
    config.static.mining.rounds = 2
    config.data.update(languages="en,de", pocket_sentences=1_500, pocket_shared=0.1)
    config.embeddings.update(dim=64, min_count=2)
    config.evals.bli.update(methods="nn")
    config.evals.retrieval.max_sentences = 100
    found = options.with_values(options.parse(config), overrides)
    found.resolve().check_all()
    return found


def _read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file) if name.endswith(".json") else file.read().splitlines()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    workdir = str(tmp_path_factory.mktemp("runs") / "mined")
    assert static.run(_config(), workdir)
    return workdir


def test_files_can_be_read_by_people_and_by_other_runs(run):
    folder = os.path.join(run, "mined")
    [files] = parallel.find(folder, ("en", "de"), "task.parallel")
    pairs = parallel.read(files)
    places = _read(folder, "de-en.places.txt")
    assert len(pairs.source) == len(places) > 100
    text = {x: _read(run, f"pocket/text/{x}.txt") for x in ("de", "en")}
    for line, source, target in zip(places, pairs.source, pairs.target):
        margin, *both = line.split("\t")
        assert margin == "beside" or float(margin) >= 1.02
        for place, sentence in zip(both, (source, target)):
            name, number = place.split(":")
            assert text[name.partition(".")[0]][int(number) - 1] == sentence
    words = pair_files.read_pairs(os.path.join(folder, "dictionary", "de-en.txt"))
    assert len(words.left) > 200 and words.bad_count == 0
    assert _read(folder, "de-en.refused.txt")


def test_figures_and_report_say_what_was_found(run):
    figures, report = _read(run, "results.json"), _read(run, "report.json")
    assert figures["mined/de-en/precision"] > 0.85 and figures["mined/de-en/recall"] > 0.85
    [section] = [x for x in report["sections"] if x["title"] == "Mined translations"]
    assert {block["kind"] for block in section["blocks"]} == {"table", "chart"}
    assert "mining" in report["static"]["stages"]


def test_what_was_mined_is_kept(run, tmp_path, monkeypatch):
    figures = _read(run, "results.json")
    for name in ("results.json", "report.json", "report.html"):
        os.remove(os.path.join(run, name))
    monkeypatch.setattr(mining, "grow", lambda *args: pytest.fail("mined again"))
    assert static.run(_config(), run)
    assert _read(run, "results.json") == figures


def test_words_are_found_that_the_dictionary_lacks(run, tmp_path):
    assert static.run(_config(**{"static.mine": False}), str(tmp_path / "plain"))
    plain, mined = _read(str(tmp_path / "plain"), "results.json"), _read(run, "results.json")
    # The dictionary has nearly all words of the test, so that no more sentences can be found.
    assert mined["retrieval/mean"] >= plain["retrieval/mean"] - 0.01
    assert mined["bli/de-en/p@1"] > plain["bli/de-en/p@1"] + 0.1


def test_mined_words_count_beside_trained_vectors_too(tmp_path):
    found = {}
    for mine in (False, True):
        both = {"static.training": "joint", "static.dictionary_dim": 64, "static.mine": mine}
        folder = str(tmp_path / str(mine))
        assert static.run(_config(**both, **{"embeddings.epochs": 1, "embeddings.dim": 16}), folder)
        found[mine] = _read(folder, "results.json")["bli/de-en/p@1"]
    assert found[True] > found[False] + 0.1


def test_text_without_common_documents_changes_nothing(tmp_path):
    found = {}
    for mine in (False, True):
        workdir = str(tmp_path / str(mine))
        overrides = {"static.mine": mine, "data.pocket_shared": 0.0, "data.pocket_apart": True}
        assert static.run(_config(**overrides), workdir)
        found[mine] = _read(workdir, "results.json")
    assert found[True] == found[False]


def test_a_judge_accepts_taken_pairs_and_few_refused_ones(run, tmp_path):
    """The judge is the run itself; with other vectors it would be independent."""
    grown = TextLinks.load(os.path.join(run, "trained", "mined.npz"))
    dictionary = Dictionary.from_pairs({("de", "en"): pocket.dictionary("de", "en")})
    found = mined.write(grown, dictionary, str(tmp_path / "mined"), judge=f"run:{run}")
    judged = {x.removeprefix("mined/de-en/judged/"): y for x, y in found.figures.items()}
    assert judged["taken/1.5"] > 0.8 > judged["refused/1.02"]
    [section] = found.sections
    assert any(x.get("title") == "Pairs that the judge accepts" for x in section["blocks"])


def test_mined_words_are_written_as_the_language_has_them(run, tmp_path):
    grown = TextLinks.load(os.path.join(run, "trained", "mined.npz"))
    plain, spelled = tmp_path / "plain", tmp_path / "spelled"
    mined.write_dictionaries(grown.links, str(plain), {})
    rows = (plain / "de-en.txt").read_text("utf-8").splitlines()
    word = rows[0].split("\t")[0]
    mined.write_dictionaries(grown.links, str(spelled), {"de": {word: f"{word}’s"}})
    found = (spelled / "de-en.txt").read_text("utf-8").splitlines()
    assert [row.replace(f"{word}’s\t", f"{word}\t") for row in found] == rows
    assert found[0].startswith(f"{word}’s\t")


def test_mining_needs_text_and_vectors_of_a_dictionary():
    with pytest.raises(ValueError, match="static.mine=True"):
        _config(**{"static.training": "joint"})
    overrides = {"align.source_vectors": "a.vec", "align.target_vectors": "b.vec"}
    with pytest.raises(ValueError, match="static.mine=True"):
        _config(**overrides)

"""Edge probing from end to end: files of spans, a frozen encoder, another language."""

import json
import random

import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.text.labelled import labelled_files
from clwe_jax.transfer import data as transfer_data, job as transfer

KINDS = ("man", "dog", "eats", "sees")
ROLES = {"man": ["agent"], "dog": ["agent", "animal"]}


def sentence(language, draw):
    """A verb, and two of its arguments somewhere: the label follows from the noun of the phrase."""
    number = draw.randrange(30)
    nouns = draw.sample(["man", "dog"], 2)
    words = [
        f"the.{language}",
        f"{nouns[0]}{number}.{language}",
        f"sees{number}.{language}",
        f"{nouns[1]}{number}.{language}",
    ]
    spans = [[0, 2], [3, 4]]
    targets = [
        {"span1": [2, 3], "span2": span, "label": ROLES[noun]} for span, noun in zip(spans, nouns)
    ]
    return json.dumps({"text": " ".join(words), "targets": targets})


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder, draw, rng = tmp_path_factory.mktemp("edges"), random.Random(0), np.random.default_rng(0)
    kinds = {kind: rng.normal(size=16) for kind in (*KINDS, "the.")}
    vectors = []
    for language in ("en", "de"):
        words = {
            f"{kind}{number}.{language}": kinds[kind] + 0.3 * rng.normal(size=16)
            for kind in KINDS
            for number in range(30)
        }
        words[f"the.{language}"] = kinds["the."]
        path = folder / f"{language}.vec"
        files.write(str(path), Vectors(list(words), np.array(list(words.values()), np.float32)))
        vectors.append(f"{language}={path}")
    (folder / "tests").mkdir()
    for name, language, count in (
        ("en.train.json", "en", 60),
        ("tests/en.test.json", "en", 20),
        ("tests/de.test.json", "de", 20),
    ):
        lines = "\n".join(sentence(language, draw) for _ in range(count))
        (folder / name).write_text(lines + "\n", encoding="utf-8")
    found = presets.transfer("laptop", "edge/spr", "edge")
    found.encoder, found.system = "vec:" + ",".join(vectors), "toy"
    found.data.languages = "en,de"
    found.transfer.update(
        train=f"en:{folder / 'en.train.json'}", tests=str(folder / "tests"), seeds=2
    )
    found.transfer.head.update(width=8, hidden=8, dropout=0.0)
    found.recipe.update(learning_rate=0.02, epochs=12, patience=0)
    return options.parse(found)


@pytest.fixture(scope="module")
def run(config, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("run"))
    config.check_all()
    labelled_files.check(config, folder)
    assert transfer.run(config, folder)
    return folder


def test_labels_of_spans_are_found_in_another_language(run):
    with open(f"{run}/results.json", encoding="utf-8") as file:
        figures = json.load(file)
    for language in ("en", "de"):
        assert figures[f"edge/spr/{language}/f1"] > 0.9
        assert {"precision", "recall"} <= {x.rpartition("/")[2] for x in figures}
    assert figures["zero_shot/edge/spr/mean_f1"] == figures["edge/spr/de/f1"]
    with open(f"{run}/report.html", encoding="utf-8") as file:
        page = file.read()
    assert "Edges: proto-roles: by label" in page and "label_spans" in page
    assert "is left out" not in page


def test_spans_of_a_sentence_are_training_or_development_rows_together(config):
    data = transfer_data.read(config)
    train, dev = ({row.words for row in rows["en"]} for rows in (data.train, data.dev))
    assert train and dev and not train & dev
    counts = [len(rows["en"]) for rows in (data.train, data.dev)]
    assert sum(counts) == 120 and 20 <= counts[1] < 40


def test_a_loaded_probe_labels_spans(run):
    model = api.load(run)
    words = ["the.de", "dog3.de", "sees3.de", "man3.de"]
    rows = [(words, [(2, 3), (0, 2)]), (words, [(2, 3), (3, 4)])]
    assert model.label_spans(rows, lang="de") == [("agent", "animal"), ("agent",)]
    assert model.label_spans([], lang="de") == []
    for spans in ([(0, 1)], [(0, 1), (3, 5)], [(0, 1), (2, 2)]):
        with pytest.raises(ValueError, match="2 of .* 4 words"):
            model.label_spans([(words, spans)], lang="de")
    with pytest.raises(ValueError, match=r"labels spans \(agent, animal\): label_spans"):
        model.tag(["x"], lang="de")


def check(config, values, folder):
    """All checks of options at the start of a run."""
    changed = options.with_values(config, {"transfer": values})
    changed.check_all()
    labelled_files.check(changed, folder)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"head": {"name": "linear"}}, "head.name='linear' does not fit the task 'edge/spr'"),
        ({"mode": "tune"}, "config.transfer.mode='tune': 'edge/spr' measures what frozen vectors"),
        ({"translate": "test"}, "config.transfer.translate='test': the spans of 'edge/spr'"),
        ({"reduce": "extract,reorder"}, "the order of a span's words does not count"),
        ({"pivot_probability": 2.0}, "config.transfer.pivot_probability=2.0"),
        ({"train": "", "tests": ""}, "'edge/spr': the embedded world has no such labels"),
    ],
)
def test_options_that_do_not_fit_are_named(config, values, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        check(config, values, str(tmp_path))


def test_words_have_no_probe(config):
    changed = options.with_values(config, {"transfer.task": "ner"})
    with pytest.raises(ValueError, match="'edge' .*'ner'"):
        changed.check_all()

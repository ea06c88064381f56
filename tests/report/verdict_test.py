"""The verdict on a run: its figure beside the floor, and the next step of a run below it."""

import json
import shlex

import pytest
from rich.console import Console

from clwe_jax.report import pages, run_folder, tables


def verdict_on(folder):
    run = run_folder.read(folder)
    return pages.choose_page(run).verdict(run)


BELOW = {"floor/retrieval/mean_csls": 0.999, "retrieval/chance": 0.001}


@pytest.fixture
def judged(write_run):
    """Writes a run with further figures and options; its verdict."""

    folders = []

    def made(figures, options={}, extras={}):
        folder = write_run(f"run{len(folders)}")
        folders.append(folder)
        path = folder / "results.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | figures))
        for name, more in (("config.json", options), ("report.json", extras)):
            path = folder / name
            path.write_text(json.dumps(json.loads(path.read_text()) | more))
        return folder, verdict_on(folder)

    return made


def test_a_model_from_random_parameters_is_sent_to_the_warm_start(judged):
    command = "python -m clwe_jax.main --config=configs/dict_mlm_50.py --workdir=x --config.data.source=text:d"
    _, found = judged(BELOW, extras={"command": command.split()})
    assert "The dictionary floor" in found.text and "99.9%" in found.text
    assert (
        "(chance: 0.1%)" in found.text
        and "below its floor" in found.text
        and "random parameters" in found.why
    )
    assert found.command == "clwe-jax --config=warm_dict_mlm --config.data.source=text:d"

    _, small = judged(BELOW, {"scale": "small"}, {"command": command.split()})
    assert small.command == "clwe-jax --config=warm_dict_mlm:small --config.data.source=text:d"

    given = ["x", "--config=configs/xlm.py", "--config.data.pairs=d"]
    _, xlm = judged(BELOW, extras={"command": given})
    assert xlm.command.endswith("warm_dict_mlm --config.data.pairs=d --config.finish.pairs=given")


def test_the_next_step_has_the_languages_of_the_run(judged):
    """A config such as bi_saelmo has languages of its own; the next one has others."""
    own = {"data": {"languages": "en,de"}}
    _, found = judged(BELOW, own, {"command": ["x", "--config=configs/bi_saelmo.py"]})
    assert found.command == "clwe-jax --config=warm_dict_mlm --config.data.languages=en,de"
    given = ["x", "--config=configs/bi_saelmo.py", "--config.data.languages=en,de"]
    assert judged(BELOW, own, {"command": given})[1].command == found.command


def test_the_next_step_has_the_options_as_they_were_given(judged, page_of):
    words = ["--config.data.pairs", "d e", "--config.data.held_out=LUK 3", "--config.seed", "-1"]
    folder, found = judged(BELOW, extras={"command": ["x", "--config", "configs/mbert.py", *words]})
    options = ["--config.data.pairs=d e", "--config.data.held_out=LUK 3", "--config.seed=-1"]
    assert shlex.split(found.command)[2:] == [*options, "--config.finish.pairs=given"]
    own = page_of(folder).all("pre", **{"class": "command"})[-1]
    assert shlex.split(own.text) == ["x", "--config=configs/mbert.py", *options]


def test_the_next_step_has_the_options_of_its_system_alone(judged):
    words = ["--config.data.sequence_length=32", "--config.evals.mlm.every_steps=0"]
    words += ["--config.evals.senses.data=", "--config.data.lower_case=False"]
    given = {"command": ["x", "--config=configs/warm_dict_mlm.py", *words]}
    _, found = judged(BELOW, {"init": {"embeddings": "joint"}}, given)
    assert found.command == "clwe-jax --config=joint_dictionary --config.data.lower_case=False"
    given = {"command": ["x", "--config=configs/mbert.py", *words]}
    expected = [word for word in words if "senses" not in word]
    assert shlex.split(judged(BELOW, extras=given)[1].command)[2:] == expected
    # Word vectors are trained on files of text.
    given = {"command": ["x", "--config=configs/mbert.py", "--config.data.source=batches:x"]}
    assert judged(BELOW, extras=given)[1].command.endswith("mlm --config.data.source=text:DIR")


def test_other_systems_have_other_next_steps(judged):
    _, warm = judged(BELOW, {"init": {"embeddings": "joint"}})
    assert warm.command == "clwe-jax --config=joint_dictionary"
    assert "random parameters" not in warm.why
    static = {"job": "static", "static": {"training": "joint", "dictionary_dim": 0}}
    assert judged(BELOW, static)[1].command == "clwe-jax --config=joint_dictionary"
    static["static"]["dictionary_dim"] = 512
    found = judged(BELOW, static)[1]
    assert not found.command and "more text" in found.why


def test_above_the_floor_and_without_one(judged):
    _, found = judged({"floor/retrieval/mean_csls": 0.01})
    assert "1.0%: +" in found.text and not found.command
    _, found = judged({})
    assert "floor" not in found.text
    _, found = judged({"floor/retrieval/mean": 0.01})
    assert "by cosine" in found.text


def test_it_is_the_first_sentence_of_the_page_and_the_end_of_the_run(judged, page_of):
    folder, found = judged(BELOW)
    page = page_of(folder)
    assert found.text in page.all("p", **{"class": "reached"})[0].text
    assert found.command in page.all("pre", **{"class": "command"})[0].text
    console = Console(record=True, width=1_000)
    tables.print_summary(json.loads((folder / "results.json").read_text()), folder, console)
    last = " ".join(console.export_text().split("Report:")[0].split())
    assert last.endswith(" ".join([found.text, *found.further, found.why, found.command]))


def test_the_first_sentence_is_of_one_measurement_and_the_others_are_a_list(judged, page_of):
    folder, found = judged({"floor/bli/p@1": 0.01})
    assert "sentences" in found.text and "words" not in found.text
    [other] = found.further
    assert "of the words" in other
    page = page_of(folder)
    assert other in page.all("ul", **{"class": "further"})[0].text
    assert other not in page.all("p", **{"class": "reached"})[0].text


COMMAND = (
    "x --config=joint_align --workdir=w --config.data.source=text:d --config.evals.retrieval.data="
)


@pytest.fixture
def of(tmp_path):
    """The verdict on a run with these figures and options."""

    def made(figures, **options):
        (tmp_path / "config.json").write_text(json.dumps(options))
        (tmp_path / "results.json").write_text(json.dumps(figures))
        (tmp_path / "report.json").write_text(json.dumps({"command": COMMAND.split()}))
        return verdict_on(tmp_path)

    return made


NLI = {"job": "transfer", "transfer": {"task": "xnli", "train": "en"}}
ACCURACIES = {
    "xnli/en/acc": 0.7,
    "xnli/de/acc": 0.4,
    "xnli/fr/acc": 0.36,
    "zero_shot/xnli/mean_acc": 0.38,
}


def test_labels_stand_beside_the_most_frequent_one(of):
    low = ACCURACIES | {f"xnli/{x}/majority": 0.335 for x in ("en", "de", "fr")}
    found = of(low, **NLI)
    assert "38.0%" in found.text and "(de, fr); 70.0% in en" in found.text
    assert "is 33.5%: +4.5 points." in found.text and not found.command
    found = of(low | {"xnli/de/majority": 0.5}, **NLI)
    assert "41.8%" in found.text
    assert found.command == "clwe-jax guide transfer"


def test_names_have_no_floor(of):
    names = {"job": "transfer", "transfer": {"task": "ner", "train": "en"}}
    found = of({"ner/en/f1": 0.97, "ner/de/f1": 0.6, "zero_shot/ner/mean_f1": 0.6}, **names)
    assert "60.0%" in found.text and "(de); 97.0% in en" in found.text
    assert "no floor" in found.why and found.command == "clwe-jax guide results"
    assert of({"ner/en/f1": 0.97}, **names).text.endswith(
        "F1: 97.0% in en, whose labels were learned."
    )


def test_a_translator_stands_beside_its_words_one_by_one(of):
    figures = {"bleu/de-en": 4.0, "bleu/en-de": 6.0, "bleu/mean": 5.0, "floor/bleu/mean": 7.25}
    translator = {"job": "pretrain", "objective": {"name": "unsupervised_translation"}}
    found = of(figures, **translator)
    assert found.text.startswith("BLEU 5 of") and "7.25" in found.text
    assert "below its floor" in found.text and found.command == "clwe-jax guide translation"
    assert not of(figures | {"bleu/mean": 8.0}, **translator).command
    both = of({**figures, "bleu/mean": 8.0, "retrieval/mean": 0.5}, **translator)
    assert "50.0% of the sentences" in both.text and "BLEU 8 of" in both.further[0]
    both = of({**figures, "retrieval/mean": 0.5, "floor/retrieval/mean": 0.9}, **translator)
    assert "50.0% of the sentences" in both.text and both.text.endswith("below its floor.")
    assert both.further[0].endswith("below its floor.")
    assert both.why.endswith("the guide says what else:")  # the command follows
    assert both.command == "clwe-jax guide translation"
    assert of(figures, job="static").command.startswith("clwe-jax --config=joint_dictionary")


def test_clcr_stands_beside_regression(of):
    figures = {"clcr/f1/annealed": 0.81, "clcr/f1/regression": 0.6}
    assert (
        "81.0% by the map. The floor, linear regression, is 60.0%: +21.0"
        in of(figures, job="clcr").text
    )
    assert of(figures | {"clcr/f1/regression": 0.9}, job="clcr").command == "clwe-jax guide clcr"


def test_words_where_no_sentences_were_compared(of):
    figures = {"bli/p@1_csls": 0.2, "bli/chance": 0.0005, "floor/bli/p@1_csls": 0.1}
    found = of(figures, job="static")
    assert found.text.startswith("20.0% of the words")
    assert "is 10.0%: +10.0 points." in found.text
    assert of(figures | {"bli/p@1_csls": 0.05}, job="static").command.startswith(
        "clwe-jax --config=joint_dic"
    )


def test_words_of_one_string_are_not_counted_where_they_have_no_vector(of):
    """P@1 of all test words counts a word without a vector as found where it is its own translation."""
    figures = {"bli/de-en/p@1_csls": 0.6, "bli/p@1_csls": 0.6}
    figures |= {"bli/de-en/p@1_csls_distinct": 0.2, "bli/p@1_csls_distinct": 0.2}
    figures |= {"floor/bli/de-en/p@1_csls": 0.5, "floor/bli/de-en/p@1_csls_distinct": 0.3}
    found = of(figures, job="static")
    assert found.text.startswith("20.0% of the test words that")
    assert "30.0%" in found.text and found.command


def test_a_run_without_test_sets_says_how_it_is_measured(of, tmp_path):
    found = of({}, job="static", evals={"retrieval": {"data": ""}}, data={"languages": "en,de"})
    assert "--languages=en,de" in found.why
    assert found.command == (
        f"clwe-jax --config=joint_align --config.data.source=text:d --workdir={tmp_path} "
        "--config.job=evaluate --config.evals.retrieval.data=tatoeba"
    )
    # Tatoeba's pairs are with English.
    found = of({}, job="static", evals={"retrieval": {"data": ""}}, data={"languages": "uk,fa"})
    assert "clwe-jax data flores --languages=uk,fa" in found.why
    assert found.command.endswith("--config.evals.retrieval.data=flores/devtest")
    (tmp_path / "results.json").unlink()
    assert verdict_on(tmp_path) is None


def test_the_directions_are_those_of_the_figure_and_of_the_floor(of):
    """A language model has figures of its layers in one direction, and of its floor in both."""
    figures = {"retrieval/mean_last4_csls": 0.4, "floor/retrieval/mean_csls": 0.5}
    for pair, value, level in (("de-en", 0.3, 0.2), ("fr-en", 0.5, 0.4)):
        back = "-".join(reversed(pair.split("-")))
        figures |= {f"retrieval/{pair}/mean_last4_csls": value, f"retrieval/{back}/chance": 0.1}
        figures |= {f"floor/retrieval/{pair}/mean_csls": level}
        figures |= {f"floor/retrieval/{back}/mean_csls": 0.9}
    found = of(figures, job="pretrain", evals={"retrieval": {}})
    assert "40.0% of the sentences" in found.text and "mean of 2 directions" in found.text
    assert "is 30.0%: +10.0 points." in found.text
    # Of a pair that the dictionary lacks there is no floor.
    del figures["floor/retrieval/fr-en/mean_csls"]
    found = of(figures, job="pretrain", evals={"retrieval": {}})
    assert "is 20.0% over 1 of" in found.text and "30.0%: +10" in found.text

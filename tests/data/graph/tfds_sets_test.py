"""Labelled and parallel data sets of TFDS, read as the published files are."""

import pytest
import tensorflow_datasets as tfds

from clwe_jax import options, presets
from clwe_jax.data import pairs
from clwe_jax.data.graph import tfds_sets
from clwe_jax.text.corpus import parallel
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.labelled import Labelled, Tagged
from clwe_jax.text.labelled.tagged import Ner, Pos
from clwe_jax.text.labelled.texts import PawsX, Xnli
from clwe_jax.transfer import data as transfer_data

FEATURES = tfds.features


def built(name, features, splits, folder, configs=("",)):
    """Writes a data set as TFDS does.

    Args:
      features: feature by name, or the feature that is a whole row.
      splits: split -> function from the config's name to the examples.
      configs: names of its configs; '' for one without a name.
    """

    class Builder(tfds.core.GeneratorBasedBuilder, skip_registration=True):
        VERSION = tfds.core.Version("1.0.0")
        BUILDER_CONFIGS = [tfds.core.BuilderConfig(name=x, version="1.0.0") for x in configs if x]

        def _info(self):
            found = FEATURES.FeaturesDict(features) if isinstance(features, dict) else features
            return tfds.core.DatasetInfo(builder=self, features=found, disable_shuffling=True)

        def _split_generators(self, dl_manager):
            config = self.builder_config.name if self.builder_config else ""
            return {split: enumerate(make(config)) for split, make in splits.items()}

        def _generate_examples(self):
            """Asked for by TFDS; the splits above have the examples."""

    made = type(name, (Builder,), {"name": name})
    for config in configs:
        options = {"config": config} if config else {}
        made(data_dir=folder, **options).download_and_prepare()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = str(tmp_path_factory.mktemp("tfds"))
    words = FEATURES.Sequence(FEATURES.Text())
    kinds = FEATURES.Sequence(FEATURES.ClassLabel(names=["O", "B-PER", "I-PER"]))
    chunks = FEATURES.Sequence(FEATURES.ClassLabel(names=["B-NP", "I-NP", "O"]))
    parts = FEATURES.Sequence(FEATURES.ClassLabel(names=["NOUN", "PROPN", "VERB"]))

    def sentences(language):
        yield {
            "tokens": [language, "Ann", "Lee"],
            "tags": [0, 1, 2],
            "upos": [0, 1, 1],
            "chunks": [0, 1, 1],
        }
        yield {"tokens": ["two words\n", "x"], "tags": [0, 0], "upos": [2, 0], "chunks": [0, 0]}

    many = lambda language: (row for _ in range(30) for row in sentences(language))
    tagged = {"tokens": words, "tags": kinds, "upos": parts, "chunks": chunks}
    splits = {"train": many, "validation": sentences, "test": sentences}
    built("tiny_names", tagged, splits, found, ("en", "de"))

    def inference(_):
        yield {
            "premise": {"en": "It\train\ns.", "de": "Es regnet."},
            "hypothesis": {"de": "Es ist nass.", "en": "It is wet."},
            "label": 0,
        }
        yield {"premise": {"en": "a", "de": "b"}, "hypothesis": {"de": "c"}, "label": -1}

    pair = {
        "premise": FEATURES.Translation(languages=["en", "de"]),
        "hypothesis": FEATURES.TranslationVariableLanguages(languages=["en", "de"]),
        "label": FEATURES.ClassLabel(names=["entailment", "neutral", "contradiction"]),
    }
    built("tiny_xnli", pair, {"test": inference}, found)
    same = {
        "sentence1": FEATURES.Text(),
        "sentence2": FEATURES.Text(),
        "label": FEATURES.ClassLabel(names=["different_meaning", "paraphrase"]),
    }
    row = {"sentence1": "a b", "sentence2": "b a", "label": 1}
    built("tiny_pairs", same, {"train": lambda _: [row]}, found)
    sides = FEATURES.TranslationVariableLanguages(languages=["en", "de", "fr"])
    rows = [
        {"title": "x", "lines": {"en": "a\tb", "de": "c", "fr": "d"}},
        {"title": "y", "lines": {"en": "e", "fr": "f"}},
        {"title": "z", "lines": {"de": "g", "en": ""}},
    ]
    many = {"title": FEATURES.Text(), "lines": sides}
    built("tiny_talks", many, {"train": lambda _: rows}, found)
    two = FEATURES.Translation(languages=["en", "de"])
    built("tiny_wmt", two, {"train": lambda _: [{"en": "a", "de": "b"}]}, found)
    built("tiny_text", {"text": FEATURES.Text()}, {"test": lambda _: [{"text": "a"}]}, found)
    return found


def path(name, folder, language="de", use="test"):
    return tfds_sets.labelled_rows(f"tfds:{name}", language, use, folder)


def test_words_and_their_labels(folder):
    where = path("tiny_names/{lang}", folder)
    names = Ner(types="PER").read(where, "de").rows
    assert names[0] == Tagged(("de", "Ann", "Lee"), ("O", "B-PER", "I-PER"))
    assert names[1].words == ("two words ", "x")  # a line end is no end of a word's line
    parts = Pos().read(where, "de").rows
    assert [row.tags for row in parts] == [("NOUN", "PROPN", "PROPN"), ("VERB", "NOUN")]


def test_texts_and_their_translations(folder):
    where = path("tiny_xnli", folder)
    german, english = (Xnli().read(where, language) for language in ("de", "en"))
    assert german.rows == (Labelled(("Es regnet.", "Es ist nass."), "entailment"),)
    assert german.skipped == {"no agreed label (-)": 1}
    assert english.rows == (Labelled(("It rain s.", "It is wet."), "entailment"),)
    with pytest.raises(ValueError, match="'fr'.* de, en"):
        Xnli().read(where, "fr")
    rows = PawsX().read(path("tiny_pairs@train", folder), "en").rows
    assert rows == (Labelled(("a b", "b a"), "paraphrase"),)


def config_of(folder, tests="tfds:tiny_names/{lang}"):
    config = presets.transfer("laptop", "pos", "linear")
    config.data.update(languages="en,de", tfds_dir=folder)
    config.transfer.update(
        train="en:tfds:tiny_names/en", dev="en:tfds:tiny_names/en", tests=tests, test_rows=1
    )
    config.encoder = "bow"
    return options.parse(config)


def test_a_run_reads_them_by_name(folder):
    config = config_of(folder)
    labelled_files.check(config, "")
    data = transfer_data.read(config)
    assert [len(x) for x in (data.train["en"], data.dev["en"], data.tests["de"])] == [60, 2, 1]
    assert data.tests["de"][0].words[0] == "de" and data.labels == ("NOUN", "PROPN", "VERB")
    assert data.files["test de"][0].endswith("@test")
    with pytest.raises(ValueError, match="languages to test"):
        labelled_files.check(options.with_values(config, {"data.languages": ""}), "")


@pytest.mark.parametrize(
    "name, error, message",
    [
        ("tiny_xnli", ValueError, r"train=tfds:tiny_xnli: .* splits test, not train; .*@test"),
        ("tiny_names/{lang}@all", ValueError, "has the splits train, validation, test"),
        ("tiny_names/fr", ValueError, "config.transfer.train=tfds: no data set tiny_names/fr"),
    ],
)
def test_data_sets_that_are_not_there_are_named(folder, name, error, message):
    with pytest.raises(error, match=message):
        path(name, folder, use="train")


def test_data_sets_without_labels_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="text.*`tokens`"):
        path("tiny_text", folder)
    with pytest.raises(FileNotFoundError, match="tfds build tiny_text --data_dir=DIR"):
        path("tiny_text", str(tmp_path))


def written(folder, tmp_path, capsys, *arguments):
    """The files that the command writes, and what it prints."""
    pairs.main([f"--tfds_dir={folder}", f"--out={tmp_path}", *arguments])
    return {x.name: x.read_text() for x in tmp_path.iterdir()}, capsys.readouterr().out


def test_translations_become_tables_of_two_languages(folder, tmp_path, capsys):
    found, text = written(folder, tmp_path, capsys, "--name=tiny_talks")
    assert found == {"de-en.tsv": "c\ta b\n", "de-fr.tsv": "c\td\n", "en-fr.tsv": "a b\td\ne\tf\n"}
    assert "en-fr.tsv: 2 sentence pairs" in text
    [files] = parallel.find(str(tmp_path), ("de", "en"), "task.parallel")
    assert parallel.read(files).source == ["c"]


@pytest.mark.parametrize("more", [["--name=tiny_wmt"], ["--name=tiny_talks", "--languages=en,de"]])
def test_a_row_may_be_a_translation_and_languages_may_be_chosen(folder, tmp_path, capsys, more):
    assert list(written(folder, tmp_path, capsys, *more, "--most=1")[0]) == ["de-en.tsv"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["--name=tiny_text", "--split=test"],
            "error: tiny_text has the features text: expected tr",
        ),
        (["--name=tiny_talks", "--split=all"], "error: --split=all: .* has the splits train, not"),
        (["--name=tiny_talks", "--languages=ja"], "no row in two of the languages ja"),
        (["--name=tiny_absent"], "error: --name=tfds: no data set tiny_absent"),
    ],
)
def test_pairs_that_are_not_there_are_named(folder, tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit, match=message):
        written(folder, tmp_path, capsys, *arguments)
    assert not list(tmp_path.glob("*.tsv"))

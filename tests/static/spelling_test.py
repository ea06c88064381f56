"""A run of a dictionary's vectors on languages that write marks inside words, or characters that NFKC changes."""

import itertools
import json

import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.embeddings import files
from clwe_jax.encoders import export
from clwe_jax.static import job as static

WORDS = {
    "uk": "п’ять сім’я м’яч об’єкт комп’ютер п’ятниця здоров’я м’ясо".split(),
    "br": "c'hoar plac'h alc'hwez c'hwec'h erc'h marc'h moc'h lec'h".split(),
    "fr": "aujourd’hui l’eau main-d’œuvre d’abord quelqu’un arc-en-ciel presqu’île c’est".split(),
    "th": "น้ำ ทำ คำ จำ ดำ ถ้ำ ลำ ค่ำ".split(),
    "fa": "می\u200cخواهم کتاب\u200cها نمی\u200cدانم خانه\u200cها می\u200cروم بچه\u200cها آب نان".split(),
    "uz": "oʻzbek gʻalaba togʻ maʼno soʻz oʻgʻil bogʻ choʻl".split(),
    "haw": "ʻokina Hawaiʻi ʻāina kaʻi ʻaʻole iʻa ʻōlelo puaʻa".split(),
    "dz": "རྫོང་ཁ ཡིག བོད་སྐད ཁང མི་སེར ཆུ ས་ཆ དཔེ་ཆ".split(),
}
ENGLISH = "one two three four five six seven eight".split()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run whose text and test sentences have no other words."""
    folder = tmp_path_factory.mktemp("world")
    for name in ("text", "dictionaries", "sentences"):
        (folder / name).mkdir()
    r = np.random.default_rng(0)
    sets = list(itertools.combinations(range(8), 5))[:40]
    lines = [r.permutation(some) for some in [*sets, *sets]]
    written = {"en": ENGLISH, **WORDS}
    for language, words in written.items():
        space = "" if language == "th" else " "
        text = [space.join(words[n] for n in line) for line in lines]
        (folder / "text" / f"{language}.txt").write_text("\n".join(text) + "\n", "utf-8")
        if language != "en":
            pairs = "".join(f"{a}\t{b}\n" for a, b in zip(words, ENGLISH))
            # The dictionary has another apostrophe than the text, which is the one that counts.
            path = folder / "dictionaries" / f"{language}-en.txt"
            path.write_text(pairs.replace("’", "'").replace("ʻ", "‘"), "utf-8")
            stem = str(folder / "sentences" / f"{language}-en")
            for side, some in (
                (language, text),
                ("en", [" ".join(ENGLISH[n] for n in x) for x in lines]),
            ):
                with open(f"{stem}.{side}", "w", encoding="utf-8") as file:
                    file.write("\n".join(some[:40]) + "\n")
    found = presets.static("laptop")
    found.static.update(training="dictionary", reallocation=False, refinement=False)
    config = options.with_values(
        options.parse(found),
        {
            "data.source": f"text:{folder / 'text'}",
            "data.languages": ",".join(written),
            "data.dictionaries": str(folder / "dictionaries"),
            "embeddings.dim": 64,
            "embeddings.min_count": 1,
            "evals.retrieval.data": str(folder / "sentences"),
            "evals.bli.data": "",
            "static.write_text": True,
        },
    )
    config.resolve().check_all()
    assert static.run(config, str(folder / "run"))
    return folder / "run"


def test_entries_meet_the_text(run):
    report = json.loads((run / "report.json").read_text("utf-8"))
    assert {x: row["coverage"] for x, row in report["languages"].items()} == dict.fromkeys(
        ["en", *WORDS], 1.0
    )
    figures = json.loads((run / "results.json").read_text("utf-8"))
    for language in WORDS:
        assert figures[f"floor/retrieval/{language}-en/mean_csls"] >= 0.97, language
        assert figures[f"retrieval/{language}-en/mean_csls"] >= 0.97, language


@pytest.mark.parametrize("language", WORDS)
def test_words_are_written_as_in_the_text(language, run, tmp_path):
    words = {word.lower() for word in WORDS[language]}
    if language == "fr":  # parts of these are words of their own
        words = {word for word in words if "-" not in word and word != "c’est"}
    vectors = files.read(str(run / "vectors" / f"{language}.vec"), cache=False)
    assert words <= set(vectors.words) | {"l’eau", "d’abord"}
    [path] = [x for x in (run / "induced").iterdir() if language in x.stem.split("-")]
    induced = path.read_text("utf-8").split()
    if language != "fr":
        assert words <= set(induced)
    model = api.load(str(run))
    for word, english in zip(WORDS[language], ENGLISH):
        assert model.knows(word, language)
        [best] = model.translate(english, "en", language, k=1)
        if language != "fr":
            assert best.word == word.lower()
        assert model.encode([word], language).any()
    export.write_static(model.loaded, str(tmp_path), "model2vec", language)
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    keys = {model.loaded.normalizer.key(word, language) for word in words}
    assert {key for key in keys if " " not in key} <= set(content["model"]["vocab"])

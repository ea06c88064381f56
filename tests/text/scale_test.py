"""Real dictionaries and text, and dictionaries as many and as large as the public ones."""

import pathlib

import numpy as np
import pytest

from clwe_jax.text import dictionary
from clwe_jax.text.corpus import corpora, download
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

pytestmark = pytest.mark.slow

DATA = pathlib.Path(__file__).resolve().parents[3] / "shared" / "data"
LANGUAGES = ("en", "de", "es", "fr", "ru", "zh", "ja", "hu", "nl")
real = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is absent")


@pytest.fixture(scope="module")
def muse():
    return dictionary.load(str(DATA / "dictionaries" / "muse_full"), LANGUAGES)


@pytest.fixture(scope="module")
def corpus():
    return corpora.TextCorpus(str(DATA / "text"), LANGUAGES)


@pytest.fixture(scope="module")
def tokenizer(muse, corpus):
    return Tokenizer.build(
        languages=LANGUAGES,
        normalizer=Normalizer(),
        corpus=corpus,
        dictionary=muse,
        size=32_768,
        sample_bytes=2_000_000,
    )


@real
def test_real_dictionaries(muse):
    assert muse.pair_count > 590_000 and not muse.skipped
    assert {"banque", "banques"} == set(muse.synonyms("bank", "en")["fr"])


@real
def test_test_words_are_left_out_of_the_real_dictionaries(muse):
    tests = DATA / "dictionaries" / "muse_splits"
    clean = dictionary.load(
        str(DATA / "dictionaries" / "muse_full"), ["en", "fr"], exclude=str(tests)
    )
    sources, targets = set(), set()
    for left, right in (("en", "fr"), ("fr", "en")):
        pairs = dictionary.read_pairs(str(tests / f"{left}-{right}.5000-6500.txt"))
        english, french = (pairs.left, pairs.right)[:: 1 if left == "en" else -1]
        sources.update(map(Normalizer(), english))
        targets.update(map(Normalizer(), french))
    expected = {(a, b) for a, b in muse.pairs("en", "fr") if a not in sources and b not in targets}
    assert set(clean.pairs("en", "fr")) == expected and len(expected) > 50_000


@real
def test_the_dictionaries_reach_every_language(muse, corpus, tokenizer):
    found = corpora.inspect(corpus, tokenizer.words, muse, 1_000_000)
    for language, least in zip(LANGUAGES, (0.55, 0.55, 0.55, 0.5, 0.3, 0.2, 0.1, 0.3, 0.55)):
        assert least < found[language].coverage < 0.8, (language, found[language].coverage)
        assert found[language].repaired_lines == 0


@real
def test_real_text_is_kept(corpus, tokenizer):
    unknown = total = 0
    for language in LANGUAGES:
        for line, _ in zip(corpus.lines(language), range(2_000)):
            ids, index = tokenizer.encode(line, language)
            words = tokenizer.words(line, language)
            assert not words or index[-1] == len(words) - 1
            visible = tokenizer.normalizer(line.replace("\u200b", " "), language).split()
            assert "".join(words) == "".join(visible)
            unknown += ids.count(tokenizer.vocabulary.unk_id)
            total += len(ids)
    assert unknown < 2e-3 * total


def test_all_public_dictionaries_merge_in_2_gb(tmp_path, run_python):
    """108 files of 64,000 pairs, 45 languages."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyzéаяぐ語"))
    words = {
        language: [
            "".join(row[:size])
            for row, size in zip(
                letters[rng.integers(0, len(letters), (90_000, 12))], rng.integers(3, 12, 90_000)
            )
        ]
        for language in sorted({x for pair in download.PAIRS for x in pair.split("-")})
    }
    for pair in download.PAIRS:
        left, right = (words[language] for language in pair.split("-"))
        a = np.sort(rng.integers(0, 60_000, 64_000))
        b = np.clip(a + rng.integers(-20_000, 30_000, 64_000), 0, 89_999)
        lines = [f"{left[i]} {right[j]}\n" for i, j in zip(a.tolist(), b.tolist())]
        (tmp_path / f"{pair}.txt").write_text("".join(lines), encoding="utf-8")
    code = (
        "import resource, sys\n"
        "from clwe_jax.text import dictionary\n"
        "pairs = dictionary.load(sys.argv[1]).pair_count\n"
        "memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(pairs, memory / 2**20)\n"
    )
    pairs, gigabytes = map(float, run_python("-c", code, tmp_path).stdout.split())
    assert pairs > 6_500_000
    assert gigabytes < 2

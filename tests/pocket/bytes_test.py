"""The embedded world writes the same bytes in every release, so that figures stay comparable."""

import hashlib
import itertools

import pytest

from clwe_jax import pocket

# SHA-256, first 16 digits, of the records that each function below writes.
TEXT = {
    "de": ("2bf8fb1d2a4df59b", "7a35353ccb40fe40"),
    "en": ("d38b0253a41e45bd", "7baf47380ca72b6a"),
    "es": ("d8c57d0f69e698e5", "3d1fbeb28a14b489"),
    "fr": ("5197c1df90cb89b5", "d04cf413dc6c43c5"),
    "ja": ("f98bad0569839f3f", "2a72642cd8dae6a3"),
    "zh": ("54c4571bc39346d7", "47b3c3309364dd52"),
}
DICTIONARIES = "348a8c615272ed41"
PARALLEL = "c6101e730a0e6f13"
FILES = "18653a525145452e"


def digest(records):
    """The hash of tuples of strings."""
    lines = "\n".join("\t".join(map(str, record)) for record in records)
    return hashlib.sha256(lines.encode("utf-8")).hexdigest()[:16]


def text(language):
    """Sentences with the concept of each token, of both splits, several seeds and some domains."""
    for seed, split, among in (
        (0, "train", ()),
        (7, "heldout", ()),
        (1, "train", ("money", "nature", "sport", "music")),
    ):
        for sentence in itertools.islice(pocket.sentences(language, seed, split, among), 400):
            yield sentence.domain, sentence.text
            yield from ((token.text, token.concept) for token in sentence.tokens)


def gold(language):
    """The ambiguous words with the shares of their senses."""
    for word, found in pocket.senses(language, ("money", "nature", "sport", "music")).items():
        yield (word, *(f"{concept}={share:.6f}" for concept, share in found.items()))


def files(folder):
    """Name and content of every file that the writers make."""
    pocket.write_corpus(folder, pocket.LANGUAGES, 60, seed=3)
    pocket.write_retrieval(folder, pocket.LANGUAGES, 40)
    pocket.write_parallel(folder, ("de", "en", "ja"), 40, seed=1)
    pocket.write_bli(folder)
    for path in sorted(folder.iterdir()):
        yield path.name, path.read_bytes().hex()


def dictionaries():
    """Every pair of every dictionary, and the base forms."""
    for source, target in itertools.permutations(pocket.LANGUAGES, 2):
        for base_forms in (False, True):
            yield source, target, base_forms
            yield from pocket.dictionary(source, target, base_forms)


@pytest.mark.parametrize("language", pocket.LANGUAGES)
def test_sentences_and_gold_senses(language):
    assert (digest(text(language)), digest(gold(language))) == TEXT[language]


def test_dictionaries():
    assert digest(dictionaries()) == DICTIONARIES


def test_parallel_text():
    rows = pocket.parallel(pocket.LANGUAGES, 150, seed=2)
    assert digest((language, row[language].text) for row in rows for language in row) == PARALLEL


def test_files(tmp_path):
    assert digest(files(tmp_path)) == FILES

"""The embedded world writes the same bytes in every release, so that figures stay comparable."""

import hashlib
import itertools

import pytest

from clwe_jax import pocket

# SHA-256, first 16 digits, of the records that each function below writes.
TEXT = {
    "de": ("b3dd69932e040737", "62a26c74fab7173a"),
    "en": ("84e40ec7592a0c8f", "80fb62e96f83bbd4"),
    "es": ("02e5a1740829ce08", "d4b794e3fe130192"),
    "fr": ("d8f1276829f83d2b", "aeb580f8d3433df7"),
    "ja": ("7c49c998ebb04b87", "9b6e97e6bcf5d228"),
    "zh": ("3e9a356e5f898537", "23350e4fc0799a4a"),
}
DICTIONARIES = "348a8c615272ed41"
PARALLEL = "210337f33e89c5a7"
FILES = "0c87fab929589871"


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

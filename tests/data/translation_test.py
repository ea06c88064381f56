"""Sentence pairs as batches: directions, faults, widths and exact places."""

import numpy as np
import pytest

from clwe_jax.options.models import LaserOptions, TranslatorOptions
from clwe_jax.options.tasks import Sentences, Translation
from clwe_jax.data.translation import TranslationSource, encode, epoch, sentences
from clwe_jax.models.laser import Laser
from clwe_jax.models.translator import Translator
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.objectives.unsupervised import UnsupervisedTranslation
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdxyz", *(f"##{x}" for x in "abcdxyz")]


@pytest.fixture
def tokenizer():
    return Tokenizer(["en", "de", "fr"], Normalizer(), Segmenter(), WordPieceVocabulary(PIECES))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "en-de.tsv").write_text("a\tx\nab\ty\nabcd abcd\tz\n")
    (tmp_path / "fr-en.tsv").write_text("x y\ta\n")
    return str(tmp_path)


def ids(*pieces):
    return [PIECES.index(piece) for piece in pieces] + [3]


def test_every_direction_and_the_long_pair_left_out(tokenizer, folder):
    found = encode(Translation(), folder, tokenizer, 5)
    assert found.counts == {"pairs/en-de": 2, "pairs/de-en": 2, "pairs/fr-en": 1, "pairs/en-fr": 1}
    assert found.skipped == {"pairs of en-de without words or longer than 5 pieces": 1}
    rows = found.columns.rows(np.arange(6))
    names = ("inputs", "targets", "source_language_ids", "language_ids")
    columns = {(tuple(a), tuple(b), int(c), int(d)) for a, b, c, d in zip(*map(rows.get, names))}
    assert (tuple(ids("a", "##b")), tuple(ids("y")), 0, 1) in columns
    assert (tuple(ids("y")), tuple(ids("a", "##b")), 1, 0) in columns
    assert (tuple(ids("a")), tuple(ids("x", "y")), 0, 2) in columns and len(columns) == 6
    only = encode(Translation(targets="en"), folder, tokenizer, 20)
    assert only.counts == {"pairs/de-en": 3, "pairs/fr-en": 1} and not only.skipped


def test_a_pair_with_a_side_without_words_is_left_out(tokenizer, tmp_path):
    (tmp_path / "en-de.tsv").write_text("a\t\u00ad\n\u200b\tx\nb\ty\n", encoding="utf-8")
    found = encode(Translation(), str(tmp_path), tokenizer, 5)
    assert found.counts == {"pairs/en-de": 1, "pairs/de-en": 1}
    assert found.skipped == {"pairs of en-de without words or longer than 5 pieces": 2}
    assert min(found.columns.lengths) == 2


def test_faults_are_named(tokenizer, folder):
    with pytest.raises(ValueError, match="targets=en,xx: 'xx'"):
        encode(Translation(targets="en,xx"), folder, tokenizer, 20)
    with pytest.raises(ValueError, match=" 1 pieces"):
        encode(Translation(), folder, tokenizer, 1)


def test_batches_are_those_that_the_objective_describes(tokenizer, folder, tmp_path):
    for language in tokenizer.languages:
        (tmp_path / f"{language}.txt").write_text("ab c\nx\nd\ny z\n")
    specials = tokenizer.vocabulary.specials
    corpus = TextCorpus(str(tmp_path), tokenizer.languages)
    rows = dict(vocab_size=24, languages=3, max_length=20)
    model = Translator(TranslatorOptions(layers=1, decoder_layers=1, shared_layers=1), **rows)
    laser = Laser(LaserOptions(width=4, cells=2, layers=1), **rows)
    given = dict(vocab_size=19, specials=specials)
    for objective, pieces in (
        (TranslationObjective(model=laser, **given), encode(Translation(), folder, tokenizer, 20)),
        (
            UnsupervisedTranslation(model=model, **given),
            sentences(Sentences(), corpus, tokenizer, 20),
        ),
    ):
        batch = next(TranslationSource(pieces, pad=0, widths=1, batch_size=4))
        expected = objective.batch_shapes(4, batch["inputs"].shape[1])
        assert batch.keys() == expected.keys()
        for key, value in batch.items():
            assert (value.shape, value.dtype) == (expected[key].shape, expected[key].dtype), key


def test_an_epoch_has_each_row_once_and_places_are_exact(tokenizer, folder):
    pieces = encode(Translation(), folder, tokenizer, 20)
    make = lambda: TranslationSource(pieces, pad=0, widths=2, batch_size=3, seed=1)
    source = make()
    batches = [next(source) for _ in range(3)]
    assert {x["inputs"].shape for x in batches} == {(3, 3), (3, 9)}
    rows = np.concatenate(
        [np.pad(x["inputs"], ((0, 0), (0, 9 - x["inputs"].shape[1]))) for x in batches]
    )
    expected = sorted(tuple(x) for x in pieces.columns.rows(np.arange(8))["inputs"])
    assert sorted(tuple(x[x > 0].tolist()) for x in rows if x.any()) == [
        tuple(x.tolist()) for x in map(np.array, expected)
    ]
    other = make()
    next(other)
    place = other.get_state()
    later = make()
    later.set_state(place)
    for key, value in next(later).items():
        np.testing.assert_array_equal(value, batches[1][key])
    stats = source.stats()
    assert stats["pairs/en-de"] == 3 and stats["left_out"] == 0 and stats["epochs"] == 1


def test_sentences_of_every_language_with_the_words_of_pieces(tokenizer, tmp_path):
    (tmp_path / "en.txt").write_text("ab c\n\na b c d a b c d\n")
    (tmp_path / "de.txt").write_text("x\nyz x\n")
    (tmp_path / "fr.txt").write_text("x\n")
    corpus = TextCorpus(str(tmp_path), tokenizer.languages)
    found = sentences(Sentences(), corpus, tokenizer, 5)
    assert found.counts == {"sentences/en": 1, "sentences/de": 2, "sentences/fr": 1}
    assert found.skipped == {"sentences (en) without words or longer than 5 pieces": 2}
    rows = found.columns.rows(np.arange(3))
    np.testing.assert_array_equal(rows["inputs"][0], ids("a", "##b", "c"))
    np.testing.assert_array_equal(rows["words"][0], [0, 0, 1, 2])
    np.testing.assert_array_equal(rows["inputs"][2], ids("y", "##z", "x"))
    np.testing.assert_array_equal(rows["language_ids"], [0, 1, 1])
    assert sentences(Sentences(max_sentences=1), corpus, tokenizer, 9).counts["sentences/de"] == 1
    with pytest.raises(ValueError, match="'en' .* 2 pieces"):
        sentences(Sentences(), corpus, tokenizer, 2)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 5.0, 1e9])
def test_languages_are_sampled_at_the_temperature(tokenizer, tmp_path, temperature):
    for language, lines in (("en", 90), ("de", 10), ("fr", 30)):
        (tmp_path / f"{language}.txt").write_text("a b c\n" * lines)
    pieces = sentences(Sentences(), TextCorpus(str(tmp_path), tokenizer.languages), tokenizer, 5)
    places = epoch(pieces, temperature)
    found = np.bincount(pieces.columns.rows(places)["language_ids"]) / len(places)
    sizes = np.array([90, 10, 30]) / 130
    expected = sizes ** (1 / temperature) / (sizes ** (1 / temperature)).sum()
    np.testing.assert_allclose(found, expected, atol=0.5 / len(places) + 1e-3)
    # Every row is there, and no row of a language is repeated twice more than another one.
    for language in range(3):
        own = np.flatnonzero(pieces.columns.rows(np.arange(130))["language_ids"] == language)
        times = np.bincount(places, minlength=130)[own]
        assert times.min() >= 1 and np.ptp(times) <= 1
    if temperature == 1:
        np.testing.assert_array_equal(places, np.arange(130))
    make = lambda: TranslationSource(pieces, 0, 1, 5, temperature=temperature)
    source = make()
    assert source.stats()["sentences/de"] == 10
    taken = np.concatenate([next(source)["language_ids"] for _ in range(len(places) // 5)])
    assert abs((taken == 1).mean() - expected[1]) < 0.05
    with pytest.raises(ValueError, match="another seed|other data"):
        TranslationSource(pieces, 0, 1, 5, temperature=3.0).set_state(source.get_state())

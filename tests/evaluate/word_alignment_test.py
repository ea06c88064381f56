"""Word alignment of an encoder, its error rate by hand, and wrong options."""

import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.align import word_links
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate import word_alignment
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.word_alignment import LinkCounts, WordAligner, WordAlignment
from clwe_jax.options.evaluators import LEVELS, METHODS
from clwe_jax.text.corpus.alignment_files import Linked
from clwe_jax.text.words.normalize import Normalizer

SOURCE, TARGET = ["bank", "ab-c", "x"], ["River", "ab", "bank"]


@pytest.fixture
def encoder(toy_objective, make_tokenizer, make_variables):
    tokenizer = make_tokenizer(["bank", "river"])
    variables = make_variables(tokenizer)
    return ModelEncoder(toy_objective(), tokenizer, variables, max_length=8)


def test_pieces_of_words_are_those_of_the_row(encoder, toy_objective):
    [(vectors, owners)] = encoder.pieces_of_words([["bank", "abc", "x"]], "de")
    tokenizer = encoder.tokenizer
    ids = [i for word in ("bank", "abc", "x") for i in tokenizer.encode(word, "de")[0]]
    ids = [tokenizer.vocabulary.cls_id, *ids, tokenizer.vocabulary.sep_id]
    language = tokenizer.language_id("de")
    expected = toy_objective().numpy_row(encoder.variables, ids, language)[1:-1]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert owners.tolist() == [0, 1, 1, 1, 2]
    # A sentence that is longer than a row keeps the places of its words.
    [(vectors, owners)] = encoder.pieces_of_words([["abc", "de", "f", "ghijkl", "bank"]], "de")
    assert owners.tolist() == [0, 0, 0, 1, 1, 2, *[3] * 6, 4] and len(vectors) == len(owners)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("method", METHODS)
def test_links_equal_one_piece_at_a_time(method, level, encoder):
    aligner = WordAligner(method, "1-2", level, threshold=0.3, temperature=10.0)
    [found] = aligner.align(encoder, [SOURCE], [TARGET], ("de", "en"))
    sides = []
    for words, language in ((SOURCE, "de"), (TARGET, "en")):
        [(vectors, owners)] = encoder.pieces_of_words([words], language)
        vectors = (vectors[:, 1] + vectors[:, 2]) / 2
        if level == "words":
            vectors = np.stack([vectors[owners == k].mean(0) for k in range(3)])
            owners = np.arange(3)
        sides.append((vectors, owners))
    (x, a), (y, b) = sides
    if method == "softmax":
        links = word_links.softmax_intersection(x @ y.T / 10, 0.3)
    else:
        links = getattr(word_links, method)(word_links.cosines(x, y))
    expected = np.zeros((3, 3), bool)
    for i, j in np.argwhere(links):
        expected[a[i], b[j]] = True
    assert expected.any()
    np.testing.assert_array_equal(found, expected)


def test_layers():
    assert word_alignment.layers_of("", 13) == [8]
    assert word_alignment.layers_of("", 1) == [0]
    assert word_alignment.layers_of("5-7", 13) == [5, 6, 7]
    assert word_alignment.layers_of(3, 13) == [3]
    assert word_alignment.layers_of("mean_last4", 13) == [9, 10, 11, 12]
    for wrong in ("5-17", "x", "7-5", 13):
        with pytest.raises(ValueError, match="expected a layer from 0"):
            word_alignment.layers_of(wrong, 13)


def test_figures_by_hand():
    counts = LinkCounts()
    gold = Linked(
        ["a"] * 3, ["b"] * 3, frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1), (2, 1)})
    )
    found = np.zeros((3, 3), bool)
    found[0, 0] = found[2, 1] = found[2, 2] = True  # sure, possible, wrong
    counts.add(found, gold)
    figures = counts.figures()
    assert figures["precision"] == pytest.approx(2 / 3) and figures["recall"] == pytest.approx(
        1 / 2
    )
    assert figures["aer"] == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert figures["f1"] == pytest.approx(4 / 7)
    counts.add(np.zeros((3, 3), bool), gold)  # sums over the corpus, not means of sentences
    assert counts.figures()["aer"] == pytest.approx(1 - (1 + 2) / (3 + 4))
    assert LinkCounts().figures()["aer"] == 0.0


def static(words, seed):
    """Vectors of German words and of the same words in English, in one space."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(len(words), 8)).astype(np.float32)
    spaces = {x: Vectors(words, vectors) for x in ("de", "en")}
    return StaticSpaces(spaces, {}, {}, "en", Normalizer(lower_case=False))


def test_a_perfect_encoder_has_no_error_and_a_random_one_has(tmp_path):
    words = list("abcdefgh")
    (tmp_path / "de-en.gold").write_text("0-2 1-1 2-0\n0-1 1-0\n")
    (tmp_path / "de-en.de").write_text("a b c\ng h\n")
    (tmp_path / "de-en.en").write_text("c b a\nh g\n")
    made = WordAlignment(data=str(tmp_path), context=Context(languages=("de", "en")))
    figures = dict(made.run(static(words, 0).encoder()))
    assert figures["word_alignment/de-en/aer"] == figures["word_alignment/aer"] == 0
    assert figures["word_alignment/f1"] == 1 and figures["word_alignment/de-en/sentences"] == 2
    model = static(words, 0)
    random = StaticSpaces(
        {"de": model.vectors("de"), "en": static(words, 1).vectors("en")},
        {},
        {},
        "en",
        Normalizer(lower_case=False),
    )
    assert dict(made.run(random.encoder()))["word_alignment/aer"] > 0.2
    # Other directions are asked for.
    asked = Context(languages=("en", "de", "fr"), pairs=[("en", "fr"), ("fr", "en")])
    assert not WordAlignment(data=str(tmp_path), context=asked).pairs
    of_pocket = WordAlignment(data="pocket", max_sentences=2, context=asked)
    assert list(of_pocket.pairs) == [("fr", "en")]


def test_the_embedded_world_is_a_source(encoder):
    made = WordAlignment(data="pocket", max_sentences=6, context=Context(languages=("de", "en")))
    figures = dict(made.run(encoder))
    assert figures["word_alignment/de-en/sentences"] == 6
    layers = [figures[f"word_alignment/de-en/layer{k}/aer"] for k in range(3)]
    assert all(0.3 < x < 0.9 for x in layers)
    # All gold links are sure ones.
    assert layers[1] == pytest.approx(1 - figures["word_alignment/de-en/f1"])
    assert figures["word_alignment/de-en/aer"] == layers[1]  # two thirds of two layers
    assert made.examples and made.examples[0]["languages"] == ["de", "en"]
    assert not WordAlignment(context=Context(languages=("de", "en"))).has_data


def test_a_missing_folder_is_named_at_once(tmp_path):
    with pytest.raises(FileNotFoundError, match="config.evals.word_alignment.data"):
        WordAlignment(data=str(tmp_path / "no"), context=Context(languages=("de", "en")))


def test_the_api_aligns_text_and_words():
    model = api.Model(static(["Haus", "alt", "das"], 0))
    found = model.align("das alt Haus", ["Haus", "das"], lang="de", to="en")
    assert found == [api.WordLink("das", "das", 0, 1), api.WordLink("Haus", "Haus", 2, 0)]
    assert model.align("", "das", lang="de", to="en") == []
    with pytest.raises(ValueError, match="method 'itermx'.*Did you mean 'itermax'"):
        model.align("das", "das", "de", "en", method="itermx")
    with pytest.raises(ValueError, match="align has no option 'treshold'"):
        model.align("das", "das", "de", "en", treshold=0.1)
    with pytest.raises(ValueError, match="to='fr'"):
        model.align("das", "das", "de", "fr")


@pytest.mark.parametrize("method", METHODS)
def test_a_word_without_a_vector_has_no_link(method):
    source, target = np.eye(4)[[0, 3, 1]] * [1, 1, 1, 0], np.eye(4)[[3, 1, 0]] * [1, 1, 1, 0]
    aligner = WordAligner(method, temperature=0.1)
    assert np.argwhere(aligner.links(source, target)).tolist() == [[0, 2], [2, 1]]


def test_the_embedded_world_has_no_links_of_other_languages():
    for names in (("fi", "sv"), ("fi", "en")):
        with pytest.raises(ValueError, match=f"data='pocket': .* no two of {', '.join(names)}"):
            WordAlignment(data="pocket", context=Context(languages=names))

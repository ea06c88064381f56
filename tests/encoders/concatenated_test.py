"""Two encoders beside each other: cosines by definition, and what each part does."""

import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.embeddings import ngrams
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import beside_weights, load
from clwe_jax.encoders.encode import select, select_layer
from clwe_jax.encoders.concatenated import ConcatenatedEncoder, ConcatenatedModels, unit_rows
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import Encoder, Truncates
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.retrieval import SentenceRetrieval
from clwe_jax.options.transfer import encoder_parts
from clwe_jax.text.corpus.parallel import SentencePairs
from clwe_jax.text.words.normalize import Normalizer

WEIGHT = 0.25


def cosine(a, b):
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


@pytest.fixture
def parts(make_tokenizer, make_variables, toy_objective):
    tokenizer = make_tokenizer(["haus", "hund", "house", "dog"])
    first = ModelEncoder(toy_objective(), tokenizer, make_variables(tokenizer))
    random = np.random.default_rng(0)
    words = {"de": ["haus", "hund"], "en": ["house", "dog"], "fr": ["maison"]}
    own = {
        x: Vectors(y, random.standard_normal((len(y), 5)).astype(np.float32))
        for x, y in words.items()
    }
    return first, StaticSpaces(own, {}, {}, "en", Normalizer())


def test_a_cosine_is_the_weighted_mean_of_both(parts):
    first, static = parts
    second = static.encoder()
    both = ConcatenatedEncoder(first, second, WEIGHT)
    assert isinstance(both, Encoder) and isinstance(both, Truncates)
    assert both.languages == ("en", "de") and both.layers == first.layers == 3
    source, target = ["haus hund", "hund"], ["house dog", "a dog"]
    found = both.sentences(source, "de"), both.sentences(target, "en")
    assert found[0].shape == (2, 3, 24 + 5) and found[0].dtype == np.float32
    own = first.sentences(source, "de"), first.sentences(target, "en")
    beside = second.sentences(source, "de"), second.sentences(target, "en")
    for layer in (0, 1, 2, "mean_last4"):
        x, y = (select_layer(vectors, layer) for vectors in own)
        both_x, both_y = (select_layer(vectors, layer) for vectors in found)
        for i, j in np.ndindex(2, 2):
            expected = cosine(x[i], y[j]) + WEIGHT * cosine(beside[0][i, 0], beside[1][j, 0])
            got = cosine(both_x[i], both_y[j])
            assert got == pytest.approx(expected / (1 + WEIGHT), abs=1e-5)
    assert both.encoded_counts["de"] == first.encoded_counts["de"] == 4


def test_each_layer_and_each_pair_may_have_a_weight_of_its_own(parts):
    first, static = parts
    second = static.encoder()
    weights = np.array([0.1, 0.4, 2.0, 1.0], np.float32)  # of three layers and of their mean
    both = ConcatenatedEncoder(first, second, WEIGHT, {("de", "en"): weights})
    pair = both.pairwise_space("en", "de")
    for layer, weight in ((0, 0.1), (1, 0.4), (2, 2.0), ("mean_last4", 1.0)):
        expected = ConcatenatedEncoder(first, second, weight).sentences(["haus"], "de")
        for view in (pair, both):  # the only pair decides for the common space too
            found = select_layer(view.sentences(["haus"], "de"), layer)
            np.testing.assert_allclose(found, select_layer(expected, layer), rtol=1e-5)
    other = both.pairwise_space("de", "fr").sentences(["haus"], "de")
    np.testing.assert_array_equal(other, both.sentences(["haus"], "de"))
    several = ConcatenatedEncoder(
        first, second, WEIGHT, {("de", "en"): weights, ("fr", "en"): weights * 3}
    )
    expected = ConcatenatedEncoder(first, second, weights * 2).sentences(["haus"], "de")
    np.testing.assert_allclose(several.sentences(["haus"], "de"), expected, rtol=1e-6)


def test_the_mean_of_a_language_is_subtracted_from_all_its_vectors(parts):
    first, static = parts
    random = np.random.default_rng(2)
    means = {x: random.standard_normal((3, 24)).astype(np.float32) for x in ("de", "en")}
    both = ConcatenatedEncoder(first, static.encoder(), WEIGHT, means=means)
    for view in (both, both.pairwise_space("de", "en"), both.by_layer()):
        own = view.sentences(["haus hund"], "de")[..., :24]
        expected = first.sentences(["haus hund"], "de") - means["de"]
        np.testing.assert_allclose(own, expected, atol=1e-6)
        for vectors in (view.in_context(["haus"], "de")[0][1], *view.of_words([["haus"]], "de")):
            expected = first.of_words([["haus"]], "de")[0] - means["de"]
            np.testing.assert_allclose(vectors[..., :24], expected, atol=1e-6)
        word = view.vocabulary("de", ["haus"]).vectors[..., :24]
        expected = first.vocabulary("de", ["haus"]).vectors - means["de"]
        np.testing.assert_allclose(word, expected, atol=1e-6)


def test_means_bring_far_languages_together():
    """The first encoder knows the translations, but each language lies on a side of its own."""
    random = np.random.default_rng(1)
    known = random.standard_normal((60, 8))
    sides = [known + 9 * sign for sign in (1, -1)]
    noise = [random.standard_normal((60, 8)) for _ in range(2)]
    words = [f"w{n}" for n in range(60)]
    means = {x: rows.mean(0)[None].astype(np.float32) for x, rows in zip(("de", "en"), sides)}
    first, second = _static(sides), _static(noise)
    found = ConcatenatedEncoder(first, second, 0.05, means=means)
    plain = ConcatenatedEncoder(first, second, 0.05)
    for model, low, high in ((found, 0.9, 1), (plain, 0, 0.8)):
        x, y = (model.sentences(words, language)[:, 0] for language in ("de", "en"))
        cosines = x @ y.T / np.linalg.norm(x, axis=1)[:, None] / np.linalg.norm(y, axis=1)
        assert low <= (cosines.argmax(1) == np.arange(60)).mean() <= high


def _static(rows):
    """Static vectors of the words w0, w1, ... in two languages, as an encoder."""
    words = [f"w{n}" for n in range(len(rows[0]))]
    own = {x: Vectors(words, some.astype(np.float32)) for x, some in zip(("de", "en"), rows)}
    return StaticSpaces(own, {}, {}, "en", Normalizer()).encoder()


@pytest.mark.parametrize(
    ("noise", "low", "high"), [((0, 9), 0, 0.2), ((9, 0), 1, 3), ((0, 0), 0.3, 0.3)]
)
def test_the_weight_is_that_by_which_most_verses_find_their_translation(noise, low, high):
    """One encoder knows the translations, the other one has other directions for each language."""
    random = np.random.default_rng(1)
    known = random.standard_normal((60, 8))
    sides = [[known + x * random.standard_normal(known.shape) for _ in range(2)] for x in noise]
    words = [f"w{n}" for n in range(60)]
    pair = "de", "en"
    first, second = map(_static, sides)
    weights = beside_weights.choose_weights(first, second, pair, SentencePairs(words, words))
    assert weights.shape == (2,)
    # Where every weight finds all, the usual one is taken.
    assert low - 1e-6 <= weights[0] <= high + 1e-6
    assert (
        beside_weights.choose_weights(first, second, pair, SentencePairs(words[:9], words[:9]))
        is None
    )


def test_by_text_the_weight_is_a_share_of_the_spread_of_cosines():
    """The first encoder's vectors lie around one direction, so that all its cosines are alike."""
    random = np.random.default_rng(1)
    words = [f"w{n}" for n in range(60)]
    narrow, wide = ([random.standard_normal((60, 8)) + x for _ in range(2)] for x in (4, 0))
    first, second = _static(narrow), _static(wide)
    sides = words, words[:40]

    def spread(rows):
        return np.std([cosine(x, y) for x in rows[0] for y in rows[1][:40]])

    for one, other, rows in ((first, second, (narrow, wide)), (second, first, (wide, narrow))):
        weights = beside_weights.spread_weights(one, other, ("de", "en"), sides)
        expected = beside_weights._SHARE * spread(rows[0]) / spread(rows[1])
        np.testing.assert_allclose(weights, [expected, expected], rtol=1e-4)
    assert beside_weights.spread_weights(first, second, ("de", "en"), (words[:9], words)) is None
    unknown = ["z"] * 40
    assert beside_weights.spread_weights(first, second, ("de", "en"), (unknown, words)) is None


def test_words_in_context_have_the_vectors_of_both(parts):
    first, static = parts
    both = ConcatenatedEncoder(first, static.encoder(), WEIGHT)
    [(words, vectors)] = both.in_context(["haus z"], "de")
    [(_, own)] = first.in_context(["haus z"], "de")
    assert words == ["haus", "z"] and vectors.shape == (2, 3, 29)
    np.testing.assert_array_equal(vectors[..., :24], own)
    beside = static.raw["de"].vectors[0]
    expected = WEIGHT**0.5 * beside / np.linalg.norm(beside)
    lengths = np.linalg.norm(own[0], axis=-1, keepdims=True)
    np.testing.assert_allclose(vectors[0, :, 24:], lengths * expected, rtol=1e-5)
    assert not vectors[1, :, 24:].any(), "a word that the second encoder lacks"
    [given] = both.of_words([["haus", "z"]], "de", reduce=lambda x: x[:, -1])
    np.testing.assert_allclose(given, vectors[:, -1], atol=1e-5)
    space = both.vocabulary("de", ["haus"])
    of_haus = space.vectors[space.index["haus"]]
    lengths = np.linalg.norm(of_haus[:, :24], axis=-1, keepdims=True)
    np.testing.assert_allclose(of_haus[:, 24:], lengths * expected, rtol=1e-5)


def test_words_are_read_without_the_words_beside_them(parts):
    """Up to 20,000 words were read as one sentence."""
    first, _ = parts
    both = ConcatenatedEncoder(first, first, WEIGHT)
    space = both.vocabulary("de", ["haus", "hund"])
    for word in ("haus", "hund"):
        [[alone]] = first.of_words([[word]], "de")
        found = space.vectors[space.index[word]][:, 24:]
        expected = unit_rows(select_layer(alone, "mean_last4"))
        np.testing.assert_allclose(unit_rows(found), np.tile(expected, (3, 1)), atol=1e-5)


def test_single_words_of_a_second_static_run_have_a_share_of_their_guess():
    # Three dimensions of a dictionary, three trained ones. "hund" has no entry.
    entry, other, guess = [1, 0, 0, 0.6, 0, 0], [0, 1, 0, 0, 0.6, 0], [0.6, 0, 0, 0, 0, 0.6]
    words = ["haus", "rund", "hund"]
    raw = {"de": Vectors(words, np.array([entry, other, guess], np.float32))}
    regression = ngrams.Regression(["haus"], np.zeros((1, 3), np.float32))
    spelling = ngrams.Spelling(ngrams.Ngrams.of(words), {"de": regression}, 1.0, 0, 0.0, 6, 0, 0.25)
    second = StaticSpaces(raw, {}, {}, "de", spelling=spelling).encoder()
    own = {"de": Vectors(["hund", "haus", "haus rund"], np.eye(3, dtype=np.float32))}
    first = StaticSpaces(own, {}, {}, "de").encoder()

    def beside(vectors):
        return vectors[..., 3:] / np.linalg.norm(vectors[..., 3:], axis=-1, keepdims=True)

    def unit(row):
        return row / np.linalg.norm(row)

    both = ConcatenatedEncoder(first, second, WEIGHT)
    short = unit([0.15, 0, 0, 0, 0, 0.6])
    # Of a word that the second lacks the parts are compared: each has its own entry.
    mean = unit(np.mean([entry, other], 0))
    space = both.vocabulary("de")
    np.testing.assert_allclose(beside(space.vectors[:, 0]), [short, unit(entry), mean], rtol=1e-5)
    np.testing.assert_allclose(beside(both.sentences(["hund"], "de")[0, 0]), unit(guess), rtol=1e-5)


def test_the_second_decides_where_the_first_knows_nothing(parts, tmp_path):
    """Sentences of words that the first encoder spells find their translations by the second."""
    first, _ = parts
    words = {"de": ["abc", "bca", "cab", "acb"], "en": ["xyz", "yzx", "zxy", "xzy"]}
    static = StaticSpaces(
        {x: Vectors(y, np.eye(4, dtype=np.float32)) for x, y in words.items()},
        {},
        {},
        "en",
        Normalizer(),
    )
    for language, own in words.items():
        (tmp_path / f"de-en.{language}").write_text("\n".join(own) + "\n")
    evaluator = SentenceRetrieval(data=str(tmp_path), context=Context(languages=("de", "en")))
    both = ConcatenatedEncoder(first, static.encoder(), 20.0)
    assert dict(evaluator.run(both))["retrieval/de-en/mean"] == 1.0
    assert dict(evaluator.run(first))["retrieval/de-en/mean"] < 1.0


@pytest.mark.parametrize(
    ("given", "names", "weight"),
    [
        ("hf:a+run:b", ["hf:a", "run:b"], None),
        ("hf:a+0.3*run:b+c", ["hf:a", "run:b+c"], 0.3),
        ("run:x+y", ["run:x+y"], None),
        ("hf:a+.5*vec:de=f,en=g", ["hf:a", "vec:de=f,en=g"], 0.5),
    ],
)
def test_a_plus_joins_two_names_and_may_have_a_weight(given, names, weight):
    assert encoder_parts(given) == (names, weight)


@pytest.mark.parametrize("layer", [None, 1])
def test_the_vectors_of_words_are_those_of_each_word(parts, layer):
    first, static = parts
    encoder = ConcatenatedEncoder(first, static.encoder(), WEIGHT)
    models = ConcatenatedModels(None, static, WEIGHT)
    object.__setattr__(models, "encoder", lambda: encoder)
    found = models.vectors("de", layer)
    assert found.words == ["haus", "hund"]
    for word, vector in zip(found.words, found.vectors):
        np.testing.assert_allclose(vector, models.vector(word, "de", layer), atol=1e-5)
        [joined] = encoder.of_words([[word]], "de", reduce=lambda x: select(x, layer))
        np.testing.assert_allclose(vector, joined[0], atol=1e-5)


def test_three_are_refused():
    with pytest.raises(ValueError, match="two encoders"):
        encoder_parts("hf:a+run:b+run:c")


def test_both_are_opened_where_they_are(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.vec").write_text("2 2\nhouse 1 2\ndog 2 1\n")
    name = f"vec:en={tmp_path}/a.vec+2*vec:en={tmp_path}/b.vec"
    found = load.load(name, ("en",))
    assert (
        isinstance(found, ConcatenatedModels) and found.weight == 2 and found.languages == ("en",)
    )
    run = tmp_path / "run"
    run.mkdir()
    assert load.of_run(name, ("en",), str(run)).second.raw["en"].words == ["house", "dog"]
    with pytest.raises(FileNotFoundError, match="c.vec is missing"):
        load.of_run(f"{name[:-5]}c.vec", ("en",), str(run))

    model = api.load(name, languages=["en"])
    assert model.dim == 4 and model.tokenizer is None
    one, two = model.encode(["house", "dog"], "en")
    assert cosine(one, two) == pytest.approx(4 / 5)
    assert model.encode(["house dog"], "en", pool=None)[0].shape == (2, 4)
    np.testing.assert_allclose(model.vector("dog", "en"), two, rtol=1e-6)
    assert [word for word, _ in model.words("dog house", "en")] == ["dog", "house"]
    assert model.mine(["house", "dog"], "en", ["dog", "house"], "en", least=0)[0][:2] in (
        (0, 1),
        (1, 0),
    )
    assert model.vectors("en").words == ["house", "dog"]
    assert model.loaded.segmenter("en").words("a b", "en") == ["a", "b"]
    with pytest.raises(ValueError, match="pool='sif'"):
        model.encode(["dog"], "en", pool="sif")
    for call in (lambda: model.neighbours("dog", "en"), lambda: model.knows("dog", "en")):
        with pytest.raises(ValueError, match="'(neighbours|knows)': api.load"):
            call()
    with pytest.raises(ValueError, match="words: the second"):
        api.load(name, words={"en": ["a"]})

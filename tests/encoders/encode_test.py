"""Pooling against one row at a time in NumPy; few shapes; what is too long."""

import types

import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax.encoders import batching, encode
from clwe_jax.encoders.batching import Row
from clwe_jax.encoders.encode import RowEncoder
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import Pools
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.types import Hidden, piece_shapes


@pytest.fixture
def setting(toy_objective, make_tokenizer, make_variables):
    """A model, its parameters, and a mean in NumPy of the pieces from start to end of words."""
    objective, tokenizer = toy_objective(), make_tokenizer(["bank", "river"])
    variables = make_variables(tokenizer)

    def oracle(words, language, start, end):
        ids, owners = tokenizer.encode_words(words)
        ids = [tokenizer.vocabulary.cls_id, *ids, tokenizer.vocabulary.sep_id]
        vectors = objective.numpy_row(variables, ids, tokenizer.language_id(language))
        return vectors[1:-1][[start <= owner < end for owner in owners]].mean(0)

    return objective, tokenizer, variables, oracle


def texts(count, most, seed=0):
    r = np.random.RandomState(seed)

    def word():
        return "".join(r.choice(list("abcxyz"), r.randint(1, 4)))

    return [" ".join(word() for _ in range(r.randint(1, most))) for _ in range(count)]


@pytest.mark.parametrize("language", ["en", "de"])
def test_sentences_equal_one_at_a_time(setting, language):
    objective, tokenizer, variables, oracle = setting
    sentences = texts(23, 5) + ["the river", "Bank"]
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=16, batch_size=10)
    found = encoder.sentences(sentences, language)
    assert found.shape == (25, 3, variables["pieces"].shape[1]) and found.dtype == np.float32
    for sentence, vectors in zip(sentences, found):
        words = tokenizer.words(sentence, language)
        np.testing.assert_allclose(vectors, oracle(words, language, 0, len(words)), atol=1e-5)


def test_words_equal_one_at_a_time(setting):
    objective, tokenizer, variables, oracle = setting
    sentences = texts(9, 5) + ["by the bank"]
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=16, batch_size=4)
    found = encoder.in_context(sentences, "de")
    assert len(found) == 10
    for sentence, (words, vectors) in zip(sentences, found):
        assert words == tokenizer.words(sentence, "de") and len(vectors) == len(words)
        for place in range(len(words)):
            expected = oracle(words, "de", place, place + 1)
            np.testing.assert_allclose(vectors[place], expected, atol=1e-5)


def test_long_texts_are_read_in_windows(setting):
    # Six pieces a row: 'ghijkl' fills one alone, 'mnopqrstu' loses its end.
    objective, tokenizer, variables, oracle = setting
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=8)
    words = ["abc", "de", "f", "ghijkl", "mnopqrstu", "bank", "x"]
    assert list(encoder._windows(words)) == [(0, 3), (3, 4), (4, 5), (5, 7)]
    [(found, vectors)] = encoder.in_context([" ".join(words)], "en")
    assert found == words and np.abs(vectors).sum((1, 2)).min() > 0
    np.testing.assert_allclose(vectors[1], oracle(words[:3], "en", 1, 2), atol=1e-5)
    np.testing.assert_allclose(vectors[6], oracle(["bank", "x"], "en", 1, 2), atol=1e-5)
    np.testing.assert_allclose(vectors[4], oracle(["mnopqr"], "en", 0, 1), atol=1e-5)


def test_long_sentences_are_cut_and_counted(setting, warnings):
    objective, tokenizer, variables, oracle = setting
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=8)
    found = encoder.sentences(["a b c d e f", "a b c d e f g h"], "en")
    np.testing.assert_allclose(found[1], oracle(list("abcdef"), "en", 0, 6), atol=1e-5)
    np.testing.assert_array_equal(found[0], found[1])
    assert encoder.cut_counts == {"en": 1} and encoder.encoded_counts == {"en": 2}
    assert "1 of 2 sentences (en)" in warnings()


def test_empty_texts_are_zero(setting):
    objective, tokenizer, variables, _ = setting
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=16)
    found = encoder.sentences(["", "a", " "], "en")
    assert (found[[0, 2]] == 0).all() and (found[1] != 0).any()
    assert encoder.sentences([], "en").shape == (0, 3, found.shape[2])
    assert encoder.in_context([], "en") == []
    [(words, vectors)] = encoder.in_context([""], "en")
    assert words == [] and vectors.shape == (0, 3, found.shape[2])


def test_a_vector_for_every_piece(setting):
    objective, tokenizer, variables, oracle = setting
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=16)
    [one, two] = encoder.pieces(["bank", "a xyz"], "en")
    assert len(one) == 1 and len(two) == 4
    np.testing.assert_allclose(two.mean(0), oracle(["a", "xyz"], "en", 0, 2), atol=1e-5)
    np.testing.assert_allclose(two[0], oracle(["a", "xyz"], "en", 0, 1), atol=1e-5)


def test_the_pieces_of_a_word_share_its_weight_in_the_second_mean(setting):
    objective, tokenizer, variables, _ = setting
    counts = Frequencies({"en": 0, "de": 99}, {"en": {}, "de": {"bank": 60, "axy": 3, "z": 1}})
    sentences = ["bank", "a xyz river", "", "bank a"]
    encoder = ModelEncoder(objective, tokenizer, variables, frequencies=counts)
    found = encoder.pool_in_all_ways(sentences, "de")
    assert tuple(found) == encoder.pools == ("mean", "sif") and isinstance(encoder, Pools)
    np.testing.assert_array_equal(found["mean"], encoder.sentences(sentences, "de"))
    v = tokenizer.vocabulary
    weights = counts.word_weights("de", "sif")
    for found, sentence in zip(found["sif"], sentences):
        ids, owners = tokenizer.encode(sentence, "de")
        if not ids:
            assert (found == 0).all()
            continue
        rows = objective.numpy_row(variables, [v.cls_id, *ids, v.sep_id], 1)[1:-1]
        words = tokenizer.words(sentence, "de")
        given = [weights.get(words[x], 1.0) / owners.count(x) for x in owners]
        expected = np.average(rows, axis=0, weights=given)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert len(tokenizer.encode("xyz", "de")[0]) > 1  # a word of several pieces
    # Where no word occurs in the text, all weigh the same.
    found = encoder.pool_in_all_ways(["a bank"], "en")
    np.testing.assert_allclose(found["sif"], found["mean"], rtol=1e-5, atol=1e-6)


def test_without_counts_there_is_the_mean_alone(setting):
    objective, tokenizer, variables, _ = setting
    encoder = ModelEncoder(objective, tokenizer, variables)
    assert encoder.pools == ("mean",) == tuple(encoder.pool_in_all_ways(["bank"], "en"))


def test_groups_are_averaged_and_the_rest_left_out(setting):
    objective, tokenizer, variables, _ = setting
    encoder = RowEncoder(objective.encode, tokenizer, 16)
    row = Row(ids=[7, 9, 11, 13], groups=[1, -1, 0, 1], language=1)
    [found] = encoder.means(variables, [row])
    v = tokenizer.vocabulary
    every = objective.numpy_row(variables, [v.cls_id, *row.ids, v.sep_id], 1)
    np.testing.assert_allclose(found, [every[3], (every[1] + every[4]) / 2], atol=1e-5)


def test_few_programs_are_compiled(setting):
    objective, tokenizer, variables, _ = setting
    shapes = []

    def encode_fn(variables, batch):
        shapes.append(batch["inputs"].shape)
        return objective.encode(variables, batch)

    own = types.SimpleNamespace(encode=encode_fn, batch_shapes=piece_shapes, max_length=50)
    encoder = ModelEncoder(own, tokenizer, variables, batch_size=16)
    sentences = [" ".join("a" * n) for n in range(1, 60)]
    for _ in range(2):
        encoder.sentences(sentences, "en")
    encoder.sentences(sentences[:3], "en")  # few, answered sooner
    compiled = [shape for shape in shapes if shape[0] > 1]  # one-row shapes only ask for sizes
    # Texts share rows of 64 positions, but for the few.
    assert sorted(compiled) == [(4, 64), (8, 8)]


def test_many_rows_have_little_padding(setting, monkeypatch):
    objective, tokenizer, variables, _ = setting
    encoder = RowEncoder(objective.encode, tokenizer, 16, batch_size=4)
    rows = [Row([7] * 8, [0] * 8, 1)] * 5
    assert {plan.length for plan in batching.separate(rows, 4, 16)} == {16}
    before = encoder.means(variables, rows)
    monkeypatch.setattr(batching, "_WORTH", 5)
    assert {plan.length for plan in batching.separate(rows, 4, 16)} == {12}
    np.testing.assert_allclose(encoder.means(variables, rows), before, atol=1e-6)


def test_layers_that_nobody_asks_for_are_not_kept(setting):
    objective, tokenizer, variables, _ = setting
    counts = Frequencies({"en": 9, "de": 0}, {"en": {"bank": 9}, "de": {}})
    encoder = ModelEncoder(objective, tokenizer, variables, frequencies=counts, batch_size=4)
    sentences = texts(9, 5) + [""]
    shapes = []

    def chosen(vectors):
        shapes.append(vectors.shape)
        return encode.select(vectors, "mean_last4")

    found = encoder.sentences(sentences, "en", chosen)
    np.testing.assert_array_equal(found, chosen(encoder.sentences(sentences, "en")))
    assert max(shape[0] for shape in shapes[:-1] if len(shape) == 5) == 1  # the row that they share
    of_all = encoder.pool_in_all_ways(sentences, "en")
    for name, vectors in encoder.pool_in_all_ways(sentences, "en", chosen).items():
        np.testing.assert_array_equal(vectors, chosen(of_all[name]))
    with pytest.raises(ValueError, match="layer=7"):
        encoder.sentences([], "en", lambda vectors: encode.select(vectors, 7))


def test_devices_share_the_rows(run_python):
    run_python("-c", _ON_FOUR_DEVICES, devices=4)


_ON_FOUR_DEVICES = """
import jax, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from clwe_jax.encoders.sharded_call import ShardedCall, mesh_of, place

mesh = jax.make_mesh((2, 2), ("data", "tensor"), axis_types=(AxisType.Auto,) * 2)
x = np.random.RandomState(0).standard_normal((6, 5)).astype(np.float32)
table = np.random.RandomState(1).standard_normal((5, 4)).astype(np.float32)
variables = {"w": jax.device_put(table, NamedSharding(mesh, P(None, "tensor")))}
assert mesh_of(variables) == mesh and mesh_of({"w": jax.numpy.ones(3)}) is None
assert place({"x": x}, mesh)["x"].sharding.spec == P(("data",))
assert place({"x": x[:5]}, mesh)["x"].sharding.spec == P()
program = ShardedCall(lambda v, b, power: (b["x"] @ v["w"]) ** power, ("power",))
for rows in (6, 5):
    found = program(variables, {"x": x[:rows]}, power=2)
    assert found.sharding.is_fully_replicated
    np.testing.assert_allclose(found, (x[:rows] @ table) ** 2, rtol=1e-5)
"""


def test_select_layer():
    vectors = np.random.RandomState(0).standard_normal((2, 7, 3))
    np.testing.assert_array_equal(encode.select_layer(vectors, 5), vectors[:, 5])
    np.testing.assert_allclose(
        encode.select_layer(vectors, "mean_last4"), vectors[:, [3, 4, 5, 6]].mean(1)
    )
    np.testing.assert_allclose(
        encode.select_layer(vectors[:, :3], "mean_last4"), vectors[:, 1:3].mean(1)
    )
    for layer in (7, -1, "top"):
        with pytest.raises(ValueError, match="layer=.*to 6; .* or 'mean_last4'"):
            encode.select_layer(vectors, layer)


def test_bad_input(setting):
    objective, tokenizer, variables, _ = setting
    with pytest.raises(ValueError, match="max_length=2"):
        RowEncoder(objective.encode, tokenizer, 2)
    encoder = ModelEncoder(objective, tokenizer, variables, max_length=16)
    with pytest.raises(ValueError, match="'dee'.*Known: de, en"):
        encoder.sentences(["a"], "dee")


def test_half_precision_is_summed_in_full(setting):
    _, tokenizer, variables, _ = setting
    value = 1 + 2.0**-7  # a bfloat16; sums of hundreds of them are not

    def encode_fn(variables, batch):
        x = jnp.full((*batch["inputs"].shape, 4), value, jnp.bfloat16)
        return Hidden((x,))

    own = types.SimpleNamespace(encode=encode_fn, batch_shapes=piece_shapes, max_length=600)
    encoder = ModelEncoder(own, tokenizer, variables)
    found = encoder.sentences([" ".join("a" * 500)], "en")
    np.testing.assert_allclose(found, value, rtol=1e-6)

"""Features of given words against NumPy; the choice of layers; tables and batches."""

import numpy as np
import pytest

from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders import features
from clwe_jax.encoders.features import FeatureReader, FeatureTable
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.part_rows import PartRows
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.models import labelling
from clwe_jax.text.words.normalize import Normalizer


@pytest.fixture
def setting(toy_objective, make_tokenizer, make_variables):
    """An encoder of rows of eight pieces, and the vectors of a row of words' pieces in NumPy."""
    objective, tokenizer = toy_objective(), make_tokenizer(["bank", "river"])
    variables = make_variables(tokenizer)

    def oracle(words):
        cut = [tokenizer.encode(word, "de")[0] for word in words]
        ids = [
            tokenizer.vocabulary.cls_id,
            *(i for x in cut for i in x),
            tokenizer.vocabulary.sep_id,
        ]
        vectors = objective.numpy_row(variables, ids, tokenizer.language_id("de"))[1:-1]
        ends = np.cumsum([len(x) for x in cut])
        return np.split(vectors, ends[:-1])

    return ModelEncoder(objective, tokenizer, variables, max_length=8), oracle


POOLED = {"first": lambda x: x[0], "mean": lambda x: x.mean(0), "max": lambda x: x.max(0)}
ROWS = (["bank", "ab-c"], ["River"], ["x", "yz", "bank"])


@pytest.mark.parametrize("pool", ["first", "mean", "max"])
def test_given_words_equal_one_at_a_time(pool, setting):
    encoder, oracle = setting
    found = encoder.of_words(ROWS, "de", pool)
    for words, vectors in zip(ROWS, found):
        expected = np.stack([POOLED[pool](x) for x in oracle(words)])
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_long_sentence_is_read_in_several_rows(setting):
    encoder, oracle = setting
    words = ["abc", "de", "f", "ghijkl", "bank", "x"]  # six pieces fit
    [found] = encoder.of_words([words], "de", "mean")
    parts = [x for part in (words[:3], words[3:4], words[4:]) for x in oracle(part)]
    np.testing.assert_allclose(found, np.stack([x.mean(0) for x in parts]), atol=1e-5)


def test_a_word_without_letters_keeps_its_place(setting):
    encoder, _ = setting
    [found] = encoder.of_words([["bank", "\u200b", "x"]], "de")
    assert len(found) == 3


def static():
    rng = np.random.default_rng(0)
    vectors = Vectors(["haus", "Bahn", "hof"], rng.normal(size=(3, 4)).astype(np.float32))
    model = StaticSpaces({"de": vectors}, {}, {}, "de", Normalizer(lower_case=False))
    return model.encoder(), vectors.vectors


def test_static_words_are_found_as_written_in_lower_case_or_in_parts():
    encoder, vectors = static()
    [found] = encoder.of_words([["Bahn", "Haus", "Bahn-hof", "xyz"]], "de")
    expected = [vectors[1], vectors[0], vectors[[1, 2]].mean(0), np.zeros(4)]
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)


def test_layers():
    x = np.random.default_rng(0).normal(size=(2, 7, 3))
    for name, expected in (
        ("mix", x),
        ("last", x[:, 6:]),
        ("last4", x[:, 3:].mean(1, keepdims=True)),
        ("sum4", x[:, 3:].sum(1, keepdims=True)),
        ("mean", x[:, 1:].mean(1, keepdims=True)),
        (0, x[:, :1]),
        ("5", x[:, 5:6]),
    ):
        np.testing.assert_allclose(features.select(x, name), expected)
    for wrong in ("7", "-1", "lat", 9):
        with pytest.raises(ValueError, match="last4"):
            features.select(x, wrong)


def table():
    values = np.arange(14, dtype=np.float32).reshape(7, 2, 1)
    values[0] = 0
    rows = [[np.array([1, 2])], [np.array([3])], [np.array([4, 5, 6])]]
    return FeatureTable(values, rows)


def test_a_local_table_holds_the_same_vectors():
    batch = {
        "words": np.array([[1, 2, 0], [6, 3, 4]], np.int32),
        "words_b": np.array([[5], [0]], np.int32),
    }
    values, local = labelling.local(table().values, {**batch, "gold": np.zeros(2)})
    assert values.shape == (9, 2, 1) and sorted(local) == ["gold", "words", "words_b"]
    for key, words in batch.items():
        np.testing.assert_array_equal(values[local[key]], table().values[words])
        np.testing.assert_array_equal(local[key] > 0, words > 0)


def test_joined_tables_keep_their_rows():
    one = table()
    both = features.join_tables([one, one])
    for row in range(3):
        for copy in (row, row + 3):
            np.testing.assert_array_equal(
                both.values[both.rows[copy][0]], one.values[one.rows[row][0]]
            )


def test_batches_hold_every_row_once():
    rng = np.random.default_rng(0)
    rows = [[rng.integers(1, 9, n), rng.integers(1, 9, m)] for n, m in rng.integers(0, 20, (30, 2))]
    seen, widths = [], set()
    for places, batch in features.batches(FeatureTable(np.zeros((9, 1, 1), np.float32), rows), 4):
        seen += places
        widths.add(batch["words"].shape)
        for line, place in enumerate(places):
            for key, words in zip(("words", "words_b"), rows[place]):
                assert [x for x in batch[key][line] if x] == list(words)
        assert not batch["words"][len(places) :].any()
    assert sorted(seen) == list(range(30)) and len(widths) <= 4


def test_a_width_between_two_is_used_where_it_fills_batches():
    def widths(*lengths):
        rows = [[np.ones(n, np.int32)] for n in lengths]
        found = features.batches(FeatureTable(np.zeros((9, 1, 1), np.float32), rows), 4)
        return sorted({batch["words"].shape[1] for _, batch in found})

    assert widths(5, 12, 16) == [8, 16]
    assert widths(*[12] * 11, 16) == [16]
    assert widths(*[12] * 12, 16) == [12, 16] and widths(*[24] * 12, 30, 3) == [8, 24, 32]
    assert widths(*[13] * 50) == [16]


def test_texts_have_their_own_vectors_once_computed(setting):
    encoder, _ = setting
    pairs = [("the bank", "a river"), ("a river", "the bank")]
    found = FeatureReader(encoder, "last", one_vector=True).of_texts(pairs, "de")
    assert len(found.values) == 3 and [x[0] for x in found.rows[0]] == [
        x[0] for x in found.rows[1][::-1]
    ]
    expected = encoder.sentences(["a river"], "de")[0, -1]
    np.testing.assert_allclose(found.values[found.rows[1][0][0], 0], expected, atol=1e-6)
    words = FeatureReader(encoder, "mix").of_texts(pairs, "de")
    assert [len(x) for x in words.rows[0]] == [2, 2] and words.values.shape[1] == encoder.layers


class _EverySecond:
    """Leaves out every second word."""

    layers = 1

    def kept_words(self, sentences, language, pool="mean", reduce=np.asarray):
        found = []
        for words in sentences:
            places = np.arange(0, len(words), 2)
            vectors = np.array([[[ord(words[k])]] for k in places], np.float32)
            found.append((places, reduce(vectors)))
        return found


def test_spans_are_parts_of_sentences_that_are_encoded_once(setting, monkeypatch):
    encoder, _ = setting
    source, seen = FeatureReader(encoder, "last"), []
    plain = encoder.of_words
    monkeypatch.setattr(encoder, "of_words", lambda x, *rest: seen.extend(x) or plain(x, *rest))
    words = ("bank", "ab", "x")
    table = features.span_table(
        source, [(words, [(0, 2), (1, 3)]), (words, [(2, 3), (0, 1)])], "de"
    )
    assert seen == [words]
    [whole] = plain([words], "de")
    for row, spans in zip(table.rows, [[(0, 2), (1, 3)], [(2, 3), (0, 1)]]):
        for numbers, (first, end) in zip(row, spans):
            np.testing.assert_array_equal(table.values[numbers][:, 0], whole[first:end, -1])


def test_a_span_keeps_the_words_that_the_encoder_keeps():
    source = FeatureReader(_EverySecond(), "last")
    table = features.span_table(
        source, [("abcde", [(0, 3)]), ("abcde", [(1, 2)]), ("xy", [(0, 2)])], "de"
    )
    read = ["".join(chr(int(x)) for x in table.values[row[0]].ravel()) for row in table.rows]
    assert read == ["ac", "", "x"]


def test_layers_of_laser():
    """'top' is the larger direction of the last layer; 'upper' of all without the embeddings."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) * np.array([1, -1, -1, 1])
    found = features.select(x, "top")
    assert found.shape == (2, 1, 2)
    np.testing.assert_array_equal(found[:, 0], np.maximum(x[:, 2, :2], x[:, 2, 2:]))
    np.testing.assert_array_equal(
        features.select(x, "upper"), np.maximum(x[:, 1:, :2], x[:, 1:, 2:])
    )


def test_the_maximum_over_pieces_comes_after_the_mix():
    """LASER-elmo, Eq. 3, in NumPy: gamma sum_l s_l max(forward, backward), then the maximum."""
    rng = np.random.default_rng(0)
    owners = [np.array([0, 1, 1, 1, 2]), np.array([0, 0])]
    pieces = [rng.normal(size=(len(x), 3, 4)).astype(np.float32) for x in owners]
    sentences = {("a", "b", "c"): 0, ("d",): 1}

    class Encoder:
        def of_words(self, *_):
            raise AssertionError("a pool of each layer alone")

        def pieces_of_words(self, found, language):
            return [(pieces[sentences[tuple(x)]], owners[sentences[tuple(x)]]) for x in found]

    source = FeatureReader(Encoder(), "upper", "max")
    table = features.join_tables([source.of_sentences([x], "en") for x in sentences])
    shares, gamma = np.array([0.3, 0.7], np.float32), np.float32(1.5)
    variables = {"mix": np.log(shares), "mix_scale": np.full(1, gamma)}
    for part, who, (words,) in zip(pieces, owners, table.rows):
        found = labelling.Mix().apply({"params": variables}, table.values, words[None])[0]
        mixed = gamma * np.einsum("pld,l->pd", np.maximum(part[:, 1:, :2], part[:, 1:, 2:]), shares)
        expected = [mixed[who == word].max(0) for word in range(len(words))]
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    words = table.rows[0][0][None]
    values, batch = labelling.local(table.values, {"words": words})
    np.testing.assert_array_equal(values[batch["words"]], table.values[words])


def test_pieces_of_words_are_joined_and_a_lost_end_is_logged(make_tokenizer, caplog):
    tokenizer = make_tokenizer(["bank"])
    source = features.PieceTable(tokenizer, max_pieces=3)
    short, long = (source.of_sentences([x], "de") for x in (["bank"], ["x", "abcde"]))
    assert short.values.shape[1] == 1 and long.values.shape[1] == 3
    assert "1 of 2 distinct words (de)" in caplog.text
    both = features.join_tables([short, long])
    expected = [tokenizer.encode(word, "de")[0][:3] for word in ("bank", "x", "abcde")]
    found = [both.values[number] for (words,) in both.rows for number in words]
    assert [[x for x in ids if x >= 0] for ids in found] == expected
    assert (both.values[0] == -1).all()


def test_features_in_a_mapped_file_equal_those_in_memory(setting, tmp_path, monkeypatch):
    """The encoder is asked for few sentences at a time, and no table is held in memory."""
    encoder, _ = setting
    monkeypatch.setattr(features, "_AT_ONCE", 2)
    asked, plain = [], encoder.of_words
    monkeypatch.setattr(
        encoder, "of_words", lambda x, *rest: asked.append(len(x)) or plain(x, *rest)
    )
    texts = [("the bank", "a river"), ("x", "the bank"), ("a b c d", "y z")]
    held, mapped = (
        FeatureReader(encoder, "mix", folder=folder).of_texts(texts, "de")
        for folder in (None, str(tmp_path))
    )
    assert asked == [2, 2, 1] * 2
    assert isinstance(mapped.values, np.memmap) and not isinstance(held.values, np.memmap)
    np.testing.assert_allclose(mapped.values, held.values, atol=1e-6)
    for one, other in zip(mapped.rows, held.rows):
        assert [x.tolist() for x in one] == [x.tolist() for x in other]
    both = features.join_tables([mapped, mapped], str(tmp_path))
    assert isinstance(both.values, np.memmap)
    np.testing.assert_array_equal(both.values[both.rows[4][0]], mapped.values[mapped.rows[1][0]])
    middle = features.mean(mapped.values, np.arange(1, len(mapped.values)))
    np.testing.assert_allclose(middle, held.values[1:].mean(0), atol=1e-6)
    # [words, pieces, layers, D]: the first word has one piece, which is repeated.
    pieces = np.array([[1, 1, 1], [2, 3, 4]], np.float32)[..., None, None]
    assert features.mean(pieces, np.arange(2)).item() == 2.5
    moved = features.center_table(mapped, middle, str(tmp_path))
    assert isinstance(moved.values, np.memmap) and not moved.values[0].any()
    np.testing.assert_allclose(moved.values[1:], held.values[1:] - middle, atol=1e-6)


def test_parts_of_fewer_pieces_are_as_long_as_the_others_in_a_file_too(tmp_path):
    parts = [
        np.random.default_rng(k).normal(size=(2, k, 1, 3)).astype(np.float32) for k in (1, 3, 2)
    ]
    found = [PartRows(folder) for folder in (None, str(tmp_path))]
    for rows in found:
        for part in (*parts, parts[0][:0]):
            rows.add(part)
    held, mapped = (rows.together() for rows in found)
    np.testing.assert_array_equal(held, mapped)
    np.testing.assert_array_equal(held[4:, 2], parts[2][:, 1])
    assert isinstance(mapped, np.memmap) and held.shape == (6, 3, 1, 3)

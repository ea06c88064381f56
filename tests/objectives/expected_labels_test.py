"""Labels in expectation against the mean over all draws, and against NumPy."""

import dataclasses
import itertools

from flax import linen as nn
import jax
import numpy as np
import pytest

from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.options.models import TransformerOptions
from clwe_jax.text.dictionary import Dictionary, label_table
from clwe_jax.types import piece_shapes

LANGUAGES = ("en", "de", "fr")
WORDS = ("cat", "dog", "katze", "kater", "hund", "chat")  # one piece each, from id 5 on
PIECES = {word: 5 + number for number, word in enumerate(WORDS)}
PAIRS = {
    ("en", "de"): [("cat", "katze"), ("cat", "kater"), ("dog", "hund")],
    ("en", "fr"): [("cat", "chat")],
}
VOCAB, PADDED, LENGTH = 14, 16, 7
SHARE = 0.7
DICTIONARY = Dictionary.from_pairs(PAIRS, LANGUAGES)


def make_table(equal=False):
    pieces = np.array([PIECES[word] for word in DICTIONARY.words()], np.int32)
    return label_table.make(
        DICTIONARY, np.arange(len(pieces) + 1), pieces, VOCAB, SHARE, equal=equal
    )


def make_objective(table, **changes):
    sizes = TransformerOptions(
        layers=1, width=8, heads=2, mlp_dim=12, dropout=0.0, language_embeddings=False, **changes
    )
    model = Transformer(sizes, PADDED, len(LANGUAGES), LENGTH)
    return MlmObjective(model=model, vocab_size=VOCAB, max_predictions=3, label_table=table)


def make_objective_over_all_pieces(conditioned):
    """With every piece in every language, as in the softmax of drawn labels and of a language without entries."""
    table = make_table()
    table = table._replace(members=np.ones_like(table.members))
    return make_objective(table, condition_on_language=conditioned)


def entry(word, language):
    return DICTIONARY.id(word, language)


MASKED = {(0, 1): ("cat", "en"), (0, 3): ("hund", "de"), (1, 2): ("chat", "fr")}


def make_batch():
    """Two rows, in which three words of `MASKED` are predicted."""
    r = np.random.RandomState(0)
    batch = {key: np.zeros(x.shape, x.dtype) for key, x in piece_shapes(2, LENGTH, True).items()}
    batch["inputs"][:] = r.randint(5, VOCAB, (2, LENGTH))
    batch["positions"][:] = np.arange(LENGTH)
    batch["segment_ids"][:] = 1
    for place, (word, language) in MASKED.items():
        batch["targets"][place] = PIECES[word]
        batch["loss_weights"][place] = 1
        batch["entries"][place] = 1 + entry(word, language)
        batch["source_language_ids"][place] = LANGUAGES.index(language)
    batch["language_ids"][:] = batch["source_language_ids"]
    return batch


def draws(word, language):
    """(probability, piece, language) of every label of a word."""
    yield 1 - SHARE, PIECES[word], LANGUAGES.index(language)
    groups = DICTIONARY.synonyms(word, language)
    for other, synonyms in groups.items():
        for synonym in synonyms:
            chance = SHARE / len(groups) / len(synonyms)
            yield chance, PIECES[synonym], LANGUAGES.index(other)


def start(objective, batch):
    tree = nn.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    r = np.random.RandomState(0)
    params = jax.tree.map(
        lambda x: x + np.float32(0.4 * r.standard_normal(x.shape)), tree["params"]
    )
    return {**tree, "params": params}


def loss_and_gradient(objective, train=False):
    """The function (variables, batch) -> loss, sums, gradient, compiled once."""

    def loss(params, variables, batch):
        sums, _ = objective.loss({**variables, "params": params}, batch, step=0, train=train)
        return sums["loss"].value, sums

    compiled = jax.jit(jax.value_and_grad(loss, has_aux=True))

    def of(variables, batch):
        (value, sums), gradient = compiled(variables["params"], variables, batch)
        return float(value), sums, gradient

    return of


@pytest.mark.parametrize("conditioned", [True, False])
def test_the_loss_is_the_mean_over_all_draws(conditioned):
    objective = make_objective_over_all_pieces(conditioned)
    batch = make_batch()
    variables = start(objective, batch)
    found, sums, gradient = loss_and_gradient(objective)(variables, batch)

    drawn = loss_and_gradient(dataclasses.replace(objective, label_table=None))
    plain = {key: value for key, value in batch.items() if key != "entries"}
    total, mean = 0.0, jax.tree.map(np.zeros_like, gradient)
    count = 0
    for labels in itertools.product(*(draws(*word) for word in MASKED.values())):
        for place, (_, piece, language) in zip(MASKED, labels):
            plain["targets"][place], plain["language_ids"][place] = piece, language
        chance = np.prod([label[0] for label in labels])
        value, _, one = drawn({"params": variables["params"]}, plain)
        total += chance * value
        mean = jax.tree.map(lambda a, b: a + chance * np.asarray(b, np.float64), mean, one)
        count += 1
    assert count == 4 * 2 * 2
    assert found == pytest.approx(total, rel=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), gradient, mean)
    assert float(sums["loss"].weight) == pytest.approx(3)
    assert float(sums["cross_lingual_share"].mean()) == pytest.approx(SHARE)


@pytest.mark.parametrize("conditioned", [True, False])
def test_words_without_an_entry_are_learned_as_in_plain_mlm(conditioned):
    objective = make_objective_over_all_pieces(conditioned)
    batch = make_batch()
    batch["entries"][:] = 0
    variables = start(objective, batch)
    loss, sums, gradient = loss_and_gradient(objective)(variables, batch)
    plain = loss_and_gradient(dataclasses.replace(objective, label_table=None))
    del batch["entries"]
    plain_loss, plain_sums, plain_gradient = plain({"params": variables["params"]}, batch)
    assert loss == pytest.approx(plain_loss, rel=1e-5)
    assert float(sums["loss"].weight) == len(MASKED)
    assert sums["accuracy"].mean() == plain_sums["accuracy"].mean()
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=5e-6), gradient, plain_gradient)


@pytest.mark.parametrize("conditioned", [True, False])
@pytest.mark.parametrize("equal", [True, False])
def test_labels_compete_within_their_language(conditioned, equal):
    table = make_table(equal)
    objective = make_objective(table, condition_on_language=conditioned)
    batch = make_batch()
    variables = start(objective, batch)
    _, sums, gradient = loss_and_gradient(objective)(variables, batch)
    hidden = objective.encode(variables, batch).last
    expected = {"monolingual_loss": 0.0, "cross_lingual_loss": 0.0}
    for place, (word, language) in MASKED.items():
        for chance, piece, other in draws(word, language):
            here = {PIECES[x] for x in DICTIONARY.lexicon(LANGUAGES[other])}
            chosen = sorted(here)
            ids = np.full((1,), other)
            params = {"params": variables["params"]}
            scores = objective.module.apply(params, hidden[place][None], ids, method="score")[0]
            scores = np.asarray(scores, np.float64)
            if equal:
                same = sum(x == other for _, _, x in draws(word, language))
                chance = 1 / same
            own = other == LANGUAGES.index(language)
            name = "monolingual_loss" if own else "cross_lingual_loss"
            expected[name] += chance * (np.log(np.exp(scores[chosen]).sum()) - scores[piece])
    for name, value in expected.items():
        assert float(sums[name].value) == pytest.approx(value, rel=1e-4)
    assert float(sums["loss"].value) == pytest.approx(sum(expected.values()), rel=1e-4)
    # The pieces of no dictionary word never compete, and so their rows learn nothing from the output.
    never = gradient["head"]["output_bias"][5 + len(WORDS) :]
    assert not np.asarray(never).any()


def test_a_label_of_several_pieces_is_a_bag():
    dictionary = Dictionary.from_pairs({("en", "de"): [("cat", "katze"), ("cat", "kater")]})
    assert dictionary.languages == ("de", "en")
    words = list(dictionary.words())
    pieces = {"cat": [3], "katze": [5, 7], "kater": [5, 5, 6, 8]}
    sizes = [len(pieces[word]) for word in words]
    table = label_table.make(
        dictionary,
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([pieces[word] for word in words]),
        vocab_size=10,
        share=0.8,
    )
    first, last = table.splits[entry_of(words, "cat") :][:2]
    labels = zip(table.languages[first:last], table.pieces[first:last], table.weights[first:last])
    found = {(int(a), int(b)): float(c) for a, b, c in labels}
    # Two synonyms weigh .4 each, over two and four pieces, of which both have piece 5.
    wanted = {(1, 3): 0.2, (0, 5): 0.2 + 0.2, (0, 7): 0.2, (0, 6): 0.1, (0, 8): 0.1}
    assert found == pytest.approx(wanted)
    assert np.flatnonzero(table.members[:, 0]).tolist() == [5, 6, 7, 8]


def entry_of(words, word):
    return words.index(word)


def test_a_synonym_without_pieces_leaves_its_weight_to_the_word():
    dictionary = Dictionary.from_pairs({("en", "de"): [("cat", "katze"), ("cat", "?")]})
    words = list(dictionary.words())
    sizes = np.array([0 if word == "?" else 1 for word in words])
    splits = np.concatenate([[0], np.cumsum(sizes)])
    table = label_table.make(dictionary, splits, np.arange(5, 7, dtype=np.int32), 10, share=0.5)
    first, last = table.splits[entry_of(words, "cat") :][:2]
    assert sorted(table.weights[first:last].tolist()) == [0.25, 0.75]


def test_the_heaviest_labels_stay_and_weigh_as_much_as_all(monkeypatch):
    monkeypatch.setattr(label_table, "_MAX_LABELS", 2)
    table = make_table()
    whole = np.add.reduceat(table.weights, table.splits[:-1])
    np.testing.assert_allclose(whole, 1, rtol=1e-6)
    assert table.max_labels == 2


def test_the_distance_of_words_and_labels_equals_numpy():
    table = make_table()
    objective = make_objective(table, condition_on_language=False)
    batch = make_batch()
    variables = start(objective, batch)
    plain, _, before = loss_and_gradient(objective, train=True)(variables, batch)
    aligned = dataclasses.replace(objective, align_labels=2.0)
    found, sums, gradient = loss_and_gradient(aligned, train=True)(variables, batch)

    vectors = np.asarray(variables["params"]["backbone"]["token_embedding"], np.float64)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    units = vectors / lengths
    distance = 0.0
    pulls = np.zeros_like(vectors)
    for word, language in MASKED.values():
        own = PIECES[word]
        for chance, piece, _ in draws(word, language):
            cosine = units[own] @ units[piece]
            distance += chance * (1 - cosine)
            pulls[own] -= chance * (units[piece] - cosine * units[own]) / lengths[own]
            pulls[piece] -= chance * (units[own] - cosine * units[piece]) / lengths[piece]
    assert float(sums["label_distance"].value) == pytest.approx(distance, rel=1e-5)
    assert float(sums["label_distance"].weight) == pytest.approx(len(MASKED))
    assert found == pytest.approx(plain + 2.0 * distance, rel=1e-5)
    name = "token_embedding"
    moved = gradient["backbone"].pop(name) - before["backbone"].pop(name)
    np.testing.assert_allclose(moved, 2.0 * pulls, atol=2e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), gradient, before)
    # Evaluation measures the distance and no penalty.
    measured, _, _ = loss_and_gradient(aligned)(variables, batch)
    assert measured == pytest.approx(plain, rel=1e-6)

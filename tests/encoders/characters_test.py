"""Words as characters, anchors, projections, sense inventories by nearest means: against NumPy."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from clwe_jax import options, presets
from clwe_jax.encoders.batching import Row
from clwe_jax.encoders.characters import CharacterEncoder, encoder_of
from clwe_jax.encoders.encode import RowEncoder
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.evaluate import anchors, sense_evaluator
from clwe_jax.evaluate.context import Context
from clwe_jax.evaluate.wsd import WordSenseDisambiguation
from clwe_jax.models.senses import state as senses
from clwe_jax.objectives import projected
from clwe_jax.options.senses import SenseOptions
from clwe_jax.text.vocab import spelling, word_vocab
from clwe_jax.text.corpus.frequencies import Frequencies
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build
from clwe_jax.types import Hidden, piece_shapes

WORDS = ("the", "bank", "river", "money")


def tokenizer():
    vocabulary = word_vocab.train({word: 9.0 - n for n, word in enumerate(WORDS)}, 64)
    return Tokenizer(("en", "de"), Normalizer(True, False), Segmenter({}), vocabulary)


class Characters:
    """A word's vector is made of its characters; layer 1 adds the sentence's mean."""

    max_length = 16

    def batch_shapes(self, rows, length):
        shapes = dict.fromkeys(("spelling", "loss_weights", "language_ids"))
        return {**shapes, "characters": jax.ShapeDtypeStruct((rows * length, 50), jnp.int32)}

    def encode(self, variables, batch):
        table = variables["characters"][batch["characters"]].sum(1)
        x = table[batch["spelling"]]
        here = batch["loss_weights"][..., None]
        mean = (x * here).sum(1, keepdims=True) / here.sum(1, keepdims=True).clip(1)
        return Hidden((x, x + mean))


def variables(width=5):
    table = np.random.RandomState(0).standard_normal((spelling.PAD + 1, width)).astype(np.float32)
    table[spelling.PAD] = 0
    return {"characters": jnp.asarray(table)}


def by_hand(word):
    return np.asarray(variables()["characters"])[spelling.spell_all([word.encode()])[0]].sum(0)


def test_unknown_words_have_vectors_of_their_own():
    assert isinstance(encoder_of(Characters(), tokenizer()), CharacterEncoder)
    encoder = ModelEncoder(Characters(), tokenizer(), variables())
    ((words, vectors),) = encoder.in_context(["the quixotic bank, quixotic!"], "en")
    assert words[:2] == ["the", "quixotic"]
    for word, vector in zip(words, vectors):
        np.testing.assert_allclose(vector[0], by_hand(word), rtol=1e-5)
    np.testing.assert_array_equal(vectors[1], vectors[words.index("quixotic", 2)])


@pytest.mark.parametrize("size", [6, 80])
def test_frames_are_as_long_as_those_of_the_training(size):
    """Words of the vocabulary and other words, for a model with `task.max_characters=size`."""
    config = presets.start_from("elmo", "laptop", languages="en,de")
    config.task.max_characters = size
    config.model.update(width=8, layers=1, cells=8, filters=((1, 4), (3, 4)), highways=1)
    objective = build.build_objective(options.parse(config), 9, 16)
    encoder = encoder_of(objective, tokenizer())
    words = ["money", "antidisestablishmentarianism" * 2]
    ids, groups = encoder.tokenizer.encode_words(words)
    batch = encoder.batch([Row(ids, groups, 0)], 1, 8)
    found = batch["characters"][batch["spelling"][0, 1:3]]
    expected = spelling.spell_all([word.encode() for word in words], size)
    np.testing.assert_array_equal(found, expected)
    assert objective.batch_shapes(2, 8)["characters"].shape[1] == size


def test_an_unknown_word_weighs_most_by_sif():
    counts = Frequencies({"en": 100}, {"en": {"the": 99, "bank": 1}})
    encoder = ModelEncoder(Characters(), tokenizer(), variables(), frequencies=counts)
    found = encoder.pool_in_all_ways(["the quixotic bank"], "en")["sif"][0, 0]
    weights = [1e-3 / (1e-3 + 0.99), 1, 1e-3 / (1e-3 + 0.01)]
    vectors = [by_hand(word) for word in ("the", "quixotic", "bank")]
    np.testing.assert_allclose(found, np.average(vectors, axis=0, weights=weights), rtol=1e-4)


def test_words_of_the_vocabulary_are_spelt_as_in_training():
    own = tokenizer()
    encoder = CharacterEncoder(Characters().encode, own, 16, 50)
    batch = encoder.batch([], 1, 8)
    assert set(np.unique(batch["spelling"])) == {0}  # padding alone
    table = spelling.spell_vocabulary(own.vocabulary)
    numbers = np.arange(len(own.vocabulary.pieces))
    np.testing.assert_array_equal(encoder._spell(numbers), table)


def test_a_vocabulary_of_pieces_is_refused():
    wrong = types.SimpleNamespace(vocabulary=types.SimpleNamespace(kind="wordpiece"))
    with pytest.raises(ValueError, match="wordpiece"):
        CharacterEncoder(Characters().encode, wrong, 16, 50)


def test_anchors_are_means_over_all_occurrences():
    encoder = ModelEncoder(Characters(), tokenizer(), variables())
    lines = ["the bank", "bank river bank", "money", "the river"] * 300
    index = {"bank": 0, "river": 1, "absent": 2}
    found, counts = anchors.collect(encoder, iter(lines), "en", index)
    assert counts.tolist() == [900, 600, 0] and not found[2].any()
    each = encoder.in_context(lines[:4], "en")
    expected = np.mean(
        [v for words, vectors in each for w, v in zip(words, vectors) if w == "bank"], axis=0
    )
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_centers_that_translate_each_other_fit_best_from_either_side():
    r = np.random.RandomState(3)
    config = SenseOptions(senses=4, projected=3, queue=8, warmup_slot=False)
    state = senses.create(config, 9, 6, jax.random.key(0)).replace(
        centers=jnp.array(r.randn(9, 4, 6), jnp.float32),
        projected=jnp.array(r.randn(9, 4, 3), jnp.float32),
        total=jnp.array(r.randint(0, 3, (9, 4))),
        enabled=jnp.array(r.rand(9, 4) < 0.8),
    )
    pairs = np.array([[0, 5], [1, 5], [2, 7], [3, 8], [0, 6]])
    found = anchors.centers(state, pairs)
    unit = np.array(state.projected) / np.linalg.norm(state.projected, axis=-1, keepdims=True)
    used = np.array(state.enabled & (state.total > 0))
    expected = []
    for a, b in pairs:
        fits = {
            (s, t): unit[a, s] @ unit[b, t]
            for s in range(4)
            for t in range(4)
            if used[a, s] and used[b, t]
        }
        assert np.diff(np.sort(list(fits.values()))).min(initial=1) > 1e-5  # no near ties
        for (s, t), fit in fits.items():
            if all(fit >= x for (s2, t2), x in fits.items() if s2 == s or t2 == t):
                expected.append((state.centers[a, s], state.centers[b, t]))
    assert len(expected) > len(pairs)
    for rows, theirs in zip(found, zip(*expected), strict=True):
        np.testing.assert_array_equal(rows, np.stack(theirs))


def test_projection_maps_one_language_alone(tmp_path):
    r = np.random.RandomState(1)
    maps = {"orthogonal": {"de": r.standard_normal((2, 5, 5)).astype(np.float32)}}
    path = str(tmp_path / projected.FILE)
    projected.save(path, maps, "orthogonal")
    own = tokenizer()
    objective = projected.load(path, Characters(), own.language_id)
    plain, mapped = (ModelEncoder(each, own, variables()) for each in (Characters(), objective))
    text = ["the bank of the river"]
    before = plain.sentences(text, "de")
    after = mapped.sentences(text, "de")
    for layer in range(2):
        np.testing.assert_allclose(
            after[0, layer],
            before[0, layer] @ maps["orthogonal"]["de"][layer],
            rtol=1e-4,
            atol=1e-5,
        )
    np.testing.assert_array_equal(plain.sentences(text, "en"), mapped.sentences(text, "en"))
    (tmp_path / projected.FILE).write_bytes(b"not it")
    with pytest.raises(ValueError, match="job=project"):
        projected.load(path, Characters(), own.language_id)


def test_nearest_sense_by_hand():
    vectors = np.array([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.8], [1, 0]], np.float32)
    words = ["bank", "bank", "bank", "bank", "unseen"]
    meant = ["money", "river", "money", "money", "x"]
    known = np.array([True, True, False, False, False])
    assert sense_evaluator.nearest_sense(vectors, words, meant, known) == (1, 2)


def test_words_of_one_concept_in_the_domains_mean_it_whatever_else_they_can():
    languages = ["en", "de"]

    def figures(*domains):
        context = Context(languages=languages, domains=domains)
        return sense_evaluator.SenseFigures(
            sense_evaluator.SenseEvaluator(context=context),
            Characters(),
            types.SimpleNamespace(languages=languages),
        )

    evaluator = figures("money")
    assert evaluator._only["en", "bank"] == "bank.money"
    assert set(evaluator._concepts["en", "bank"]) > {"bank.money"}
    wider = figures("money", "nature")
    assert ("en", "bank") not in wider._only
    # Words of one concept in any text are among them too.
    for word, concepts in wider._concepts.items():
        if len(concepts) == 1:
            assert wider._only[word] == concepts[0]


def test_a_language_without_translations_is_said_and_left_out(said):
    """Of three languages the dictionary may join two: the run's other figures stay."""
    languages = ["en", "de", "fr"]
    tokenizer = types.SimpleNamespace(
        languages=languages, vocabulary=types.SimpleNamespace(pieces=["bank", "banque"])
    )
    evaluator = sense_evaluator.SenseEvaluator(context=Context(languages=languages))
    figures = sense_evaluator.SenseFigures(evaluator, Characters(), tokenizer)
    vars(figures)["_occurrences"] = [
        sense_evaluator.Occurrence(("en", "bank"), "bank.money", ["bank"], 0, 0),
        sense_evaluator.Occurrence(("fr", "banque"), "bank.money", ["banque"], 1, 0),
    ]
    vars(figures)["_only"] = {("de", "bank"): "bank.money"}
    vars(figures)["_concepts"] = {("de", "bank"): ["bank.money"]}
    candidates = np.array([[0], [-1]]), np.array([[1], [0]])
    choices = {"both": (np.zeros((2, 1, 1)), {})}
    scores = figures._translations(*candidates, choices, "en")
    assert scores["translation_accuracy"] == scores["translation_occurrences"] == 1
    assert figures._translations(*candidates, choices, "fr") == {}
    assert "senses of fr: no translation is scored" in said.text


def test_candidates_of_several_languages_leave_no_gap():
    table = np.array([[[-1, -1], [7, 8], [2, -1]], [[5, -1], [9, -1], [-1, -1]], [[-1, -1]] * 3])
    found, into = sense_evaluator._candidates(table, np.array([1, 0, 2, 0]), np.array([2, 0, 0, 1]))
    expected = [[5, 9], [7, 8, 2], [], [2]]
    assert [row[row >= 0].tolist() for row in found] == expected
    assert [row[: len(x)].tolist() for row, x in zip(into, expected)] == [
        [0, 1],
        [1, 1, 2],
        [],
        [2],
    ]
    np.testing.assert_array_equal(found >= 0, [np.arange(6) < len(x) for x in expected])


def test_the_nearest_sense_by_one_direction_alone():
    """Only the backward half of the second layer separates the senses."""
    apart = np.array([[1, 0], [0, 1], [1, 0], [0, 1]], np.float32)
    same = np.ones_like(apart)
    layers = [np.concatenate(halves, 1) for halves in ((same, same), (same, apart))]
    evaluator = types.SimpleNamespace(
        objective=types.SimpleNamespace(directions={"forward": slice(2), "backward": slice(2, 4)}),
        _occurrences=[types.SimpleNamespace(sentence=number) for number in (0, 2, 1, 3)],
    )
    meant, read = ["money", "river"] * 2, np.stack(layers, 1)
    found = dict(sense_evaluator.SenseFigures._nearest(evaluator, read, ["bank"] * 4, meant))
    assert found == {
        "senses/nearest/layer0": 0.5,
        "senses/nearest/layer1": 1.0,
        "senses/nearest": 1.0,
        "senses/forward/nearest": 0.5,
        "senses/backward/nearest": 1.0,
    }


def test_disambiguation_reads_given_words():
    """Words as they are given, not as the tokenizer would cut them; layer by layer."""
    own = tokenizer()
    evaluator = WordSenseDisambiguation(context=Context(languages=own.languages, tokenizer=own))
    model = ModelEncoder(Characters(), own, variables())
    sentences = [["The", "bank-note", "river"], ["money"]] * 300
    found = list(evaluator._encode(model, sentences))
    assert [len(x) for x in found] == [3, 1] * 300 and found[0].shape == (3, 2, 5)
    np.testing.assert_allclose(found[0][1, 0], by_hand("bank-note"), rtol=1e-5)
    np.testing.assert_allclose(found[-1][0, 0], by_hand("money"), rtol=1e-5)


def test_models_of_pieces_have_the_plain_encoder():
    plain = types.SimpleNamespace(
        batch_shapes=piece_shapes, max_length=16, encode=Characters().encode
    )
    assert type(encoder_of(plain, tokenizer())) is RowEncoder

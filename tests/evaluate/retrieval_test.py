"""Planted translations: what each comparison finds, by which names, against NumPy."""

import numpy as np
import pytest

from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.encoders.protocols import Encoder, WordSample, WordSpace
from clwe_jax.evaluate import retrieval
from clwe_jax.evaluate.context import Context
from clwe_jax.text.corpus.frequencies import Frequencies


def rotation(width, seed=0):
    return np.linalg.qr(np.random.RandomState(seed).standard_normal((width, width)))[0]


def numpy_matches(x, y, neighbourhood=0):
    """By the definitions: whether the best y of row n is n, and the reverse; 0 neighbours: by cosine."""
    # Zeros stay zeros.
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True).clip(1e-9) for v in (x, y))
    scores = x @ y.T
    if neighbourhood:
        of_x = np.sort(scores, axis=1)[:, -neighbourhood:].mean(1)
        of_y = np.sort(scores, axis=0)[-neighbourhood:].mean(0)
        scores = 2 * scores - of_x[:, None] - of_y
    own = np.arange(len(x))
    return scores.argmax(1) == own, scores.argmax(0) == own


def test_identical_sides_match_and_rotated_ones_do_not():
    x = np.random.RandomState(1).standard_normal((200, 32))
    turned = x @ rotation(32)
    for sides in (
        retrieval.nearest_is_translation(x, x).values(),
        retrieval.nearest_is_translation(turned, turned).values(),
    ):
        assert all(right.all() for both in sides for right in both)
    for both in retrieval.nearest_is_translation(x, turned).values():
        assert all(right.mean() < 0.05 for right in both)


@pytest.mark.parametrize("neighbourhood", [2, 10, 500])
def test_equals_numpy(neighbourhood):
    r = np.random.RandomState(2)
    x = r.standard_normal((150, 16)) + 1
    y = x + r.standard_normal((150, 16)) - 2
    expected = {
        "": numpy_matches(x, y),
        "_centered": numpy_matches(x - x.mean(0), y - y.mean(0)),
        "_csls": numpy_matches(x, y, neighbourhood),
        "_csls_k3": numpy_matches(x, y, 3),
    }
    found = retrieval.nearest_is_translation(x, y, (neighbourhood, 3))
    assert list(found) == list(expected)
    for suffix, both in expected.items():
        np.testing.assert_array_equal(found[suffix], both)
        assert 0.05 < np.mean(both) < 0.95 and (both[0] != both[1]).any()


def test_a_sentence_without_a_vector_finds_nothing():
    """Zeros are as near to all: a tie would give them the first row, and CSLS other rows of zeros."""
    r = np.random.RandomState(4)
    x = r.standard_normal((40, 8)) + 1
    y = x + 0.7 * r.standard_normal((40, 8))
    x[[0, 7, 9]] = 0
    y[[0, 9, 11]] = 0
    naive = {
        "": numpy_matches(x, y),
        "_centered": numpy_matches(x - x.mean(0), y - y.mean(0)),
        "_csls": numpy_matches(x, y, 3),
        "_csls_k5": numpy_matches(x, y, 5),
    }
    assert all(both[side][0] for both in naive.values() for side in (0, 1))
    found = retrieval.nearest_is_translation(x, y, (3, 5))
    for ending, (ahead, back) in naive.items():
        expected = ahead & x.any(1) & y.any(1), back & x.any(1) & y.any(1)
        np.testing.assert_array_equal(found[ending], expected)
        assert not expected[0][0] and expected[0].any()
    # The first source is nearest to its translation, which is zeros, because all others are behind it.
    lonely = retrieval.nearest_is_translation(np.eye(2), np.array([[0, 0], [-1, 0]]), (1,))
    assert not lonely[""][0][0]


def test_sides_of_different_numbers_are_refused():
    x = np.ones((3, 2))
    for sides in ((x, x[:2]), (x[:2], x)):
        with pytest.raises(ValueError, match=f"{len(sides[0])} .* {len(sides[1])}"):
            retrieval.nearest_is_translation(*sides)


def test_repeated_sentences_count_once(tmp_path, caplog):
    (tmp_path / "de-en.de").write_text("a\nb\nA \nc\nd\n")
    (tmp_path / "de-en.en").write_text("1\n2\n1\n3\n3\n")
    made = retrieval.SentenceRetrieval(context=Context(languages=("de", "en")), data=str(tmp_path))
    [(_, source, target)] = made._pairs
    assert (source, target) == (["a", "b", "c"], ["1", "2", "3"])
    assert "2 of 5" in caplog.text


def test_files_of_any_kind_are_read_in_the_asked_directions_alone(tmp_path, warnings):
    for name in ("test.de", "test.en", "test.fr", "de-fr.de", "de-fr.fr"):
        (tmp_path / name).write_text("a\nb\n")
    for place in (f"{tmp_path}/test", str(tmp_path)):
        context = Context(languages=("de", "en", "fr"), pairs=[("fr", "de"), ("de", "fr")])
        made = retrieval.SentenceRetrieval(context=context, data=place)
        assert [pair.name for pair, _, _ in made._pairs] == ["de-fr"]
    assert "2 pairs are not measured, such as de-en" in warnings("INFO")


def test_a_value_that_is_not_finite_is_an_error():
    x = np.ones((3, 2))
    broken = np.array([[1, 1], [1, np.nan], [1, 1]])
    for sides in ((x, broken), (broken, x)):
        with pytest.raises(ValueError, match="row 1"):
            retrieval.nearest_is_translation(*sides)


def test_a_constant_offset_blinds_the_plain_cosine_only():
    r = np.random.RandomState(3)
    x = r.standard_normal((300, 32)) * r.lognormal(0, 0.5, (300, 1))
    y = x + 0.3 * r.standard_normal((300, 32))
    ours, theirs = 4 * r.standard_normal(32), r.standard_normal(32)
    found = retrieval.nearest_is_translation(x + ours, y + theirs)
    plain, centered, csls = (found[x][0].mean() for x in ("", "_centered", "_csls"))
    assert plain < 0.25 and centered > 0.99 and csls > plain + 0.15


WORDS = 40


@pytest.fixture
def world(make_tokenizer, make_variables, tmp_path):
    """en0 ... and de0 ... mean the same and have one vector; languages stand far apart."""
    names = [chr(97 + i // 26) + chr(97 + i % 26) for i in range(WORDS)]
    tokenizer = make_tokenizer([f"{lang}{name}" for lang in ("en", "de") for name in names])
    variables = make_variables(tokenizer, language_scale=5.0)
    ids = {
        lang: [tokenizer.vocabulary.encode_word(f"{lang}{name}")[0] for name in names]
        for lang in ("en", "de")
    }
    pieces = np.array(variables["pieces"])
    pieces[ids["de"]] = pieces[ids["en"]]
    r = np.random.RandomState(0)
    lines = [r.choice(names, r.randint(2, 6), replace=False) for _ in range(120)]
    for lang, code in (("en", "eng"), ("de", "deu")):
        text = "".join(" ".join(f"{lang}{name}" for name in line) + "\n" for line in lines)
        (tmp_path / f"tatoeba.deu-eng.{code}").write_text(text)
    for code in ("fra", "eng"):
        (tmp_path / f"tatoeba.fra-eng.{code}").write_text("x\n")
    return tokenizer, {**variables, "pieces": pieces}, tmp_path


def build(world, **options):
    tokenizer, _, folder = world
    context = Context(languages=tokenizer.languages, tokenizer=tokenizer)
    return retrieval.SentenceRetrieval(data=str(folder), **options, context=context)


def run(world, objective, **options):
    tokenizer, variables, _ = world
    model = ModelEncoder(objective, tokenizer, variables, batch_size=32)
    return dict(build(world, **options).run(model))


def test_the_metrics(world, toy_objective):
    found = run(world, toy_objective(layers=6))
    ends = ["", "_centered", "_csls"]
    for end in ends:
        layers = [found[f"retrieval/de-en/layer{k}/acc@1{end}"] for k in range(7)]
        assert found[f"retrieval/mean_last4{end}"] == pytest.approx(np.mean(layers[3:]))
        assert found[f"retrieval/de-en/mean_last4{end}"] == found[f"retrieval/mean_last4{end}"]
        assert [found[f"retrieval/layer{k}/acc@1{end}"] for k in range(7)] == layers
        low, high = (found[f"retrieval/de-en/mean_last4{end}{x}"] for x in ("_low", "_high"))
        assert 0 <= low <= found[f"retrieval/mean_last4{end}"] <= high <= 1 and low < high
        both = [found[f"retrieval/{pair}/mean{end}"] for pair in ("de-en", "en-de")]
        assert found[f"retrieval/mean{end}"] == pytest.approx(np.mean(both))
        low, high = (found[f"retrieval/en-de/mean{end}{x}"] for x in ("_low", "_high"))
        assert 0 <= low <= both[1] <= high <= 1 and low < high
    assert found["retrieval/cut"] == 0
    assert found["retrieval/de-en/chance"] == found["retrieval/chance"] == 1 / 120
    assert len(found) == 3 * (7 + 3 + 7 + 1) + 3 * (2 * 3 + 1) + (2 + 1) + 1 + 3
    assert not any("fr-en" in name for name in found)
    # The languages' embeddings hide the translation from the plain cosine.
    assert found["retrieval/de-en/layer0/acc@1"] < 0.7
    assert found["retrieval/de-en/layer0/acc@1_centered"] > 0.95
    assert found["retrieval/mean_last4_csls"] > found["retrieval/mean_last4"]


def test_weighted_pooling_is_measured_from_the_same_pass(world, toy_objective, warnings):
    tokenizer, variables, folder = world
    # A frequent word in random places hides the translation from the mean alone.
    r = np.random.RandomState(1)
    for code, lang in (("eng", "en"), ("deu", "de")):
        path = folder / f"tatoeba.deu-eng.{code}"
        lines = [f"{'x ' * r.randint(4)}{line}" for line in path.read_text().splitlines(True)]
        path.write_text("".join(lines))
    objective = toy_objective(layers=1)
    plain = run(world, objective)
    assert not any("/sif/" in name for name in plain) and "no counts" in warnings("INFO")
    counts = Frequencies({x: 1_000 for x in ("en", "de")}, {x: {"x": 900} for x in ("en", "de")})
    model = ModelEncoder(objective, tokenizer, variables, batch_size=32, frequencies=counts)
    found = dict(build(world).run(model))
    assert model.encoded_counts == {"de": 120, "en": 120}  # once for both pools
    assert {x: y for x, y in found.items() if "/sif/" not in x} == plain
    names = {x.replace("/sif/", "/") for x in found if "/sif/" in x}
    assert names == {x for x in plain if not x.endswith(("/cut", "/chance"))}
    for name in ("layer0/acc@1_centered", "mean_centered"):
        assert found[f"retrieval/sif/{name}"] > found[f"retrieval/{name}"] + 0.1


def test_means_are_over_pairs(world, toy_objective, make_tokenizer):
    tokenizer, variables, folder = world
    for code, text in (("spa", "a b c\nb a\nc\n"), ("eng", "c\nb a\na b c\n")):
        (folder / f"tatoeba.spa-eng.{code}").write_text(text)
    tokenizer.languages = ("en", "de", "es")
    languages = np.array(variables["languages"])
    variables = {**variables, "languages": np.concatenate([languages, 0 * languages[:1]])}
    found = run((tokenizer, variables, folder), toy_objective())
    for name in ("layer1/acc@1_csls", "mean_last4", "mean_last4_centered"):
        two = [found[f"retrieval/{pair}/{name}"] for pair in ("de-en", "es-en")]
        assert found[f"retrieval/{name}"] == pytest.approx(np.mean(two)) and two[0] != two[1]


def test_a_shared_side_is_encoded_once(world, toy_objective):
    tokenizer, variables, folder = world
    german, english = (
        (folder / f"tatoeba.deu-eng.{x}").read_text().splitlines(True) for x in ("deu", "eng")
    )
    for code, source, target in (("fra", german[::-1], english), ("swh", german, english[::-1])):
        (folder / f"tatoeba.{code}-eng.{code}").write_text("".join(source))
        (folder / f"tatoeba.{code}-eng.eng").write_text("".join(target))
    tokenizer.languages = ("en", "de", "fr", "sw")
    languages = np.array(variables["languages"])[[0, 1, 1, 1]]
    variables = {**variables, "languages": languages}
    model = ModelEncoder(toy_objective(), tokenizer, variables)
    found = dict(build(world).run(model))
    assert model.encoded_counts == {"de": 120, "fr": 120, "sw": 120, "en": 2 * 120}
    for name in ("layer0/acc@1_centered", "mean_last4_centered"):
        right, french, swahili = (found[f"retrieval/{x}-en/{name}"] for x in ("de", "fr", "sw"))
        assert french == swahili < 0.1 < right


def test_it_encodes_the_files_sentences(world, toy_objective):
    # The accuracy of layer 2, from vectors computed a sentence at a time.
    tokenizer, variables, folder = world
    objective = toy_objective()
    sides = []
    for code, lang in (("deu", "de"), ("eng", "en")):
        vectors = []
        for line in (folder / f"tatoeba.deu-eng.{code}").read_text().splitlines()[:50]:
            v = tokenizer.vocabulary
            ids = [v.cls_id, *tokenizer.encode(line, lang)[0], v.sep_id]
            row = objective.numpy_row(variables, ids, tokenizer.language_id(lang))
            vectors.append(row[1:-1].mean(0))
        sides.append(np.array(vectors))
    found = run(world, objective, max_sentences=50)
    # Its own sentence vector is the mean of the last layers, here of both.
    own = [side[:, 1:].mean(1) for side in sides]
    for name, (x, y) in (
        ("de-en/layer2/acc@1", [side[:, 2] for side in sides]),
        ("de-en/mean", own),
        ("en-de/mean", own[::-1]),
    ):
        assert found[f"retrieval/{name}"] == pytest.approx(numpy_matches(x, y)[0].mean())
        centered = numpy_matches(x - x.mean(0), y - y.mean(0))[0].mean()
        assert found[f"retrieval/{name}_centered"] == pytest.approx(centered)


def test_cut_sentences_are_reported_every_time(world, toy_objective):
    tokenizer, variables, _ = world
    evaluator = build(world)
    model = ModelEncoder(toy_objective(), tokenizer, variables, max_length=6)
    first, second = (dict(evaluator.run(model)) for _ in range(2))
    assert 0 < first["retrieval/cut"] < 0.5 and first == second


def test_no_pair_of_the_models_languages(world, toy_objective, warnings):
    tokenizer, variables, _ = world
    tokenizer.languages = ("sw", "xh")
    assert run(world, toy_objective()) == {}
    assert "measures nothing" in warnings() and "de-en, fr-en" in warnings("INFO")


def test_a_missing_folder_is_an_error_before_training(world):
    tokenizer, _, folder = world
    with pytest.raises(FileNotFoundError, match="config.evals.retrieval.data"):
        build((tokenizer, {}, folder / "no"))
    assert not build((tokenizer, {}, "")).has_data


class Drawn:
    """A random vector a sentence, the same for every language, and nothing beyond the protocol."""

    languages, layers = ("en", "de"), 1

    def pairwise_space(self, source, target):
        return self

    def words(self, text, language):
        return text.split()

    def sentences(self, texts, language):
        seeds = [sum(map(ord, text.replace(language, ""))) for text in texts]
        return np.stack([np.random.RandomState(seed).randn(1, 8) for seed in seeds])

    def in_context(self, texts, language):
        return [(text.split(), np.zeros((len(text.split()), 1, 8))) for text in texts]

    def vocabulary(self, language, wanted=(), sample=WordSample()):
        vectors = np.stack([self.sentences([word], language)[0] for word in wanted])
        return WordSpace(list(wanted), vectors, len(wanted))


def test_any_encoder_is_measured(world):
    model = Drawn()
    assert isinstance(model, Encoder)
    evaluator = build(world)
    found = dict(evaluator.run(model))
    [(pair, source, target)] = evaluator._pairs
    sides = model.sentences(source, "de")[:, 0], model.sentences(target, "en")[:, 0]
    for place, name in enumerate(("de-en", "en-de")):
        for suffix, both in retrieval.nearest_is_translation(*sides).items():
            assert found[f"retrieval/{name}/mean{suffix}"] == pytest.approx(both[place].mean())
    assert found["retrieval/de-en/mean"] == found["retrieval/mean_csls"] > 0.7
    assert not any("layer" in name or "last4" in name or "cut" in name for name in found)

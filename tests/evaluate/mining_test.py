"""Mining on planted translations, and on vectors that have none."""

import numpy as np
import pytest

from clwe_jax import api, registry
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.encoders.spaces import StaticSpaces
from clwe_jax.evaluate.context import Context


class Planted:
    """Sentence n of each language has vector n, with noise."""

    def __init__(self, noise):
        self.noise = noise

    def pairwise_space(self, source, target):
        return self

    def sentences(self, texts, language):
        means = np.random.RandomState(0).standard_normal((60, 16))
        noise = np.random.RandomState(len(language) + ord(language[0])).standard_normal((60, 16))
        places = [int(text) for text in texts]
        return np.float32(means + self.noise * noise)[places][:, None]


@pytest.fixture
def folder(tmp_path):
    for language in ("de", "en"):
        (tmp_path / f"de-en.{language}").write_text("".join(f"{n}\n" for n in range(60)))
    return str(tmp_path)


def test_the_evaluator(folder):
    made = registry.lookup("evaluator", "mining")(
        context=Context(languages=("de", "en")), data=folder
    )
    found = dict(made.run(Planted(0.1)))
    assert found["mining/de-en/precision"] == 1 and found["mining/de-en/recall"] >= 0.6
    assert found["mining/f1"] == found["mining/de-en/f1"] >= 0.75
    assert found["mining/de-en/threshold"] > 1
    worse = dict(made.run(Planted(1.0)))
    assert 0 < worse["mining/f1"] < found["mining/f1"]
    assert dict(made.run(Planted(1e3)))["mining/f1"] < 0.3
    few = registry.lookup("evaluator", "mining")
    with pytest.raises(ValueError, match="has 5 different sentences"):
        few(context=Context(languages=("de", "en")), data=folder, max_sentences=5)


def test_repeated_sentences_count_once(folder, tmp_path, caplog):
    made = registry.lookup("evaluator", "mining")
    context = Context(languages=("de", "en"))
    once = dict(made(context=context, data=folder).run(Planted(0.1)))
    (tmp_path / "copies").mkdir()
    for language in ("de", "en"):
        lines = [*range(60), *range(20), *range(20)]
        (tmp_path / "copies" / f"de-en.{language}").write_text("".join(f"{n}\n" for n in lines))
    copies = made(context=context, data=str(tmp_path / "copies"))
    assert dict(copies.run(Planted(0.1))) == once
    assert "40 of 100" in caplog.text


def test_the_api():
    class Loaded(StaticSpaces):
        def encoder(self, batch_size=64):
            return Pools(0.1)

    class Pools(Planted):
        def pool_texts(self, texts, language, pool, reduce):
            return self.sentences(texts, language)[:, 0]

    empty = {language: Vectors([], np.zeros((0, 2), np.float32)) for language in ("de", "en")}
    model = api.Model(Loaded(empty, {}, {}, "en"))
    texts, others = list("0123456789"), ["12", "5", "31", "7", "44", "2"]
    found = model.mine(texts, "de", others, "en")
    assert sorted(pair[:2] for pair in found[:3]) == [(2, 5), (5, 1), (7, 3)]
    assert model.mine(texts, "de", others, "en", least=found[2][2]) == found[:3]
    assert found == sorted(found, key=lambda pair: -pair[2])
    with pytest.raises(ValueError, match="both sides"):
        model.mine(texts, "de", [], "en")

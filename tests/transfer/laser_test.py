"""LASER's encoder in the transfer job: frozen, and learning with the head."""

import json

from flax import linen as nn
import jax
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.encoders import features, load as encoders, piece_rows
from clwe_jax.encoders.language_model import LanguageModel
from clwe_jax.encoders.model import ModelEncoder
from clwe_jax.models.heads import Linear
from clwe_jax.models.labelling import Labelling
from clwe_jax.models.laser import Backbone, Laser
from clwe_jax.models.tuned import TunedModel
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.options.models import LaserOptions, LinearHead
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.training import build, fine_tuned, paths
from clwe_jax.transfer import job as transfer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = LaserOptions(width=6, cells=8, layers=2, dropout=0.0, decoder_cells=5, language_width=2)
LONGEST = 40


@pytest.fixture(scope="module")
def model():
    """LASER with random parameters, whose words are spelled."""
    pieces = [*SPECIALS, *LETTERS, *(f"##{x}" for x in LETTERS)]
    tokenizer = Tokenizer(("en", "de"), Normalizer(), Segmenter(), WordPieceVocabulary(pieces))
    vocabulary = tokenizer.vocabulary
    laser = Laser(SIZES, vocabulary.size, LONGEST, languages=2)
    objective = TranslationObjective(
        model=laser, vocab_size=len(pieces), specials=vocabulary.specials
    )
    shapes = objective.batch_shapes(1, 8)
    batch = {name: np.zeros(x.shape, x.dtype) for name, x in shapes.items()}
    tree = nn.unbox(jax.jit(objective.init)(jax.random.key(0), batch))
    r = np.random.RandomState(0)
    variables = jax.tree.map(lambda x: np.float32(0.5 * r.standard_normal(x.shape)), tree)
    config = options.parse(presets.start_from("laser", "laptop"))
    return LanguageModel(config, tokenizer, objective, variables)


@pytest.mark.parametrize(
    "layers, words", [("top", "max"), ("top", "mean"), ("last", "first"), ("upper", "max")]
)
def test_the_head_reads_the_frozen_features(model, layers, words):
    sentences = [["the", "bank", "x"], ["money"]]
    tokenizer = model.tokenizer
    encoder = ModelEncoder(model.objective, tokenizer, model.variables)
    table = features.FeatureReader(encoder, layers, words).of_sentences(sentences, "en")
    backbone = Backbone(SIZES, tokenizer.vocabulary.size, LONGEST)
    labelling = Labelling(Linear(LinearHead(), 2, True))
    tuned = TunedModel(backbone, labelling, layers=layers, words=words)
    rows = piece_rows.of_sentences(tokenizer, sentences, "en", 40)
    _, batch = next(piece_rows.batches(rows, tokenizer, 2, 40))
    params = fine_tuned.backbone_of(model.variables)
    # The mix begins as the mean of the layers.
    nested = {
        "backbone": {
            "source_pieces": params.pop("backbone/source_pieces"),
            "encoder": {path.rpartition("/")[2]: x for path, x in params.items()},
        },
        "mix": np.zeros(2),
        "mix_scale": np.ones(1),
    }
    [(found, mask)] = tuned.apply({"params": nested}, batch, False, method="_texts")
    for row, (numbers,) in enumerate(table.rows):
        count = len(sentences[row])
        assert np.asarray(mask)[row].sum() == count
        expected = table.values[numbers].mean(-2)
        expected = expected.max(1) if expected.ndim == 3 else expected
        np.testing.assert_allclose(found[row, :count], expected, atol=1e-5)


def test_it_learns_with_the_head_and_is_loaded(model, tmp_path, monkeypatch):
    config = presets.laser_tagger("laptop", "pos")
    config.encoder, config.data.languages = f"run:{tmp_path / 'laser'}", "en,de"
    (tmp_path / "laser").mkdir()
    config.transfer.update(
        mode="tune", layers="top", seeds=1, length=40, embedded_rows=60, embedded_tests=20
    )
    config.transfer.head.update(width=16, mlp_dim=16)
    config.optimizer.update(learning_rate=2e-2)
    config.train.update(epochs=6, batch_size=16)
    config = options.parse(config)
    config.check_all()
    load = encoders.load
    monkeypatch.setattr(
        encoders, "load", lambda x, names: model if x == config.encoder else load(x, names)
    )
    assert transfer.run(config, str(tmp_path / "run"))
    figures = json.loads((tmp_path / "run" / "results.json").read_text())
    assert figures["pos/en/acc"] > figures["pos/en/majority"]
    loaded = api.load(str(tmp_path / "run"))
    assert [word for word, _ in loaded.tag(["the bank"], lang="de")[0]] == ["the", "bank"]
    labels = json.loads((tmp_path / "run" / "labels.json").read_text())["labels"]
    objective = build.tuned_objective(config.transfer, labels, True, model.objective)
    found = fine_tuned.best(str(tmp_path / "run" / "tuned" / "seed0"), objective, "dev/acc")
    for path, before in fine_tuned.backbone_of(model.variables).items():
        after = paths.flat(found["params"])[path]
        assert after.shape == before.shape and np.abs(after - before).max() > 1e-3, path


def test_the_gru_starts_from_lasers_pieces(model, tmp_path, monkeypatch):
    config = presets.laser_tagger("laptop", "ner")
    config.encoder, config.data.languages = "gru", "en,de"
    config.transfer.update(pieces="run:laser", seeds=2, embedded_rows=20, embedded_tests=10)
    config.transfer.search.trials = 0
    config.transfer.head.update(width=8, mlp_dim=8, layers=1)
    # No step: the heads keep their start.
    config.recipe.update(name="adam", schedule="constant", learning_rate=0.0, epochs=1)
    config.transfer.embedder.width = 5
    config = options.parse(config)
    load = encoders.load
    monkeypatch.setattr(
        encoders, "load", lambda x, names: model if x == "run:laser" else load(x, names)
    )
    with pytest.raises(ValueError, match="--config.transfer.embedder.width=6"):
        transfer.run(config, str(tmp_path / "run"))
    config = options.with_values(config, {"transfer.embedder.width": 6})
    config.check_all()
    assert transfer.run(config, str(tmp_path / "run"))
    loaded = api.load(str(tmp_path / "run"))
    table = np.asarray(loaded.loaded.predictor.params["embedder"]["embedding"])
    for member in table:
        np.testing.assert_array_equal(
            member, model.variables["params"]["source_pieces"][: len(member)]
        )
    assert loaded.tag(["the bank"], lang="de")[0][0][0] == "the"


def test_texts_have_no_begin(model):
    config = presets.transfer("laptop", "topics", "mean_mlp")
    config.transfer.text_vector = "cls"
    with pytest.raises(ValueError, match="LASER reads no .CLS."):
        build.tuned_objective(options.parse(config).transfer, ["a", "b"], False, model.objective)

"""Tables that start from vectors of tokens, and from the rows that another run has too."""

import pathlib
import runpy

import jax
import numpy as np
import pytest

from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import WordPieceVocabulary
from clwe_jax.text.vocab.base_vocab import SPECIALS
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter
from clwe_jax.models.laser import Laser
from clwe_jax.models.transformer import Transformer
from clwe_jax.objectives.mlm import MlmObjective
from clwe_jax.objectives.translation import TranslationObjective
from clwe_jax.options.models import LaserOptions, TransformerOptions
from clwe_jax.options.training import GroupOptions
from clwe_jax.training import init, partition, paths, tables

WORDS = runpy.run_path(str(pathlib.Path(__file__).parents[1] / "objectives" / "toy_words.py"))
MESH = dict(data=1)


def vectors(rows, width, seed=0):
    r = np.random.default_rng(seed)
    values = r.standard_normal((rows, width)).astype(np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    known = r.random(rows) < 0.6
    return np.where(known[:, None], values, 0), known


def begun(objective, **options):
    """Parameters by path before and after a start from vectors, with the vectors."""
    batch = objective.batch_shapes(WORDS["ROWS"], WORDS["LENGTH"])
    batch = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), batch)
    boxed = dict(objective.init(jax.random.key(0), batch))["params"]
    rows = getattr(objective, "padded_vocab_size", 0) or objective.model.vocab_size
    values, known = vectors(rows, objective.model.options.width)
    start = tables.TokenVectors(values, known, **options)
    old = partition.unbox(boxed)
    new, record = start.apply_to(old, partition.axes_of(boxed))
    flat = lambda tree: {path: np.asarray(x) for path, x in paths.flat(tree).items()}
    return flat(old), flat(new), start, record


def check(old, new, start, changed, axis):
    for path, before in old.items():
        if path not in changed:
            np.testing.assert_array_equal(new[path], before, err_msg=path)
            continue
        length = np.linalg.norm(before, axis=-1).mean() * start.scale
        for token, known in enumerate(start.has_vector):
            found, was = (np.take(x, token, axis[path]) for x in (new[path], before))
            wanted = np.broadcast_to(start.values[token] * length, was.shape) if known else was
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7, err_msg=path)


@pytest.mark.parametrize(
    "which, changed",
    [
        ("both", ["model/token_embedding", "sense_table"]),
        ("input", ["model/token_embedding"]),
        ("output", ["sense_table"]),
    ],
)
def test_the_tables_of_a_model_with_senses(which, changed):
    """All senses of a word start from the word's vector."""
    old, new, start, record = begun(WORDS["sense_mlm"](), tables=which, scale=2.0)
    check(old, new, start, changed, {"model/token_embedding": 0, "sense_table": 0})
    assert record == {"tables": " and ".join(changed), "rows": int(start.has_vector.sum())}


def test_the_output_table_of_a_model_that_reads_characters():
    old, new, start, _ = begun(WORDS["bilm"]())
    check(old, new, start, ["sense_table"], {"sense_table": 1})


@pytest.mark.parametrize("which", ["both", "input", "output"])
def test_a_model_whose_tables_are_not_tied(which):
    sizes = TransformerOptions(layers=1, width=8, heads=2, mlp_dim=12)
    model = Transformer(sizes, 24, 2, WORDS["LENGTH"])
    objective = MlmObjective(model=model, vocab_size=21, max_predictions=3, tied=False)
    old, new, start, _ = begun(objective, tables=which)
    axis = {"backbone/token_embedding": 0, "output_embedding": 0}
    paths_of = {"input": list(axis)[:1], "output": list(axis)[1:], "both": list(axis)}
    check(old, new, start, paths_of[which], axis)


AXES = {
    "backbone/token_embedding": ("vocab", "embed"),
    "backbone/position_embedding": ("position", "embed"),
    "head/output_bias": ("vocab",),
    "head/scale": (),
}


def test_a_table_that_does_not_exist_is_named():
    assert tables.tables(AXES) == ["backbone/token_embedding"]
    for which in ("input", "output"):
        with pytest.raises(ValueError, match=f"tables='{which}'"):
            tables.tables(AXES, which)
    with pytest.raises(ValueError, match="tables='input': this model reads characters"):
        tables.tables({"sense_table": (None, "vocab", None, "embed")}, "input")


def test_laser_reads_with_two_tables_and_scores_with_none():
    """Its output has rows as wide as the decoder's cells."""
    sizes = LaserOptions(width=8, cells=4, layers=1, decoder_cells=6, language_width=2)
    specials = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    objective = TranslationObjective(model=Laser(sizes, 12, 5, 3), vocab_size=10, specials=specials)
    batch = {x: np.zeros(y.shape, y.dtype) for x, y in objective.batch_shapes(2, 5).items()}
    axes = partition.axes_of(objective.init(jax.random.key(0), batch)["params"])
    for which in ("both", "input"):
        assert tables.tables(axes, which) == ["source_pieces", "target_pieces"]
    with pytest.raises(ValueError, match="tables='output': this model .* another width: .*=both"):
        tables.tables(axes, "output")


def save(folder, pieces, languages):
    tokenizer = Tokenizer(languages, Normalizer(), Segmenter({}), WordPieceVocabulary(pieces))
    tokenizer.save(str(folder / "vocab"))
    return {tables.TOKENS: tokenizer.vocabulary.pieces, tables.LANGUAGES: tokenizer.languages}


def fresh(toy, folder, **options):
    return {
        k: np.asarray(v) for k, v in paths.flat(toy.fit(folder, **options).state.params).items()
    }


@pytest.fixture(scope="module")
def theirs(toy, tmp_path_factory):
    """The folder of a run with its tokenizer, its parameters, and its tokens and languages."""
    folder = tmp_path_factory.mktemp("theirs")
    params = fresh(toy, folder, steps=2)
    names = save(folder, [*SPECIALS, *(f"w{n}" for n in range(55))], ("de", "en", "fr"))
    return folder, params, names


def bigger():
    """The toy objective with another vocabulary, and of two languages."""
    sizes = TransformerOptions(layers=1, width=16, heads=2, mlp_dim=32, dropout=0.1)
    return MlmObjective(model=Transformer(sizes, 128, 2, 12), vocab_size=70, max_predictions=4)


OURS = [*SPECIALS, *(f"w{n}" for n in range(60, 20, -1)), *(f"x{n}" for n in range(25))]


def test_the_rows_that_both_runs_have(toy, tmp_path, theirs):
    folder, params, names = theirs
    ours = {tables.TOKENS: OURS, tables.LANGUAGES: ("fi", "en")}
    before = fresh(toy, tmp_path / "fresh", steps=0, objective=bigger())
    result = toy.fit(
        tmp_path / "run",
        steps=0,
        objective=bigger(),
        initial=init.Initial(f"run:{folder}", names=ours),
    )
    found = {k: np.asarray(v) for k, v in paths.flat(result.state.params).items()}
    both = [piece for piece in OURS if piece in names[tables.TOKENS]]
    assert result.initial["common"] == {"vocab": len(both), "language": 1} and len(both) == 39
    for path in ("backbone/token_embedding", "head/output_bias"):
        wanted = before[path].copy()
        for here, piece in enumerate(OURS):
            if piece in both:
                wanted[here] = params[path][names[tables.TOKENS].index(piece)]
        np.testing.assert_array_equal(found[path], wanted, err_msg=path)
    path = "backbone/language_embedding"
    np.testing.assert_array_equal(found[path], [before[path][0], params[path][1]])
    path = "backbone/layer_0/mlp/in_kernel"
    np.testing.assert_array_equal(found[path], params[path])


def test_other_shapes_stay_errors(toy, tmp_path, theirs):
    sizes = TransformerOptions(layers=1, width=16, heads=2, mlp_dim=8)
    model = Transformer(sizes, 128, 2, 12)
    objective = MlmObjective(model=model, vocab_size=70, max_predictions=4)
    initial = init.Initial(f"run:{theirs[0]}", names={tables.TOKENS: OURS})
    with pytest.raises(ValueError) as error:
        toy.fit(tmp_path, steps=0, objective=objective, initial=initial)
    assert "mlp/in_kernel: [16, 32] in the source, [16, 8] in the model" in str(error.value)
    assert "language_embedding: [3, 16] in the source, [2, 16] in the model" in str(error.value)
    assert "token_embedding" not in str(error.value)


def test_the_same_vocabulary_is_taken_whole(toy, tmp_path, theirs):
    folder, params, names = theirs
    result = toy.fit(tmp_path, steps=0, initial=init.Initial(f"run:{folder}", names=names))
    assert "common" not in result.initial
    for path, value in paths.flat(result.state.params).items():
        np.testing.assert_array_equal(np.asarray(value), params[path], err_msg=path)


def test_a_resumed_run_equals_a_whole_one(toy, tmp_path):
    """Also of a table that is pulled to its start, which the optimizer's state keeps."""
    values, known = vectors(64, 16)
    start = tables.TokenVectors(values, known, record={"source": "made up"})
    group = GroupOptions(pattern="backbone/token_embedding", decay_to_start=5.0, learning_rate=0.01)
    options = dict(optimizer=dict(name="adamw", schedule="constant", groups=dict(table=group)))
    whole = toy.fit(tmp_path / "whole", steps=6, initial=init.Initial(start=start), **options)
    toy.fit(tmp_path / "parts", steps=3, initial=init.Initial(start=start), **options)
    parts = toy.fit(tmp_path / "parts", steps=6, **options)  # now it needs no vectors
    wanted = {"source": "made up", "tables": "backbone/token_embedding", "rows": int(known.sum())}
    assert parts.initial == whole.initial == {"embeddings": wanted}
    found = toy.arrays(parts.state)
    for path, value in toy.arrays(whole.state).items():
        np.testing.assert_array_equal(found[path], value, err_msg=path)
    tables_of_state = [x[known] for x in found.values() if x.shape == values.shape]
    lengths = [np.linalg.norm(x, axis=1, keepdims=True) for x in tables_of_state]
    held = [
        bool((length > 0).all() and np.allclose(x / length, values[known], atol=1e-5))
        for x, length in zip(tables_of_state, lengths)
    ]
    assert sum(held) == 1  # the start, and not the table after six steps

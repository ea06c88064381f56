"""LASER's release, written here: its vectors, its words, its pieces, and files of another kind."""

from __future__ import annotations

import sys

from flax import linen as nn
import jax
import numpy as np
import pytest

from clwe_jax import api, options, presets
from clwe_jax.encoders import load as encoders
from clwe_jax.encoders.translate import spell_pieces
from clwe_jax.interop import laser
from clwe_jax.text.vocab import laser as text, vocab
from clwe_jax.training import build, fine_tuned, paths
from tests.interop.arrays_test import tensor, write_old

PIECES = "<s> <pad> </s> <unk> a@@ b@@ c@@ d@@ a b c d ab@@ ab abc@@ abc cd . , ü ü@@ é".split()
CODES = ["a b 90", "a b</w> 80", "ab c 70", "ab c</w> 60", "c d</w> 50", "b d 40", "ab d</w> 9"]
WIDTH, CELLS, LAYERS = 5, 4, 2


def weights(rows):
    random = np.random.RandomState(0)
    draw = lambda *shape: np.float32(0.5 * random.standard_normal(shape))
    found = {"embed_tokens.weight": draw(rows, WIDTH)}
    found["embed_tokens.weight"][1] = 0
    for layer in range(LAYERS):
        for end in ("", "_reverse"):
            size = 2 * CELLS if layer else WIDTH
            found[f"lstm.weight_ih_l{layer}{end}"] = draw(4 * CELLS, size)
            found[f"lstm.weight_hh_l{layer}{end}"] = draw(4 * CELLS, CELLS)
            found[f"lstm.bias_ih_l{layer}{end}"] = draw(4 * CELLS)
            found[f"lstm.bias_hh_l{layer}{end}"] = draw(4 * CELLS)
    return found


def write(folder, arrays, pieces=PIECES, codes=CODES, **sizes):
    """A folder as the release is, with the file of PyTorch before 1.6."""
    rows = len(arrays["embed_tokens.weight"])
    usual = dict(
        num_embeddings=rows,
        padding_idx=1,
        embed_dim=WIDTH,
        hidden_size=CELLS,
        num_layers=LAYERS,
        bidirectional=True,
        left_pad=True,
        padding_value=0.0,
    )
    stored, model = {}, {}
    for number, (name, array) in enumerate(arrays.items()):
        stride = tuple(x // array.itemsize for x in array.strides)
        key = str(number)
        model[name] = tensor("FloatStorage", key, array.size, array.shape, stride, view=None)
        stored[key] = array.ravel()
    value = {
        "params": usual | sizes,
        "model": model,
        "dictionary": {x: n for n, x in enumerate(pieces)},
    }
    write_old(folder / "bilstm.93langs.2018-12-26.pt", value, stored)
    (folder / "93langs.fcodes").write_text("".join(f"{x}\n" for x in codes), encoding="utf-8")
    return folder


def reference(arrays, ids):
    """`Encoder` of LASER's source/embed.py for one text, in NumPy."""
    sigmoid = lambda x: 1 / (1 + np.exp(-x))
    x = arrays["embed_tokens.weight"][ids]
    for layer in range(LAYERS):
        sides = []
        for end, order in (("", 1), ("_reverse", -1)):
            w, r, b, other = (
                arrays[f"lstm.{name}_l{layer}{end}"]
                for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
            )
            cell = hidden = np.zeros(CELLS)
            found = []
            for now in x[::order]:
                i, f, g, o = np.split(w @ now + b + r @ hidden + other, 4)
                cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
                hidden = sigmoid(o) * np.tanh(cell)
                found.append(hidden)
            sides.append(np.array(found)[::order])
        x = np.concatenate(sides, -1)
    return x.max(0)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    pytest.importorskip("sacremoses")
    arrays = weights(len(PIECES))
    return write(tmp_path_factory.mktemp("laser"), arrays), arrays


def test_vectors_are_those_of_the_reference(release):
    folder, arrays = release
    model = api.load(f"laser:{folder}", languages=("en", "de"))
    texts = ["ABC cd.", "ab &lt; ü, ab abcd", "b"]
    words = [["abc", "cd", "."], [*"ab < ü , ab".split(), "abc@@", "d"], ["b"]]
    number = lambda x: PIECES.index(x) if x in PIECES else 3
    ids = [[*map(number, pieces), 2] for pieces in words]
    assert [[*model.tokenizer.encode(x, "en")[0], 2] for x in texts] == ids
    found = model.encode(texts, lang="en")
    np.testing.assert_allclose(found, [reference(arrays, x) for x in ids], atol=1e-5)
    # The language does not matter, and a short row is padded.
    np.testing.assert_allclose(model.encode(texts, lang="de"), found, atol=1e-6)
    [(word, vector), *_] = model.words("abc", lang="en")
    assert word == "abc" and vector.shape == (2 * CELLS,)
    torch = pytest.importorskip("torch")
    lstm = torch.nn.LSTM(WIDTH, CELLS, LAYERS, bidirectional=True)
    lstm.load_state_dict(
        {x.removeprefix("lstm."): torch.tensor(y) for x, y in arrays.items() if "lstm" in x}
    )
    for x, ours in zip(ids, found):
        outputs, _ = lstm(torch.tensor(arrays["embed_tokens.weight"][x])[:, None])
        np.testing.assert_allclose(ours, outputs.max(0)[0][0].detach().numpy(), atol=1e-5)


def test_the_release_learns_with_a_head(release):
    loaded = api.load(f"laser:{release[0]}", languages=("en",)).loaded
    config = presets.laser_tagger("laptop", "ner")
    config.transfer.layers = "top"
    base = encoders.tunable(loaded, "laser:x").objective
    objective = build.tuned_objective(options.parse(config).transfer, ("O", "B-PER"), True, base)
    batch = {x: np.zeros(y.shape, y.dtype) for x, y in objective.batch_shapes(1, 8).items()}
    made = paths.flat(jax.eval_shape(objective.init, jax.random.key(0), batch)["params"])
    for path, array in fine_tuned.backbone_of(loaded.variables).items():
        assert nn.unbox(made[path]).shape == array.shape


def test_pieces_are_those_of_fastbpe_with_a_vocabulary():
    vocabulary = text.vocabulary({x: n for n, x in enumerate(PIECES)}, CODES)
    spelled = lambda word: [PIECES[i] for i in vocabulary.encode_word(word)]
    assert spelled("abc") == ["abc"] and spelled("abcab") == ["abc@@", "ab"]
    assert spelled("cd") == ["cd"] and spelled("d") == ["d"]
    # 'abd' and 'bd' have no id: they are divided again, down to characters.
    assert spelled("abd") == ["ab@@", "d"] and spelled("bda") == ["b@@", "d@@", "a"]
    assert spelled("x") == ["<unk>"] and spelled("aé") == ["a@@", "é"]


def test_codes_and_pieces_of_files_are_a_runs_vocabulary(tmp_path):
    codes, listed = tmp_path / "my.fcodes", tmp_path / "my.fvocab"
    codes.write_text("".join(f"{x}\n" for x in CODES), encoding="utf-8")
    listed.write_text("".join(f"{x} 7\n" for x in PIECES[4:]), encoding="utf-8")
    expected = text.vocabulary({x: n for n, x in enumerate(PIECES)}, CODES)
    for path in (codes, tmp_path):
        found = vocab.load(str(path))
        assert found.pieces == expected.pieces and found.specials == expected.specials
        ids = [i for word in ("abcab", "ü", "abd") for i in found.encode_word(word)]
        assert spell_pieces([*ids, found.sep_id, 9], found) == "abcab ü abd"
    # The last line counts without its end, too: it makes a piece.
    codes.write_text("\n".join([*CODES[:4], *CODES[5:], CODES[4]]), encoding="utf-8")
    assert vocab.load(str(codes)).encode_word("cd") == expected.encode_word("cd")
    saved = tmp_path / "saved"
    found.save(str(saved))
    assert vocab.load(str(saved)).fingerprint() == found.fingerprint()
    listed.write_text("ab 7\nab 3\n")
    with pytest.raises(ValueError, match="line 2: .*'piece count'"):
        vocab.load(str(codes))
    listed.write_text("xy 7\nxz 3\n")
    with pytest.raises(ValueError, match="my.fcodes: .* 2 of the 2"):
        vocab.load(str(codes))


def test_a_saved_tokenizer_is_the_same(release, tmp_path):
    from clwe_jax.text.vocab.tokenizer import Tokenizer

    tokenizer = laser.load(str(release[0]), ("en",)).tokenizer
    tokenizer.save(str(tmp_path))
    again = Tokenizer.load(str(tmp_path))
    for raw in ("ABD, Ü bd.", "é &amp; don’t"):
        assert again.encode(raw, "en") == tokenizer.encode(raw, "en")
        assert again.words(raw, "en") == tokenizer.words(raw, "en")
    assert tokenizer.words("É-Don’t &amp; „Gut“", "de") == ["é-don", "'", "t", "&", '"', "gut", '"']


@pytest.mark.parametrize(
    "language, package, raw, words",
    [
        ("zh", "jieba", "我爱北京天安门, 3.5米。", "我 爱 北京 天安门 , 3.5 米 。"),
        ("ja", "ipadic", "私は東京に住んでいます。", "私 は 東京 に 住ん で い ます 。"),
        ("ja", "MeCab", "猫が好きだ", "猫 が 好き だ"),
        ("el", "transliterate", "Καλημέρα, Κόσμε!", "kalimera , kosme !"),
        ("ell", "transliterate", "Καλημέρα, Κόσμε!", "kalimera , kosme !"),
        ("zho", "jieba", "我爱北京天安门", "我 爱 北京 天安门"),
    ],
)
def test_languages_with_programs_of_their_own(language, package, raw, words, monkeypatch):
    pytest.importorskip("sacremoses")
    pytest.importorskip(package)
    assert text.LaserSegmenter().words(raw, language) == words.split(" ")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{package}.*clwe_jax\[laser\]"):
        text.LaserSegmenter().words(raw, language)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(pieces=PIECES[:-1]), "dictionary has 21 pieces, its table 22 rows"),
        (dict(bidirectional=False), "one direction"),
        (dict(hidden_size=3), r"weight_ih_l0 has the shape \(16, 5\); expected \(12, 5\)"),
        (dict(num_layers=3), "no lstm.weight_ih_l2"),
        (dict(codes=["x y 3", "y z 2"]), "fcodes: the codes do not make 5 of the 5.*another voc"),
        (dict(codes=["a b"]), "line 1: expected 'a b count', found 'a b'"),
    ],
)
def test_files_that_do_not_fit(change, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        laser.load(str(write(tmp_path, weights(len(PIECES)), **change)), ("en",))


def test_codes_whose_last_line_has_no_end_are_read(tmp_path):
    folder = write(tmp_path, weights(len(PIECES)), codes=[*CODES[:4], *CODES[5:], CODES[4]])
    path = folder / "93langs.fcodes"
    path.write_text(path.read_text("utf-8").removesuffix("\n"), encoding="utf-8")
    vocabulary = laser.load(str(folder), ("en",)).tokenizer.vocabulary
    assert vocabulary.encode_word("cd") == [PIECES.index("cd")]


def test_absent_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no bilstm.\*.pt: expected bilstm.93langs"):
        api.load(f"laser:{tmp_path}")
    write(tmp_path, weights(len(PIECES)))
    (tmp_path / "93langs.fcodes").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no \*.fcodes"):
        api.load(str(tmp_path))

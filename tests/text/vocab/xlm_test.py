"""XLM's tokenizer: pieces as those of transformers.XLMTokenizer, files, and refusals."""

import json

import pytest

from clwe_jax.text.vocab import hf_tokenizer, xlm
from clwe_jax.text.vocab.tokenizer import Tokenizer

PIECES = [
    "<s>",
    "</s>",
    "<pad>",
    "<unk>",
    *(f"<special{i}>" for i in range(10)),
    "a</w>",
    "b",
    "n",
    "k</w>",
    "an",
    "ban",
    "bank</w>",
    "ban</w>",
    "s</w>",
    ".</w>",
    ",</w>",
    "e",
    "</w>",
]
MERGES = "a n 9\nb an 8\nban k</w> 7\n"
# Text -> pieces of XLMTokenizer 5.23 with these files; '?' is a piece that the vocabulary lacks.
EXPECTED = [
    ("en", "The Bank, bank.", "t h e</w> bank</w> ,</w> bank</w> .</w>"),
    (
        "en",
        "bänk bans «ban»… don’t 。x",
        'bank</w> ban s</w> "</w> b a n</w> . . .</w> "</w> d o n</w> \' t</w> .</w> x</w>',
    ),
    ("ro", "Şţă Bank", "s t a</w> bank</w>"),
    ("de", "ﬁ\u00ad\tbank\u3000１２％", "ﬁ bank</w> 1 2</w> %</w>"),
    ("fr", "l'été  a-t-il & <b>", "l '</w> e t e</w> a - t - i l</w> &</w> <</w> b</w> ></w>"),
]


def write(folder, pieces=PIECES, merges=MERGES, settings=None):
    ids = {piece: number for number, piece in enumerate(pieces)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    (folder / "merges.txt").write_text(merges, encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "xlm"}', encoding="utf-8")
    if settings:
        (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize("language, text, pieces", EXPECTED)
def test_equals_the_tokenizer_of_transformers(language, text, pieces, tmp_path):
    pytest.importorskip("sacremoses")
    tokenizer = hf_tokenizer.tokenizer(write(tmp_path), ("en", "de", "fr", "ro"))
    ids, index = tokenizer.encode(text, language)
    wanted = [PIECES.index(x) if x in PIECES else 3 for x in pieces.split()]
    assert ids == wanted and len(index) == len(ids)
    folder = str(tmp_path / "vocab")
    tokenizer.save(folder)
    assert Tokenizer.load(folder).encode(text, language)[0] == wanted


def test_case_and_languages(tmp_path):
    pytest.importorskip("sacremoses")
    path = write(tmp_path, settings={"do_lowercase_and_remove_accent": False})
    tokenizer = hf_tokenizer.tokenizer(path, ("en", "zh"))
    assert tokenizer.words("The Bänk, Straße", "en") == ["The", "Bänk", ",", "Straße"]
    assert tokenizer.words("Şţă", "ron") == tokenizer.words("Şţă", "ro") == ["Sta"]
    assert hf_tokenizer.is_folder(path) and not hf_tokenizer.normalizer(path).lower_case
    for language in ("zh", "zho_Hans", "jpn"):
        with pytest.raises(ValueError, match=f"'{language}'"):
            tokenizer.words("银行", language)


def test_merges_in_their_order():
    vocabulary = xlm.read({piece: number for number, piece in enumerate(PIECES)}, MERGES)
    for word, pieces in (("bank", "bank</w>"), ("banan", "ban a n</w>"), ("a", "a</w>")):
        wanted = [PIECES.index(x) if x in PIECES else 3 for x in pieces.split()]
        assert vocabulary.encode_word(word) == wanted


@pytest.mark.parametrize(
    "pieces, merges, message",
    [
        (PIECES[1:], MERGES, "has no <s>, which XLM's have"),
        (PIECES, "a n 9\nban\n", "merges.txt, line 2: expected two pieces, found 'ban'"),
    ],
)
def test_damaged_files_are_named(pieces, merges, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        hf_tokenizer.tokenizer(write(tmp_path, pieces, merges), ("en",))
    ids = {"a": 0, "b": 2}
    with pytest.raises(ValueError, match="vocab.json: .*0 to 1"):
        xlm.read(ids, "")

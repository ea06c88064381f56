"""Tokenizers in folders of Hugging Face, written here as small files."""

import base64
import io
import json

import pytest
import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2

from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.text.vocab.tokenizer import Tokenizer

PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "the",
    "The",
    "bank",
    "##s",
    ",",
    "東",
    "cafe",
    "café",
]
TEXT = ["the bank gives money to the bank", "die Bank gibt der Bank Geld", "Fall 2026, 東京!"] * 20


def write(folder, name, value):
    text = value if isinstance(value, str) else json.dumps(value)
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder)


def bert(folder, settings=None, pieces=PIECES):
    if settings is not None:
        write(folder, "tokenizer_config.json", settings)
    return write(folder, "vocab.txt", "\n".join(pieces))


@pytest.fixture(scope="module")
def sentencepiece():
    """A unigram model as XLM-R's: <unk>, <s>, </s> first, and its own normalisation."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT),
        model_writer=model,
        vocab_size=60,
        model_type="unigram",
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
        minloglevel=2,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
    )
    return model.getvalue()


def tokenizer_json(content):
    """The tokenizer.json that transformers makes of a SentencePiece model of XLM-R."""
    model = sentencepiece_model_pb2.ModelProto.FromString(content)
    first = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]]
    pieces = [*first, *([x.piece, x.score] for x in model.pieces[3:]), ["<mask>", 0.0]]
    charsmap = base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()
    special = [
        {"id": n, "content": x, "special": True}
        for n, (x, _) in enumerate(pieces)
        if x in ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    ]
    return {
        "added_tokens": special,
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace"}],
        },
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces},
    }


def pieces_of(tokenizer, text):
    return [tokenizer.vocabulary.pieces[i] for i in tokenizer.encode(text, "en")[0]]


@pytest.mark.parametrize(
    "settings, found",
    [
        ({"do_lower_case": False}, "The bank ##s , 東 [UNK] café [UNK]"),
        (None, "the bank ##s , 東 [UNK] cafe cafe"),
        ({"do_lower_case": True, "strip_accents": False}, "the bank ##s , 東 [UNK] café café"),
        ({"do_lower_case": False, "strip_accents": True}, "The bank ##s , 東 [UNK] cafe [UNK]"),
    ],
)
def test_vocab_txt(settings, found, tmp_path):
    path = bert(tmp_path, settings)
    assert hf_tokenizer.is_folder(path) == (settings is not None)
    tokenizer = hf_tokenizer.tokenizer(path, ("en", "de"))
    assert " ".join(pieces_of(tokenizer, "The banks, 東京 café CAFÉ")) == found
    assert tokenizer.normalizer == hf_tokenizer.normalizer(path)
    tokenizer.save(str(tmp_path / "vocab"))
    again = Tokenizer.load(str(tmp_path / "vocab"))
    assert again.encode("The banks, 東京", "de") == tokenizer.encode("The banks, 東京", "de")
    assert again.normalizer == tokenizer.normalizer and again.segmenter.bert


def test_tokenizer_json_of_bert(tmp_path):
    vocab = {piece: number for number, piece in enumerate(PIECES[:-1])}
    step = {"type": "BertNormalizer", "lowercase": False, "strip_accents": None}
    added = [{"id": 12, "content": "<new>", "special": False}]
    found = {"model": {"type": "WordPiece", "vocab": vocab}, "normalizer": step}
    path = write(tmp_path, "tokenizer.json", found | {"added_tokens": added})
    tokenizer = hf_tokenizer.tokenizer(path, ("en",))
    assert tokenizer.vocabulary.pieces == [*PIECES[:-1], "<new>"]
    assert pieces_of(tokenizer, "The bank, THE") == ["The", "bank", ",", "[UNK]"]
    # As in transformers, tokenizer_config.json goes first.
    write(tmp_path, "tokenizer_config.json", {"do_lower_case": True})
    assert pieces_of(hf_tokenizer.tokenizer(path, ("en",)), "The bank, THE") == [
        "the",
        "bank",
        ",",
        "the",
    ]


def test_ids_of_xlm_r_are_those_of_its_model_and_one(sentencepiece, tmp_path):
    (tmp_path / "sentencepiece.bpe.model").write_bytes(sentencepiece)
    tokenizer = hf_tokenizer.tokenizer(str(tmp_path), ("en", "de"))
    own = spm.SentencePieceProcessor(model_proto=sentencepiece)
    vocabulary = tokenizer.vocabulary
    assert vocabulary.pieces[:4] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert vocabulary.pieces[-1] == "<mask>" and len(vocabulary) == len(own) + 2
    assert (vocabulary.cls_id, vocabulary.pad_id, vocabulary.sep_id, vocabulary.unk_id) == (
        0,
        1,
        2,
        3,
    )
    for text in ("The Ｂank gives,  money!", "東京 <s> 2026\u00a0x", "", " \t "):
        wanted = [i + 1 if i else 3 for i in own.encode(text)]
        assert tokenizer.encode(text, "en")[0] == wanted, text
    ids, index = tokenizer.encode("the bank gives", "en")
    assert sorted(set(index)) == [0, 1, 2] and len(ids) == len(index)
    assert tokenizer.words("The bank, 東京!", "en") == ["The", "bank", ",", "東", "京", "!"]
    tokenizer.save(str(tmp_path / "vocab"))
    again = Tokenizer.load(str(tmp_path / "vocab"))
    assert again.whole_text and again.encode("the  Bank, 東京", "de") == tokenizer.encode(
        "the  Bank, 東京", "de"
    )


def test_both_files_of_xlm_r_are_one_tokenizer(sentencepiece, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "sentencepiece.bpe.model").write_bytes(sentencepiece)
    (tmp_path / "b").mkdir()
    write(tmp_path / "b", "tokenizer.json", tokenizer_json(sentencepiece))
    one, other = (hf_tokenizer.tokenizer(str(tmp_path / x), ("en",)) for x in "ab")
    assert one.vocabulary.fingerprint() == other.vocabulary.fingerprint()
    for text in [*TEXT[:3], "Ｆall <mask> </s> \u00e9x \u3000 !"]:
        assert one.encode(text, "en") == other.encode(text, "en")


@pytest.mark.parametrize(
    "change, message",
    [
        (
            lambda x: x["model"].update(type="WordLevel"),
            "of the kind WordLevel; expected WordPiece .* Unigram",
        ),
        (lambda x: x["model"].update(unk_id=None), "unk_id=None: expected the id of a piece"),
        (lambda x: x["model"].update(byte_fallback=True), "byte_fallback is no part of XLM-R"),
        (lambda x: x.update(normalizer={"type": "Lowercase"}), "Lowercase is no part of XLM-R"),
        (lambda x: x["added_tokens"].append({"id": 999, "content": "a b"}), "no piece has the id"),
    ],
)
def test_other_tokenizers_are_refused(change, message, sentencepiece, tmp_path):
    found = tokenizer_json(sentencepiece)
    change(found)
    with pytest.raises(ValueError, match=f"tokenizer.json.*{message}"):
        hf_tokenizer.tokenizer(write(tmp_path, "tokenizer.json", found), ("en",))


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("tokenizer.json", "{", "tokenizer.json is damaged"),
        ("tokenizer.json", "[]", "expected an object, found list"),
        ("vocab.txt", "the\nbank\n", r"no \[PAD\]"),
        ("sentencepiece.bpe.model", "no model", "is not a SentencePiece model"),
        ("tokenizer_config.json", '{"tokenize_chinese_chars": false}', "tokenize_chinese_chars"),
    ],
)
def test_damaged_files_are_named(name, content, message, tmp_path):
    bert(tmp_path) if name == "tokenizer_config.json" else None
    with pytest.raises(ValueError, match=message):
        hf_tokenizer.tokenizer(write(tmp_path, name, content), ("en",))


def test_a_model_of_another_order_is_refused(sentencepiece, tmp_path):
    model = sentencepiece_model_pb2.ModelProto.FromString(sentencepiece)
    model.pieces[1].piece = "<pad>"
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="<unk>, <pad>, </s>"):
        hf_tokenizer.tokenizer(str(tmp_path), ("en",))

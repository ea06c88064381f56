"""An encoder without the pieces that a text lacks has the same vectors of that text."""

import json

import numpy as np
import pytest

from clwe_jax import api
from clwe_jax.interop import huggingface, to_huggingface, trim
from tests.interop.reading_test import add_modules

tokenizers = pytest.importorskip("tokenizers")
TEXTS = ["the bank is closed.", "die Bank ist zu", "банк"]
OTHERS = ["he walked along the river to the banks", "Flussufer und Ufer", "река и берег", "河岸"]
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
UNIGRAM_SPECIALS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


def make_tokenizer(kind):
    models, cut = tokenizers.models, tokenizers.pre_tokenizers
    options = dict(vocab_size=220, show_progress=False)
    specials = UNIGRAM_SPECIALS if kind == "Unigram" else SPECIALS
    if kind == "BPE":
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = cut.ByteLevel(add_prefix_space=False)
        options |= dict(vocab_size=400, initial_alphabet=cut.ByteLevel.alphabet())
        trainer = tokenizers.trainers.BpeTrainer(special_tokens=specials, **options)
    elif kind == "WordPiece":
        made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
        made.pre_tokenizer = cut.BertPreTokenizer()
        trainer = tokenizers.trainers.WordPieceTrainer(special_tokens=specials, **options)
    else:
        made = tokenizers.Tokenizer(models.Unigram())
        made.pre_tokenizer = cut.Sequence([cut.WhitespaceSplit(), cut.Metaspace()])
        trainer = tokenizers.trainers.UnigramTrainer(
            special_tokens=specials, unk_token="<unk>", **options
        )
    made.train_from_iterator([*TEXTS, *OTHERS] * 5, trainer)
    start, end = (specials[0], specials[2]) if kind == "Unigram" else ("[CLS]", "[SEP]")
    ends = [(x, made.token_to_id(x)) for x in (start, end)]
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=ends
    )
    return made, dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIALS))


def write_model(folder, folders, kind="WordPiece"):
    """A BERT with a tokenizer.json of this kind, and its number of rows."""
    made, names = make_tokenizer(kind)
    rows = made.get_vocab_size() + 3
    config = folders.make_config("bert", rows) | {"max_position_embeddings": 40, "pad_token_id": 0}
    arrays = folders.make_arrays("bert", rows)
    table = "bert.embeddings.position_embeddings.weight"
    arrays[table] = np.random.RandomState(0).randn(40, 8).astype(np.float32)
    folders.write(folder, arrays=arrays, config=config)
    (folder / "vocab.txt").unlink()
    made.save(f"{folder}/tokenizer.json")
    settings = {f"{name}_token": piece for name, piece in names.items()} | {"do_lower_case": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return str(folder), rows


@pytest.mark.parametrize("kind", ["BPE", "WordPiece", "Unigram"])
def test_the_text_keeps_its_vectors(kind, folders, tmp_path):
    folder, rows = write_model(tmp_path / "model", folders, kind)
    out = str(tmp_path / "small")
    kept, before = trim.trim(folder, TEXTS, out, ["to "])
    assert kept < before < rows
    one, two = (api.load(f"hf:{x}", languages=("en",)) for x in (folder, out))
    assert (
        len(two.tokenizer.vocabulary) == kept == json.load(open(f"{out}/config.json"))["vocab_size"]
    )
    for texts in (TEXTS, [f"to {x}" for x in TEXTS]):
        vectors = [x.encode(texts, "en", layer="all") for x in (one, two)]
        np.testing.assert_allclose(*vectors, atol=1e-6)
    assert len(two.tokenizer.encode(OTHERS[0], "en")[0]) > len(
        one.tokenizer.encode(OTHERS[0], "en")[0]
    )
    assert two.encode(OTHERS, "en").any(-1).all()
    with pytest.raises(ValueError, match="exists"):
        trim.trim(folder, TEXTS, out)


def test_weights_with_the_old_table_are_left_out_at_any_depth(folders, tmp_path):
    folder, _ = write_model(tmp_path / "model", folders)
    add_modules(tmp_path / "model")
    old = ["onnx/model.onnx", "onnx/tokenizer.json", "openvino/openvino_model.bin", "tf_model.h5"]
    old += ["pytorch_model.bin.index.json", ".git/lfs/objects/e5"]
    for name in (*old, "README.md", "onnx/README.md"):
        (tmp_path / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model" / name).write_text("{}")
    out = tmp_path / "small"
    trim.trim(folder, TEXTS, str(out))
    names = {str(x.relative_to(out)) for x in out.rglob("*") if x.is_file()}
    assert not names & set(old)
    assert {"2_Dense/model.safetensors", "README.md", "onnx/README.md"} < names
    models = (api.load(f"hf:{x}", languages=("en",)) for x in (folder, out))
    np.testing.assert_allclose(*(x.encode(TEXTS, "en") for x in models), atol=1e-6)


def test_text_that_the_model_reads_in_small_letters_keeps_its_vectors(folders, tmp_path):
    folder, _ = write_model(tmp_path / "model", folders)
    add_modules(tmp_path / "model", prompts={"query": "To "})
    settings = tmp_path / "model" / "sentence_bert_config.json"
    settings.write_text('{"do_lower_case": true}')
    texts = ["HE WALKED ALONG THE RIVER", "The Banks"]
    trim.trim(folder, texts, str(tmp_path / "small"))
    models = (api.load(f"hf:{tmp_path / x}", languages=("en",)) for x in ("model", "small"))
    np.testing.assert_allclose(*(x.encode(texts, "en") for x in models), atol=1e-6)


def test_an_export_of_this_program_is_refused(folders, tmp_path):
    folder, _ = write_model(tmp_path / "model", folders)
    own = str(tmp_path / "own")
    to_huggingface.write(*huggingface.load(folder, ("en",)), own)
    with pytest.raises(ValueError, match="own is an export of this program.* trim first"):
        trim.trim(own, TEXTS, str(tmp_path / "small"))
    assert not (tmp_path / "small").exists()


def test_ids_in_the_configuration_stay_those_of_their_pieces(folders, tmp_path):
    folder, rows = write_model(tmp_path / "model", folders)
    path = tmp_path / "model" / "config.json"
    pieces = list(api.load(f"hf:{folder}", languages=("en",)).tokenizer.vocabulary.pieces)
    ends = [3, pieces.index("river")]  # a piece that no text has
    ids = {"eos_token_id": [*ends, rows], "bos_token_id": None, "image_token_id": rows}
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(config | ids | {"sep_token_id": ends[1]}), encoding="utf-8")
    trim.trim(folder, TEXTS, str(tmp_path / "small"))
    small = api.load(f"hf:{tmp_path / 'small'}", languages=("en",)).tokenizer.vocabulary.pieces
    config = json.loads((tmp_path / "small" / "config.json").read_text(encoding="utf-8"))
    assert [small[x] for x in config["eos_token_id"]] == ["[SEP]", "river"]
    assert small[config["sep_token_id"]] == "river"
    assert config["pad_token_id"] == 0  # its piece is the first
    assert config["bos_token_id"] is config["image_token_id"] is None  # there is no such piece


def test_steps_of_a_sequence_have_the_new_ids():
    """As in the tokenizer of Qwen 3, whose special piece comes after all others."""
    made, _ = make_tokenizer("BPE")
    made.add_special_tokens(["<end>"])
    template = tokenizers.processors.TemplateProcessing(
        single="$A <end>", special_tokens=[("<end>", made.token_to_id("<end>"))]
    )
    steps = [tokenizers.processors.ByteLevel(), template]
    made.post_processor = tokenizers.processors.Sequence(steps)
    made.enable_padding(pad_id=made.token_to_id("<end>"), pad_token="<end>", length=99)
    spec = json.loads(made.to_str())
    used = {*made.encode(TEXTS[0]).ids, *(x["id"] for x in spec["added_tokens"])}
    kept = sorted(trim._with_parts(spec["model"], used))
    numbers = {old: new for new, old in enumerate(kept)}
    small = tokenizers.Tokenizer.from_str(json.dumps(trim._renumber(spec, numbers)))
    found = small.encode(TEXTS[0])
    assert found.tokens == made.encode(TEXTS[0]).tokens
    assert found.ids[-1] == small.token_to_id("<end>") == len(kept) - 1


def test_single_characters_and_bytes_stay():
    assert all(map(trim._CHARACTER.fullmatch, ["河", "##a", "▁a", "\n", "<0xE4>"]))
    assert not any(map(trim._CHARACTER.fullmatch, ["ab", "##ab", "▁ab", "", "<0xE4>a"]))

"""Encoders of many architectures with tokenizers of byte pairs: equal to transformers and tokenizers."""

import dataclasses
import json
import pathlib
import types

import numpy as np
import pytest

from clwe_jax import api, registry
from clwe_jax.encoders import export
from clwe_jax.interop import configuration, to_huggingface
from clwe_jax.models import rotary
from clwe_jax.options.models import RotaryOptions
from clwe_jax.text.vocab import hf_tokenizer, json_vocab, vocab
from clwe_jax.text.vocab.tokenizer import Tokenizer

tokenizers = pytest.importorskip("tokenizers")
LINES = [
    "The bank is closed, isn't it?",
    "Die Bank ist geschlossen.",
    "Банк зачинено; п'ять днів.",
    "המסעדה סגורה היום",
    "البنك مغلق اليوم",
    "बैंक बंद है।",
    "ธนาคารปิด",
    "银行已经关门了。",
    "銀行は閉まっています",
    "은행이 문을 닫았습니다",
    "ბანკი დაკეტილია",
    "Ընկերը փակ է",
    "Η τράπεζα είναι κλειστή",
    "ባንኩ ተዘግቷል",
    "ব্যাংক বন্ধ",
    "வங்கி மூடப்பட்டுள்ளது",
    "བཟང་པོ་",
    "Ngân hàng đã  đóng cửa",
    "  two  spaces\tand a tab ",
    "😀 é é 12345",
    "",
]
SMALL = dict(
    hidden_size=32,
    num_hidden_layers=4,
    num_attention_heads=4,
    intermediate_size=48,
    max_position_embeddings=64,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
)
SHARED = dict(SMALL, num_key_value_heads=2, head_dim=16)
KINDS = {
    "modernbert": ("ModernBert", "MaskedLM", dict(SMALL, local_attention=8)),
    "modernbert_silu": (
        "ModernBert",
        "",
        dict(SMALL, global_attn_every_n_layers=2, local_attention=6, hidden_activation="silu"),
    ),
    "gemma3_text": (
        "Gemma3Text",
        "",
        dict(SHARED, query_pre_attn_scalar=16, sliding_window=5, sliding_window_pattern=3),
    ),
    "gemma3_text_both_ways": (
        "Gemma3Text",
        "",
        dict(SHARED, query_pre_attn_scalar=16, sliding_window=6, use_bidirectional_attention=True),
    ),
    "qwen3": ("Qwen3", "", dict(SHARED, rope_theta=1e6)),
    "roberta": ("Roberta", "MaskedLM", dict(SMALL, type_vocab_size=1)),
    "camembert": ("Camembert", "MaskedLM", dict(SMALL, type_vocab_size=1)),
    "electra": ("Electra", "MaskedLM", dict(SMALL, embedding_size=32)),
    "distilbert": (
        "DistilBert",
        "MaskedLM",
        dict(dim=32, n_layers=4, n_heads=4, hidden_dim=48, max_position_embeddings=64),
    ),
}


def make_tokenizer(folder, like="modernbert"):
    """A tokenizer of byte pairs with the steps and the special pieces of a released one."""
    byte_level = like != "gemma3_text"
    specials = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]"]
    model = tokenizers.models.BPE(unk_token=None if byte_level else "[UNK]", fuse_unk=True)
    made = tokenizers.Tokenizer(model)
    if byte_level:
        made.normalizer = tokenizers.normalizers.NFC()
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    else:
        made.normalizer = tokenizers.normalizers.Replace(" ", "▁")
        made.pre_tokenizer = tokenizers.pre_tokenizers.Split("▁", "merged_with_next")
        alphabet = []
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(LINES[:6], trainer)
    start = "" if like == "qwen3" else "[CLS] "
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start}$A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.save(str(folder / "tokenizer.json"))
    names = dict(zip(("pad", "cls", "sep", "mask", "unk"), specials))
    settings = {f"{name}_token": piece for name, piece in names.items()}
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def make_folder(folder, kind):
    """A folder with random weights, and the model of transformers."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    name, head, options = KINDS[kind]
    made = make_tokenizer(folder, kind)
    config = getattr(transformers, f"{name}Config")(vocab_size=made.get_vocab_size(), **options)
    torch.manual_seed(0)
    end = f"For{head}" if head else "Model"
    model = getattr(transformers, name + end)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("like", ["modernbert", "gemma3_text", "qwen3"])
def test_pieces_equal_the_librarys(like, tmp_path):
    made = make_tokenizer(tmp_path, like)
    (tmp_path / "config.json").write_text('{"model_type": "modernbert"}', encoding="utf-8")
    tokenizer = hf_tokenizer.tokenizer(str(tmp_path), ("en",))
    vocabulary = tokenizer.vocabulary
    tokenizer.save(str(tmp_path / "saved"))
    again = Tokenizer.load(str(tmp_path / "saved"))
    assert vocab.load(str(tmp_path / "saved")).specials == vocabulary.specials
    for line in LINES:
        ids, owners = tokenizer.encode(line, "en")
        start = [vocabulary.cls_id] * vocabulary.begins
        assert [*start, *ids, *[vocabulary.sep_id] * vocabulary.ends] == made.encode(line).ids
        assert again.encode(line, "en") == (ids, owners)
        assert sorted(owners) == owners and set(owners) <= set(range(max(1, len(line.split()))))
    ids, owners = tokenizer.encode("The bank", "en")
    texts = [made.decode([i for i, k in zip(ids, owners) if k == word]) for word in (0, 1)]
    assert [x.strip("▁Ġ ") for x in texts] == ["The", "bank"]


def test_words_have_the_same_pieces_in_the_data_graph(tmp_path):
    tf = pytest.importorskip("tensorflow")
    from clwe_jax.data.graph.piece_ids import PieceEncoder

    make_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "modernbert"}', encoding="utf-8")
    vocabulary = hf_tokenizer.tokenizer(str(tmp_path), ("en",)).vocabulary
    words = sorted({word for line in LINES for word in line.split()})
    ids, sizes = tf.function(PieceEncoder(vocabulary))(tf.constant(words))
    wanted = [vocabulary.encode_word(word) for word in words]
    assert sizes.numpy().tolist() == list(map(len, wanted))
    assert ids.numpy().tolist() == [number for word in wanted for number in word]


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_states_equal_those_of_transformers(kind, tmp_path):
    model = make_folder(tmp_path, kind)
    import torch

    encoder = api.load(f"hf:{tmp_path}", languages=("en",)).encoder()
    objective, variables = encoder.objective, encoder.variables
    rows = encoder._sentence_rows([LINES[0], "bank of the bank " * 4], "en")
    batch = encoder._rows().batch(rows, 2, 48)
    batch.pop("groups")
    vocabulary = encoder.tokenizer.vocabulary
    there = batch["segment_ids"] > 0
    skip = 0 if vocabulary.begins else 1
    with torch.no_grad():
        theirs = model(
            input_ids=torch.tensor(batch["inputs"][:, skip:]),
            attention_mask=torch.tensor(batch["segment_ids"][:, skip:]),
            output_hidden_states=True,
        )
    ours = objective.encode(variables, batch)
    assert len(ours.layers) == len(theirs.hidden_states) == 5
    for x, y in zip(ours.layers, theirs.hidden_states):
        np.testing.assert_allclose(x[:, skip:][there[:, skip:]], y[there[:, skip:]], atol=1e-4)
    if KINDS[kind][1]:
        score = objective.module.apply(variables, ours.last, batch["language_ids"], method="score")
        pieces = len(vocabulary)
        np.testing.assert_allclose(
            score[there][:, :pieces], theirs.logits[torch.tensor(there)], atol=1e-3
        )
    else:
        assert "head" not in variables["params"]


def test_a_run_takes_the_sizes_of_the_folder(tmp_path):
    config = dict(SMALL, model_type="modernbert", vocab_size=9, local_attention=8)
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    described = configuration.describe(str(tmp_path))
    run = configuration.with_architecture(configuration.PretrainRun(), described)
    assert run.model.name == "rotary" and run.model.local_layers == (1, 2)
    assert dataclasses.replace(run.model, dropout=described.options.dropout) == described.options


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(model_type="electra", embedding_size=16), "embedding_size=16 is not supported"),
        (dict(norm_bias=True), "norm_bias=True is not supported"),
        (dict(hidden_activation="relu"), "activation 'relu' is unknown"),
        (dict(rope_scaling={"factor": 2}), "scaled rotary positions"),
    ],
)
def test_what_ours_cannot_hold_is_refused(change, message, tmp_path):
    config = dict(SMALL, model_type="modernbert", vocab_size=9) | change
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        configuration.describe(str(tmp_path))


def test_a_tokenizer_without_a_piece_for_padding_is_refused(tmp_path):
    make_tokenizer(tmp_path)
    spec = pathlib.Path(tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="piece for padding is None"):
        json_vocab.read(spec, {})
    with pytest.raises(ValueError, match="damaged"):
        json_vocab.read("{}", {})


@pytest.mark.parametrize(
    "kind", [x for x in KINDS if x.startswith(("modernbert", "gemma3", "qwen3"))]
)
def test_a_rotary_encoder_is_exported(kind, tmp_path):
    (tmp_path / "model").mkdir()
    make_folder(tmp_path / "model", kind)
    import torch
    import transformers

    model = api.load(f"hf:{tmp_path}/model", languages=("en",))
    out = str(tmp_path / "out")
    notes = export.write_huggingface(model.loaded, out)
    assert any("no MLM head" in note for note in notes)
    again = api.load(f"hf:{out}", languages=("en",))
    wanted = model.encode(LINES, "en", layer="all")
    np.testing.assert_allclose(again.encode(LINES, "en", layer="all"), wanted, atol=1e-6)
    theirs = transformers.AutoModel.from_pretrained(out).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(out)
    ids = tokenizer(LINES[0])["input_ids"]
    vocabulary = model.tokenizer.vocabulary
    pieces = slice(vocabulary.begins, len(ids) - vocabulary.ends)
    assert ids[pieces] == model.tokenizer.encode(LINES[0], "en")[0]
    with torch.no_grad():
        states = theirs(torch.tensor([ids]), output_hidden_states=True).hidden_states
    for number, layer in enumerate(states):
        np.testing.assert_allclose(layer[0, pieces].mean(0), wanted[0, number], atol=1e-4)


def test_a_rotary_encoder_of_no_architecture_is_not_exported(tmp_path):
    model = rotary.RotaryTransformer(RotaryOptions(rms=True), 128, 1)
    objective = registry.lookup("objective", "mlm")(model=model, vocab_size=9, max_predictions=2)
    tokenizer = types.SimpleNamespace(languages=("en",), language_id=lambda language: 0)
    with pytest.raises(ValueError, match="none of ModernBERT, Gemma 3 and Qwen 3"):
        to_huggingface.write(objective, tokenizer, {"params": {}}, str(tmp_path / "out"))

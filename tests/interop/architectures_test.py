"""Encoders of many architectures with tokenizers of byte pairs: equal to transformers and tokenizers."""

import dataclasses
import json
import pathlib
import types

import jax
import numpy as np
import optax
import pytest

from clwe_jax import api, options, presets, registry
from clwe_jax.encoders import export, piece_rows
from clwe_jax.interop import configuration, huggingface, to_huggingface
from clwe_jax.models import rotary
from clwe_jax.options.models import LinearHead, RotaryOptions
from clwe_jax.options.training import MeshOptions
from clwe_jax.options.transfer import TransferOptions
from clwe_jax.pretrain import job as pretrain
from clwe_jax.text.vocab import hf_tokenizer, json_vocab, vocab
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.training import build, fine_tuned, init, partition, train_state
from clwe_jax.training.step import make_step

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
    "bert": ("Bert", "MaskedLM", SMALL),
    "xlm-roberta": ("XLMRoberta", "MaskedLM", dict(SMALL, type_vocab_size=1)),
    "roberta": ("Roberta", "MaskedLM", dict(SMALL, type_vocab_size=1)),
    "camembert": ("Camembert", "MaskedLM", dict(SMALL, type_vocab_size=1)),
    "roberta-prelayernorm": ("RobertaPreLayerNorm", "MaskedLM", dict(SMALL, type_vocab_size=1)),
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
    states = ours.states
    assert len(states) == len(theirs.hidden_states) == 5
    for x, y in zip(states, theirs.hidden_states):
        np.testing.assert_allclose(x[:, skip:][there[:, skip:]], y[there[:, skip:]], atol=1e-4)
    if KINDS[kind][1]:
        score = objective.module.apply(variables, ours.last, batch["language_ids"], method="score")
        pieces = len(vocabulary)
        np.testing.assert_allclose(
            score[there][:, :pieces], theirs.logits[torch.tensor(there)], atol=1e-3
        )
    else:
        assert "head" not in variables["params"]


RATE = 0.05


def fine_tune_with_torch(model, batch, skip, kernel, bias):
    """Ten steps of gradient descent on the mean of a text's pieces under a linear layer: the losses."""
    import torch

    ids = torch.tensor(batch["inputs"][:, skip:])
    mask = torch.tensor(batch["segment_ids"][:, skip:])
    pieces = mask.clone()
    pieces[:, 0] = 0 if not skip else mask[:, 0]
    pieces[torch.arange(len(mask)), mask.sum(1) - 1] = 0
    pieces = pieces[..., None] / pieces.sum(1)[:, None, None]
    head = [torch.tensor(np.array(x), requires_grad=True) for x in (kernel, bias)]
    learned = [*head, *(x for x in model.parameters() if x.requires_grad)]
    optimizer = torch.optim.SGD(learned, RATE)
    losses = []
    for _ in range(10):
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        scores = (hidden * pieces).sum(1) @ head[0] + head[1]
        loss = torch.nn.functional.cross_entropy(scores, torch.tensor(batch["gold"]).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        return losses, model(input_ids=ids, attention_mask=mask, output_hidden_states=True)


@pytest.mark.parametrize("kind", KINDS)
def test_ten_steps_of_fine_tuning_equal_those_of_pytorch(kind, tmp_path):
    theirs = make_folder(tmp_path, kind).base_model
    base, tokenizer, variables = huggingface.load(str(tmp_path), ("en",))
    plain = dataclasses.replace(base.model.options, dropout=0.0)
    base = dataclasses.replace(base, model=base.model.clone(options=plain))
    settings = TransferOptions(head=LinearHead(dropout=0.0), layers="last", text_vector="mean")
    objective = build.tuned_objective(settings, ("no", "yes"), False, base)
    rows = piece_rows.of_texts(tokenizer, [[x] for x in (*LINES[:2], "bank " * 9, "of")], "en", 48)
    [(places, batch)] = piece_rows.batches(rows, tokenizer, 4, 48, 48)
    batch["gold"] = np.array([0, 1, 1, 0], np.int32)[places]

    def is_learned(path):
        # Theirs adds the one type to every position, and multiplies Gemma's table where it reads it.
        return not (kind.startswith("gemma3") and "token_embedding" in str(path))

    types = [x for x in theirs.named_parameters() if "token_type" in x[0] and len(x[1]) == 1]
    scaled = [theirs.get_input_embeddings().weight] * kind.startswith("gemma3")
    for fixed in (*(x for _, x in types), *scaled):
        fixed.requires_grad = False
    optimizer = optax.sgd(RATE)
    mesh = partition.make_mesh(MeshOptions(), jax.devices()[:1])
    state = train_state.start(objective, optimizer, batch, mesh, 0)
    initial = init.Initial(fine_tuned.backbone_of(variables), "backbone/.*", origin=f"hf:{kind}")
    state, _ = init.initialise(state, initial, objective, optimizer, batch, mesh)
    head = state.params["labelling"]["head"]
    skip = 0 if tokenizer.vocabulary.begins else 1
    kernel, bias = (np.array(head[x]) for x in ("output_kernel", "output_bias"))
    wanted, after = fine_tune_with_torch(theirs, batch, skip, kernel, bias)
    trainable = lambda params: jax.tree_util.tree_map_with_path(lambda x, _: is_learned(x), params)
    step = jax.jit(make_step(objective, optimizer, lambda _: RATE, trainable_mask=trainable))
    losses = []
    for _ in range(10):
        state, metrics = step(state, batch)
        losses.append(float(metrics["loss"].mean()))
    np.testing.assert_allclose(losses, wanted, atol=1e-4)
    assert losses[-1] < 0.9 * losses[0]
    trained = base.encode({"params": {"backbone": state.params["backbone"]}}, batch)
    there = batch["segment_ids"][:, skip:] > 0
    states = trained.states
    for x, y in zip(states, after.hidden_states, strict=True):
        np.testing.assert_allclose(x[:, skip:][there], y[there], atol=1e-3)


def a_run(folder):
    """A run of a few steps that starts from a folder, as the command line makes it."""
    config = presets.start_from("mbert", "laptop")
    config.init.parameters = f"hf:{folder}"
    config.data.update(
        languages="de,en",
        pocket_sentences=100,
        pocket_domains="money",
        sequence_length=60,
        chunk_lines=32,
    )
    config.train.update(steps=10, batch_size=4, log_every_steps=5)
    config.checkpoint.every_steps = 100
    config.evals.mlm.update(every_steps=0, batches=1)
    config.evals.retrieval.data = config.evals.bli.data = ""
    return configuration.adopt_options(options.parse(config))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_the_parameters_of_the_folder(kind, tmp_path):
    make_folder(tmp_path, kind)
    base, tokenizer, variables = huggingface.load(str(tmp_path), ("de", "en"), 60)
    run = a_run(tmp_path)
    dropout = base.model.options.dropout
    assert dataclasses.replace(run.model, dropout=dropout) == base.model.options
    size = tokenizer.vocabulary.size
    objective = build.build_objective(run, len(tokenizer.vocabulary), size)
    batch = objective.batch_shapes(2, 60)
    made = jax.eval_shape(objective.init, jax.random.key(0), batch)["params"]
    made = partition.unbox(made)
    shapes = lambda tree: jax.tree.map(lambda x: x.shape, dict(tree))
    given = shapes(variables["params"])
    assert shapes(made)["backbone"] == given["backbone"]
    assert given.get("head", shapes(made)["head"]) == shapes(made)["head"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_goes_on_from_the_folder_and_back(kind, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    (tmp_path / "model").mkdir()
    make_folder(tmp_path / "model", kind)
    run = a_run(tmp_path / "model")
    run.resolve().check_all()
    assert pretrain.run(run, str(tmp_path / "run"))
    model = api.load(str(tmp_path / "run"))
    before = api.load(f"hf:{tmp_path}/model", languages=("de", "en"))
    wanted = model.encode(LINES[:3], "en", layer="all")
    assert not np.allclose(before.encode(LINES[:3], "en", layer="all"), wanted, atol=1e-3)
    out = str(tmp_path / "out")
    export.write_huggingface(model.loaded, out)
    again = transformers.AutoModel.from_pretrained(out).eval()
    ids = transformers.AutoTokenizer.from_pretrained(out)(LINES[0])["input_ids"]
    vocabulary = model.tokenizer.vocabulary
    with torch.no_grad():
        states = again(torch.tensor([ids]), output_hidden_states=True).hidden_states
    pieces = slice(vocabulary.begins, len(ids) - vocabulary.ends)
    for number, layer in enumerate(states):
        np.testing.assert_allclose(layer[0, pieces].mean(0), wanted[0, number], atol=1e-4)


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


def test_given_words_have_the_pieces_that_they_have_in_text(tmp_path):
    """Without the space before it a word was glued to the one before."""
    make_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "modernbert"}', encoding="utf-8")
    tokenizer = hf_tokenizer.tokenizer(str(tmp_path), ("en",))
    words = LINES[0].split()[:4]
    in_text = tokenizer.encode(f" {' '.join(words)}", "en")[0]
    found = piece_rows.of_sentences(tokenizer, [words], "en", 64).columns["inputs"][0]
    assert list(found[1 : 1 + len(in_text)]) == in_text
    assert in_text != [x for word in words for x in tokenizer.encode(word, "en")[0]]


def test_a_tokenizer_without_a_piece_for_padding_is_refused(tmp_path):
    make_tokenizer(tmp_path)
    spec = pathlib.Path(tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="padding"):
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

    loaded = api.load(f"hf:{tmp_path}/model", languages=("en",)).loaded
    params = loaded.variables["params"]
    has_head = "head" in params
    if has_head:  # training moves biases that were 0
        r = np.random.RandomState(0)
        random = {name: r.standard_normal(32).astype(np.float32) for name in ("bias", "norm")}
        norm = {**params["head"]["norm"], "bias": random["norm"]}
        loaded = loaded.with_parameters(
            {**params, "head": {**params["head"], "bias": random["bias"], "norm": norm}}
        )
    model = api.Model(loaded)
    out = str(tmp_path / "out")
    notes = export.write_huggingface(model.loaded, out)
    assert any("no MLM head" in note for note in notes) != has_head
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
    if has_head:
        scorer = transformers.AutoModelForMaskedLM.from_pretrained(out).eval()
        with torch.no_grad():
            scores = scorer(torch.tensor([ids])).logits
        for each in (loaded, again.loaded):
            ours = each.objective.module.apply(
                each.variables, np.float32(states[-1]), np.zeros((1, len(ids)), int), method="score"
            )
            np.testing.assert_allclose(ours[..., : len(vocabulary)], scores, atol=1e-3)


def test_a_rotary_encoder_of_no_architecture_is_not_exported(tmp_path):
    model = rotary.RotaryTransformer(RotaryOptions(rms=True), 128, 1)
    objective = registry.lookup("objective", "mlm")(model=model, vocab_size=9, max_predictions=2)
    tokenizer = types.SimpleNamespace(languages=("en",), language_id=lambda language: 0)
    with pytest.raises(ValueError, match="none of ModernBERT, Gemma 3 and Qwen 3"):
        to_huggingface.write(objective, tokenizer, {"params": {}}, str(tmp_path / "out"))

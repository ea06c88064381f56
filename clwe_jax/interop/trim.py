"""Trims a downloaded encoder to the pieces of a text: a smaller table, and the same vectors of that text.

    clwe-jax trim --encoder=hf:DIR --languages=hsb,de --text=DIR --out=NEW [--prompt='query: ']

Most of a small multilingual encoder is its table of tokens. The pieces of the text, the special pieces and single
characters stay, with their rows. Other text is still read, in more pieces. NEW is a folder like DIR,
for this program and for transformers; its weights are float32.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from typing import Any, Iterable, Sequence

from absl import app, flags, logging
import numpy as np
from safetensors.numpy import save

from clwe_jax import atomic, terminal
from clwe_jax.interop import arrays, configuration, huggingface, sentence_files
from clwe_jax.text.corpus import corpora
from clwe_jax.text.vocab import hf_tokenizer
from clwe_jax.text.vocab.subword_vocab import INSIDE_MARK, SPACE_MARK

# A character, at the begin of a word or inside it, or a byte of one that has no piece (Gemma).
_CHARACTER = re.compile(rf"(?s:({INSIDE_MARK}|{SPACE_MARK})?.|<0x..>)")
# Endings of the files that hold a vocabulary or its rows, also those for other programs (onnx/model.onnx).
_REPLACED = (hf_tokenizer.TOKENIZER_FILE, hf_tokenizer.WORDPIECE_FILE, ".model")
_REPLACED += (hf_tokenizer.MERGES_FILE, hf_tokenizer.FASTBPE_FILE, arrays.INDEX, ".safetensors")
_REPLACED += (".bin", ".onnx", ".onnx_data", ".xml", ".h5", ".msgpack", ".ot", ".gguf")


def trim(
    directory: str, texts: Iterable[str], out: str, prompts: Sequence[str] = ()
) -> tuple[int, int]:
    """Writes the encoder without the pieces that no text uses.

    Args:
      directory: a folder of Hugging Face with tokenizer.json.
      out: the folder to write, a new one.
      prompts: what may stand before a text, beside the prompts that the folder names.

    Returns:
      The numbers of pieces that stay and that there were.

    Raises:
      ValueError, FileNotFoundError: as of `configuration.describe`; no tokenizer.json, an export of
        ours, or `out` exists.
    """
    if os.path.exists(out):
        raise ValueError(f"--out={out} exists: name a new folder")
    described = configuration.describe(directory)
    if os.path.isdir(os.path.join(directory, hf_tokenizer.OWN)):
        raise ValueError(
            f"{directory} is an export of this program, with a tokenizer of its own: trim first, then teach"
        )
    spec = hf_tokenizer.read_optional(directory, hf_tokenizer.TOKENIZER_FILE)
    if spec is None:
        raise FileNotFoundError(
            f"{directory} has no {hf_tokenizer.TOKENIZER_FILE}: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) of transformers writes it"
        )
    tokenizer = hf_tokenizer.tokenizer(directory, ("en",))
    pieces = tokenizer.vocabulary.pieces
    ids = {*tokenizer.vocabulary.special_ids, *(x["id"] for x in spec.get("added_tokens") or ())}
    ids |= {n for n, piece in enumerate(pieces) if _CHARACTER.fullmatch(piece)}
    settings = hf_tokenizer.read_optional(directory, sentence_files.PROMPTS) or {}
    prompts = [*prompts, *(settings.get("prompts") or {}).values()]
    settings = hf_tokenizer.read_optional(directory, sentence_files.LENGTH) or {}
    # Sentences may be read in small letters; words are not.
    changes = [str, str.lower] if settings.get("do_lower_case") else [str]
    for text in texts:
        begins = (prompt + text.partition(" ")[0] for prompt in prompts)
        for change, string in itertools.product(changes, (text, *begins)):
            ids.update(tokenizer.encode(change(string), "en")[0])
    config = hf_tokenizer.read_json(os.path.join(directory, configuration.CONFIG))
    # Name -> its ids: some models have several where others have one or None.
    named = {x: np.atleast_1d(config[x]).tolist() for x in config if x.endswith("_token_id")}
    ids |= set(itertools.chain(*named.values())) & set(range(len(pieces)))
    if spec["model"]["type"] == "BPE":
        ids = _with_parts(spec["model"], ids)
    kept_ids = sorted(ids)
    numbers = {old: new for new, old in enumerate(kept_ids)}
    config["vocab_size"] = len(kept_ids)
    for name, old_ids in named.items():
        new_ids = [numbers[n] for n in old_ids if n in numbers]  # others are of no piece
        config[name] = new_ids if isinstance(config[name], list) else next(iter(new_ids), None)
    weights = save(_rows(directory, described, kept_ids), metadata={"format": "pt"})
    with atomic.making_folder(out) as folder:
        sentence_files.copy(directory, folder, _stays)
        spec = _renumber(spec, numbers)
        atomic.write_json(os.path.join(folder, hf_tokenizer.TOKENIZER_FILE), spec, indent=None)
        atomic.write_json(os.path.join(folder, configuration.CONFIG), config, indent=None)
        atomic.write(os.path.join(folder, arrays.SAFETENSORS), weights)
    return len(kept_ids), len(pieces)


def _stays(path: str) -> bool:
    """Whether a file of the model stays as it is; hidden folders, such as .git, may hold weights too."""
    return not path.startswith(".") and not path.endswith(_REPLACED)


def _with_parts(model: dict[str, Any], used: set[int]) -> set[int]:
    """The pieces of byte pairs, with all those that a merge on the way to one of them makes."""
    ids = model["vocab"]
    halves: dict[int, list[int]] = {}
    for left, right in map(_pair, model["merges"]):
        halves.setdefault(ids[left + right], []).extend((ids[left], ids[right]))
    open_ids = list(used)
    while open_ids:
        new_ids = set(halves.get(open_ids.pop(), ())) - used
        used |= new_ids
        open_ids += new_ids
    return used


def _pair(merge: str | Sequence[str]) -> Sequence[str]:
    return merge.split(" ") if isinstance(merge, str) else merge


def _renumber(spec: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    """The content of tokenizer.json with the pieces that stay, under their new ids."""
    model = dict(spec["model"])
    if model["type"] == "Unigram":
        model["vocab"] = [x for n, x in enumerate(model["vocab"]) if n in numbers]
        model["unk_id"] = numbers[model["unk_id"]]
    else:
        model["vocab"] = {x: numbers[n] for x, n in model["vocab"].items() if n in numbers}
    if model["type"] == "BPE":
        pairs = map(_pair, model["merges"])
        vocab = model["vocab"]
        model["merges"] = [[x, y] for x, y in pairs if x in vocab and y in vocab and x + y in vocab]
    tokens = [{**x, "id": numbers[x["id"]]} for x in spec.get("added_tokens") or ()]
    processor = json.loads(json.dumps(spec.get("post_processor") or {}))
    for step in processor.get("processors", [processor]):
        for special in (step.get("special_tokens") or {}).values():
            special["ids"] = [numbers[n] for n in special["ids"]]
        for end in {"cls", "sep"} & step.keys():
            step[end] = [step[end][0], numbers[step[end][1]]]
    changed = {"model": model, "added_tokens": tokens, "post_processor": processor or None}
    if padding := spec.get("padding"):
        number = numbers.get(padding["pad_id"])  # None: the piece is not kept
        changed["padding"] = None if number is None else {**padding, "pad_id": number}
    return {**spec, **changed}


def _rows(
    directory: str, described: configuration.Description, kept: Sequence[int]
) -> dict[str, np.ndarray]:
    """The weights, of the tables of pieces the rows that stay."""
    layout = huggingface.LAYOUTS[described.kind]
    tables = tuple(x for x in (layout.tokens, layout.scores, layout.bias, "decoder.bias") if x)
    return {
        name: array[kept] if name.endswith(tables) and len(array) == described.rows else array
        for name, array in arrays.read(directory).items()
    }


def main(argv: list[str]) -> None:
    """The command line."""
    args = flags.FLAGS
    if len(argv) > 1 or not (args.encoder and args.languages and args.text and args.out):
        sys.exit("usage: clwe-jax trim --encoder=hf:DIR --languages=CODES --text=DIR --out=NEW")
    logging.set_verbosity(logging.INFO)
    terminal.plain_log()
    languages = args.languages.split(",")
    directory = args.encoder.removeprefix(configuration.PREFIX)
    try:
        corpus = corpora.TextCorpus(args.text, languages)
        texts = itertools.chain.from_iterable(map(corpus.lines, languages))
        kept_pieces, all_pieces = trim(directory, texts, args.out, args.prompt)
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    print(f"{args.out}: {kept_pieces:,} of {all_pieces:,} pieces stay.")


if __name__ == "__main__":
    # Here, so that one process can import two commands that share the name of a flag.
    flags.DEFINE_string("encoder", None, "hf:DIR, a folder of Hugging Face with tokenizer.json.")
    flags.DEFINE_string(
        "languages", None, "Codes of the languages of the text, separated by commas."
    )
    flags.DEFINE_string("text", None, "A folder with xx.txt or xx/, whose pieces stay.")
    flags.DEFINE_multi_string("prompt", [], "What stands before every text, such as 'query: '.")
    flags.DEFINE_string("out", None, "The folder to write.")
    app.run(main)

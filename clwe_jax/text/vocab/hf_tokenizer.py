"""Tokenizers of Hugging Face's folders: WordPiece, SentencePiece, XLM's fastBPE, any tokenizer.json.

The piece ids of raw text equal those of `transformers.AutoTokenizer`, with one exception: the name
of a special piece in the text, such as "[MASK]", is text.
"""

from __future__ import annotations

import base64
import itertools
import os
from typing import Any, Iterable, Mapping, Sequence

from absl import logging

from clwe_jax import atomic
from clwe_jax.text.vocab import json_vocab, xlm
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.vocab.subword_vocab import (
    INSIDE_MARK,
    SentencePieceVocabulary,
    WordPieceVocabulary,
)
from clwe_jax.text.vocab.tokenizer import Tokenizer
from clwe_jax.text.words.words import Segmenter

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
SPECIALS_FILE = "special_tokens_map.json"  # of older folders
WORDPIECE_FILE = "vocab.txt"
SENTENCEPIECE_FILE = "sentencepiece.bpe.model"
OWN = "clwe_jax"  # the folder with our tokenizer in an export of ours
FASTBPE_FILE = "vocab.json"
MERGES_FILE = "merges.txt"
_EXPECTED = (
    f"expected {TOKENIZER_FILE}, {WORDPIECE_FILE} (BERT), {SENTENCEPIECE_FILE} (XLM-R) or "
    f"{FASTBPE_FILE} and {MERGES_FILE} (XLM)"
)
# XLM-R's special pieces before and after the pieces of its SentencePiece model.
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_LAST = "<mask>"
# types of a piece in a SentencePiece model
_NORMAL = 1
_UNKNOWN = 2
_CONTROL = 3
_UNIGRAM = 1  # of SentencePiece's model types
# Steps of tokenizer.json that SentencePiece's own normalisation and segmentation include.
_INCLUDED = ("Precompiled", "Sequence", "Strip", "Replace", "WhitespaceSplit", "Metaspace")


def is_folder(path: str) -> bool:
    """Whether a folder holds a tokenizer or a model of Hugging Face."""
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, "text.json")):
        return False
    names = (TOKENIZER_FILE, CONFIG_FILE, SENTENCEPIECE_FILE)
    if any(os.path.exists(os.path.join(path, name)) for name in names):
        return True
    config = os.path.join(path, "config.json")
    return os.path.exists(config) and "model_type" in read_json(config)


def normalizer(path: str, spec: Mapping[str, Any] | None = None) -> Normalizer:
    """The normalizer of the text that `tokenizer` reads; `spec` is tokenizer.json's content, if it was read."""
    if run := _load_own(path):
        return run.normalizer
    spec = spec or read_optional(path, TOKENIZER_FILE)
    if spec is not None and (_is_read_by_library(spec) or _kind(path, spec) != "WordPiece"):
        return Normalizer(lower_case=False)
    if spec is None and not os.path.exists(os.path.join(path, WORDPIECE_FILE)):
        lower = is_xlm(path) and _lower_case_of_xlm(path)
        moses = is_xlm(path)
        return Normalizer(lower, False, bert=moses, strip_accents=lower, moses=moses)
    return _basic(path, spec or {})


def own_languages(path: str) -> tuple[str, ...]:
    """The languages of an export of ours; () for other folders."""
    run = _load_own(path)
    return run.languages if run else ()


def _load_own(path: str) -> Tokenizer | None:
    folder = os.path.join(path, OWN)
    return Tokenizer.load(folder) if os.path.isdir(folder) else None


def is_xlm(path: str) -> bool:
    """Whether a folder has XLM's vocabulary, of which the data graph has no twin."""
    other_files = (TOKENIZER_FILE, WORDPIECE_FILE, SENTENCEPIECE_FILE)
    return os.path.exists(os.path.join(path, MERGES_FILE)) and not any(
        os.path.exists(os.path.join(path, name)) for name in other_files
    )


def _lower_case_of_xlm(path: str) -> bool:
    lower_case = (read_optional(path, CONFIG_FILE) or {}).get(
        "do_lowercase_and_remove_accent", True
    )
    return bool(lower_case)


def tokenizer(
    path: str, languages: Sequence[str], lexicons: Mapping[str, Iterable[str]] | None = None
) -> Tokenizer:
    """The tokenizer in a folder of Hugging Face.

    Args:
      path: the folder: an export of ours, or one with tokenizer.json, vocab.txt or sentencepiece.bpe.model, and for BERT
        tokenizer_config.json, which says whether the text is lower-cased.
      lexicons: of the `Segmenter`, whose words are those of `Tokenizer.words`; BERT uses none.

    Raises:
      FileNotFoundError: the folder has no such file.
      ValueError: a file is damaged, or is of another kind of tokenizer.
    """
    if run := _load_own(path):
        return Tokenizer(languages, run.normalizer, run.segmenter, run.vocabulary, run.whole_text)
    spec = read_optional(path, TOKENIZER_FILE)
    normalize = normalizer(path, spec)
    sentencepiece = os.path.join(path, SENTENCEPIECE_FILE)
    text = os.path.join(path, WORDPIECE_FILE)
    if spec is not None and _is_read_by_library(spec):
        vocabulary = _json_vocabulary(path)
        return Tokenizer(languages, normalize, Segmenter(lexicons), vocabulary, whole_text=True)
    if spec is not None and _kind(path, spec) == "Unigram":
        model = _unigram_model(os.path.join(path, TOKENIZER_FILE), spec)
    elif spec is not None or os.path.exists(text):
        pieces = _wordpieces(os.path.join(path, TOKENIZER_FILE), spec) if spec else _lines(text)
        try:
            vocabulary = WordPieceVocabulary(pieces)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        return Tokenizer(languages, normalize, Segmenter({}, bert=True), vocabulary)
    elif is_xlm(path):
        vocabulary = _xlm_vocabulary(path)
        segmenter = xlm.MosesSegmenter(_lower_case_of_xlm(path))
        return Tokenizer(languages, normalize, segmenter, vocabulary)
    elif os.path.exists(sentencepiece):
        model = _sentencepiece_model(sentencepiece)
    else:
        raise FileNotFoundError(f"{path} has no vocabulary that this program reads: {_EXPECTED}")
    vocabulary = SentencePieceVocabulary(model)
    return Tokenizer(languages, normalize, Segmenter(lexicons), vocabulary, whole_text=True)


def read_json(path: str, kind: type = dict) -> Any:
    """The object, or with kind=list the list, in a JSON file.

    Raises:
      ValueError: the file is damaged, or holds something else.
    """
    content = atomic.read_json(path)
    if not isinstance(content, kind):
        kind_text = {dict: "an object", list: "a list"}[kind]
        raise ValueError(f"{path} is damaged: expected {kind_text}, found {type(content).__name__}")
    return content


def read_optional(path: str, name: str) -> dict[str, Any] | None:
    """The object in a JSON file of a folder; None where the folder has no such file."""
    file = os.path.join(path, name)
    return read_json(file) if os.path.exists(file) else None


def _is_read_by_library(spec: Mapping[str, Any]) -> bool:
    """Whether a tokenizer.json is neither BERT's nor XLM-R's."""
    return (spec.get("model") or {}).get("type") == "BPE"


def _json_vocabulary(path: str) -> json_vocab.JsonVocabulary:
    names = (read_optional(path, SPECIALS_FILE) or {}) | (read_optional(path, CONFIG_FILE) or {})
    with open(os.path.join(path, TOKENIZER_FILE), encoding="utf-8") as file:
        spec = file.read()
    try:
        return json_vocab.read(spec, names)
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def _kind(path: str, spec: Mapping[str, Any]) -> str:
    kind = (spec.get("model") or {}).get("type", "without a type")
    if kind not in ("WordPiece", "Unigram"):
        raise ValueError(
            f"{os.path.join(path, TOKENIZER_FILE)} is a tokenizer of the kind {kind}; expected "
            "WordPiece (BERT), Unigram (XLM-R) or BPE"
        )
    return kind


def _basic(path: str, spec: Mapping[str, Any]) -> Normalizer:
    """BERT's normalizer; tokenizer_config.json goes before tokenizer.json, as in transformers."""
    step = spec.get("normalizer") or {"type": "BertNormalizer", "lowercase": True}
    if step.get("type") != "BertNormalizer" or not step.get("clean_text", True):
        raise ValueError(
            f"{os.path.join(path, TOKENIZER_FILE)}: the normalizer {step.get('type')} with "
            f"clean_text={step.get('clean_text', True)} is not BERT's; expected BertNormalizer"
        )
    settings = read_optional(path, CONFIG_FILE) or {}

    def option(name: str, step_name: str, default: Any) -> Any:
        value = settings.get(name)
        return step.get(step_name, default) if value is None else value

    if not option("tokenize_chinese_chars", "handle_chinese_chars", True):
        raise ValueError(
            f"{os.path.join(path, CONFIG_FILE)}: tokenize_chinese_chars=false, text in which Han "
            "characters are not separate words, is not supported"
        )
    lower = bool(option("do_lower_case", "lowercase", True))
    strip = option("strip_accents", "strip_accents", None)
    return Normalizer(
        lower, False, bert=True, strip_accents=lower if strip is None else bool(strip)
    )


def _lines(path: str) -> list[str]:
    """The pieces of a vocab.txt, one a line; their ids are the numbers of the lines."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a vocab.txt (one piece a line, UTF-8): {error}") from error
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _wordpieces(path: str, spec: Mapping[str, Any]) -> list[str]:
    model = spec["model"]
    prefix = model.get("continuing_subword_prefix", INSIDE_MARK)
    longest = model.get("max_input_chars_per_word", 100)
    if (prefix, longest) != (INSIDE_MARK, 100):
        raise ValueError(
            f"{path}: pieces inside a word begin with {prefix!r}, and words have at most {longest} "
            "characters; expected '##' and 100, as in BERT"
        )
    ids = dict(model.get("vocab") or {}) | _added_pieces(path, spec, model.get("vocab") or {})
    pieces = sorted(ids, key=ids.get)
    _check_ids(path, [ids[piece] for piece in pieces])
    return pieces


def _added_pieces(path: str, spec: Mapping[str, Any], vocabulary: Iterable[str]) -> dict[str, int]:
    """The pieces of `added_tokens` that the vocabulary lacks, with their ids."""
    vocabulary = set(vocabulary)
    rows = [row for row in spec.get("added_tokens") or () if row["content"] not in vocabulary]
    words = [row["content"] for row in rows if not row.get("special")]
    if words:
        logging.warning(
            "%s: %d added words, such as %r, keep their ids but are never found in text",
            path,
            len(words),
            words[0],
        )
    return {row["content"]: row["id"] for row in rows}


def _check_ids(path: str, ids: Sequence[int]) -> None:
    if list(ids) != list(range(len(ids))):
        gap = next(n for n, i in enumerate(ids) if n != i)
        raise ValueError(f"{path}: no piece has the id {gap}; expected the ids 0 to {len(ids) - 1}")


def _unigram_model(path: str, spec: Mapping[str, Any]) -> bytes:
    """The SentencePiece model of a tokenizer.json whose model is Unigram."""
    steps = [*_steps(spec.get("normalizer")), *_steps(spec.get("pre_tokenizer"))]
    extra_types = sorted({step["type"] for step in steps} - set(_INCLUDED))
    if extra_types or spec["model"].get("byte_fallback"):
        raise ValueError(
            f"{path}: {', '.join(extra_types) or 'byte_fallback'} is no part of XLM-R's tokenizer; "
            f"expected {', '.join(_INCLUDED)}"
        )
    pieces = [(piece, float(score)) for piece, score in spec["model"]["vocab"]]
    unknown_id = spec["model"].get("unk_id")
    if unknown_id is None or not 0 <= unknown_id < len(pieces):
        raise ValueError(f"{path}: unk_id={unknown_id}: expected the id of a piece")
    added_ids = _added_pieces(path, spec, (piece for piece, _ in pieces))
    _check_ids(path, [*range(len(pieces)), *sorted(added_ids.values())])
    pieces += [(piece, 0.0) for piece in sorted(added_ids, key=added_ids.get)]
    special = {row["content"] for row in spec.get("added_tokens") or ()}
    maps = [
        base64.b64decode(x["precompiled_charsmap"]) for x in steps if x["type"] == "Precompiled"
    ]
    model = _model(maps[0] if maps else b"")
    for number, (piece, score) in enumerate(pieces):
        kind = _UNKNOWN if number == unknown_id else _CONTROL if piece in special else _NORMAL
        model.pieces.add(piece=piece, score=score, type=kind)
    return model.SerializeToString(deterministic=True)


def _xlm_vocabulary(path: str) -> xlm.FastBpeVocabulary:
    ids = read_json(os.path.join(path, FASTBPE_FILE))
    with open(os.path.join(path, MERGES_FILE), encoding="utf-8") as file:
        merges = file.read()
    try:
        return xlm.read(ids, merges)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _steps(step: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """A step of tokenizer.json, or the steps of a sequence."""
    if not step:
        return []
    if step["type"] != "Sequence":
        return [step]
    inner = step.get("normalizers") or step.get("pretokenizers") or ()
    return list(itertools.chain.from_iterable(map(_steps, inner)))


def _sentencepiece_model(path: str) -> bytes:
    """XLM-R's SentencePiece model with the ids of XLM-R, which differ from its own."""
    from sentencepiece import sentencepiece_model_pb2  # protobuf is needed here alone

    with open(path, "rb") as file:
        content = file.read()
    try:
        released = sentencepiece_model_pb2.ModelProto.FromString(content)
    except Exception as error:  # protobuf's own type of error depends on its implementation
        raise ValueError(f"{path} is not a SentencePiece model: {error}") from error
    first = [piece.piece for piece in released.pieces[:3]]
    if first != ["<unk>", "<s>", "</s>"] or released.trainer_spec.model_type != _UNIGRAM:
        raise ValueError(
            f"{path}: its first pieces are {', '.join(first)}; XLM-R's is a unigram model that "
            "begins with <unk>, <s>, </s>"
        )
    model = _model(released.normalizer_spec.precompiled_charsmap)
    for piece in _FIRST:
        model.pieces.add(piece=piece, score=0.0, type=_UNKNOWN if piece == "<unk>" else _CONTROL)
    for piece in released.pieces[3:]:
        model.pieces.add().CopyFrom(piece)
    model.pieces.add(piece=_LAST, score=0.0, type=_CONTROL)
    return model.SerializeToString(deterministic=True)


def _model(charsmap: bytes) -> Any:
    """An empty unigram model with SentencePiece's usual treatment of spaces."""
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = _UNIGRAM
    model.normalizer_spec.precompiled_charsmap = charsmap
    model.normalizer_spec.add_dummy_prefix = True
    model.normalizer_spec.remove_extra_whitespaces = True
    model.normalizer_spec.escape_whitespaces = True
    return model

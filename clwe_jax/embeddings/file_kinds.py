"""What a file is that may hold vectors of words, by its first bytes."""

from __future__ import annotations

import re
import struct

from clwe_jax.text import unpacking

_FASTTEXT = (793_712_314).to_bytes(4, "little")  # first bytes of a binary model of fastText
_SETTINGS = struct.Struct(
    "<12i"
)  # dim, ws, epoch, minCount, neg, wordNgrams, loss, model, bucket, ...
_MODEL = 7  # place of the kind of model among the settings
_CLASSIFIER = 3  # the kind of model that `fasttext supervised` makes
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_GENSIM = re.compile(rb"(FastText)?KeyedVectors|FastText|Word2Vec")  # its classes
_AS_TEXT = "write its words and vectors as text, `word number number ...` a line"
# Other files of vectors -> what they are, and what to do.
_OTHER_KINDS = (
    (
        b"\x93NUMPY",
        "an array of NumPy without words: name the file of words and vectors to which it belongs, such "
        "as word2vec's text",
    ),
    (b"\x89HDF", f"an HDF5 file: {_AS_TEXT}"),
    (b"PAR1", f"a Parquet table: {_AS_TEXT}"),
)


def is_fasttext(head: bytes) -> bool:
    """Whether a file is a binary model of fastText, of its first format (2016) or a later one."""
    return head.startswith(_FASTTEXT) or _settings(head) is not None


def refuse_others(head: bytes, path: str) -> None:
    """Raises ValueError that says what a file without readable vectors is, and what to do.

    Args:
      head: the first bytes of the unpacked file.
    """
    settings = _settings(head)
    if settings is not None and settings[_MODEL] == _CLASSIFIER:
        raise ValueError(
            f"{path} is a classifier of fastText (`fasttext supervised`, `quantize`), as lid.176.ftz: it "
            "holds no vectors of words that can be read. Name a model of `fasttext skipgram` or `cbow`, "
            "or a .vec file"
        )
    if is_fasttext(head) and unpacking.strip_compression(path).endswith(".ftz"):
        raise ValueError(
            f"{path} is compressed by `fasttext quantize`, and its vectors cannot be read: name the "
            "model's .bin or .vec file"
        )
    if head.startswith(_PICKLES):
        raise ValueError(f"{path} is {_describe_pickle(head, path)}")
    for mark, kind in _OTHER_KINDS:
        if head.startswith(mark):
            raise ValueError(f"{path} is {kind}")
    if head[8:10] == b'{"':
        raise ValueError(f"{path} is a file of tensors (safetensors) without words: {_AS_TEXT}")
    if kind := unpacking.describe_kind(head, path):
        raise ValueError(f"{path} is {kind}")


def _describe_pickle(head: bytes, path: str) -> str:
    if b"gensim" not in head:
        return "a pickle of Python, which could run any program and is not read: " + _AS_TEXT
    match = _GENSIM.search(head)
    name = match[0].decode() if match else "KeyedVectors"
    name = f"fasttext.{name}" if name == "FastTextKeyedVectors" else name
    load = f"gensim.models.{name}.load('{path}')"
    vectors = load if name.endswith("KeyedVectors") else f"{load}.wv"
    return (
        f"a pickle of gensim, which could run any program and is not read: write its vectors with "
        f"`python -c \"import gensim; {vectors}.save_word2vec_format('{path}.vec')\"` and name {path}.vec"
    )


def _settings(head: bytes) -> tuple[int, ...] | None:
    """The settings in a binary model of fastText; None in another file."""
    if len(head) < 2 * 4 + _SETTINGS.size:
        return None
    if head.startswith(_FASTTEXT):
        return _SETTINGS.unpack_from(head, 2 * 4)
    # The first format has no mark. Text has no null bytes, which all of its small numbers have.
    settings = _SETTINGS.unpack_from(head)
    dim, window, epochs, min_count, negative, ngrams, loss, model, buckets = settings[:9]
    sizes = (dim, window, epochs, ngrams)
    is_plausible = all(0 < size < 1 << 16 for size in sizes) and 0 <= min_count < 1 << 24
    is_plausible = is_plausible and 0 <= negative < 1 << 16 and 0 <= buckets
    return settings if is_plausible and loss in (1, 2, 3) and model in (1, 2, 3) else None

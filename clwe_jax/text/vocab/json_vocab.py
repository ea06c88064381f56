"""Vocabularies of any tokenizer.json, such as byte-level BPE, by the library `tokenizers` itself."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Mapping

from clwe_jax import atomic
from clwe_jax.text.vocab.base_vocab import CLS, MASK, PAD, SEP, SPECIALS, UNK, Vocabulary

FILE = "tokenizer.json"
# Our special pieces -> the names, best first, that settings of transformers give their counterparts.
_NAMES = {
    PAD: ("pad_token", "eos_token"),
    UNK: ("unk_token", "pad_token", "eos_token"),
    CLS: ("cls_token", "bos_token", "pad_token", "eos_token"),
    SEP: ("sep_token", "eos_token", "pad_token"),
    MASK: ("mask_token", "unk_token", "pad_token", "eos_token"),
}


class JsonVocabulary(Vocabulary):
    """The tokenizer of a tokenizer.json, which reads whole texts.

    Attributes:
      begins, ends: whether the tokenizer itself adds [CLS] and [SEP] to a text.
    """

    kind = "tokenizer.json"

    def __init__(self, spec: str, names: Mapping[str, Any]):
        """Args:
          spec: the content of tokenizer.json.
          names: 'pad_token', 'cls_token', ... -> the piece, as tokenizer_config.json has them.

        Raises:
          ValueError: the content is no tokenizer, has more than one special piece at an end of a text,
            or no piece for padding.
          RuntimeError: the library is missing.
        """
        self._spec = spec
        self._processor = _processor(spec)
        size = max(self._processor.get_vocab(with_added_tokens=True).values()) + 1
        # An id without a piece has a name that no piece has.
        pieces = [self._processor.id_to_token(n) or f"\0{n}" for n in range(size)]
        ids_of = {}
        for kind, options in _NAMES.items():
            entries = (names.get(name) for name in options)
            contents = [x["content"] if isinstance(x, Mapping) else x for x in entries if x]
            ids = [self._processor.token_to_id(content) for content in contents]
            ids_of[kind] = next((number for number in ids if number is not None), None)
        text = self._processor.encode("a", add_special_tokens=False).ids
        marked = self._processor.encode("a").ids
        first = next(k for k in range(len(marked)) if marked[k : k + len(text)] == text)
        start = marked[:first]
        end = marked[first + len(text) :]
        if max(len(start), len(end)) > 1 or ids_of[PAD] is None:
            raise ValueError(
                f"{FILE} puts {len(start)} special pieces before and {len(end)} after a text, and its "
                f"piece for padding is {ids_of[PAD]}: expected one at most, and a pad_token"
            )
        ids_of[CLS], ids_of[SEP] = (
            ids[0] if ids else ids_of[kind] for kind, ids in ((CLS, start), (SEP, end))
        )
        self.begins = bool(start)
        self.ends = bool(end)
        super().__init__(pieces, {kind: ids_of[kind] for kind in SPECIALS})

    def _encode(self, word: str) -> list[int]:
        # As it stands between other words.
        return self._processor.encode(f" {word}", add_special_tokens=False).ids

    def encode_text(self, text: str) -> tuple[list[int], list[int]]:
        """The piece ids of raw text, and the number of each piece's string between spaces."""
        encoding = self._processor.encode(text, add_special_tokens=False)
        starts = (not x.isspace() and y.isspace() for x, y in zip(text, f" {text}"))
        words = list(itertools.accumulate(starts)) or [1]
        # A piece may begin with the space before its word.
        return encoding.ids, [max(0, words[max(0, end - 1)] - 1) for _, end in encoding.offsets]

    @property
    def content(self) -> dict[str, Any]:
        """The content of tokenizer.json."""
        return json.loads(self._spec)

    def save(self, directory: str) -> None:
        os.makedirs(directory, exist_ok=True)
        names = {_NAMES[kind][0]: self.pieces[number] for kind, number in self.specials.items()}
        content = {**self.content, "names": names}
        atomic.write(os.path.join(directory, FILE), json.dumps(content, ensure_ascii=False))


def read(spec: str, names: Mapping[str, Any] | None = None) -> JsonVocabulary:
    """The vocabulary of a tokenizer.json, with the names that `save` added where none are given."""
    if names is None:
        content = json.loads(spec)
        names = content.pop("names", {})
        spec = json.dumps(content, ensure_ascii=False)
    return JsonVocabulary(spec, names)


def _processor(spec: str) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise RuntimeError(
            f"this {FILE} needs the library tokenizers: pip install 'clwe_jax[huggingface]'"
        ) from error
    try:
        processor = tokenizers.Tokenizer.from_str(spec)
    except Exception as error:  # the library raises this class itself
        raise ValueError(f"{FILE} is damaged: {error}") from error
    processor.no_truncation()
    processor.no_padding()
    return processor

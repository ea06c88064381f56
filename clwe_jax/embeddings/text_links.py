"""What texts of several languages say of translations: pairs of sentences, links of words; and their file."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np

from clwe_jax import atomic
from clwe_jax.embeddings.word_graph import CountedLinks


class MinedPairs(NamedTuple):
    """Sentences of two languages that translate each other.

    Attributes:
      source, target: the places of their lines in the corpus, int [P].
      margins: float [P]; NaN for a pair that was found beside another one.
    """

    source: np.ndarray
    target: np.ndarray
    margins: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class TextLinks:
    """Pairs of sentences from the texts, mined or given, and the links of their words.

    Attributes:
      links: (language, other language) -> counted links of their words.
      pairs: the same -> pairs of sentences.
      refused: the same -> mutual best pairs without support, best first.
      rounds: for each round and pair of languages, its figures, for the report.
      files: language -> the text's files and the place of their first line.
    """

    links: Mapping[tuple[str, str], CountedLinks] = dataclasses.field(default_factory=dict)
    pairs: Mapping[tuple[str, str], MinedPairs] = dataclasses.field(default_factory=dict)
    refused: Mapping[tuple[str, str], MinedPairs] = dataclasses.field(default_factory=dict)
    rounds: Sequence[Mapping[str, Any]] = ()
    files: Mapping[str, Sequence[tuple[str, int]]] = dataclasses.field(default_factory=dict)

    def save(self, path: str) -> None:
        """Writes an .npz file that `load` reads."""
        arrays: dict[str, Any] = {}
        for pair, pair_links in self.links.items():
            name = "-".join(pair)
            # One text a side: arrays of texts take the length of the longest for each.
            arrays |= {
                f"links/{name}/source": _bytes(pair_links.source),
                f"links/{name}/target": _bytes(pair_links.target),
                f"links/{name}/counts": pair_links.counts,
            }
        for kind, sets in (("pairs", self.pairs), ("refused", self.refused)):
            for pair, mined in sets.items():
                for field, values in mined._asdict().items():
                    arrays[f"{kind}/{'-'.join(pair)}/{field}"] = values
        about = json.dumps({"rounds": list(self.rounds), "files": dict(self.files)})
        with atomic.writing(path) as file:
            np.savez_compressed(file, about=_bytes([about]), **arrays)

    @classmethod
    def load(cls, path: str) -> TextLinks:
        """Reads a file that `save` wrote.

        Raises:
          FileNotFoundError: the file does not exist.
          ValueError: the file is damaged.
        """
        with atomic.naming_damage(path):
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            about = json.loads(_texts(arrays.pop("about"))[0])
        by_kind: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
        for name, values in arrays.items():
            kind, pair, field = name.split("/")
            first, second = pair.split("-")
            of_pair = by_kind.setdefault(kind, {}).setdefault((first, second), {})
            of_pair[field] = _texts(values) if values.dtype == np.uint8 else values
        links = {pair: CountedLinks(**fields) for pair, fields in by_kind.get("links", {}).items()}
        pairs = {pair: MinedPairs(**x) for pair, x in by_kind.get("pairs", {}).items()}
        refused = {pair: MinedPairs(**x) for pair, x in by_kind.get("refused", {}).items()}
        files = {x: [tuple(file) for file in places] for x, places in about["files"].items()}
        return cls(links, pairs, refused, about["rounds"], files)


def _bytes(texts: Sequence[str]) -> np.ndarray:
    return np.frombuffer("\n".join(texts).encode("utf-8"), np.uint8)


def _texts(data: np.ndarray) -> list[str]:
    return data.tobytes().decode("utf-8").split("\n") if len(data) else []

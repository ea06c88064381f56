"""Sense-annotated text in the unified XML format (Raganato et al. 2017), and WordNet's senses.

    <corpus lang="en" source="semeval2007">
      <text id="d000">
        <sentence id="d000.s000">
          <wf lemma="you" pos="PRON">Your</wf>
          <instance id="d000.s000.t000" lemma="refer" pos="VERB">referred</instance>

The sense keys are in a separate file, one instance a line: `d000.s000.t000 refer%2:32:01::`.
"""

from __future__ import annotations

import csv
import dataclasses
import os
from typing import Sequence
from xml.etree import ElementTree

from clwe_jax.text import lines, unpacking

# WordNet's parts of speech -> names in the format; adjective satellites are adjectives.
_POS = {"n": "NOUN", "v": "VERB", "a": "ADJ", "s": "ADJ", "r": "ADV"}
_NAMED = 3  # ids that an error names


@dataclasses.dataclass(frozen=True)
class Instance:
    """An annotated word, or several words that form one entry.

    Attributes:
      id: id in the files.
      lemma, pos: e.g. 'bank', 'NOUN'; lemmas are lower-case, with underscores for spaces.
      sentence: number of its sentence.
      start, stop: range of its words in the sentence, without `stop`.
      keys: right sense keys.
    """

    id: str
    lemma: str
    pos: str
    sentence: int
    start: int
    stop: int
    keys: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class AnnotatedCorpus:
    """Annotated text.

    Attributes:
      name: file name without '.data.xml'.
      sentences: words of each sentence; an entry of several words has one item for each of them.
      instances: instances in the order of the text.
    """

    name: str
    sentences: list[list[str]]
    instances: list[Instance]


def read(path: str, max_sentences: int = 0) -> AnnotatedCorpus:
    """Reads annotated text, with the keys in NAME.gold.key.txt or NAME.gold.key.txt.gz beside it.

    Args:
      path: NAME.data.xml or NAME.data.xml.gz.
      max_sentences: maximum number of sentences, from the beginning; 0: all.

    Raises:
      FileNotFoundError: a file is missing.
      ValueError: another format, or keys and instances that do not match; the error names them.
    """
    stem = unpacking.strip_compression(path).removesuffix(".data.xml")
    keys_path = unpacking.find_packed(f"{stem}.gold.key.txt")
    if not keys_path:
        raise FileNotFoundError(
            f"{path} has no file of keys beside it: expected {stem}.gold.key.txt"
        )
    senses = _read_keys(keys_path)
    sentences, instances, is_complete = _read_xml(path, max_sentences)
    ids = {instance.id for instance in instances}
    if len(ids) < len(instances):
        seen_ids: set[str] = set()
        double = [i.id for i in instances if i.id in seen_ids or seen_ids.add(i.id)]
        raise ValueError(f"{path}: {_name_some(double)} more than one instance")
    without_keys = [instance.id for instance in instances if instance.id not in senses]
    extra_keys = [name for name in senses if name not in ids] if is_complete else []
    if without_keys or extra_keys:
        parts = [f"{_name_some(without_keys)} only in the text"] if without_keys else []
        parts += [f"{_name_some(extra_keys)} only in the keys"] if extra_keys else []
        raise ValueError(
            f"{path} and {keys_path} do not match: {'; '.join(parts)}. Each <instance> needs a line "
            "`ID KEY` with its id"
        )
    filled = [dataclasses.replace(i, keys=senses[i.id]) for i in instances]
    return AnnotatedCorpus(os.path.basename(stem), sentences, filled)


def _name_some(ids: Sequence[str]) -> str:
    id_list = ", ".join(ids[:_NAMED])
    ending = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"{id_list}{ending} {'is' if len(ids) == 1 else 'are'}"


def _read_keys(path: str) -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    for number, line in lines.read_lines(path):
        parts = line.split()
        if not parts:
            continue
        if len(parts) < 2:
            lines.fault(
                path,
                number,
                "expected an instance's id and its sense keys, separated by spaces; found "
                f"{lines.quote_line(line.strip())}",
            )
        if parts[0] in keys:
            lines.fault(path, number, f"a second line for {parts[0]}")
        keys[parts[0]] = tuple(parts[1:])
    return keys


def _read_xml(path: str, max_sentences: int) -> tuple[list[list[str]], list[Instance], bool]:
    """Sentences, instances without keys, and whether the file was read to its end."""
    sentences: list[list[str]] = []
    instances: list[Instance] = []
    try:
        with unpacking.open_binary(path) as file:
            for _, element in ElementTree.iterparse(file):
                if element.tag != "sentence":
                    continue
                if max_sentences and len(sentences) == max_sentences:
                    return sentences, instances, False
                words: list[str] = []
                for token in element:
                    token_words = (token.text or "").split()
                    if token.tag == "instance":
                        name = token.get("id")
                        if not name or not token.get("lemma") or not token_words:
                            raise ValueError(
                                f"{path}: sentence {element.get('id')}: an <instance> needs id, "
                                f"lemma, pos and a word, found {token.attrib} {token_words}"
                            )
                        instances.append(
                            Instance(
                                name,
                                token.get("lemma").lower().replace(" ", "_"),
                                token.get("pos", ""),
                                len(sentences),
                                len(words),
                                len(words) + len(token_words),
                                (),
                            )
                        )
                    words += token_words
                sentences.append(words)
                # Else the tree of the whole file would stay in memory.
                element.clear()
    except ElementTree.ParseError as error:
        line, column = error.position
        raise ValueError(f"{path}:{line}: not XML: {error} (column {column})") from error
    if not instances:
        raise ValueError(
            f"{path} holds no <instance> within a <sentence>: expected the unified format of "
            "Raganato et al. (2017)"
        )
    return sentences, instances, True


def first_senses(path: str) -> dict[tuple[str, str], str]:
    """The first sense of each lemma and part of speech.

    Args:
      path: table with tabs between columns, also .gz. Its first line names the columns, among them
        sense_key, lemma, pos (n, v, a, s, r) and sense_number (from 1).

    Returns:
      (lemma, part of speech as in the unified format) -> sense key.

    Raises:
      FileNotFoundError: the file is missing.
      ValueError: a column is missing, or a row has another format.
    """
    best: dict[tuple[str, str], tuple[int, str, str]] = {}
    table = (line for _, line in lines.read_lines(path))
    rows = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)
    missing = {"sense_key", "lemma", "pos", "sense_number"} - set(rows.fieldnames or ())
    if missing:
        raise ValueError(f"{path}:1: no column {', '.join(sorted(missing))}")
    for number, row in enumerate(rows, 2):
        try:
            lemma = row["lemma"].lower().replace(" ", "_"), _POS[row["pos"]]
            # Adjectives and satellites are numbered separately; an adjective comes first.
            rank = int(row["sense_number"]), row["pos"], row["sense_key"]
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            raise ValueError(
                f"{path}:{number}: expected a sense key, a lemma, one of n, v, a, s, r and a "
                f"number, found {list(row.values())}"
            ) from error
        best[lemma] = min(best.get(lemma, rank), rank)
    return {lemma: key for lemma, (_, _, key) in best.items()}

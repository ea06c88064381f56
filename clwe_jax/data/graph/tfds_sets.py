"""Data sets of TensorFlow Datasets (TFDS): the prepared builder, and labelled rows as text."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterable, Iterator, Mapping

import tensorflow_datasets as tfds

from clwe_jax.text.labelled.lines import Provided
from clwe_jax.text.labelled_files import PREFIX

LANGUAGE = "{lang}"  # stands for a language in the name of a data set
_SPLITS = {"train": ("train",), "dev": ("validation", "dev"), "test": ("test",)}
_SPACES = dict.fromkeys(map(ord, "\t\n\r"), " ")


def prepared(name: str, data_dir: str, option: str) -> Any:
    """The builder of a prepared data set.

    Args:
      name: as `wikipedia/20230601.de`, also with a version.
      data_dir: folder of TFDS data sets; '' for the default folder of TFDS.
      option: the option that names the data set, for errors.

    Raises:
      ValueError: the data set is unknown.
      FileNotFoundError: the data set is not prepared.
    """
    where = data_dir or "~/tensorflow_datasets"
    try:
        builder = tfds.builder(name, data_dir=data_dir or None)
        splits = builder.info.splits
    except Exception as error:
        # TFDS raises errors of many kinds; the first line names the unknown part of the name.
        first = str(error).strip().split("\n")[0][:300]
        raise ValueError(f"{option}=tfds: no data set {name} in {where}: {first}") from error
    if not splits:
        dataset, _, config = name.partition(":")[0].partition("/")
        flag = f" --config={config}" if config else ""
        raise FileNotFoundError(
            f"TFDS has not prepared {name} in {where}. Prepare it with `tfds build {dataset}{flag} "
            f"--data_dir=DIR`, or copy it from gs://tfds-data/datasets/{dataset}/{config}, and name "
            "the folder with --config.data.tfds_dir=DIR"
        )
    return builder


def labelled(value: str, language: str, use: str, data_dir: str) -> Provided:
    """Labelled rows in the published formats: a tagged word a line, or a table with named columns.

    Words are followed by the names of all their labels. Texts stand under their features' names;
    where they are translated, every language has a row.

    Args:
      value: 'tfds:NAME' or 'tfds:NAME@SPLIT', where {lang} stands for the language.
      language: the language.
      use: 'train', 'dev' or 'test', which chooses the split.
      data_dir: folder of TFDS data sets; '' for the default folder of TFDS.

    Raises:
      ValueError, FileNotFoundError: an unknown data set or split, one that is not prepared, or one
        with labels neither of words nor of texts.
    """
    option = f"config.transfer.{'tests' if use == 'test' else use}"
    name, _, split = value.removeprefix(PREFIX).replace(LANGUAGE, language).partition("@")
    builder = prepared(name, data_dir, option)
    there = list(builder.info.splits)
    chosen = [x for x in ((split,) if split else _SPLITS[use]) if x in there]
    if not chosen:
        raise ValueError(
            f"{option}={value}: {name} has the splits {', '.join(there)}; choose one of them: "
            f"{PREFIX}{name}@{there[0]}"
        )
    info = os.path.join(builder.data_dir, "dataset_info.json")
    return Provided(f"{PREFIX}{name}@{chosen[0]}", _text(str(builder.data_dir), chosen[0]), info)


@functools.lru_cache(maxsize=4)  # one data set has the rows of several languages
def _text(folder: str, split: str) -> str:
    builder = tfds.builder_from_directory(folder)
    features = builder.info.features
    rows = tfds.as_numpy(builder.as_dataset(split=split, shuffle_files=False))
    make = next((make for name, make in _MAKERS.items() if name in features), None)
    lines = list(make(features, rows)) if make else []
    if not lines:
        raise ValueError(
            f"{folder} has the features {', '.join(features)}: expected `tokens` with labels, or "
            "texts with `label`"
        )
    return "\n".join(lines)


def _tagged(features: Mapping[str, Any], rows: Iterable[Any]) -> Iterator[str]:
    """A line for each word, and an empty one behind each sentence."""
    lists = {name: x.feature for name, x in features.items() if hasattr(x, "feature")}
    labels = {name: getattr(x, "names", None) for name, x in lists.items()}
    order = sorted(filter(labels.get, labels))  # of equal columns `Ner` reads the last: chunks, ner
    for row in rows if order else ():
        columns = [[labels[name][number] for number in row[name]] for name in order]
        yield from map("\t".join, zip(map(_clean, row["tokens"]), *columns, strict=True))
        yield ""


def _table(features: Mapping[str, Any], rows: Iterable[Any]) -> Iterator[str]:
    """A line with the columns' names, and one for each row and language."""
    kinds = tfds.features.Translation, tfds.features.TranslationVariableLanguages
    translated = [name for name, x in features.items() if isinstance(x, kinds)]
    texts = [name for name, x in features.items() if isinstance(x, tfds.features.Text)]
    labels = getattr(features["label"], "names", None)
    yield "\t".join((*["language"][: len(translated)], *translated, *texts, "label"))
    for row in rows:
        label = row["label"]
        if labels:
            label = labels[label] if label >= 0 else "-"  # no agreed label
        end = (*(_clean(row[name]) for name in texts), str(label))
        if not translated:
            yield "\t".join(end)
            continue
        by_language = [_translations(row[name]) for name in translated]
        for language in sorted(set.intersection(*map(set, by_language))):
            yield "\t".join((language, *(x[language] for x in by_language), *end))


_MAKERS = {"tokens": _tagged, "label": _table}


def _translations(value: Mapping[str, Any]) -> dict[str, str]:
    """Language -> text, of both of TFDS's kinds of translations."""
    if set(value) == {"language", "translation"}:
        pairs = zip(value["language"], value["translation"], strict=True)
        return {language.decode(): _clean(text) for language, text in pairs}
    return {language: _clean(text) for language, text in value.items()}


def _clean(text: bytes) -> str:
    """Text without the marks that end cells and lines."""
    return text.decode().translate(_SPACES)

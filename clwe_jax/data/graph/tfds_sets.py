"""Data sets of TensorFlow Datasets (TFDS): prepared builders, labelled rows, parallel text."""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import os
from typing import Any, Iterable, Iterator, Mapping, Sequence

import tensorflow_datasets as tfds

from clwe_jax import atomic
from clwe_jax.text.lines import Provided
from clwe_jax.text.labelled.labelled_files import PREFIX

LANGUAGE = "{lang}"  # stands for a language in the name of a data set
_SPLITS = {"train": ("train",), "dev": ("validation", "dev"), "test": ("test",)}
_TRANSLATIONS = (tfds.features.Translation, tfds.features.TranslationVariableLanguages)
_SPACES = dict.fromkeys(map(ord, "\t\n\r"), " ")


def open_prepared(name: str, data_dir: str, option: str) -> Any:
    """The builder of a prepared data set.

    Args:
      name: as `wikipedia/20230601.de`, also with a version.
      data_dir: folder of TFDS data sets; '' for the default folder of TFDS.
      option: the option that names the data set, for errors.

    Raises:
      ValueError: the data set is unknown.
      FileNotFoundError: the data set is not prepared.
    """
    place = data_dir or "~/tensorflow_datasets"
    try:
        builder = tfds.builder(name, data_dir=data_dir or None)
        splits = builder.info.splits
    except Exception as error:
        # TFDS raises errors of many kinds; the first line names the unknown part of the name.
        first_line = str(error).strip().split("\n")[0][:300]
        raise ValueError(f"{option}=tfds: no data set {name} in {place}: {first_line}") from error
    if not splits:
        dataset, _, config = name.partition(":")[0].partition("/")
        flag = f" --config={config}" if config else ""
        raise FileNotFoundError(
            f"TFDS has not prepared {name} in {place}. Prepare it with `tfds build {dataset}{flag} "
            f"--data_dir=DIR`, or copy it from gs://tfds-data/datasets/{dataset}/{config}, and name "
            "the folder with --config.data.tfds_dir=DIR"
        )
    return builder


def labelled_rows(value: str, language: str, use: str, data_dir: str) -> Provided:
    """Labelled rows in the published formats: a tagged word a line, or a table with named columns.

    Words are followed by the names of all their labels. Texts stand under their features' names;
    where they are translated, every language has a row.

    Args:
      value: 'tfds:NAME' or 'tfds:NAME@SPLIT', where {lang} stands for the language.
      use: 'train', 'dev' or 'test', which chooses the split.
      data_dir: folder of TFDS data sets; '' for the default folder of TFDS.

    Raises:
      ValueError, FileNotFoundError: an unknown data set or split, one that is not prepared, or one
        with labels neither of words nor of texts.
    """
    option = f"config.transfer.{'tests' if use == 'test' else use}"
    name, _, split = value.removeprefix(PREFIX).replace(LANGUAGE, language).partition("@")
    builder = open_prepared(name, data_dir, option)
    split = _split(builder, (split,) if split else _SPLITS[use], f"{option}={value}")
    info = os.path.join(builder.data_dir, "dataset_info.json")
    return Provided(f"{PREFIX}{name}@{split}", _text(str(builder.data_dir), split), info)


def _split(builder: Any, wanted: Sequence[str], where: str) -> str:
    splits = list(builder.info.splits)
    split = next((x for x in wanted if x in splits), None)
    if split is None:
        raise ValueError(
            f"{where}: {builder.info.full_name} has the splits {', '.join(splits)}, not "
            f"{' or '.join(wanted)}; choose one of them (an option's value ends in @{splits[0]})"
        )
    return split


def write_pairs(
    name: str, split: str, languages: Sequence[str], max_rows: int, data_dir: str, out: str
) -> dict[str, int]:
    """Writes the parallel text of a data set as tables OUT/xx-yy.tsv.

    Args:
      languages: those to write; all where there are none.
      max_rows: number of rows to read, from the beginning; 0: all.

    Returns:
      Path -> number of sentence pairs; a row without one of the two sides is no pair of them.

    Raises:
      ValueError, FileNotFoundError: an unknown data set or split, one that is not prepared, one
        without translations, or no pair of the languages.
    """
    builder = open_prepared(name, data_dir, "--name")
    split = _split(builder, (split,), f"--split={split}")
    key = _translation_feature(builder.info.features)
    if key is None:
        raise ValueError(
            f"{name} has the features {', '.join(builder.info.features)}: expected translations"
        )
    rows = builder.as_dataset(split=split, shuffle_files=False)
    os.makedirs(out, exist_ok=True)
    counts: collections.Counter[str] = collections.Counter()
    with contextlib.ExitStack() as stack:
        files: dict[str, Any] = {}
        for row in tfds.as_numpy(rows.take(max_rows or -1)):
            texts = _translations(row[key] if key else row)
            present = sorted(x for x in texts if texts[x] and x in (languages or texts))
            for first, second in itertools.combinations(present, 2):
                path = os.path.join(out, f"{first}-{second}.tsv")
                if path not in files:
                    files[path] = stack.enter_context(atomic.writing(path, "w"))
                files[path].write(f"{texts[first]}\t{texts[second]}\n")
                counts[path] += 1
    if not counts:
        raise ValueError(f"{name} has no row in two of the languages {', '.join(languages)}")
    return dict(counts)


def _translation_feature(features: Mapping[str, Any]) -> str | None:
    """The feature with a row's translations: '' where that is the whole row."""
    if isinstance(features, _TRANSLATIONS):
        return ""
    return next((name for name, x in features.items() if isinstance(x, _TRANSLATIONS)), None)


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


def _tagged_lines(features: Mapping[str, Any], rows: Iterable[Any]) -> Iterator[str]:
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
    translated = [name for name, x in features.items() if isinstance(x, _TRANSLATIONS)]
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


_MAKERS = {"tokens": _tagged_lines, "label": _table}


def _translations(value: Mapping[str, Any]) -> dict[str, str]:
    """Language -> text, of both of TFDS's kinds of translations."""
    if set(value) == {"language", "translation"}:
        pairs = zip(value["language"], value["translation"], strict=True)
        return {language.decode(): _clean(text) for language, text in pairs}
    return {language: _clean(text) for language, text in value.items()}


def _clean(text: bytes) -> str:
    """Text without the marks that end cells and lines."""
    return text.decode().translate(_SPACES)

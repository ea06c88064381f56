"""The evaluation of static vectors, and what a static run leaves in its folder."""

from __future__ import annotations

import contextlib
import json
import logging as python_logging
import os
import platform
import resource
import sys
import time
from importlib import metadata
from typing import Any, Iterator, Mapping, Sequence

from absl import logging
import jax
from ml_collections import ConfigDict
import numpy as np

from clwe_jax import atomic
from clwe_jax import config as options
from clwe_jax import config_static
from clwe_jax.align import search
from clwe_jax.embeddings.vectors import Vectors
from clwe_jax.evaluate.context import Context
from clwe_jax.jobs import evaluators, lexica
from clwe_jax.report import html, projection, tables
from clwe_jax.api.static import StaticModel
from clwe_jax.text import world
from clwe_jax.text.merged import Dictionary
from clwe_jax.text.normalize import Normalizer
from clwe_jax.types import Encoder

_PACKAGES = ("clwe_jax", "jax", "numpy", "scipy", "gensim")
_DRAWN = 200  # words of a group in the pictures
_JOINED = 60  # translation pairs that lines join there
_SHOWN_WORDS = 8  # with their nearest neighbours, where config.report.words names none
_NEIGHBOURS = 2  # of each language


class Stages:
    """Seconds that the parts of a run took."""

    def __init__(self) -> None:
        self.started = time.time()
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Adds the seconds of its block to those of `name`."""
        start = time.monotonic()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.monotonic() - start


@contextlib.contextmanager
def noted() -> Iterator[list[str]]:
    """The warnings that are logged in its block, each once, for the report."""
    notes: dict[str, None] = {}

    class Keep(python_logging.Handler):
        def emit(self, record: python_logging.LogRecord) -> None:
            notes[record.getMessage()] = None
            kept[:] = notes

    kept: list[str] = []
    handler = Keep(python_logging.WARNING)
    logger = logging.get_absl_logger()
    logger.addHandler(handler)
    try:
        yield kept
    finally:
        logger.removeHandler(handler)


def finished(config: ConfigDict, workdir: str) -> bool:
    """Whether the run in the folder is whole, with these evaluations; if so, says what to do."""
    paths = [os.path.join(workdir, name) for name in ("results.json", "report.json")]
    if not all(os.path.exists(path) for path in paths):
        return False
    figures, extras = (_read_json(path) for path in paths)
    if extras.get("static", {}).get("evals") != _evals(config):
        return False
    html.build(workdir, config.report.compare_with)
    tables.print_summary(figures, workdir)
    logging.info(
        "This run is finished. To evaluate otherwise, change config.evals; to start anew, give "
        "another --workdir; to use the vectors: clwe_jax.api.load(%r).",
        workdir,
    )
    return True


def _read_json(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except ValueError:
        logging.warning("%s is damaged and is written anew", path)
        return {}


def _evals(config: ConfigDict) -> dict[str, Any]:
    return json.loads(json.dumps([config.evals.to_dict(), config.report.errors]))


def context(config: ConfigDict, normalizer: Normalizer) -> Context:
    """What the evaluators of static vectors share."""
    return Context(
        languages=options.languages(config),
        normalizer=normalizer,
        pairs=config_static.pairs(config),
        seed=config.seed,
    )


def leave(
    config: ConfigDict,
    workdir: str,
    model: StaticModel,
    made: Sequence[evaluators.Keyed],
    encoder: Encoder,
    dictionary: Dictionary | None,
    stages: Stages,
    notes: Sequence[str],
    static: Mapping[str, Any],
    extras: Mapping[str, Any],
) -> None:
    """Evaluates and writes induced dictionaries, results.json, report.json and report.html.

    Args:
      config, workdir: the run's.
      model: its vectors.
      made: the run's evaluators.
      encoder: the vectors, as the evaluators read them.
      dictionary: that was trained with; None without one.
      stages: what took how long so far.
      notes: what the report is to say.
      static: more of report.json's 'static': 'vocabulary', 'projection'.
      extras: more of report.json.
    """
    with stages("evaluation"):
        figures, rows = evaluators.measure(made, encoder)
    with stages("induced dictionaries"):
        induced = _induce(config, workdir, model)
    errors, left_out = _errors(rows, config.report.errors)
    atomic.write_json(os.path.join(workdir, "results.json"), dict(sorted(figures.items())))
    alignments = {
        f"{language}-{model.hub}": _plain(alignment.info)
        for language, alignment in model.alignments.items()
    }
    found = {
        "command": ["python", "-m", "clwe_jax.main", *sys.argv[1:]],
        "device": f"{jax.device_count()} x {jax.devices()[0].device_kind}",
        "cores": os.cpu_count(),
        "versions": _versions(),
        "speed": {"seconds": time.time() - stages.started},
        "memory": {
            # Kilobytes on Linux, bytes on macOS.
            "peak_host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            * (1 if sys.platform == "darwin" else 1024),
        },
        "neighbours": _neighbours(config, model),
        "notes": list(notes),
        **extras,
        "static": {
            "evals": _evals(config),
            "stages": stages.seconds,
            "alignments": alignments,
            "induced": induced,
            "errors": errors,
            "errors_left_out": left_out,
            **static,
        },
    }
    if dictionary is not None:
        found["dictionary"] = {
            "pairs": dictionary.pair_count,
            "words": len(dictionary),
            "pairs_by_language": world.pairs_by_language(dictionary),
        }
    atomic.write_json(os.path.join(workdir, "report.json"), found)
    html.build(workdir, config.report.compare_with)
    tables.print_summary(figures, workdir)


def _induce(config: ConfigDict, workdir: str, model: StaticModel) -> dict[str, int]:
    counts = {}
    done = set()
    for source, target in config_static.pairs(config):
        if frozenset((source, target)) in done:
            continue
        done.add(frozenset((source, target)))
        pairs = lexica.induced(*model.space(source, target), config.static.induced_words)
        name = f"{source}-{target}"
        lexica.write(os.path.join(workdir, "induced", f"{name}.txt"), pairs)
        counts[name] = len(pairs)
    return counts


def _errors(rows: Sequence[Mapping[str, Any]], most: int) -> tuple[list[Any], int]:
    """At most so many errors of each direction, evenly over the dictionary; how many were left."""
    by_pair: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["kind"] != "right":
            by_pair.setdefault(row["pair"], []).append(row)
    shown, left_out = [], 0
    for some in by_pair.values():
        places = np.unique(np.linspace(0, len(some) - 1, min(most, len(some))).astype(int))
        shown += [some[place] for place in places.tolist()]
        left_out += len(some) - len(places)
    return shown, left_out


def _plain(info: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that JSON can hold."""
    found = {}
    for name, value in info.items():
        value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        if isinstance(value, (list, tuple)):
            value = [x.item() if isinstance(x, np.generic) else x for x in value]
        found[name] = value
    return found


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _neighbours(config: ConfigDict, model: StaticModel) -> list[dict[str, Any]]:
    """Nearest words in the other languages of config.report.words or of a few frequent words."""
    first = model.hub
    known = model.raw[first]
    wanted = [word for word in config.report.words.split(",") if word]
    listed = [word for word in wanted if word in known.index]
    for word in sorted(set(wanted) - set(listed)):
        logging.warning("config.report.words: %r has no vector in %s", word, first)
    if not wanted:
        # The most frequent words are function words; those after them say more about meaning.
        content = [word for word in known.words[:2_000] if len(word) > 3 and word.isalpha()][20:]
        listed = content[:: max(1, len(content) // _SHOWN_WORDS)][:_SHOWN_WORDS]
    return [
        {
            "word": word,
            "language": first,
            "neighbours": [
                near._asdict()
                for language in model.languages
                if language != first
                for near in model.neighbours(word, first, _NEIGHBOURS, to=language)
            ],
        }
        for word in listed
    ]


def picture(
    source: Vectors,
    target: Vectors,
    shared: frozenset[str],
    pairs: Sequence[tuple[str, str]],
) -> dict[str, Any]:
    """Frequent words of two languages in the plane, as `projection.section` draws them.

    Args:
      source, target: vectors in one space, most frequent first.
      shared: words that both have in common.
      pairs: translations; those of words that are drawn are joined.
    """
    own = {}
    chosen = [
        (a, b)
        for a, b in pairs
        if a in source.index and b in target.index and not {a, b} & shared and a != b
    ]
    chosen = sorted(chosen, key=lambda p: source.index[p[0]] + target.index[p[1]])[:_JOINED]
    for name, vectors, column in (("source", source, 0), ("target", target, 1)):
        joined = dict.fromkeys(pair[column] for pair in chosen)
        frequent = (word for word in vectors.words if word not in shared and word.isalpha())
        words = list(dict.fromkeys([*joined, *_first(frequent, _DRAWN)]))
        own[name] = words
    both = (word for word in source.words if word in shared and word.isalpha())
    groups = {
        "source": source.vectors[[source.index[word] for word in own["source"]]],
        "target": target.vectors[[target.index[word] for word in own["target"]]],
        "shared": source.vectors[[source.index[word] for word in _first(both, _DRAWN)]],
    }
    groups = {name: np.asarray(search.unit(rows)) for name, rows in groups.items() if len(rows)}
    if sum(map(len, groups.values())) < 3:
        return {}
    found: dict[str, Any] = dict(projection.principal(groups))
    places = {name: {word: i for i, word in enumerate(words)} for name, words in own.items()}
    found["pairs"] = [
        [found["source"][places["source"][a]], found["target"][places["target"][b]]]
        for a, b in chosen
    ]
    return found


def _first(words: Iterator[str], count: int) -> list[str]:
    return [word for word, _ in zip(words, range(count))]

"""What all systems of a comparison share, and the options of a system's run on these data."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from typing import Any, Iterable, Iterator, Mapping

from clwe_jax import atomic, options
from clwe_jax.cached import CachedResult
from clwe_jax.compare import systems, tasks
from clwe_jax.compare.systems import System
from clwe_jax.options.compare import CompareOptions, CompareRun
from clwe_jax.options.systems import describe_options
from clwe_jax.options.transfer import ENCODER_FOLDERS, encoder_files, encoder_folder, encoder_parts
from clwe_jax.text import stamps as file_stamps, text_of_run
from clwe_jax.text.corpus import corpora, parallel
from clwe_jax.text.dictionary import files as dictionary_files, training_dictionary
from clwe_jax.text.dictionary.pair_files import read_pairs

_HELD_OUT = "heldout"  # the folder of test words that are taken from the dictionaries
_SHARE = 10  # one of so many words of a dictionary is a test word
_MAX_TEST_WORDS = 1_000
_BLI = "evals.bli"
_NO_FILES = ("", "pocket", options.MINED)  # values of config.compare.parallel


def check(config: CompareRun, workdir: str) -> None:
    """Finds the systems, the text, the dictionaries and the test sets; writes nothing.

    Raises:
      ValueError, FileNotFoundError: one of them is absent or does not fit, or the text or dictionaries
        have changed since the first start.
    """
    text_of_run.check(config, workdir)
    place = folders(config, workdir)
    if config.compare.parallel not in _NO_FILES:
        parallel.find(config.compare.parallel, options.languages(config), "compare.parallel")
    _read_files(config, workdir).read_stored()
    for system in systems.choose_systems(config.compare):
        if system.config:
            run_of(config, system, config.seed, place)
        for part in encoder_parts(system.model)[0]:
            kind, _, path = part.partition(":")
            if kind in ENCODER_FOLDERS and not os.path.isdir(encoder_folder(path)):
                raise FileNotFoundError(f"config.compare.systems: {path} is no folder of a model")
    if config.compare.labelled not in ("", "pocket") and not os.path.isdir(config.compare.labelled):
        raise FileNotFoundError(
            f"config.compare.labelled={config.compare.labelled} is no folder: expected one of "
            "TASK/en.train.tsv and TASK/de.test.tsv"
        )
    for name in tasks.names(config.compare):
        tasks.files(config, name)


def folders(config: CompareRun, workdir: str) -> dict[str, str]:
    """`text_of_run.folders_of`, with the folder of held-out test words where none are given."""
    paths = text_of_run.folders_of(config, workdir)
    if "bli" in config.evals and not paths[_BLI]:
        paths[_BLI] = os.path.join(workdir, _HELD_OUT)
    return paths


def write(config: CompareRun, workdir: str) -> dict[str, str]:
    """`folders`, after writing the embedded world, or the test words that are held out."""
    text_of_run.resolve_folders(config, workdir)
    paths = folders(config, workdir)
    if paths.get(_BLI) == os.path.join(workdir, _HELD_OUT):
        _hold_out(config, paths["dictionaries"], paths[_BLI])
    _read_files(config, workdir).result()
    return paths


def _read_files(config: CompareRun, workdir: str) -> CachedResult[list[str]]:
    """The names of the user's files that systems are trained on; an error where one has changed."""
    languages = options.languages(config)
    place = folders(config, workdir)
    yours = {x: "" if text_of_run.in_pocket(path, workdir) else path for x, path in place.items()}
    stamps: dict[str, str] = {}
    if yours["text"]:
        files = (corpora.files_of(yours["text"], x) for x in languages)
        paths = list(itertools.chain.from_iterable(files))
        stamps |= file_stamps.stamps(paths, yours["text"])
    # Without the test sets of evaluators, which may change between two starts.
    left_out = [yours["tests"]] if yours["tests"] else []
    stamps |= training_dictionary.stamps(config, yours, left_out)
    if config.compare.parallel not in _NO_FILES:
        bitexts = parallel.find(config.compare.parallel, languages, "compare.parallel")
        stamps |= file_stamps.stamps(itertools.chain.from_iterable(x.paths for x in bitexts))
    return CachedResult(
        os.path.join(workdir, "files.json"),
        {},
        lambda: sorted(stamps),
        otherwise="Or compare on the new ones in a new --workdir=DIR",
        stamps=stamps,
    )


def stamps_of(model: str, tests: Iterable[str]) -> dict[str, str]:
    """The stamps of the files of a given model, '' for none, and of test sets."""
    files = itertools.chain(encoder_files(model), *map(options.list_files, tests))
    return file_stamps.stamps(files)


def _hold_out(config: CompareRun, source: str, target: str) -> None:
    """Writes test dictionaries of words of the training dictionaries, chosen by a hash.

    Raises:
      ValueError: the dictionaries have changed since: systems are trained without the old words.
    """
    made_with = {}
    for file in dictionary_files.find(source, options.languages(config)):
        with open(file.path, "rb") as opened:
            digest = hashlib.file_digest(opened, "sha256")
        made_with[os.path.basename(file.path)] = digest.hexdigest()

    def write(chosen: list[tuple[str, list[str]]], path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)  # of a start that was interrupted before its record
        with atomic.making_folder(path) as folder:
            for name, lines in chosen:
                atomic.write(os.path.join(folder, name), "".join(lines))

    CachedResult(
        target,
        made_with,
        lambda: list(_choose_pairs(config, source)),
        write,
        lambda path: [],
        f"{source} holds other dictionaries than at the first start: give this one a new "
        "--workdir=DIR, or put the old ones back",
    ).result()


def _choose_pairs(config: CompareRun, source: str) -> Iterator[tuple[str, list[str]]]:
    dictionaries: dict[str, list[tuple[str, str]]] = {}
    for file in dictionary_files.find(source, options.languages(config)):
        # JMdict's entries are no pairs of words; a language of no text has no test words.
        if file.target and {file.source, file.target} <= set(options.languages(config)):
            pairs = read_pairs(file.path)
            # A pair of languages may have two files, its own and Wiktionary's.
            # The name is MUSE's for a test dictionary.
            file_pairs = dictionaries.setdefault(f"{file.source}-{file.target}.5000-6500.txt", [])
            file_pairs += zip(pairs.left, pairs.right)
    for name, word_pairs in dictionaries.items():
        digests = {word: hashlib.sha256(word.encode()).hexdigest() for word, _ in word_pairs}
        order = sorted(digests, key=digests.__getitem__)
        test_words = set(order[: min(_MAX_TEST_WORDS, len(order) // _SHARE)])
        lines = [f"{a}\t{b}\n" for a, b in dict.fromkeys(word_pairs) if a in test_words]
        if lines:
            yield name, lines


def config_file(config: CompareRun, system: System) -> str:
    """The path of a system's config."""
    is_path = system.config.endswith(".py")
    return system.config if is_path else os.path.join(config.compare.configs, f"{system.config}.py")


def run_of(
    config: CompareRun, system: System, seed: int, paths: Mapping[str, str], steps: int = 0
) -> options.Run:
    """The options of a system's run.

    Args:
      config: of the comparison, resolved.
      system: one that is trained.
      paths: as of `folders`.
      steps: of a language model; 0: its config's.

    Raises:
      ValueError, FileNotFoundError: the config file is absent, or its options do not fit the data.
    """
    path = config_file(config, system)
    if not os.path.isfile(path):
        raise FileNotFoundError(
            f"The system {system.name} needs {path}: start in the project's folder, or set "
            "--config.compare.configs=DIR"
        )
    run = options.from_file(f"{path}:{config.scale}", _with_parallel(config.compare, system, paths))
    data = config.data
    names = options.languages(config)
    if system.languages:
        hub = "en" if "en" in names else names[-1]
        names = [*[x for x in names if x != hub][: system.languages - 1], hub]
    tests = paths.get("evals.bli", "") if data.exclude_tests else ""
    excluded = data.exclude_dictionaries or tests
    values: dict[str, Any] = {
        "seed": seed,
        "data.source": f"text:{paths['text']}",
        "data.languages": ",".join(names),
        "data.dictionaries": paths["dictionaries"],
        "data.lower_case": data.lower_case,
        "data.simplify_chinese": data.simplify_chinese,
        "data.pocket_domains": data.pocket_domains,
        "data.exclude_tests": data.exclude_tests and not system.sees_tests,
        "data.exclude_dictionaries": "" if system.sees_tests else excluded,
        "data.dictionary_clean": data.dictionary_clean,
        # Some systems have one of their own.
        "data.dictionary_pivot": data.dictionary_pivot or getattr(run.data, "dictionary_pivot", ""),
        "data.sample_bytes": data.sample_bytes,
        "evals.mlm.batches": 1,  # the comparison does not show the loss
        "static.write_text": False,
        "static.induced_words": 0,
        "report.compare_with": "",
        **{f"evals.{key}.data": "" for key, spec in run.evals.items() if hasattr(spec, "data")},
        **{f"evals.{key}.every_steps": 0 for key in run.evals},
    }
    now = {path: value for path, value, _ in describe_options(run)}
    if steps:
        values |= {"train.steps": steps, **_warmups(now, steps)}
    # Static vectors, language models and CLCR have different options.
    run = options.with_values(run, {x: y for x, y in values.items() if x in now})
    run.resolve().check_all()
    return run


def _warmups(now: Mapping[str, Any], steps: int) -> dict[str, int]:
    """The steps of warm-ups, shorter by as much as the training is.

    Else the rate would still grow, and senses would not have begun, where a small budget ends.
    """
    share = min(1.0, steps / now["train.steps"])
    return {
        path: max(1, round(share * value))
        for path, value in now.items()
        if path.endswith("warmup_steps") and not path.startswith("finish.") and value
    }


def _with_parallel(
    settings: CompareOptions, system: System, paths: Mapping[str, str]
) -> dict[str, Any]:
    """The system's values, with the comparison's parallel text where they name it."""
    text = paths.get("parallel") or settings.parallel
    values = {x: text if y == options.SOURCE else y for x, y in system.values.items()}
    if options.SOURCE in system.values.values() and not text:
        raise ValueError(
            f"The system {system.name} learns from parallel text: --config.compare.parallel=DIR/train "
            "(or mined), or leave it out of config.compare.systems"
        )
    return values


def about(config: CompareRun, workdir: str) -> Iterator[str]:
    """The lines of a dry run."""
    place = folders(config, workdir)
    yield f"text: {config.data.source} in {config.data.languages}"
    yield f"dictionaries: {config.data.dictionaries}"
    for key, folder in place.items():
        if key.startswith("evals."):
            held = folder == os.path.join(workdir, _HELD_OUT)
            text = "words held out of the dictionaries" if held else folder or "left out, no data"
            yield f"{key.removeprefix('evals.')}: {text}"
    labelled = tasks.names(config.compare)
    yield f"tasks: {', '.join(labelled) or 'none (--config.compare.labelled=DIR)'}"


def budget(settings: CompareOptions) -> str:
    """The budget in words."""
    number, unit = settings.amount
    if not number:
        return "the steps of each config"
    unit = {"minutes": "minutes of training", "tokens": "pieces or words", "steps": "steps"}[unit]
    return f"{number:,.10g} {unit} for each language model"

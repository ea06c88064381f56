"""Whole commands, from files to files, beside what one would run instead: time and memory of both.

    python benchmarks/whole_jobs.py --job=words --peer-python=peer/bin/python --vecmap=vecmap
    python benchmarks/whole_jobs.py --job=encoding --peer-python=peer/bin/python
    python benchmarks/whole_jobs.py --job=links --encoder=hf:DIR --peer-python=peer/bin/python
    python benchmarks/whole_jobs.py --job=laser --peer-python=peer/bin/python
    python benchmarks/whole_jobs.py --job=names --peer-python=peer/bin/python

Each command runs in a process of its own, one thread a side, and the seconds are the processor's: the
start of the interpreter, imports, compilation, reading, training, evaluation and writing count. Our sides run
once more, with the programs that the first time has compiled (`again`). Text,
dictionaries and labels are the embedded world's, written before. The other side is `peer_whole_jobs.py`, and for
words VecMap's own commands (README.md says how to make the peer's interpreter; links need simalign, names flair).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from typing import Any, Callable, NamedTuple

from side_by_side import HERE, record
from vecmap import timed

sys.path.insert(0, os.path.dirname(HERE))
_WORDS = 50_000  # of the vectors that encode sentences
_DIM = 256


class Side(NamedTuple):
    """The commands of a side, one after the other.

    Attributes:
      reached: the figure that its last command has printed or written, by its output; None without one.
    """

    commands: list[list[str]]
    reached: Callable[[str], float] | None = None


class Place(NamedTuple):
    """Where a job finds and leaves its files.

    Attributes:
      folder: of all files.
      options: the command line.
      sizes: options of our runs that the other side shares.
    """

    folder: str
    options: argparse.Namespace
    sizes: dict[str, Any]

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def run(self, config: str, **values: Any) -> list[str]:
        """The command of a run on the folder's files; double underscores stand for points."""
        given = {
            "data.languages": "en,de",
            "data.source": f"text:{self.path('text')}",
            "data.dictionaries": self.path("dictionaries"),
            **{name.replace("__", "."): value for name, value in values.items()},
        }
        return [
            *(sys.executable, "-m", "clwe_jax.main"),
            f"--config={os.path.join(os.path.dirname(HERE), 'configs', config)}.py",
            f"--workdir={self.path(config)}",
            *(f"--config.{name}={value}" for name, value in given.items()),
        ]

    def peer(self, *arguments: Any) -> list[str]:
        script = os.path.join(HERE, "peer_whole_jobs.py")
        return [self.options.peer_python, script, *map(str, arguments)]

    def figure(self, config: str, metric: str) -> Callable[[str], float]:
        """A figure of a finished run."""

        def read(_: str) -> float:
            with open(self.path(config, "results.json"), encoding="utf-8") as file:
                return json.load(file)[metric]

        return read


def words(place: Place) -> dict[str, Side]:
    """Text of two languages to vectors, one space, and translations of test words."""
    tests, vectors = {"evals__bli__data": place.path("bli"), "evals__retrieval__data": ""}, []
    sides = {
        f"clwe_jax, {name}": Side(
            [place.run(name, **tests)], place.figure(name, "bli/de-en/p@1_csls_covered")
        )
        for name in ("align_procrustes", "align_vecmap", "joint_dictionary")
    }
    if place.options.vecmap:
        fasttext = [place.peer("fasttext", place.folder, json.dumps(place.sizes["embeddings"]))]
        vectors = [place.path(f"{language}.vec") for language in ("de", "en")]
        mapped = [f"{path}.mapped" for path in vectors]
        python, script = place.options.peer_python, os.path.join(place.options.vecmap, "{}.py")
        pairs = (
            place.path("dictionaries", "de-en.train.txt"),
            place.path("bli", "de-en.5000-6500.txt"),
        )
        align = [
            python,
            script.format("map_embeddings"),
            "--supervised",
            pairs[0],
            *vectors,
            *mapped,
        ]
        induce = [python, script.format("eval_translation"), *mapped, "-d", pairs[1]]
        sides["fastText and VecMap"] = Side(
            [*fasttext, align, [*induce, "--retrieval", "csls"]],
            lambda said: float(re.search(r"Accuracy:\s*([\d.]+)%", said)[1]) / 100,
        )
    return sides


def encoding(place: Place) -> dict[str, Side]:
    """Loads static vectors, and encodes 20,000 sentences into a file."""
    program = (
        "import sys, numpy, clwe_jax; model = clwe_jax.load(sys.argv[1]); "
        "lines = open(sys.argv[2], encoding='utf-8').read().splitlines(); "
        "numpy.save(sys.argv[3], model.encode(lines, 'en'))"
    )
    files = (place.path("text", "en.txt"), place.path("encoded.npy"))
    ours = [sys.executable, "-c", program, place.path("static"), *files]
    theirs = place.peer("encode", place.path("sentence-transformers"), *files)
    return {"clwe_jax": Side([ours]), "sentence-transformers": Side([theirs])}


def links(place: Place) -> dict[str, Side]:
    """Links the words of parallel sentences by the same encoder."""
    encoder, files = (
        place.options.encoder,
        [place.path("retrieval", x) for x in ("some.de", "some.en")],
    )
    ours = [sys.executable, "-m", "clwe_jax", "align", f"--model={encoder}", "--languages=de,en"]
    theirs = place.peer("align", encoder.removeprefix("hf:"), *files, place.path("peer_links"))
    return {
        "clwe_jax": Side(
            [[*ours, f"--out={place.path('links')}", *files]],
            lambda _: _linked(place.path("links")),
        ),
        "simalign": Side([theirs], lambda _: _linked(place.path("peer_links"))),
    }


def _linked(path: str) -> float:
    """The share of sentences that have a link."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return sum(map(bool, lines)) / len(lines)


def laser(place: Place) -> dict[str, Side]:
    """Parallel text to a vocabulary, a LASER, and sentence retrieval; both start at random."""
    steps, pairs = place.options.steps, place.path("parallel")
    ours = place.run(
        "laser",
        task__parallel=pairs,
        train__steps=steps,
        init__embeddings="",
        data__dictionaries="",
        data__source=f"text:{place.path('text')}",
        evals__retrieval__data=place.path("retrieval"),
        evals__bleu__data="",
        evals__mining__data="",
    )
    theirs = place.peer("laser", place.folder, json.dumps({**place.sizes["laser"], "steps": steps}))
    return {
        "clwe_jax": Side([ours], place.figure("laser", "retrieval/de-en/mean")),
        "LASER in torch": Side([theirs], float),
    }


def names(place: Place) -> dict[str, Side]:
    """Vectors of two languages and English rows to a BiLSTM-CRF, tested in German."""
    given, vectors = place.sizes["names"], {x: place.path(f"{x}.vec") for x in ("en", "de")}
    ours = place.run(
        "ner_bilstm_crf",
        encoder="vec:" + ",".join(f"{x}={path}" for x, path in vectors.items()),
        transfer__train=f"en:{place.path('ner', 'en.train.tsv')}",
        transfer__dev=f"en:{place.path('ner', 'en.dev.tsv')}",
        transfer__tests=place.path("ner"),
        transfer__seeds=1,
        recipe__epochs=given["epochs"],
        recipe__patience=given["epochs"],
    )
    theirs = place.peer("tag", place.folder, json.dumps(given))
    return {
        "clwe_jax": Side([ours], place.figure("ner_bilstm_crf", "ner/de/f1")),
        "flair": Side([theirs], float),
    }


JOBS = {job.__name__: job for job in (words, encoding, links, laser, names)}


def write(folder: str, job: str, options: dict[str, Any]) -> dict[str, Any]:
    """Writes the files of a job, and returns the options that both sides share."""
    import run_config

    from clwe_jax import pocket
    from clwe_jax.pocket import tasks

    place = lambda *names: os.path.join(folder, *names)
    two = ("en", "de")
    pocket.write_corpus(place("text"), two, options["sentences"])
    with open(place("text", "en.txt"), encoding="utf-8") as file:
        words = sum(len(line.split()) for line in file)
    static, model = run_config.load("align_procrustes"), run_config.load("laser")
    if job == "words":
        pocket.write_dictionaries(place("dictionaries"), two)
        pocket.write_bli(place("bli"), two)
        tests = (place("bli", f"{pair}.5000-6500.txt") for pair in ("de-en", "en-de"))
        _without_tests(place("dictionaries", "de-en"), *tests)
    if job == "encoding":
        _write_static(folder)
    if job in ("links", "laser"):
        pocket.write_retrieval(place("retrieval"), two)
        pocket.write_parallel(place("parallel"), two, options["sentences"])
        for code, language in (("deu", "de"), ("eng", "en")):
            with open(place("retrieval", f"tatoeba.deu-eng.{code}"), encoding="utf-8") as file:
                lines = file.readlines()[: options["linked"]]
            _write(place("retrieval", f"some.{language}"), lines)
    if job == "names":
        for language, split in (("en", "train"), ("en", "dev"), ("en", "test"), ("de", "test")):
            rows = tasks.named_entities(language, split, 1_500 if split == "train" else 500, 0, ())
            text = ("\n".join(map("\t".join, zip(*row))) + "\n\n" for row in rows)
            _write(place("ner", f"{language}.{split}.tsv"), text)
        _write_vectors(folder, two, tasks)
    tagger = run_config.load("ner_bilstm_crf")
    return {
        "embeddings": dict(vars(static.embeddings.over(words))),
        "laser": {
            **{
                x: getattr(model.model, x)
                for x in ("width", "cells", "layers", "decoder_cells", "language_width", "dropout")
            },
            "vocab": model.vocab.size,
            "rows": model.train.batch_size,
            "languages": 2,
            "length": model.data.sequence_length,
            "clip": model.optimizer.clip,
            "learning_rate": model.optimizer.learning_rate,
        },
        "names": {
            "cells": tagger.transfer.head.cells,
            "dropout": tagger.transfer.head.dropout,
            "rows": tagger.recipe.batch_size,
            "learning_rate": tagger.recipe.learning_rate,
            "epochs": options["epochs"],
        },
    }


def _write(path: str, lines: Any) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def _without_tests(stem: str, *tests: str) -> None:
    """Writes STEM.train.txt: the pairs of a dictionary without test words, as our runs leave them out."""
    tested = set()
    for path in tests:
        with open(path, encoding="utf-8") as file:
            tested |= {line.split()[0] for line in file}
    with open(f"{stem}.txt", encoding="utf-8") as file:
        _write(f"{stem}.train.txt", (x for x in file if tested.isdisjoint(x.split())))


def _write_static(folder: str) -> None:
    """Writes random vectors of the text's words and of made-up ones, for both sides."""
    from encoding import counts_of, random_vectors
    import run_config

    from clwe_jax import options
    from clwe_jax.encoders import static_folders
    from clwe_jax.encoders.spaces import StaticSpaces
    from clwe_jax.text.words.normalize import Normalizer

    with open(os.path.join(folder, "text", "en.txt"), encoding="utf-8") as file:
        counts = counts_of(file.read().splitlines(), Normalizer())
    given = random_vectors(counts, _WORDS, _DIM)
    run = os.path.join(folder, "static")
    os.makedirs(run)
    options.claim_workdir(
        run_config.load("align_procrustes", changes={"data.languages": "en"}), run, True
    )
    StaticSpaces({"en": given}, {}, {}, "en", Normalizer()).save(run)
    form = "sentence-transformers"
    static_folders.write({"en": given}, {}, Normalizer(), os.path.join(folder, form), form)


def _write_vectors(folder: str, languages: tuple[str, ...], tasks: Any) -> None:
    """Writes LANG.vec, trained together on the text of all languages, and LANG.kv for flair."""
    from gensim.models import FastText, KeyedVectors

    from clwe_jax.embeddings import files
    from clwe_jax.embeddings.vectors import Vectors

    lines = []
    for language in languages:
        with open(os.path.join(folder, "text", f"{language}.txt"), encoding="utf-8") as file:
            lines += [re.findall(r"\w+|[^\w\s]", line.lower()) for line in file]
    model = FastText(lines, vector_size=100, epochs=2, sg=1, bucket=100_000, workers=1, seed=0).wv
    known = Vectors(list(model.index_to_key), model.vectors)
    for language in languages:
        files.write(os.path.join(folder, f"{language}.vec"), known)
    plain = KeyedVectors(100)
    plain.add_vectors(known.words, known.vectors)
    plain.save(os.path.join(folder, "words.kv"))


def main() -> None:
    """Runs both sides of a job and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--job", choices=JOBS, required=True)
    parser.add_argument(
        "--peer-python", default="", help="interpreter with the peer; '': this side alone"
    )
    parser.add_argument("--vecmap", default="", help="a checkout of artetxem/vecmap, for words")
    parser.add_argument("--encoder", default="", help="hf:DIR, for links")
    parser.add_argument("--sentences", type=int, default=20_000, help="of each language's text")
    parser.add_argument("--steps", type=int, default=300, help="of LASER")
    parser.add_argument("--epochs", type=int, default=10, help="of the tagger")
    parser.add_argument(
        "--linked", type=int, default=300, help="pairs of sentences whose words are linked"
    )
    parser.add_argument("--write", help="internal")
    options = parser.parse_args()
    if options.write:
        print(json.dumps(write(options.write, options.job, vars(options))))
        return
    for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = "1"
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        # A process inherits the peak memory of its parent, so another process writes.
        command = [sys.executable, *sys.argv, f"--write={folder}"]
        sizes = json.loads(timed(command)["printed"].splitlines()[-1])
        sides = JOBS[options.job](Place(folder, options, sizes))
        for name, side in sides.items():
            if not options.peer_python and not name.startswith("clwe_jax"):
                continue
            # Each side begins without compiled programs.
            os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.join(cache, name)
            parts = [timed(command) for command in side.commands]
            if name.startswith("clwe_jax"):
                for command in side.commands:
                    for run in (
                        x.removeprefix("--workdir=") for x in command if x.startswith("--workdir=")
                    ):
                        shutil.rmtree(run)
                again = [timed(command) for command in side.commands]
                figures[f"{name}, again, s"] = sum(part["processor"] for part in again)
            figures[f"{name}, s"] = sum(part["processor"] for part in parts)
            figures[f"{name}, bytes"] = max(part["peak"] for part in parts) * 2**20
            if side.reached:
                said = parts[-1]["printed"].strip().splitlines()
                figures[f"{name}, reached"] = side.reached(said[-1] if said else "")
            print(
                {x: round(y, 3) for x, y in figures.items() if x.startswith(f"{name},")}, flush=True
            )
        record(figures, options)


if __name__ == "__main__":
    main()

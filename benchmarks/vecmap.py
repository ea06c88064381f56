"""Two `.vec` files to translations: ours beside VecMap, in time, memory and answers.

    git clone https://github.com/artetxem/vecmap
    python -m venv peer && peer/bin/pip install numpy scipy
    python benchmarks/vecmap.py --vecmap=vecmap --peer-python=peer/bin/python
    python benchmarks/vecmap.py --vecmap=vecmap --peer-python=peer/bin/python --job

The peer runs VecMap's unmodified `map_embeddings.py --supervised` and `eval_translation.py
--retrieval csls`. Our side reads both files, learns the same map and translates the test words by
CSLS in one process. With `--job` a line is the whole job `configs/align_procrustes.py` with all its
defaults too: evaluation by three methods, induced dictionaries, files and report. The seconds of either side include the start of the interpreter, reading and
writing. The script compares the answers word by word. It takes made-up vectors, or the files
`--source`, `--target`, `--train` and `--test`. The table also has processor seconds, for a busy
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any

from side_by_side import record

HERE = os.path.dirname(os.path.abspath(__file__))


def make_up(folder: str, words: int, width: int, pairs: int, tested: int) -> dict[str, str]:
    """Writes vectors, their noisy rotation, and dictionaries."""
    import made_up
    import numpy as np

    from clwe_jax.embeddings import files
    from clwe_jax.embeddings.vectors import Vectors

    x, y = made_up.rotated(words, width, 0.8)
    paths = {
        name: os.path.join(folder, name)
        for name in ("source.vec", "target.vec", "train.txt", "test.txt")
    }
    for name, vectors in (("source", x), ("target", y)):
        labels = [f"{name[0]}{i}" for i in range(words)]
        files.write(paths[f"{name}.vec"], Vectors(labels, vectors.round(4)))
    chosen = np.random.default_rng(0).permutation(min(words, 4 * (pairs + tested)))[
        : pairs + tested
    ]
    for name, rows in (("train.txt", chosen[:pairs]), ("test.txt", chosen[pairs:])):
        with open(paths[name], "w", encoding="utf-8") as file:
            file.writelines(f"s{i} t{i}\n" for i in rows)
    return {name.split(".")[0]: path for name, path in paths.items()}


def ours(paths: dict[str, str]) -> dict[str, str]:
    """Translates every test word."""
    import numpy as np

    from clwe_jax.align import csls, self_learning
    from clwe_jax.embeddings import files

    source, target = (
        files.read(paths[side], max_vocab=None, cache=False) for side in ("source", "target")
    )

    # Not the files' vectors: they are deleted below, and the peak of memory is measured.
    rows, target_rows = source.index, target.index

    def pairs(name: str) -> list[tuple[int, int]]:
        with open(paths[name], encoding="utf-8") as file:
            lines = [line.split() for line in file]
        return [(rows[a], target_rows[b]) for a, b in lines if a in rows and b in target_rows]

    train, asked = np.array(pairs("train")), sorted({row for row, _ in pairs("test")})
    aligner = self_learning.SelfLearning(self_learning=False)
    found = aligner.fit(source.vectors, target.vectors, train)
    words, translations = source.words, target.words
    x = found.apply(source.vectors)
    del source
    y = found.apply_target(target.vectors)
    del target
    best, _ = csls.nearest(x[asked], y, 1, "csls", pool=x)
    return {
        words[row]: translations[column]
        for row, column in zip(asked, np.asarray(best)[:, 0], strict=True)
    }


def job(paths: dict[str, str], folder: str) -> list[str]:
    """The command of the whole job, on copies of the dictionaries with the names that it reads."""
    place = os.path.join(folder, "dictionaries")
    os.makedirs(place, exist_ok=True)
    for name, split in (("train", ""), ("test", ".5000-6500")):
        shutil.copy(paths[name], os.path.join(place, f"de-en{split}.txt"))
    options = {
        "data.languages": "de,en",
        "data.dictionaries": place,
        "evals.bli.data": place,
        "evals.retrieval.data": "",
        "align.source_vectors": paths["source"],
        "align.target_vectors": paths["target"],
    }
    return [
        *(sys.executable, "-m", "clwe_jax.main"),
        f"--config={os.path.join(os.path.dirname(HERE), 'configs', 'align_procrustes.py')}",
        f"--workdir={os.path.join(folder, 'run')}",
        *(f"--config.{name}={value}" for name, value in options.items()),
    ]


def timed(command: list[str]) -> dict[str, Any]:
    """Wall and processor seconds, peak memory in MB and output of a program."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command[1]} failed; its output is above")
    return {
        "seconds": time.perf_counter() - start,
        "processor": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
        "printed": printed,
    }


def report(name: str, found: list[dict[str, Any]]) -> None:
    """Prints a line of the table."""
    seconds, processor = (sum(part[key] for part in found) for key in ("seconds", "processor"))
    peak = max(part["peak"] for part in found)
    print(f"{name:10} {seconds:9.2f} {processor:10.2f} {peak:8,.0f}")


def main() -> None:
    """Runs both sides and prints the table and the number of answers that differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vecmap", help="a checkout of artetxem/vecmap")
    parser.add_argument("--peer-python", help="an interpreter that has numpy and scipy")
    parser.add_argument("--words", type=int, default=200_000, help="words per side")
    parser.add_argument("--dim", type=int, default=300)
    parser.add_argument("--pairs", type=int, default=5_000)
    parser.add_argument("--tested", type=int, default=1_500)
    for name in ("source", "target", "train", "test"):
        parser.add_argument(f"--{name}", help="file to use instead of a made-up one")
    parser.add_argument("--job", action="store_true", help="run the whole job too")
    parser.add_argument("--turn", help="internal")
    parser.add_argument("--write", help="internal")
    options = parser.parse_args()
    if options.turn:
        print(json.dumps(ours(json.loads(options.turn))))
        return
    if options.write:
        sizes = (options.words, options.dim, options.pairs, options.tested)
        print(json.dumps(make_up(options.write, *sizes)))
        return
    if not options.vecmap or not options.peer_python:
        parser.error("--vecmap and --peer-python are needed")
    with tempfile.TemporaryDirectory() as folder:
        given = {name: getattr(options, name) for name in ("source", "target", "train", "test")}
        paths = {name: path for name, path in given.items() if path}
        if len(paths) < len(given):
            sizes = [f"--{name}={getattr(options, name)}" for name in ("words", "dim", "pairs")]
            sizes.append(f"--tested={options.tested}")
            # A process inherits the peak memory of its parent, so another process writes.
            command = [sys.executable, os.path.abspath(__file__), f"--write={folder}", *sizes]
            paths = json.loads(timed(command)["printed"])
        run = [sys.executable, os.path.abspath(__file__), f"--turn={json.dumps(paths)}"]
        mine = timed(run)
        whole = timed(job(paths, folder)) if options.job else None
        mapped = [os.path.join(folder, f"mapped_{side}.vec") for side in ("source", "target")]
        script = os.path.join(options.vecmap, "map_embeddings.py")
        command = [options.peer_python, script, "--supervised", paths["train"]]
        theirs = [timed([*command, paths["source"], paths["target"], *mapped])]
        answers = os.path.join(folder, "answers.json")
        script = os.path.join(HERE, "peer_vecmap.py")
        command = [options.peer_python, script, options.vecmap, answers, *mapped]
        theirs.append(timed([*command, "-d", paths["test"], "--retrieval", "csls"]))
        with open(answers, encoding="utf-8") as file:
            expected = json.load(file)
    print(f"{'':10} {'seconds':>9} {'processor':>10} {'peak MB':>8}")
    report("clwe_jax", [mine])
    if whole:
        report("whole job", [whole])
    report("VecMap", theirs)
    ratios = [sum(part[key] for part in theirs) / mine[key] for key in ("seconds", "processor")]
    print(f"ratio {ratios[0]:.2f} (processor {ratios[1]:.2f})")
    print("VecMap says:", theirs[-1]["printed"].strip())
    found = json.loads(mine["printed"])
    differing = {word for word in expected if found.get(word) != expected[word]}
    differing |= set(found) - set(expected)
    print(f"{len(differing)} of {len(expected)} answers differ {sorted(differing)[:10]}")
    sides = {"clwe_jax": [mine], "VecMap": theirs} | ({"whole job": [whole]} if whole else {})
    figures = {
        f"{side}, {unit}": total(part[key] for part in parts)
        for side, parts in sides.items()
        for key, unit, total in (
            ("seconds", "s", sum),
            ("processor", "processor s", sum),
            ("peak", "peak MB", max),
        )
    }
    figures |= {"ratio": ratios[0], "ratio by processor": ratios[1]}
    record(figures | {"answers": len(expected), "answers that differ": len(differing)}, options)


if __name__ == "__main__":
    main()

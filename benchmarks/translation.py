"""Translation on real text: unsupervised and by LASER; the starts of Fig. 2 of joint-align (E10).

    python benchmarks/translation.py starts --out=runs/translation
    python benchmarks/translation.py multi30k --out=runs/translation --data=../shared/data
    python benchmarks/translation.py laser --out=runs/translation --data=../shared/data --steps=2400

`starts` trains configs/unsupervised_mt.py on the embedded world from three kinds of vectors and prints
BLEU by step; the report of the last run has the curves of all. `multi30k` writes one half of the English
and the other half of the foreign captions as text, trains vectors on it and on Common Voice's sentences
beside MUSE's dictionary, then the translator. `laser` trains LASER on all pairs of captions, from the same
vectors, and taggers of names on its encoder and on pieces alone (C8 in small). Every run is a command of `clwe_jax.main`, printed as it
starts. Finished runs are not repeated. Flags after `--` go to every translator; `--print-only` prints
finished runs only.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Mapping, Sequence

import tables

FIRST = "Joint-Align"  # its run trains its vectors itself; the others share its text and vocabulary
# Start -> config of its vectors and options.
STARTS: dict[str, tuple[str, Mapping[str, str]]] = {
    FIRST: ("", {}),
    "separate, Procrustes": ("align_procrustes", {}),
    "Joint": ("joint_align", {"static.reallocation": "False", "static.refinement": "False"}),
}
TAGGERS = ("laser_top", "laser_elmo", "bpe_bow", "bpe_gru")
_CAPTIONS = ("parallel", "multi30k")
# Text beside the captions for their vectors: name -> file under --data.
_MORE_TEXT = {
    "common_voice.txt": "text/{0}/common_voice.{0}.txt",
    "more_common_voice.txt.gz": "text_large/{0}/common_voice.txt.gz",
}


def finish(config: str, folder: str, options: Mapping[str, str], more: Sequence[str] = ()) -> bool:
    """Runs a config in a folder, unless it is finished; returns whether it is."""
    return bool(tables.read(folder)) or tables.run(config, folder, options, more)


def curve(folder: str, metric: str = "bleu/mean") -> dict[int, float]:
    """Step -> a figure of a run; {} where it was not measured."""
    path = os.path.join(folder, "metrics.jsonl")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["step"]: row["value"] for row in rows if row["name"] == metric}


def starts(arguments: argparse.Namespace) -> None:
    """Fig. 2: BLEU over training from three kinds of vectors."""
    rows: tables.Runs = {}
    for seed in map(int, arguments.seeds.split(",")):
        out = os.path.join(arguments.out, "starts", f"{arguments.steps}", f"{seed}")
        folders = {name: os.path.join(out, tables.place(name)) for name in STARTS}
        for name in STARTS:
            if not arguments.print_only and not _start(arguments, name, seed, folders):
                break
            found = {f"{step:,} steps": x for step, x in sorted(curve(folders[name]).items())}
            if found:
                if name == FIRST:
                    word_by_word = tables.read(folders[FIRST])["start/bleu/mean"]
                else:
                    word_by_word = tables.read(f"{folders[name]}_vectors")["bleu/mean"]
                rows.setdefault(name, []).append({"word by word": word_by_word, **found})
    steps = dict.fromkeys(key for found in rows.values() for each in found for key in each)
    lines = tables.means(rows, {step: step for step in steps}, "start", scale=1)
    print("\n### BLEU, mean of both directions\n\n" + "\n".join(lines))


def _start(arguments: argparse.Namespace, name: str, seed: int, folders: Mapping[str, str]) -> bool:
    options = {"seed": f"{seed}", "train.steps": f"{arguments.steps}"}
    config, changed = STARTS[name]
    if config:
        first = folders[FIRST]
        world, start = os.path.join(first, "pocket"), os.path.join(first, "start")
        shared = {
            "data.source": f"text:{world}/text",
            "data.dictionaries": f"{world}/dictionaries",
            "evals.retrieval.data": f"{world}/retrieval",
            "evals.bleu.data": f"{world}/retrieval",
        }
        with open(os.path.join(start, "config.json"), encoding="utf-8") as file:
            made = json.load(file)
        vectors = {
            **shared,
            "seed": f"{seed}",
            "data.languages": made["data"]["languages"],
            "data.exclude_dictionaries": f"{world}/bli",
            "evals.bli.data": f"{world}/bli",
            "evals.bleu.max_sentences": f"{made['evals']['bleu']['max_sentences']}",
            **{f"embeddings.{key}": f"{value}" for key, value in made["embeddings"].items()},
            **changed,
        }
        if not finish(config, f"{folders[name]}_vectors", vectors):
            return False
        others = [folders[other] for other in STARTS if other != name]
        options |= {
            **shared,
            "vocab.path": f"{first}/vocab",
            "init.embeddings": f"{folders[name]}_vectors",
            "report.compare_with": ",".join(filter(os.path.isdir, others)),
        }
    return finish("unsupervised_mt", folders[name], options, arguments.more)


def halves(data: str, out: str, other: str) -> str:
    """Writes the first half of the English captions and the second half of another language's.

    Returns:
      The folder of the text, without a sentence whose translation is in it.
    """
    folder = os.path.join(out, "text")
    for language, half in (("en", 0), (other, 1)):
        path = os.path.join(data, *_CAPTIONS, f"train.{language}")
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        middle = len(lines) // 2
        os.makedirs(os.path.join(folder, language), exist_ok=True)
        with open(os.path.join(folder, language, "multi30k.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join((lines[:middle], lines[middle:])[half]) + "\n")
    return folder


def multi30k(arguments: argparse.Namespace) -> None:
    """Translation of captions learned from halves that do not overlap."""
    data = arguments.data
    for other in arguments.languages.split(","):
        out = os.path.join(arguments.out, "multi30k", f"en-{other}")
        folders = {"vectors": os.path.join(out, "vectors"), "run": os.path.join(out, "run")}
        if not arguments.print_only:
            _captions(arguments, data, out, other, folders)
        pairs = (f"{other}-en", f"en-{other}")
        rows = {}
        for name, folder, metric in (
            ("word by word, dictionary", folders["vectors"], "floor/bleu"),
            ("word by word, vectors", folders["vectors"], "bleu"),
            ("translator", folders["run"], "bleu"),
        ):
            found = tables.read(folder)
            rows[name] = [tables.cell([found.get(f"{metric}/{pair}")], 1) for pair in pairs]
        print(f"\n### en-{other}, test2016\n\n" + "\n".join(tables.markdown(pairs, rows)))
        print(
            "\nBLEU, mean of both directions, by step: "
            + ", ".join(
                f"{step:,}: {value:.1f}" for step, value in sorted(curve(folders["run"]).items())
            )
        )


def _shared(data: str, other: str) -> dict[str, str]:
    return {
        "data.languages": f"en,{other}",
        "data.dictionaries": os.path.join(data, "dictionaries", "muse_full"),
        "evals.bleu.data": os.path.join(data, *_CAPTIONS, "test_2016_flickr"),
    }


def _captions(
    arguments: argparse.Namespace, data: str, out: str, other: str, folders: Mapping[str, str]
) -> None:
    text = os.path.join(out, "text")
    if _vectors(data, out, other, folders["vectors"]):
        options = {
            **_shared(data, other),
            "data.source": f"text:{text}",
            "init.embeddings": folders["vectors"],
            "train.steps": f"{arguments.steps}",
            "vocab.size": "8000",
            "task.widths": "3",
            "data.sequence_length": "32",
            "evals.bleu.max_sentences": "0",
            "evals.bleu.every_steps": "250",
            "evals.retrieval.data": "",
            "objective.denoising": "((0,1.0),(1000,0.1),(3000,0.0))",
        }
        finish("unsupervised_mt", folders["run"], options, arguments.more)


def _vectors(data: str, out: str, other: str, folder: str) -> bool:
    """Joint-align vectors of half of the captions and of more text."""
    text, more = halves(data, out, other), os.path.join(out, "more")
    for language in ("en", other):
        place = os.path.join(more, language)
        os.makedirs(place, exist_ok=True)
        files = {name: os.path.join(data, x.format(language)) for name, x in _MORE_TEXT.items()}
        files["multi30k.txt"] = os.path.join(text, language, "multi30k.txt")
        for name, path in files.items():
            link = os.path.join(place, name)
            if os.path.exists(path) and not os.path.lexists(link):
                os.symlink(path, link)
    shared = _shared(data, other)
    vectors = {
        **shared,
        "data.source": f"text:{more}",
        "embeddings.dim": "128",
        "static.dictionary_dim": "128",
        "evals.bleu.max_sentences": "0",
        "evals.bli.data": os.path.join(data, "dictionaries", "muse_splits"),
        "evals.retrieval.data": os.path.join(data, "retrieval", "tatoeba"),
    }
    return finish("joint_align:small", folder, vectors)


def laser(arguments: argparse.Namespace) -> None:
    """LASER on captions: translation, retrieval, mining, and names in another language."""
    data = arguments.data
    for other in arguments.languages.split(","):
        out = os.path.join(arguments.out, "multi30k", f"en-{other}")
        names = {name: os.path.join(out, name) for name in ("laser", *TAGGERS)}
        if not arguments.print_only:
            _laser(arguments, data, out, other, names)
        found = tables.read(names["laser"])
        pair = f"{other}-en"
        rows = {
            metric: [
                tables.cell([found.get(metric)], 1 if "bleu" in metric or "chrf" in metric else 100)
            ]
            for metric in (
                f"bleu/{pair}",
                f"bleu/en-{other}",
                f"chrf/{pair}",
                f"chrf/en-{other}",
                "retrieval/mean",
                "retrieval/mean_centered",
                "retrieval/mean_csls",
                *(f"mining/{pair}/{x}" for x in ("precision", "recall", "f1")),
            )
        }
        print(f"\n### LASER, en-{other}, test2016; mining of Tatoeba\n")
        print("\n".join(tables.markdown(["value"], rows, "figure")))
        runs = {name: [tables.read(names[name])] for name in TAGGERS}
        print("\n### Names, F1 in percent\n")
        print("\n".join(tables.means(runs, {x: f"ner/{x}/f1" for x in ("en", other)})))


def _laser(
    arguments: argparse.Namespace, data: str, out: str, other: str, names: Mapping[str, str]
) -> None:
    vectors, captions = os.path.join(out, "vectors"), os.path.join(data, *_CAPTIONS)
    options = {
        **_shared(data, other),
        "data.source": f"text:{os.path.join(out, 'more')}",
        "task.parallel": os.path.join(captions, "train"),
        "init.embeddings": vectors,
        "train.steps": f"{arguments.steps}",
        "vocab.size": "6000",
        "evals.bleu.max_sentences": "0",
        "evals.bleu.every_steps": "1200",
        "evals.retrieval.data": os.path.join(captions, "test_2016_flickr"),
        "evals.mining.data": os.path.join(data, "retrieval", "tatoeba"),
    }
    if not _vectors(data, out, other, vectors) or not finish(
        "laser", names["laser"], options, arguments.more
    ):
        return
    labels = os.path.join(data, "ner", "wikineural")
    for name in TAGGERS:
        options = {
            "data.languages": f"en,{other}",
            "transfer.tests": labels,
            "transfer.rows": "1000",
            "transfer.train": f"en:{os.path.join(labels, 'en.train.tsv')}",
            "transfer.test_rows": "300",
        }
        if name.startswith("laser"):
            options["encoder"] = f"run:{names['laser']}"
        finish(f"{name}_ner", names[name], options)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the missing runs and prints the table."""
    parser = tables.parser(__doc__, "runs/translation", data="../shared/data")
    parser.add_argument("table", choices=("starts", "multi30k", "laser"))
    parser.add_argument("--languages", default="de", help="beside English: de,fr")
    parser.add_argument("--steps", type=int, default=1_500, help="of a translator")
    parser.add_argument("--seeds", default="0", help="of `starts`")
    arguments = tables.parse(parser, argv)
    {"starts": starts, "multi30k": multi30k, "laser": laser}[arguments.table](arguments)


if __name__ == "__main__":
    main()

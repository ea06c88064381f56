"""Tokens/s from text files to batches, beside Hugging Face's tokenizer and collator.

Command (README.md says how to make the peer's interpreter):
  python benchmarks/input_pipeline.py --text=DIR --dictionaries=DIR --languages=en,de \\
    --peer-python=peer/bin/python

Our side runs the whole pipeline of a training run: it reads, mixes, normalises, segments, switches,
masks, tokenises and packs. Tokens are the pieces in the batches, without padding. --prepared=DIR
measures the reading of batches that clwe_jax.data.prepare has written.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from typing import Any, Callable, Iterator

import run_config
import side_by_side
from training_step import read_config


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="dict_mlm_50", help="a system, or a file of configs/")
    parser.add_argument("--set", action="append", default=[], help="an option: data.temperature=2")
    parser.add_argument("--text", help="a folder of LANGUAGE.txt or LANGUAGE/*.txt")
    parser.add_argument("--prepared", help="a folder of prepared batches, in place of --text")
    parser.add_argument("--dictionaries", default="", help="a folder of xx-yy.txt")
    parser.add_argument("--languages", default="en,de,es,fr,ru,zh")
    parser.add_argument("--length", type=int, default=128, help="pieces in a row")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--vocab-size", type=int, default=32_768)
    parser.add_argument("--batches", type=int, default=150, help="in a round of either side")
    parser.add_argument("--drain", type=int, default=80, help="batches made ahead, not counted")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--clock", choices=side_by_side.CLOCKS, default="wall")
    parser.add_argument("--peer-python", help="interpreter that has torch and transformers")
    parser.add_argument("--peer-workers", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    if bool(args.text) == bool(args.prepared):
        parser.error("give --text=DIR or --prepared=DIR")
    return args


def make_config(args: argparse.Namespace) -> Any:
    """The config of a run on this text."""
    from clwe_jax import options

    return options.with_values(
        read_config(args.config, args.set),
        {
            "data.source": f"text:{args.text}",
            "data.languages": args.languages,
            "data.dictionaries": args.dictionaries,
            "data.sequence_length": args.length,
            "vocab.size": args.vocab_size,
            "train.batch_size": args.batch_size,
            "evals.retrieval.data": "",
            "evals.bli.data": "",
        },
    )


def line_shares(world: Any, temperature: float) -> dict[str, float]:
    """The shares of lines that give the words of each language their temperature share."""
    from clwe_jax.text.corpus import corpora

    texts = world.description["languages"]
    words = {language: text["words"] for language, text in texts.items()}
    shares = corpora.temperature_shares(words, temperature)
    lines = {x: share * texts[x]["lines"] / words[x] for x, share in shares.items()}
    total = sum(lines.values())
    return {language: share / total for language, share in lines.items()}


def rounds_of(source: Iterator[Any], args: argparse.Namespace) -> Callable[[], float]:
    """Returns a function that measures a round, in tokens/s."""

    def measure() -> float:
        for _ in range(args.drain):
            next(source)
        clock = side_by_side.CLOCKS[args.clock]
        start = clock()
        pieces = sum(int((next(source)["segment_ids"] > 0).sum()) for _ in range(args.batches))
        rate = pieces / (clock() - start)
        settle()
        return rate

    return measure


def settle(limit: float = 20.0) -> None:
    """Waits until this process is idle, because it fills its buffers in the background."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        spent = time.process_time()
        time.sleep(0.3)
        if time.process_time() - spent < 0.03:
            return


def peak_memory() -> float:
    """Peak memory of this process in gigabytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def publish(
    found: side_by_side.Comparison, facts: dict[str, Any], args: argparse.Namespace
) -> None:
    """Prints the rates and writes the record; a peer's workers have memory of their own."""
    if not found.theirs:
        facts = {**facts, "peak host memory, GB": round(peak_memory(), 2)}
    side_by_side.publish(found, "Hugging Face", facts, args)


def main() -> None:
    """Measures and prints."""
    args = arguments()
    sys.path.insert(0, run_config.ROOT)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # In training the data graph runs on the CPU, too.
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if args.prepared:
        from clwe_jax.data import prepared

        folder = prepared.open_folder(args.prepared)
        source = folder.source(batch_size=args.batch_size, seed=0)
        args.peer_python = ""
        found, _ = side_by_side.compare(args, rounds_of(source, args), "", {})
        publish(found, {"prepared": args.prepared}, args)
        return
    config = make_config(args)

    from clwe_jax.data.graph import pipeline
    from clwe_jax.text import text_of_run

    with tempfile.TemporaryDirectory() as workdir:
        world = text_of_run.build(config, workdir)
        start = time.perf_counter()
        source = pipeline.build(
            config.data,
            task=config.task,
            tokenizer=world.tokenizer,
            dictionary=world.dictionary,
            text=world.text,
            batch_size=args.batch_size,
            seed=config.seed,
        ).source()
        first = next(source)
        facts = {
            "first batch of ours after": f"{time.perf_counter() - start:.1f} s",
            "task": config.task.name,
            "languages": len(world.languages),
            "rows": f"{args.batch_size} x {args.length}, {args.batches} batches a round",
            "vocabulary": f"{config.vocab.kind}, {world.tokenizer.vocabulary.size} pieces",
            "share masked, ours": round(float(first["loss_weights"].mean()), 3),
        }
        measure = rounds_of(source, args)
        peer_options = dict(
            vocabulary=os.path.join(workdir, "vocab", "vocab.txt"),
            lower_case=config.data.lower_case,
            files={
                language: [os.path.abspath(path) for path in paths]
                for language, paths in world.corpus.files.items()
            },
            shares=line_shares(world, config.data.temperature),
            length=args.length,
            batch_size=args.batch_size,
            workers=args.peer_workers,
            batches=args.batches,
            seed=config.seed,
        )
        found, theirs = side_by_side.compare(args, measure, "peer_input_pipeline.py", peer_options)
        publish(found, facts | theirs, args)


if __name__ == "__main__":
    main()

"""Time, memory and quality of mining, by the number of sentences, on the embedded world.

    python benchmarks/mining.py --sentences=20000,100000,1000000 --share=0.01

Two texts of the embedded world have so many lines each, of which a share are translations of each
other, in order. A line of JSON for each number of sentences: seconds of processor time and by the
clock, peak memory of the process, precision and recall of the pairs that are taken in one round.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from absl import app, flags
from side_by_side import record

from clwe_jax import pocket
from clwe_jax.embeddings import corpus as corpora, mining
from clwe_jax.embeddings.word_graph import WordGraph
from clwe_jax.options.embeddings import MiningOptions
from clwe_jax.text.corpus.corpora import TextCorpus
from clwe_jax.text.dictionary.merged import Dictionary
from clwe_jax.text.words.normalize import Normalizer
from clwe_jax.text.words.words import Segmenter

FLAGS = flags.FLAGS
flags.DEFINE_list("sentences", ["20000", "100000"], "Lines of each text.")
flags.DEFINE_float("share", 0.01, "Share of the lines that have a translation in the other text.")
flags.DEFINE_integer("rounds", 1, "Rounds of mining.")
flags.DEFINE_bool("one", False, "Internal: measure one size in this process.")
_LANGUAGES = "de", "en"


def _measure(count: int) -> dict[str, float]:
    shared = pocket.Shared(FLAGS.share)
    with tempfile.TemporaryDirectory() as folder:
        pocket.write_corpus(folder, _LANGUAGES, count, shared=shared)
        text = corpora.read(TextCorpus(folder, _LANGUAGES), Normalizer(), Segmenter())
    pairs = pocket.dictionary(*_LANGUAGES)
    graph = WordGraph(
        Dictionary.from_pairs({_LANGUAGES: pairs[::2]}), {x: text.counts(x) for x in _LANGUAGES}
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock, processor = time.monotonic(), time.process_time()
    grown = mining.grow(graph, text, MiningOptions(rounds=FLAGS.rounds), seed=0)
    found = {
        "sentences": count,
        "seconds": round(time.monotonic() - clock, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "megabytes_before": before // 1024,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    gold = {
        (x.source, x.target): x.planted
        for x in pocket.shared_pairs(*_LANGUAGES, count, 0, (), shared)
    }
    taken = {(i + 1, j + 1) for i, j, _ in zip(*grown.pairs.get(_LANGUAGES, ((), (), ())))}
    planted = {place for place, both in gold.items() if both}
    return found | {
        "pairs": len(taken),
        "precision": round(len(taken & gold.keys()) / max(1, len(taken)), 3),
        "recall": round(len(taken & planted) / max(1, len(planted)), 3),
        "cores": os.cpu_count(),
    }


def main(_):
    figures = {}
    for count in map(int, FLAGS.sentences):
        if FLAGS.one:
            print(json.dumps(_measure(count)), flush=True)
            continue
        # A process for each size, because the peak of a process's memory never falls.
        flags_ = [f"--sentences={count}", f"--share={FLAGS.share}", f"--rounds={FLAGS.rounds}"]
        run = [sys.executable, __file__, "--one", *flags_]
        printed = subprocess.run(run, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(printed, end="", flush=True)
        figures |= {f"{count:,} lines, {x}": y for x, y in json.loads(printed).items()}
    if figures:
        record(
            figures, {"sentences": FLAGS.sentences, "share": FLAGS.share, "rounds": FLAGS.rounds}
        )


if __name__ == "__main__":
    app.run(main)

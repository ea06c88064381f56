"""Where the time of a training step goes: a trace of the compiled step, by the model's regions.

    python benchmarks/step_profile.py --threads=1
    python benchmarks/step_profile.py --config=configs/bi_saelmo.py --set=train.batch_size=64

The step, its batch and the comparison with a plain matrix product are those of training_step.py. A row of
a region has its share of the time, and the share that its matrix products take.
"""

from __future__ import annotations

import argparse
import collections
import glob
import gzip
import json
import os
import re
import sys
import tempfile
import time

import run_config
from side_by_side import record
import training_step

# Region -> what the names of its operations contain; the first that fits.
REGIONS = {
    "output layer": r"score|/head/",
    "feed-forward layers": r"/mlp/",
    "attention": r"/attention/",
    "loss": r"jvp\(\)",
    "embeddings and the rest of the model": r"jvp",
    "optimizer": r"",
}
_PRODUCTS = r"dot_general|/transpose$"


def regions(names: dict[str, str], events: list[dict]) -> dict[str, dict[str, float]]:
    """Region -> microseconds of all its operations, and of its matrix products.

    Args:
      names: operation of the compiled program -> its path in the model.
      events: of a trace.
    """
    found = {region: collections.Counter() for region in REGIONS}
    for event in events:
        if "dur" in event and event["name"] in names:
            path = names[event["name"]]
            region = next(x for x, y in REGIONS.items() if re.search(y, path))
            found[region]["time"] += event["dur"]
            found[region]["products"] += event["dur"] * bool(re.search(_PRODUCTS, path))
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="dict_mlm_50", help="a system, or a file of configs/")
    parser.add_argument("--set", action="append", default=[], help="an option: model.layers=2")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    sys.path.insert(0, run_config.ROOT)
    config = training_step.read_config(args.config, args.set)
    import jax

    step, predictions = training_step.our_step(config)
    step.run(3)
    start = time.process_time()
    step.run(args.steps)
    seconds = (time.process_time() - start) / args.steps
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            step.run(args.steps)
        [path] = glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True)
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
    found = regions(dict(re.findall(r'([\w.\-]+) = .*?op_name="([^"]*)"', step.program())), events)
    total = sum(x["time"] for x in found.values())
    plain = training_step.product_rate(config.model.dtype, clock=time.process_time)
    achieved = training_step.product_flops(config, predictions) / seconds
    figures = {"processor ms a step": 1_000 * seconds, "of a plain product": achieved / plain}
    for region, times in found.items():
        figures[region] = times["time"] / total
        figures[f"{region}, products"] = times["products"] / total
        print(f"{region}: {figures[region]:.1%}, products {figures[f'{region}, products']:.1%}")
    print(f"{1_000 * seconds:.0f} ms a step, {achieved / plain:.0%} of a plain product")
    record(figures, args)


if __name__ == "__main__":
    main()

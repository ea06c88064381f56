"""The rows of the ledger: benchmarks/ledger/*.jsonl, a file a config or script, a line a run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from typing import Any, Iterable, Mapping, Sequence

from clwe_jax import atomic
from clwe_jax.runs import environment, record
from clwe_jax.runs.environment import ROOT

FOLDER = os.path.join(ROOT, "benchmarks", "ledger")
_END = ".jsonl"
_PAIR = "[a-z]{2,3}-[a-z]{2,3}"
# The figures of a run that a row keeps, of thousands: means, each pair with English, and what a
# table or an order of the pages needs. A benchmark's figures are few, and all are kept.
_KEPT = re.compile(
    "|".join(
        (
            r"(floor/)?retrieval/(sif/)?mean(_last4)?(_centered|_csls)?",
            r"retrieval/layer\d+/acc@1(_csls)?",
            rf"retrieval/{_PAIR}/mean(_last4)?(_csls)?|retrieval/{_PAIR}/layer12/acc@1",
            r"retrieval/(sif/)?[a-z]{2,3}-en/mean(_csls(_k3)?)?",
            r"(floor/)?bli/p@1(_csls)?(_distinct)?(_covered)?|bli/coverage",
            rf"bli/{_PAIR}/p@1_csls(_distinct)?(_covered)?",
            r"mlm/(perplexity|accuracy)|mlm/[^/]+/perplexity|heldout/[^/]+",
            r"(projected|unprojected)/.*(mean|p@1)(_csls)?",
            r"senses/(purity|nearest|both/\w+|used|matched|[a-z_]+)",
            r"wsd/[^/]+/[^/]+",
            r"(ner|pos|xnli|pawsx|mldoc|topics|sentiment|edge)/.*(f1|acc|mean)",
            r"edge/.*(precision|recall)",
            r"zero_shot/.*|gains/.*|alignment/.*",
            r"(bleu|chrf)/.*",
            r"mining/.*|mined/[^/]+|word_alignment/[a-z_]+",
            r"clcr/(distance|cosine|nearest|f1|alignment_\w+|pivots|entailment|hub)(/.*)?",
            r"clcr/reorder/(\w+/)*(tau|bleu[234])(_gain)?|clcr/extract/.*(accuracy|precision|recall)",
            r"train/(loss|tokens_per_second)|speed/.*|stage/.*",
            r"(compare|order)/.*",
        )
    )
)

# The figures whose outcomes by test item a row keeps, for tests of orders.
_TESTED = re.compile(rf"retrieval/{_PAIR}/mean(_csls)?|bli/{_PAIR}/p@1_csls")


def name_of(command: str) -> str:
    """The name of a command's rows: 'dict_mlm_50:small train.steps=10', or 'csls words=20000'.
    A benchmark of a config is 'laser config=supervised_mt:base length=32'.

    The seed, the folder of the run and peers' interpreters and checkouts do not belong to it; nor does the
    seed in a path, the folder of runs that share it.
    """
    words = shlex.split(command)
    seeds = [word.partition("=")[2] for word in words if re.match("--(config[.])?seed=", word)]
    for seed in seeds:
        words = [re.sub(f"/{seed}(?=/)", "", word) for word in words]
    while words and (words[0] in ("python", "-m") or words[0].startswith("clwe_jax.")):
        words.pop(0)
    script, options, place = "", [], 0
    while place < len(words):
        word = words[place]
        place += 1
        if "=" not in word and word.startswith("-") and place < len(words):
            if not words[place].startswith("-"):  # `--option value`
                word += f"={words[place]}"
                place += 1
        key, _, value = word.lstrip("-").partition("=")
        if key == "config" and word.startswith("-") and value.partition(":")[0].endswith(".py"):
            path, _, scale = value.partition(":")
            config = _stem(path) + (f":{scale}" if scale not in ("", "laptop") else "")
            if script:  # a benchmark
                options.append(f"config={config}")
            else:
                script = config
        elif not word.startswith("-"):
            script = script or _stem(word)
        elif key not in PLACES:
            options.append(f"{key.removeprefix('config.')}={value}" if value else key)
    return " ".join([script, *sorted(options)])


# Options that say where, and not how, a figure is made; and the seed, which rows have apart.
PLACES = (
    "workdir",
    "debug",
    "out",
    "record",
    "config.seed",
    "seed",
    "peer-python",
    "fasttext",
    "muse",
    "vecmap",
    "minutes",
    "config.report.compare_with",
)


def folder_of_benchmark(name: str, seed: int | None) -> str:
    """The folder of a benchmark's record, from the project's folder; a seed above 0 has its own."""
    slug = re.sub(r"[^\w.=,-]+", "_", name)
    return os.path.join("runs", "benchmarks", f"{slug}-{seed}" if seed else slug)


def drop_stale_run(folder: str, commands: Sequence[str]) -> bool:
    """Removes a folder with the run of another commit or of other commands.

    Returns:
      Whether the folder holds what all `commands` have made of this commit. If it holds what the first of them
      have made, or an unfinished run, the commands go on there.
    """
    try:
        found = record.read(folder)
    except (FileNotFoundError, ValueError):
        found = {}
    code = environment.commit()
    names = [name_of(command) for command in commands]
    made = [name_of(command) for command in found.get("commands", ())]
    if made and made == names[: len(made)] and code.items() <= found.items():
        return found["finished"] and made == names
    shutil.rmtree(folder, ignore_errors=True)
    return False


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def row_of(folder: str) -> dict[str, Any]:
    """The row of the run or benchmark in a folder.

    Raises:
      FileNotFoundError, ValueError: no record, or that of an unfinished run.
    """
    entry = record.read(folder)
    if not entry["finished"]:
        raise ValueError(
            f"{folder} holds an unfinished run; the same command finishes it: "
            f"{entry['commands'][-1]}"
        )
    commands = [_portable(command) for command in entry.pop("commands")]
    entry["options"] = _portable_options(entry["options"])
    figures, outcomes = entry.pop("figures"), entry.pop("outcomes", {})
    is_run = "clwe_jax.main" in commands[0]
    kept = {x: _rounded(y) for x, y in figures.items() if not is_run or _KEPT.fullmatch(x)}
    right = {x: y for x, y in outcomes.items() if _TESTED.fullmatch(x)}
    named = ({**x, "of": [y for y in x["of"] if y in right]} for x in entry.pop("items", ()))
    items = [x for x in named if x["of"]]
    del entry["finished"]
    own = {"figures": kept, **({"outcomes": right, "items": items} if right else {})}
    return {"name": name_of(commands[0]), "commands": commands, **entry, **own}


def _portable(command: str) -> str:
    """A command without the run's folder, with paths from the project's folder.

    Of a path that is neither in the project nor beside it the last part stays.
    """

    words = [
        _portable_paths(word)
        for word in shlex.split(command)
        if not word.startswith(("--workdir=", "--debug"))
    ]
    return shlex.join(words)


def _portable_options(values: Any) -> Any:
    """Options with paths as in `_portable`."""
    if isinstance(values, dict):
        return {name: _portable_options(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [_portable_options(value) for value in values]
    return _portable_paths(values) if isinstance(values, str) else values


def _portable_paths(text: str) -> str:
    def shortened(match: re.Match[str]) -> str:
        path = os.path.relpath(match[0], ROOT)
        outside = os.path.join(os.pardir, os.pardir)
        return os.path.basename(path) if path.startswith(outside) else path

    return re.sub(r"(?<![\w.])/[^\s,]+", shortened, text)


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(x) for x in value]
    return float(f"{value:.6g}")


def value_and_error(figure: Any) -> tuple[float | None, float | None]:
    """A figure of a row, and its distance to the farther end of its interval; None where it has none."""
    if isinstance(figure, list):
        value, low, high = figure
        return value, max(high - value, value - low)  # one end may stand at 0 or 1
    return figure, None


def key(row: Mapping[str, Any]) -> tuple[str, int]:
    """Rows with the same key measure the same: the later one replaces the earlier one."""
    return row["name"], row.get("seed", 0)


def add(folders: Iterable[str], ledger: str = FOLDER) -> list[str]:
    """Adds the runs in some folders to the ledger; returns the rows' names.

    Raises:
      FileNotFoundError, ValueError: as of `row_of`; then no row is added.
    """
    made = [row_of(folder) for folder in folders]
    os.makedirs(ledger, exist_ok=True)
    for file in sorted({file_of(row) for row in made}):
        path = os.path.join(ledger, file)
        rows = {key(row): row for row in _read_file(path)}
        rows |= {key(row): row for row in made if file_of(row) == file}
        lines = [
            json.dumps(rows[x], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
            for x in sorted(rows)
        ]
        atomic.write(path, "".join(f"{line}\n" for line in lines))
    return [row["name"] for row in made]


def file_of(row: Mapping[str, Any]) -> str:
    """The name of the file of a row, in the folder of the ledger."""
    return re.split(r"[ :]", row["name"])[0] + _END


def _read_file(path: str) -> list[dict[str, Any]]:
    if not os.path.exists(path):
        return []
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                rows.append(json.loads(line))
            except ValueError as error:
                raise ValueError(
                    f"{path}:{number}: expected a JSON object ({error}); rows are added by "
                    "python -m benchmarks.ledger add RUN"
                ) from error
    return rows


def read(ledger: str = FOLDER) -> list[dict[str, Any]]:
    """All rows, in the order of their keys.

    Raises:
      ValueError: a damaged line; the message names file and line.
    """
    files = sorted(name for name in os.listdir(ledger) if name.endswith(_END))
    rows = [row for name in files for row in _read_file(os.path.join(ledger, name))]
    return sorted(rows, key=key)

"""The plan of the house, held with `ast`: who may import whom, and what no file may contain."""

import ast
import functools
import graphlib
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

from clwe_jax import config as options
from clwe_jax import registry, validation

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clwe_jax"
CONFIGS = sorted((ROOT / "configs").glob("*.py"))

# Doors open downwards. Rooms of one floor do not know each other, except on the ground, which all
# stand on.
FLOORS = {
    "__init__": 1, "types": 1, "registry": 1, "config": 1, "config_static": 1, "config_senses": 1,
    "validation": 1, "atomic": 1,
    "pocket": 1, "align": 1,
    "text": 2, "models": 2,
    # Vectors are trained on words that `text` reads.
    "embeddings": 3, "data": 3, "objectives": 3, "interop": 3,
    "training": 4, "evaluate": 4,
    "report": 5, "api": 5,
    "jobs": 6,
    "main": 7,
}  # fmt: skip
GROUND = {
    "__init__", "types", "registry", "config", "config_static", "config_senses", "validation",
    "atomic",
}  # fmt: skip
HEAVY = {"tensorflow", "tensorflow_text", "tensorflow_datasets", "seqio", "clu"}
GRAPH = "clwe_jax.data.graph"  # the only place that may import them
MOST_LINES = 450


def module_name(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@functools.cache
def tree(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imported(module: str, top_level_only: bool = False) -> set[str]:
    """What the module imports, functions' own imports included unless `top_level_only`."""
    body = tree(MODULES[module])
    nodes = body.body if top_level_only else ast.walk(body)
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{MODULES[module]}:{node.lineno}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add(whole if whole in MODULES else node.module)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module):
    here = room(module)
    assert here in FLOORS, f"clwe_jax/{here} is not in the plan: give it a floor in FLOORS"
    for name in imported(module):
        if not name.startswith("clwe_jax"):
            continue
        assert name in MODULES, f"{module} imports {name}, which does not exist"
        there = room(name)
        if there == here or there in GROUND:
            continue
        assert FLOORS[there] < FLOORS[here], (
            f"{module} (floor {FLOORS[here]}) imports {name} (floor {FLOORS[there]})"
        )
        assert there != "data" or here == "jobs", f"{module} imports {name}: only jobs may"


def test_no_modules_import_each_other_in_a_circle():
    graph = {module: sorted(imported(module) & MODULES.keys()) for module in MODULES}
    circle = []
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1]
    assert not circle, " -> ".join(circle)


@pytest.mark.parametrize("module", MODULES)
def test_only_the_graph_imports_tensorflow(module):
    heavy = {name for name in imported(module) if name.split(".")[0] in HEAVY}
    assert not heavy or f"{module}.".startswith(f"{GRAPH}."), f"{module} imports {heavy}"


def closure(module: str, top_level_only: bool) -> set[str]:
    """Everything that importing `module` imports, packages' __init__ files included."""
    seen, todo = set(), [module]
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in MODULES:
            parents = {name.rpartition(".")[0]} - {""}
            todo += sorted(imported(name, top_level_only) | parents)
    return seen


# `prepare` alone makes batches of text: it imports the graph where it is needed.
LIGHT = [x for x in MODULES if room(x) == "data" and not x.startswith(GRAPH)]
LIGHT.remove("clwe_jax.data.prepare")


@pytest.mark.parametrize("module", [*LIGHT, "clwe_jax.api"])
def test_trains_and_serves_without_tensorflow(module):
    heavy = {n for n in closure(module, top_level_only=False) if n.split(".")[0] in HEAVY}
    assert not heavy, f"{module} reaches {heavy}"


def test_jobs_start_without_tensorflow():
    # With batches:DIR nothing of the graph is imported: the jobs import it where it is needed.
    for module in MODULES:
        if room(module) in ("jobs", "main") or module == "clwe_jax.data.prepare":
            heavy = {n for n in closure(module, top_level_only=True) if n.split(".")[0] in HEAVY}
            assert not heavy, f"importing {module} imports {heavy}"


def test_the_entry_imports_neither_jax_nor_tensorflow():
    code = (
        "import sys, clwe_jax.main, clwe_jax.config\n"
        "print(*[m for m in ('jax', 'flax', 'tensorflow', 'seqio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "", f"import clwe_jax.main brought {done.stdout.strip()}"


@pytest.mark.parametrize("module", MODULES)
def test_modules_fit_in_a_room(module):
    lines = len(MODULES[module].read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES, f"{module} has {lines} lines; {MOST_LINES} are the most"


@pytest.mark.parametrize("module", MODULES)
def test_modules_and_public_names_are_documented(module):
    body = tree(MODULES[module])
    if not body.body:
        return
    assert ast.get_docstring(body), f"{module} has no docstring"
    for node in body.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            if module == "clwe_jax.main" and node.name in ("main", "entry"):
                continue
            where = f"{MODULES[module]}:{node.lineno}"
            assert ast.get_docstring(node), f"{where}: {node.name} has no docstring"


# Written in parts, so that this file does not contain what it forbids.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(work|root|opt|home/\w+)/\w|/tmp/\w/",
    "unfinished work": "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]),
    "a stub": "NotImplemented" + "Error",
    "a package index": "py" + r"pi\.org|pythonho" + r"sted|--(extra-)?index-" + "url|--find-" + "links",
    "an unsafe load": r"^\s*import pick" + r"le|allow_pick" + r"le\s*=\s*True|yaml\.load\(",
    "an issue's number": r"\b[Ii]ssue #?\d",
}  # fmt: skip
TEXT_SUFFIXES = {".py", ".sh", ".yaml", ".toml", ".md", ".cfg", ".html", ".css", ".js", ""}


def project_files() -> list[pathlib.Path]:
    """The files that git tracks or would track; all that are there where git is absent."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        names = [name for name in done.stdout.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        folders = ("clwe_jax", "configs", "launch", "benchmarks", "tests", ".ci")
        files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
        names = [str(path.relative_to(ROOT)) for path in [*files, *ROOT.glob("*.*")]]
    paths = [ROOT / name for name in names if "__pycache__" not in name]
    return [path for path in paths if path.is_file() and path.suffix in TEXT_SUFFIXES]


def offences(text: str) -> list[str]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in FORBIDDEN.items():
            if re.search(pattern, line):
                found.append(f"{number}: {what}: {line.strip()[:100]}")
    return found


@pytest.mark.parametrize(
    "line",
    [
        "# see /work/" + "main",
        "x = 1  # TO" + "DO later",
        "raise NotImplemented" + "Error",
        "import pick" + "le",
        "np.load(path, allow_pick" + "le=True)",
        "pip install --index-" + "url x",
        "as issue" + " #12 says",
    ],
)
def test_forbidden_text_is_recognised(line):
    assert offences(line)


def test_nothing_forbidden_is_written():
    found = [
        f"{path.relative_to(ROOT)}:{offence}"
        for path in project_files()
        for offence in offences(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert not found, "\n".join(found)


def defined(path: pathlib.Path) -> dict[str, ast.AST]:
    return {
        node.name: node
        for node in tree(path).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


ENTRIES = [
    (kind, name, target)
    for kind, table in registry.TABLES.items()
    for name, target in table.items()
]


@pytest.mark.parametrize("kind, name, target", ENTRIES)
def test_registry_entries_resolve(kind, name, target):
    module, attribute = target.split(":")
    assert module in MODULES, f"{kind} {name}: there is no module {module}"
    assert attribute in defined(MODULES[module]), f"{module} defines no {attribute}"


ALIGNERS = tuple(registry.TABLES["aligner"])


def fields(target: str) -> set[str]:
    """The dataclass fields of a registered class, those of its bases in that module included."""
    module, attribute = target.split(":")
    classes = defined(MODULES[module])
    todo, found = [attribute], set()
    while todo:
        node = classes[todo.pop()]
        todo += [b.id for b in node.bases if isinstance(b, ast.Name) and b.id in classes]
        found |= {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
    return found


def load_config(path: pathlib.Path):
    spec = importlib.util.spec_from_file_location(f"configs_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_configs():
    assert len(CONFIGS) >= 6


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_says_how_to_run_it(path):
    text = ast.get_docstring(tree(path)) or ""
    command = f"python -m clwe_jax.main --config=configs/{path.name}"
    assert command in text, f"{path.name}: its docstring lacks the command `{command}`"
    assert "Expected" in text, f"{path.name}: its docstring lacks the expected result"


@pytest.mark.parametrize("scale", options.SCALES)
@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_resolves(path, scale):
    config = load_config(path).get_config(scale)
    validation.validate(config)
    assert config.scale == scale and config.system
    specs = [("job", {"name": config.job})]
    specs += [(kind, config[kind]) for kind in ("task", "model", "objective") if config.get(kind)]
    if "align" in config:
        specs += [("aligner", {"name": name, **config.align.get(name, {})}) for name in ALIGNERS]
    specs += [("evaluator", spec) for spec in config.evals.values()]
    for kind, spec in specs:
        spec = dict(spec)
        table, name = registry.TABLES[kind], spec.pop("name")
        assert name in table, f"{path.name}:{scale}: no {kind} named {name}"
        unknown = set(spec) - fields(table[name]) if kind != "job" else set()
        assert not unknown, f"{path.name}:{scale}: {kind} {name} has no option {unknown}"


def test_unknown_scale_is_answered():
    with pytest.raises(ValueError, match="laptop, small, base, paper"):
        load_config(CONFIGS[0]).get_config("huge")

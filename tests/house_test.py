"""The plan of the house: which room imports which, and the text that no file may contain."""

import ast
import functools
import graphlib
import pathlib
import re
import subprocess
import sys

import pytest
import ruff

from clwe_jax import options, registry
from clwe_jax.options import systems

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "clwe_jax"
CONFIGS = sorted((ROOT / "configs").glob("*.py"))

# A room imports rooms of lower floors, and the modules of GROUND. Rooms of one floor do not import
# each other.
GROUND = (
    "__init__",
    "types",
    "registry",
    "options",
    "presets",
    "atomic",
    "cached",
    "terminal",
    "time_parts",
    "compiled",
    "remote_files",
    "allocator",
)
ORDER = (
    (*GROUND, "pocket", "align"),
    ("text", "models"),
    ("embeddings", "data", "objectives"),
    ("interop",),
    ("training",),
    ("encoders", "plan"),
    ("report",),
    ("evaluate",),
    ("runs",),
    # The wings. Vectors are the start of the others, and CLCR measures entailment by transfer.
    ("static",),
    ("pretrain", "transfer"),
    ("clcr",),
    # The user's facade: no wing imports it.
    ("reevaluate", "api"),
    ("compare",),  # it runs all others
    ("main", "listed", "guide"),
    ("__main__",),
)
FLOORS = {room: floor for floor, rooms in enumerate(ORDER, 1) for room in rooms}
WINGS = {"static", "pretrain", "transfer", "clcr"}
DATA = {"runs", *WINGS}  # rooms that may import `data`
HEAVY = {"tensorflow", "tensorflow_text", "tensorflow_datasets", "seqio", "clu"}
GRAPH = "clwe_jax.data.graph"  # the only place that may import them
MAX_LINES = 400
# The package's lines and options today. What grows needs a reason, which the commit that raises a
# bound gives; what shrinks lowers it.
MAX_PACKAGE_LINES = 83_115
MAX_OPTIONS = 519
SKIPS = "fmt: " + "skip"  # a line that the formatter shall not touch


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


@functools.cache
def imported(module: str, top_level_only: bool = False) -> frozenset[str]:
    """Names of imported modules; imports inside functions count unless `top_level_only`."""
    body = tree(MODULES[module])
    nodes = body.body if top_level_only else ast.walk(body)
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{MODULES[module]}:{node.lineno}: relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                names.add(whole if whole in MODULES else node.module)
    return frozenset(names)


def wrong_import(module: str, name: str) -> str:
    """The reason why `module` must not import `name`, '' where it may."""
    here, there = room(module), room(name)
    if name not in MODULES:
        return f"{module} imports {name}, which does not exist"
    if there == here or there in GROUND:
        return ""
    if FLOORS[there] >= FLOORS[here]:
        return f"{module} (floor {FLOORS[here]}) imports {name} (floor {FLOORS[there]})"
    return (
        f"{module} imports {name}: only wings may" if there == "data" and here not in DATA else ""
    )


def test_imports_go_one_way():
    rooms = {room(module) for module in MODULES}
    assert not rooms - FLOORS.keys(), f"give {rooms - FLOORS.keys()} a floor in FLOORS"
    wrong = [
        wrong_import(module, name)
        for module in MODULES
        for name in imported(module)
        if name.startswith("clwe_jax")
    ]
    assert not any(wrong), "\n".join(filter(None, wrong))


def repeated_classes(bodies: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Class name -> the modules that define it, where there are several."""
    places: dict[str, list[str]] = {}
    for module, body in bodies.items():
        for node in ast.walk(body):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


def test_a_class_name_occurs_once():
    one = ast.parse("class A: pass")
    assert repeated_classes({"a": one, "b": one}) == {"A": ["a", "b"]}
    assert not repeated_classes({module: tree(path) for module, path in MODULES.items()})


def test_wrong_imports_are_recognised():
    assert "floor" in wrong_import("clwe_jax.text.words.words", "clwe_jax.main")
    assert "does not exist" in wrong_import("clwe_jax.main", "clwe_jax.absent")
    assert "only wings" in wrong_import("clwe_jax.api", "clwe_jax.data")
    assert not wrong_import("clwe_jax.text.words.words", "clwe_jax.atomic")


def targets(entry: str | tuple[str, str]) -> tuple[str, ...]:
    """'module:name' of a registered class, and that of its options where it has them."""
    return (entry,) if isinstance(entry, str) else entry


# What takes a table of the registry; the first two import its classes, the others their options.
CHOOSERS = ("registry.lookup", "registry.build", "registry.options_class", "section", "entries")


def chosen(module: str) -> set[str]:
    """Names of the modules that a module imports by the registry, where it writes the table."""
    modules = set()
    for _, name, call in calls(module):
        tables = [x.value for x in call.args if isinstance(x, ast.Constant)]
        for table in set(tables) & registry.TABLES.keys() if name in CHOOSERS else ():
            first = 0 if name in CHOOSERS[:2] else -1
            entries = map(targets, registry.TABLES[table].values())
            modules |= {target.partition(":")[0] for entry in entries for target in entry[first:]}
    return modules


# Modules that import by the registry what they must not import -> the rooms, each with its reason.
CHOSEN_ABOVE = {
    "clwe_jax.data.prepare": {
        "interop"
    },  # a command: it takes the options of a model as a training does
    "clwe_jax.interop.export": {"encoders"},  # a command: it loads a run and writes it
    "clwe_jax.options.transfer": {"text"},  # asks a task for the kind of its labels
    # Asks the evaluators for their headlines and sections.
    "clwe_jax.report.evaluations": {"evaluate"},
    # Asks the wing of a finished run what it says of it.
    "clwe_jax.report.pages": {"pretrain", "static", "transfer", "clcr", "compare"},
}


def test_imports_by_the_registry_go_one_way():
    reached = {
        module: {room(name) for name in chosen(module) if wrong_import(module, name)}
        for module in MODULES
    }
    assert {module: rooms for module, rooms in reached.items() if rooms} == CHOSEN_ABOVE


def test_options_import_only_the_ground():
    allowed = ("clwe_jax", "clwe_jax.atomic", "clwe_jax.registry", "clwe_jax.options")
    wrong = [
        f"{module} imports {name}"
        for module in MODULES
        if room(module) == "options"
        for name in imported(module)
        if name.startswith("clwe_jax")
        and name not in allowed
        and not name.startswith("clwe_jax.options.")
    ]
    assert not wrong, "\n".join(wrong)


def test_options_import_no_arrays():
    names = [module for module in MODULES if room(module) == "options"]
    heavy = ("jax", "flax", "tensorflow", "numpy")
    code = (
        f"import importlib, sys\nfor name in {names}: importlib.import_module(name)\n"
        f"print(*[m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


def test_no_modules_import_each_other_in_a_circle():
    graph = {
        module: sorted((imported(module) | chosen(module) - {module}) & MODULES.keys())
        for module in MODULES
    }
    circle = []
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle = error.args[1]
    assert not circle, " -> ".join(circle)


def test_the_embedded_world_imports_nothing_of_ours():
    wrong = [
        f"{module} imports {name}"
        for module in MODULES
        if room(module) == "pocket"
        for name in imported(module)
        if not name.startswith("clwe_jax.pocket")
        and name != "clwe_jax.atomic"
        and name.split(".")[0] not in sys.stdlib_module_names
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_graph_imports_tensorflow():
    wrong = [
        f"{module} imports {name}"
        for module in MODULES
        for name in imported(module)
        if name.split(".")[0] in HEAVY and not f"{module}.".startswith(f"{GRAPH}.")
    ]
    assert not wrong, "\n".join(wrong)


def closure(module: str, top_level_only: bool) -> set[str]:
    """All modules that importing `module` imports, the __init__ of every package included."""
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


# Commands that read text by the graph: they import it where it is needed.
COMMANDS = ("clwe_jax.data.prepare", "clwe_jax.data.pairs")
LIGHT = [x for x in MODULES if room(x) == "data" and not x.startswith((GRAPH, *COMMANDS))]


@pytest.mark.parametrize("module", [*LIGHT, "clwe_jax.api"])
def test_trains_and_serves_without_tensorflow(module):
    heavy = {n for n in closure(module, top_level_only=False) if n.split(".")[0] in HEAVY}
    assert not heavy, f"{module} reaches {heavy}"


def test_wings_start_without_tensorflow():
    # A run on batches:DIR needs no TensorFlow, so wings import the graph inside functions.
    for module in MODULES:
        if room(module) in {*DATA, "main"} or module in COMMANDS:
            heavy = {n for n in closure(module, top_level_only=True) if n.split(".")[0] in HEAVY}
            assert not heavy, f"importing {module} imports {heavy}"


def test_the_entry_imports_neither_jax_nor_tensorflow():
    code = (
        "import sys, clwe_jax.main, clwe_jax.options\n"
        "print(*[m for m in ('jax', 'flax', 'tensorflow', 'seqio') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "", f"import clwe_jax.main brought {done.stdout.strip()}"


def test_all_modules_can_be_imported_together():
    # Two commands share the name of a flag: absl refuses the second definition.
    names = sorted(name for name in MODULES if not name.endswith("__main__"))
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_modules_fit_in_a_room():
    lines = {m: len(path.read_text(encoding="utf-8").splitlines()) for m, path in MODULES.items()}
    long = [f"{module}: {count} lines" for module, count in lines.items() if count > MAX_LINES]
    assert not long, "\n".join([f"{MAX_LINES} lines at most:", *long])


# A stranger reads these rooms; elsewhere a docstring is written where a name does not say enough.
DOCUMENTED = {"api", "encoders", "align", "models", "objectives", "types", "options"}


def test_modules_and_names_that_strangers_read_are_documented():
    bare = []
    for module, path in MODULES.items():
        body = tree(path)
        if body.body and not ast.get_docstring(body):
            bare.append(f"{path}: the module has no docstring")
        if room(module) in DOCUMENTED:
            bare += [
                f"{path}:{node.lineno}: {node.name} has no docstring"
                for node in body.body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                and not node.name.startswith("_")
                and not ast.get_docstring(node)
            ]
    assert not bare, "\n".join(bare)


# Written in parts, so that this file does not contain the text that it forbids.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/(work|root|opt|home/\w+)/\w|/tmp/\w/",
    "unfinished work": "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]),
    "a stub": "NotImplemented" + "Error",
    "a package index": "py"
    + r"pi\.org|pythonho"
    + r"sted|--(extra-)?index-"
    + "url|--find-"
    + "links",
    "an unsafe load": r"^\s*import pick" + r"le|allow_pick" + r"le\s*=\s*True|yaml\.load\(",
    "an issue's number": r"\b[Ii]ssue #?\d",
}
TEXT_SUFFIXES = {".py", ".sh", ".yaml", ".toml", ".md", ".cfg", ".html", ".css", ".js", ""}


def project_files() -> list[pathlib.Path]:
    """The text files that git tracks or would track; without git, all text files."""
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


def offences(text: str, patterns: dict[str, str]) -> list[str]:
    """'number: name: line' for each line in which a pattern of `patterns` (name -> pattern) occurs."""
    return [
        f"{number}: {name}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), 1)
        for name, pattern in patterns.items()
        if re.search(pattern, line)
    ]


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
    assert offences(line, FORBIDDEN)


def test_nothing_forbidden_is_written():
    written = [
        f"{path.relative_to(ROOT)}:{offence}"
        for path in project_files()
        for offence in offences(path.read_text(encoding="utf-8", errors="replace"), FORBIDDEN)
    ]
    assert not written, "\n".join(written)


def calls(module: str):
    """(place, dotted name as written, call) of every call in the module."""
    for node in ast.walk(tree(MODULES[module])):
        if isinstance(node, ast.Call):
            yield f"{MODULES[module]}:{node.lineno}", ast.unparse(node.func), node


# Modules that do not replace their target at the end, each with its reason.
OTHER_WRITERS = {
    "clwe_jax.atomic": "replaces the target itself",
    "clwe_jax.training.metrics": "appends lines to metrics.jsonl while the run goes on",
    "clwe_jax.training.orbax_extras": "writes inside a checkpoint that orbax renames",
    "clwe_jax.training.checkpoint": "moves a whole checkpoint aside",
    "clwe_jax.text.corpus.download": "keeps a partial file, so that a download resumes",
    "clwe_jax.compare.job": "appends the output of processes to their logs",
    "clwe_jax.embeddings.files": "unpacks a file into a temporary folder",
}
MOVERS = (
    "os.replace",
    "os.rename",
    "shutil.move",
    "shutil.copy",
    "shutil.copy2",
    "shutil.copyfile",
    "tempfile.mkstemp",
    "tempfile.NamedTemporaryFile",
)


def writes(name: str, call: ast.Call) -> bool:
    """Whether a call opens, makes or moves a file for writing."""
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    mode = "".join(str(m.value) for m in modes if isinstance(m, ast.Constant))
    opens = name in ("open", "gzip.open", "os.fdopen", "io.open") and set(mode) & set("wax+")
    return bool(opens) or name in MOVERS or name.endswith((".write_text", ".write_bytes"))


def test_files_are_written_through_atomic():
    assert OTHER_WRITERS.keys() <= MODULES.keys()
    wrong = []
    for module in MODULES.keys() - OTHER_WRITERS.keys():
        wrong += [f"{place}: {name}" for place, name, call in calls(module) if writes(name, call)]
        wrong += [
            f"{MODULES[module]}:{node.lineno}: {node.value!r}"
            for node in ast.walk(tree(MODULES[module]))
            if isinstance(node, ast.Constant) and str(node.value).endswith(".tmp")
        ]
    assert not wrong, "\n".join(["Write with clwe_jax.atomic:", *sorted(wrong)])


@pytest.mark.parametrize(
    "call", ["open(p, 'w')", "open(p, mode='r+b')", "os.replace(a, b)", "path.write_text('x')"]
)
def test_writes_are_recognised(call):
    node = ast.parse(call, mode="eval").body
    assert writes(ast.unparse(node.func), node)
    node = ast.parse("open(p, 'rb')", mode="eval").body
    assert not writes("open", node)


# Modules that name figures of an evaluator beside the room that measures them, each with its reason.
OTHER_NAMERS = {
    "clwe_jax.report.headline": "the beginning of the floor's figures",
    "clwe_jax.pocket.gold": "a stream of random numbers",
    "clwe_jax.pretrain.pictures": "draws how senses form in training",
}
# The loss on held-out text is a figure of the training, beside that on its own text.
FIGURES = tuple(f"{name}/" for name in {*registry.TABLES["evaluator"], "floor"} - {"mlm"})


def figures_in(source: ast.Module) -> list[str]:
    """Texts that begin as the path of a figure, without docstrings."""
    texts = [str(x.value) for x in ast.walk(source) if isinstance(x, ast.Constant)]
    return [text for text in texts if text.startswith(FIGURES)]


def test_only_its_evaluator_names_a_figure():
    named = {
        module: figures_in(tree(path))
        for module, path in MODULES.items()
        if room(module) != "evaluate" and module not in OTHER_NAMERS
    }
    readme = ROOT / "benchmarks" / "ledger" / "readme.py"
    assert not {module: texts for module, texts in named.items() if texts}
    assert not figures_in(tree(readme))
    assert figures_in(ast.parse("x = f'bli/{pair}/p@1'")) == ["bli/"]


def test_capabilities_are_asked_for_with_isinstance():
    guessed = [
        f"{place}: {ast.unparse(call)}"
        for module in MODULES
        for place, name, call in calls(module)
        if name in ("getattr", "hasattr")
        and re.search(r"objective$|task$", ast.unparse(call.args[0]))
    ]
    assert not guessed, "\n".join(
        ["Use a protocol of clwe_jax.types or clwe_jax.encoders.protocols:", *guessed]
    )


def defined(path: pathlib.Path) -> dict[str, ast.AST]:
    return {
        node.name: node
        for node in tree(path).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }


ENTRIES = [
    (kind, name, entry) for kind, table in registry.TABLES.items() for name, entry in table.items()
]


@pytest.mark.parametrize("kind, name, entry", ENTRIES)
def test_registry_entries_resolve(kind, name, entry):
    for target in targets(entry):
        module, attribute = target.split(":")
        assert module in MODULES, f"{kind} {name}: there is no module {module}"
        assert attribute in defined(MODULES[module]), f"{module} defines no {attribute}"
    if not isinstance(entry, str):
        made, own = map(registry.import_target, entry)
        assert issubclass(own, options.Options)
        assert own.name == ("" if kind == "aligner" else name)  # each aligner has its own section
        assert issubclass(made, own) or "options" in made.__dataclass_fields__


@functools.cache
def used() -> set[str]:
    """The names of jobs, of transfer's tasks and of sections that the configs choose."""
    runs = [options.from_file(str(path)) for path in CONFIGS]
    names = {run.job for run in runs} | {
        run.transfer.task for run in runs if hasattr(run, "transfer")
    }
    for run in runs:
        for path, part in systems.parts(run):
            names |= {part.name, path.rpartition(".")[2]}  # aligners have sections of their names
    return names


@pytest.mark.parametrize("kind, name, entry", ENTRIES)
def test_registry_entries_are_used_or_described(kind, name, entry):
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    guides = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    assert name in used() or re.search(rf"=[`\"']?{name}\b|`{name}`", guides), (
        f"{kind} {name} ({entry}) is chosen by no config, README.md or docs/: delete it"
    )


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
    run = options.from_file(f"{path}:{scale}")
    run.resolve().check_all()
    assert run.scale == scale and run.system


def test_unknown_scale_is_answered():
    with pytest.raises(ValueError, match="laptop, small, base, paper"):
        options.load(f"{CONFIGS[0]}:huge")


def anchors(page: pathlib.Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
    headings = re.findall(r"(?m)^#+ (.*)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


PAGES = [path for path in project_files() if path.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"(?s)```.*?```", "", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = (page.parent / name).resolve() if name else page
        assert to.exists(), target
        assert not anchor or anchor in anchors(to), target


def test_the_table_of_rooms_is_that_of_the_floors():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (`[^|]+) \|", text, re.MULTILINE)
    named = {name: int(floor) for floor, names in rows for name in re.findall(r"`(\w+)/?`", names)}
    assert named == {room: floor for room, floor in FLOORS.items() if room not in GROUND}


@functools.cache
def names_of(module: str) -> frozenset[str]:
    """Names of a module and of the members of its classes, its submodules, and names that it loads lazily."""
    names = {name.rpartition(".")[2] for name in MODULES if name.rpartition(".")[0] == module}
    statements = list(tree(MODULES[module]).body)
    while statements:
        node = statements.pop()
        statements += [] if isinstance(node, ast.FunctionDef) else getattr(node, "body", [])
        statements += getattr(node, "orelse", [])
        names.add(getattr(node, "name", ""))
        names |= {x.asname or x.name.split(".")[0] for x in getattr(node, "names", [])}
        for target in getattr(node, "targets", []) or filter(None, [getattr(node, "target", None)]):
            names |= {x.id for x in ast.walk(target) if isinstance(x, ast.Name)}
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict):
            names |= {x.value for x in node.value.keys if isinstance(x, ast.Constant)}
        if "__all__" in names and isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            names |= {x.value for x in node.value.elts if isinstance(x, ast.Constant)}
    return frozenset(names)


@functools.cache
def names_by_last_part() -> dict[str, set[str]]:
    """The last part of a module's name, or a section of options -> the names that may follow its dot."""
    known: dict[str, set[str]] = {}
    for module in MODULES:
        known.setdefault(module.rpartition(".")[2], set()).update(names_of(module))
    for entry in (entry for table in registry.TABLES.values() for entry in table.items()):
        name, target = entry
        if not isinstance(target, str):
            own = registry.import_target(target[1])
            known.setdefault(name, set()).update(own.__dataclass_fields__)
    for path in CONFIGS:
        for part, section in systems.parts(options.from_file(str(path))):
            known.setdefault(part.rpartition(".")[2], set()).update(section.__dataclass_fields__)
    return known


NAMED = re.compile(r"`([a-z_]+(?:[/.][a-z_]+)*)[.]([A-Za-z_]+)(?:\([^`]*\))?`")
# What follows a dot in the name of a file; and variables of examples that are called as a module.
SUFFIXES = {"py", "md", "tsv", "txt", "json", "npz", "html", "vec", "safetensors", "en", "de", "fr"}
VARIABLES = {"model", "objective", "compiled", "dictionary", "pair"}


def lost_names(text: str) -> list[str]:
    """'line: name' of names in backticks that begin as a module or a section, which lacks them."""
    known = names_by_last_part()
    lost = []
    for number, line in enumerate(text.splitlines(), 1):
        for match in NAMED.finditer(line):
            first, *_, owner = re.split("[/.]", f"{match[1]}/{match[1]}")
            if not {first, owner} <= known.keys() - VARIABLES:
                continue
            if match[2] not in known[owner] | SUFFIXES:
                lost.append(f"{number}: {match[0]}")
    return lost


def test_texts_name_what_exists():
    assert (
        lost_names("`align.procrustes.Procrustes`, `training/step.py` and `step.make_step(x)`")
        == []
    )
    assert lost_names("`step.absent`") == ["1: `step.absent`"]
    lost = [
        f"{path.relative_to(ROOT)}:{name}"
        for path in project_files()
        if path.suffix in (".py", ".md") and path.name not in ("CHANGELOG.md", "house_test.py")
        for name in lost_names(path.read_text(encoding="utf-8"))
    ]
    assert not lost, "\n".join(lost)


def lost_attributes(source: ast.Module) -> list[str]:
    """'line: module.name' of attributes of imported modules that these lack, where code names them."""
    nodes = list(ast.walk(source))
    bound = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    bound |= {x.arg for x in nodes if isinstance(x, ast.arg)}
    modules = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    modules = {name: x for name, x in modules.items() if x in MODULES and name not in bound}
    pairs = [(x.lineno, x.value, x.attr) for x in nodes if isinstance(x, ast.Attribute)]
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "setattr":
            pairs.append((node.lineno, node.args[0], getattr(node.args[1], "value", "")))
    return [
        f"{line}: {owner.id}.{name}"
        for line, owner, name in pairs
        if isinstance(owner, ast.Name)
        and owner.id in modules
        and isinstance(name, str)
        and not name.startswith("__")
        and name not in names_of(modules[owner.id])
    ]


IMPORTED = re.compile(r"^ *from (clwe_jax[.\w]*) import (\([^)]*\)|[^\n(]*)", re.MULTILINE)


def may_lose_names(text: str) -> bool:
    """Whether a module's name is followed by one that it lacks: a quick look before the text is parsed."""
    for match in IMPORTED.finditer(text):
        for name, other in re.findall(r"(\w+)(?: as (\w+))?", match[2]):
            module = f"{match[1]}.{name}"
            followed = re.findall(rf'\b{other or name}(?:[.]|, ")(\w+)', text)
            if module in MODULES and set(followed) - names_of(module):
                return True
    return False


def test_code_names_what_modules_have():
    example = "from clwe_jax.align import csls\nmonkeypatch.setattr(csls, 'absent', 1)\ncsls.lost()"
    assert lost_attributes(ast.parse(example)) == ["3: csls.lost", "2: csls.absent"]
    assert may_lose_names(example.replace("'", '"'))
    lost = [
        f"{path.relative_to(ROOT)}:{name}"
        for path in project_files()
        if path.suffix == ".py" and may_lose_names(path.read_text(encoding="utf-8"))
        for name in lost_attributes(tree(path))
    ]
    assert lost == ["tests/api/import_test.py:52: api.lod"]  # a wrong name on purpose


def lines_of(file: str, names: list[str]) -> int:
    """Lines of a file, or of the functions and classes of these names in it, one of each."""
    text = (ROOT / file).read_text("utf-8")
    if not names:
        return len(text.splitlines())
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    named = {name: [node for node in nodes if node.name == name] for name in names}
    assert {name: len(some) for name, some in named.items()} == dict.fromkeys(names, 1), file
    return sum(node.end_lineno - node.lineno + 1 for some in named.values() for node in some)


def test_the_reading_path_is_short_and_its_files_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    path = text.partition("## A reading path")[2].partition("\n## ")[0]
    files = re.findall(r"`([a-z_/0-9]+\.py)(?:: ([\w ]+))?`", path)
    assert len(files) == path.count(".py") > 8
    assert 1_000 < sum(lines_of(file, names.split()) for file, names in files) <= 2_000


def test_the_ways_through_the_house_name_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ways = text.partition("## Six ways through the house")[2].partition("\n## ")[0]
    names = re.findall(r"`([a-z_/]+\.py)[`:]", ways)
    assert len(names) > 30
    there = [str(x.relative_to(ROOT)) for x in (*PACKAGE.rglob("*.py"), *CONFIGS)]
    lost = [name for name in names if not any(f"/{x}".endswith(f"/{name}") for x in there)]
    assert not lost


def test_the_formatter_lays_out_every_file():
    python = [ROOT / x for x in ("clwe_jax", "configs", "tests", "benchmarks")]
    for command in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [ruff.find_ruff_bin(), *command, "--no-cache", *map(str, python)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"ruff {command[0]} .: {done.stdout[-800:]}{done.stderr}"
    asks = [path for folder in python for path in folder.rglob("*.py") if SKIPS in path.read_text()]
    assert not asks


def test_the_package_does_not_grow_without_a_reason():
    lines = sum(len(x.read_text("utf-8").splitlines()) for x in PACKAGE.rglob("*.py"))
    assert 0.97 * MAX_PACKAGE_LINES < lines <= MAX_PACKAGE_LINES
    options_files = (PACKAGE / "options").glob("*.py")
    count = sum(x.read_text("utf-8").count("= option(") for x in options_files)
    assert 0.97 * MAX_OPTIONS < count <= MAX_OPTIONS

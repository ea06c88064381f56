"""Every library that the package imports is declared in pyproject.toml, in the core or in an extra."""

import ast
import pathlib
import re
import sys
import tomllib

from clwe_jax.api.model import Model

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Module -> its distribution, where the names differ.
_NAMES = {
    "absl": "absl-py",
    "backports": "backports.zstd",
    "orbax": "orbax-checkpoint",
    "MeCab": "mecab-python3",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_text": "tensorflow-text",
}
# Module -> the declared distribution that brings it.
_BROUGHT = {
    # Of the standard library from Python 3.14 on; the distribution is for those before.
    "compression": "backports.zstd",
    "markupsafe": "jinja2",
    "ml_dtypes": "jax",
    "etils": "flax",
    "tensorflow": "tensorflow-text",
    "clu": "seqio",
    "tensorstore": "orbax-checkpoint",
    "google": "sentencepiece",
}


def imported(top_level):
    """Third-party modules that the package imports; `top_level`: without those inside functions."""
    found = {}
    for path in sorted((ROOT / "clwe_jax").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8"))
        for node in body.body if top_level else ast.walk(body):
            names = [x.name for x in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module]
            for name in (name.partition(".")[0] for name in names):
                if name not in sys.stdlib_module_names and name != "clwe_jax":
                    found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def declared():
    """(distributions of the core, those of all extras)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = lambda lines: {
        re.split(r"[\[<>=;]", x)[0].strip().lower().replace("_", "-") for x in lines
    }
    extras = project["optional-dependencies"].values()
    return named(project["dependencies"]), set().union(*map(named, extras))


def distribution(module):
    return _BROUGHT.get(module, _NAMES.get(module, module)).lower().replace("_", "-")


def test_every_import_is_declared():
    core, extras = declared()
    absent = {
        x: where[:2] for x, where in imported(False).items() if distribution(x) not in core | extras
    }
    assert not absent


def test_the_core_imports_its_own_libraries_alone():
    core, _ = declared()
    graph = "clwe_jax/data/graph/"  # the tf.data graph, which needs the extra 'train'
    absent = {
        x: [path for path in where if not path.startswith(graph)][:2]
        for x, where in imported(True).items()
        if distribution(x) not in core
    }
    assert not {x: where for x, where in absent.items() if where}


def test_the_core_is_tried_on_every_python_that_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [x.rpartition(" ")[2] for x in project["classifiers"] if "Python :: 3." in x]
    script = (ROOT / ".ci" / "core").read_text(encoding="utf-8")
    assert "3.13" in declared and not [x for x in declared if f"python{x}" not in script]


def test_the_trial_of_the_core_calls_methods_that_models_have():
    script = (ROOT / ".ci" / "core").read_text(encoding="utf-8")
    called = set(re.findall(r"\b(?:model|read)\.(\w+)\(", script))
    assert "translate" in called and called <= set(dir(Model))

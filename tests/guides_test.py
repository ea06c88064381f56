"""README.md and the guides: their commands have known options, their snippets print what they show."""

import doctest
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from clwe_jax import __main__ as command, options
from clwe_jax.options import extras, shipped
from clwe_jax.options.systems import describe_options

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Options that make a run short; those of a language model are in tests/end_to_end_test.py.
SHORT = ["--config.data.pocket_sentences=800", "--config.evals.retrieval.max_sentences=100"]
SNIPPETS = ["--config.embeddings.dim=256", "--config.evals.bli.data="]
SHORT_STATIC = [
    "--config.embeddings.dim=20",
    "--config.embeddings.epochs=1",
    "--config.static.dictionary_dim=64",
]


def blocks(page):
    """(language, text) of the code blocks of a page."""
    return re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"))


def commands(page):
    """The words of each command of a page, comments and shell variables left out."""
    for language, text in blocks(page):
        if language == "bash":
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                for part in " ".join(map(shlex.quote, words)).split(" '&&' "):
                    yield shlex.split(part)


SYSTEMS = [
    pytest.param(words, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, words in enumerate(commands(page))
    if any(x.startswith("--config=") and "..." not in x for x in words)
]


@pytest.mark.parametrize("words", SYSTEMS)
def test_a_command_of_a_page_has_known_options(words, capsys):
    [config] = [x.partition("=")[2] for x in words if x.startswith("--config=")]
    run = options.parse(options.load(shipped.config_file(config)))
    known = {path for path, _, _ in describe_options(run)}
    for word in words:
        path = word.partition("=")[0].removeprefix("--config.")
        if word.startswith("--config.") and not path.startswith(("optimizer.groups", "evals.")):
            assert path in known, f"{config} has no option {path}"


def test_commands_of_the_pages_are_known():
    found = {words[1] for page in PAGES for words in commands(page) if words[:1] == ["clwe-jax"]}
    assert found & command.COMMANDS.keys() and len(SYSTEMS) > 20
    assert not {x for x in found if not x.startswith("-")} - command.COMMANDS.keys()


def test_the_readme_is_short_and_its_first_commands_install():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    first, second = next(commands(ROOT / "README.md")), "pip install -e '.[test]' && pytest"
    assert first == ["pip", "install", "-e", ".[train]"]
    assert f"\n{second}\n" in text and f"\n{second}\n" in (ROOT / ".ci" / "run").read_text() + "\n"


def checked(page, folder, monkeypatch):
    """Runs the snippets of a page in a folder; fails where they print something else."""
    monkeypatch.chdir(folder)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False)
    names, failures = {}, []
    for number, (language, text) in enumerate(blocks(page)):
        if language == "python" and ">>>" in text:
            test = parser.get_doctest(text, names, f"{page.name}, block {number}", None, 0)
            runner.run(test, out=failures.append, clear_globs=False)
            names |= test.globs
    assert runner.tries and not runner.failures, "".join(failures)


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """A folder with a short run of README's model."""
    folder = tmp_path_factory.mktemp("readme")
    program(folder, "--config=dictionary_vectors", *SHORT, *SNIPPETS)
    return folder


def program(folder, *arguments):
    """The output of clwe-jax in the core: as if the libraries of the extra 'train' were absent."""
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({sorted(extras.TRAIN)}))\n"
        "from clwe_jax.__main__ import entry; entry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        # The flags of the tests compile quickly what then runs slowly; this run has a real size.
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_the_snippets_of_the_readme(first, monkeypatch):
    checked(ROOT / "README.md", first, monkeypatch)


@pytest.mark.slow
def test_the_tutorial(first, tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "first").symlink_to(first / "runs" / "dictionary_vectors")
    page = ROOT / "docs" / "tutorial.md"
    for words in commands(page):
        if "--config=dictionary_vectors" in words:  # the run of `first`
            continue
        if words[0] == "clwe-jax":
            short = [*SHORT_STATIC, SHORT[1]] if "--config=joint_dictionary" in words else []
            shown = program(tmp_path, *words[1:], *short)
            assert "--dry_run" not in words or "writes nothing there" in shown
        elif words:
            done = subprocess.run(shlex.join(words).replace("'>'", ">"), shell=True, cwd=tmp_path)
            assert done.returncode == 0, words
    checked(page, tmp_path, monkeypatch)


@pytest.mark.skipif(
    importlib.util.find_spec("mkdocstrings") is None, reason="mkdocs: pip install -e '.[docs]'"
)
def test_the_site_is_built_without_a_warning(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", f"--site-dir={tmp_path}"],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "index.html").exists()
    remote = r'(?:src|href)="https?://[^"]*\.(?:js|css|woff2?)"'
    assert not re.search(remote, (tmp_path / "index.html").read_text(encoding="utf-8"))

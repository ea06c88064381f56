"""The command clwe-jax, and the files that come with the package."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import clwe_jax
from clwe_jax import __main__ as command
from clwe_jax import guide, listed
from clwe_jax.options import extras, shipped

ROOT = pathlib.Path(__file__).resolve().parents[1]


def clwe(*arguments, cwd=ROOT):
    return subprocess.run(
        [sys.executable, "-m", "clwe_jax", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_version_and_the_help():
    assert clwe("--version").stdout.strip() == f"clwe_jax {clwe_jax.__version__}"
    for arguments in ((), ("help",), ("--help",)):
        shown = clwe(*arguments)
        assert shown.returncode == 0
        assert all(f"clwe-jax {name}" in shown.stdout for name in command.COMMANDS)
    wrong = clwe("lst")
    assert wrong.returncode == 1 and "Did you mean 'list'?" in wrong.stderr


def test_every_command_is_a_module():
    for module, about in command.COMMANDS.values():
        path = ROOT.joinpath(*module.split("."))
        own = path.with_suffix(".py")
        assert own.exists() or (path / "__main__.py").exists(), module
        # Without this a command ends at once, and says nothing.
        assert not own.exists() or 'if __name__ == "__main__":' in own.read_text(), module
        assert about


@pytest.mark.parametrize(
    "name, expected", [("prepare", "Prepares batches once"), ("export", "Exports the model")]
)
def test_the_help_of_a_command_is_its_own(name, expected):
    assert clwe(name, "--help").stdout.strip().startswith(expected)


def test_prepare_refuses_a_negative_number_of_rows(tmp_path):
    said = clwe("prepare", "--config=mbert", f"--out={tmp_path}", "--rows=-5").stderr
    assert "flag --rows=-5: -5 is not a non-negative" in " ".join(said.split())


def test_the_list_has_every_config():
    names = {path.stem for path in (ROOT / "configs").glob("*.py")}
    shown = clwe("list").stdout.splitlines()
    assert all(len(line) <= 80 for line in listed.lines(80))
    groups: dict[str, list[str]] = {}
    for line in listed.lines(80)[1:]:
        if line.endswith(":"):
            group = groups.setdefault(line, [])
        elif line:
            group.append(line.split()[0])
    assert sorted(sum(groups.values(), [])) == sorted(names), "each config is in one group"
    assert "joint_dictionary" in groups["Vectors of words and sentences:"]
    assert {"warm_dict_mlm", "bi_saelmo"} <= set(groups["Language models:"])
    assert "xlm" in groups["Language models:"] and "laser" in groups["Translation:"]
    assert "(D1" not in "\n".join(shown)


def test_what_people_come_for_is_one_command_in_the_list_and_in_the_readme():
    shown = clwe("list").stdout
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for what, wanted in listed.WANTED.items():
        assert f"{what} " in shown and wanted in shown
        assert f"| {what} | `{wanted}` |" in readme
        named = re.search(r"--config=(\w+)", wanted)
        known = named[1] in shipped.configs() if named else wanted.split()[1] in command.COMMANDS
        assert known, wanted


def test_minutes_are_those_of_the_configs():
    minutes = json.loads((ROOT / "configs" / shipped.MINUTES).read_text())
    assert minutes.keys() <= shipped.configs().keys()
    assert all(0 < x["minutes"] < 600 and x["work"] >= 0 for x in minutes.values())


def test_a_config_of_the_package_is_found_from_any_folder(tmp_path, capsys):
    for name in ("dict_mlm_50", "configs/dict_mlm_50.py", "elsewhere/dict_mlm_50.py"):
        shown = clwe(f"--config={name}:small", "--help", cwd=tmp_path)
        assert "task.cross_lingual_share=0.5" in shown.stdout
        assert "config: dict_mlm_50 of clwe_jax" in shown.stderr
    own = tmp_path / "mbert.py"
    own.write_text((ROOT / "configs" / "dict_mlm_50.py").read_text())
    assert shipped.config_file(f"{own}:small") == f"{own}:small"
    assert not capsys.readouterr().err


def test_the_argument_of_config_is_replaced():
    path = shipped.folder("configs") / "mbert.py"
    assert shipped.with_config_file(["x", "--config=mbert", "--config.seed=1"]) == [
        "x",
        f"--config={path}",
        "--config.seed=1",
    ]
    assert shipped.with_config_file(["x", "--config", "mbert:base"])[2] == f"{path}:base"
    assert shipped.with_config_file(["x", "--out=mbert"]) == ["x", "--out=mbert"]
    with pytest.raises(ValueError, match="Did you mean 'mbert'"):
        shipped.with_config_file(["x", "--config=mbrt"])


def test_guides_are_shown():
    names = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert guide.titles().keys() == names and all(guide.titles().values())
    assert "senses" in clwe("guide", "senses").stdout.lower()
    assert "Did you mean 'vectors'?" in clwe("guide", "vector").stderr


def test_a_library_of_an_extra_is_named_with_its_command():
    with pytest.raises(ImportError) as caught:
        import seqio.absent  # noqa: F401
    assert "clwe_jax[train]" in extras.explain_error(caught.value)
    beam = ImportError("No module named 'apache_beam'", name="apache_beam.io")
    assert "clwe_jax[beam]" in extras.explain_error(beam)
    assert extras.explain_error(ImportError("other")) == "other"


def test_training_without_tensorflow_ends_in_one_line(tmp_path):
    code = (
        "import sys\n"
        "for name in ('tensorflow', 'seqio'): sys.modules[name] = None\n"
        f"sys.argv = ['clwe-jax', '--config=mbert', '--workdir={tmp_path}/run', "
        "'--config.data.languages=en,de', '--config.data.pocket_sentences=200']\n"
        "from clwe_jax.__main__ import entry; entry()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "error: this needs tensorflow" in done.stderr.splitlines()[-2]
    assert "pip install 'clwe_jax[train]'" in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["guide", "use"],
        ["--config=mbert", "--help"],
        ["data", "--help"],
        ["dictionary", "stats", "."],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_closed_pipe_ends_a_command_quietly(tmp_path, arguments, unbuffered):
    (tmp_path / "de-en.txt").write_text("a a\nb b\n")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "clwe_jax", *arguments],
        cwd=tmp_path,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
    )
    os.close(write)
    assert not [line for line in done.stderr.splitlines() if not line.startswith("config: ")]


def test_an_error_is_said_where_nobody_reads_the_output():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "clwe_jax", "guide", "vector"]
    done = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE, text=True)
    os.close(write)
    assert done.returncode == 1 and "Did you mean" in done.stderr

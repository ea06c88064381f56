"""Files of evaluations, found by their names."""

import re

import pytest

from clwe_jax.text.corpus import test_files

NAME = re.compile(r"([a-z]+)\.txt")


def find(folder, **options):
    matches = test_files.match_names(str(folder), NAME, "config.evals.x.data", "xx.txt", **options)
    return [match[1] for match in matches]


def test_names_are_sorted_and_others_ignored(tmp_path):
    for name in ("b.txt", "a.txt", "a.txt.bak", "README"):
        (tmp_path / name).write_text("")
    assert find(tmp_path) == ["a", "b"]


def test_errors_name_the_folder_and_the_option(tmp_path):
    for required in (True, False):
        with pytest.raises(FileNotFoundError, match=r"no .*\(config.evals.x.data\)"):
            find(tmp_path / "no", required=required)
    with pytest.raises(FileNotFoundError, match="Expected xx.txt there; --config.evals.x.data=''"):
        find(tmp_path)
    assert find(tmp_path, required=False) == []
    for name in ("a.tmx", "b.zip", "c.md", "d", "e"):
        (tmp_path / name).write_text("")
    with pytest.raises(FileNotFoundError, match="expected name; .*a.tmx, b.zip, c.md, d ... "):
        find(tmp_path)

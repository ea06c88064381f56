"""Files as a whole or not at all."""

import gzip
import os
import pathlib

import pytest

from clwe_jax import atomic


@pytest.mark.parametrize("content", ["Straße 銀行\r\n\n", b"\x00\xff\n"])
def test_content_is_written_byte_for_byte(tmp_path, content):
    path = tmp_path / "file"
    atomic.write(str(path), content)
    found = path.read_bytes()
    assert found == (content.encode("utf-8") if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["file"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path):
    path = tmp_path / "file.json"
    atomic.write_json(str(path), {"b": "銀行", "a": 1}, sort_keys=True)
    before = '{\n "a": 1,\n "b": "銀行"\n}'
    assert path.read_text(encoding="utf-8") == before
    with pytest.raises(TypeError):
        atomic.write_json(str(path), {"a": object()})
    with pytest.raises(UnicodeEncodeError):
        atomic.write(str(path), "\ud800")
    assert path.read_text(encoding="utf-8") == before


def test_a_failed_block_leaves_what_was_there_and_no_temporary_file(tmp_path):
    path = tmp_path / "file.txt"
    with atomic.writing(path, "w") as file:
        file.write("鐵\r\n")
    assert path.read_bytes() == "鐵\r\n".encode()
    with pytest.raises(KeyError), atomic.writing(path, "w") as file:
        file.write("half")
        raise KeyError
    assert path.read_bytes() == "鐵\r\n".encode() and os.listdir(tmp_path) == ["file.txt"]


def test_a_folder_is_there_as_a_whole_or_not_at_all(tmp_path):
    path = tmp_path / "above" / "folder"
    with pytest.raises(KeyError), atomic.making_folder(path) as folder:
        (pathlib.Path(folder) / "file").write_text("part")
        raise KeyError
    assert not list(path.parent.iterdir())
    with atomic.making_folder(path) as folder:
        (pathlib.Path(folder) / "file").write_text("first")
        assert not path.exists()
    with atomic.making_folder(path) as folder:  # a process that was slower
        (pathlib.Path(folder) / "file").write_text("second")
    assert (path / "file").read_text() == "first" and list(path.parent.iterdir()) == [path]


def test_the_cache_follows_the_environment(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert atomic.user_cache("pocket") == os.path.join("/cache", "clwe_jax", "pocket")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert atomic.user_cache() == os.path.expanduser(os.path.join("~", ".cache", "clwe_jax"))


def test_a_damaged_file_is_named_once_and_an_absent_one_stays_absent(tmp_path):
    path = tmp_path / "x.json"
    with pytest.raises(FileNotFoundError):
        atomic.read_json(path)
    path.write_text('{"a": 1}')
    with pytest.raises(ValueError, match=r"x.json is damaged: KeyError\('b'\)\. Delete it$"):
        with atomic.naming_damage(path, "Delete it"):
            atomic.read_json(path)["b"]
    path.write_text("{")
    with pytest.raises(ValueError, match="x.json is damaged: Expecting .*Delete it$") as raised:
        with atomic.naming_damage(path, "Delete it"):
            atomic.read_json(path)
    assert str(raised.value).count("is damaged") == 1


def test_an_error_of_the_system_is_no_damage(tmp_path):
    with pytest.raises(IsADirectoryError):
        atomic.read_json(tmp_path)
    (tmp_path / "x.gz").write_text("no gzip")  # its error is an OSError too
    with pytest.raises(ValueError, match="x.gz is damaged: Not a gzipped file"):
        with atomic.naming_damage(tmp_path / "x.gz"), gzip.open(tmp_path / "x.gz") as file:
            file.read()

"""The embedded world's files, made once for a user."""

import os
import pathlib
import time

import pytest

from clwe_jax import pocket
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.tasks import Tlm
from clwe_jax.options.text import BatchesOptions
from clwe_jax.text import pocket_files

LANGUAGES = ("de", "en")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "clwe_jax" / "pocket"


def config(count=50, among="", seed=3, parallel="pocket", **data):
    data = BatchesOptions(pocket_sentences=count, pocket_domains=among, **data)
    return PretrainRun(data=data, seed=seed, task=Tlm(parallel=parallel))


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def written(tmp_path):
    """The same files, as the embedded world writes them without a cache."""
    folder = tmp_path / "expected"
    pocket.write_corpus(folder / "text", LANGUAGES, 50, 3)
    pocket.write_dictionaries(folder / "dictionaries", LANGUAGES)
    pocket.write_retrieval(folder / "retrieval", LANGUAGES)
    pocket.write_bli(folder / "bli", LANGUAGES)
    pocket.write_parallel(folder / "parallel", LANGUAGES, 12, 4)
    return contents(folder)


def test_the_files_are_those_of_the_embedded_world_with_and_without_the_cache(
    tmp_path, written, cache, monkeypatch
):
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "first"))
    assert contents(tmp_path / "first") == written
    monkeypatch.setattr(pocket, "write_corpus", None)  # a second call would fail
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "second"))
    assert contents(tmp_path / "second") == written
    assert len(list(cache.iterdir())) == 6 and not list(cache.glob("*.tmp"))


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, written, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "run"))
    assert contents(tmp_path / "run") == written


def test_edited_files_of_a_run_leave_the_cache_as_it_is(tmp_path, written):
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "first"))
    with open(tmp_path / "first" / "text" / "de.txt", "a", encoding="utf-8") as file:
        file.write("ein Satz\n")
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "second"))
    assert contents(tmp_path / "second") == written


def test_a_run_that_comes_back_gets_the_files_that_it_lacks(tmp_path, written):
    """A finish on pairs needs them in a folder that was written without; the others stay as they are."""
    folder = tmp_path / "run"
    pocket_files.write(config(parallel=""), LANGUAGES, str(folder))
    assert not (folder / "parallel").exists()
    (folder / "text" / "de.txt").write_text("ein Satz\n")
    pocket_files.write(config(), LANGUAGES, str(folder))
    assert contents(folder) == written | {"text/de.txt": b"ein Satz\n"}


def test_a_folder_whose_writing_was_interrupted_is_written_again(tmp_path, written, monkeypatch):
    folder = tmp_path / "run"
    copy = pocket_files.shutil.copyfileobj
    copied = []

    def stopped(source, target):
        if len(copied) == 1:  # the second of two files of text
            raise KeyboardInterrupt
        copied.append(copy(source, target))

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pocket_files.shutil, "copyfileobj", stopped)
        pocket_files.write(config(), LANGUAGES, str(folder))
    pocket_files.write(config(), LANGUAGES, str(folder))
    assert contents(folder) == written


def test_shared_lines_come_with_their_gold(tmp_path, cache, monkeypatch):
    monkeypatch.setattr(pocket_files, "_SEVERAL", 1)  # in processes beside
    monkeypatch.setattr(pocket_files.os, "cpu_count", lambda: 2)
    shared = dict(pocket_shared=0.2, pocket_shared_order="scattered")
    pocket_files.write(config(parallel="", **shared), ("en", "de"), str(tmp_path / "run"))
    shared = pocket.Shared(0.2, "scattered")
    pocket.write_corpus(tmp_path / "expected" / "text", LANGUAGES, 50, 3, (), shared)
    pocket.write_shared(tmp_path / "expected" / "shared", LANGUAGES, 50, 3, (), shared)
    expected = contents(tmp_path / "expected")
    assert list(expected) == ["shared/de-en.tsv", "text/de.txt", "text/en.txt"]
    assert expected.items() <= contents(tmp_path / "run").items()
    assert len(list(cache.iterdir())) == 6


OTHERS = [
    dict(count=51),
    dict(seed=4),
    dict(among="money"),
    dict(pocket_shared=0.1),
    dict(pocket_apart=True),
]


@pytest.mark.parametrize("other", OTHERS)
def test_other_parameters_have_files_of_their_own(tmp_path, other):
    pocket_files.write(config(), LANGUAGES, str(tmp_path / "first"))
    pocket_files.write(config(**other), LANGUAGES, str(tmp_path / "second"))
    one, two = (tmp_path / run / "text" / "de.txt" for run in ("first", "second"))
    assert one.read_bytes() != two.read_bytes()


def test_the_order_of_shared_lines_has_files_of_its_own():
    one, two = (
        pocket_files.file_jobs(config(pocket_shared=0.1, pocket_shared_order=order), LANGUAGES)
        for order in ("documents", "scattered")
    )
    assert not {x.cache_folder for x in one[:3]} & {x.cache_folder for x in two[:3]}
    assert [x.folder for x in one[:4]] == ["text", "text", "shared", "dictionaries"]


def test_other_code_has_files_of_its_own(monkeypatch):
    part = pocket_files.FileJob("write_bli", (LANGUAGES,), "bli")
    before = part.cache_folder
    monkeypatch.setattr(pocket_files, "_code", lambda: "other")
    assert part.cache_folder != before


def test_processes_beside_write_the_same_files(tmp_path, written, monkeypatch):
    monkeypatch.setattr(pocket_files, "_SEVERAL", 1)
    monkeypatch.setattr(pocket_files.os, "cpu_count", lambda: 2)
    made = []
    monkeypatch.setattr(pocket_files, "keep", lambda part: made.append(part.function))
    part = pocket_files.file_jobs(config(among="money"), LANGUAGES)[0]
    pocket_files._keep_beside([part])
    assert os.listdir(part.cache_folder) == ["de.txt"] and not made
    pocket.write_corpus(tmp_path / "expected_money", ["de"], 50, 3, ("money",))
    expected = (tmp_path / "expected_money" / "de.txt").read_bytes()
    assert pathlib.Path(part.cache_folder, "de.txt").read_bytes() == expected


def test_an_unknown_domain_is_named(tmp_path, cache):
    with pytest.raises(ValueError, match="nowhere"):
        pocket_files.write(config(among="nowhere"), LANGUAGES, str(tmp_path / "run"))
    assert not list(cache.iterdir())


def test_an_unknown_language_is_named(tmp_path, cache):
    with pytest.raises(ValueError, match="does not speak 'xx'"):
        pocket_files.write(config(), ("de", "xx"), str(tmp_path / "run"))


def test_the_parts_used_least_recently_make_room(cache):
    now = time.time()
    for name, age in (("a", 30), ("b", 10), ("c", 20), ("d.tmp", 5), ("e.tmp", 200_000)):
        (cache / name).mkdir(parents=True)
        (cache / name / "file").write_bytes(bytes(100))
        os.utime(cache / name, (now - age, now - age))
    pocket_files.trim(200)
    assert sorted(path.name for path in cache.iterdir()) == ["b", "c", "d.tmp"]


def test_a_part_whose_deletion_was_interrupted_is_no_part(cache, monkeypatch):
    (cache / "a").mkdir(parents=True)
    (cache / "a" / "file").write_bytes(bytes(100))

    def stopped(folder, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pocket_files.shutil, "rmtree", stopped)
        pocket_files.trim(0)
    [left] = cache.iterdir()
    assert left.suffix == ".tmp"
    os.utime(left, (0, 0))  # a day later
    pocket_files.trim(0)
    assert not list(cache.iterdir())

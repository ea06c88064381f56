"""Results that are kept in files: made once, made again when that is right, refused otherwise."""

import errno
import json
import os

import pytest

from clwe_jax.cached import CachedResult, claim


class Counter:
    """A result whose making is counted."""

    def __init__(self, folder):
        self.path, self.calls = str(folder / "kept" / "result.json"), 0

    def __call__(self, made_with, otherwise="", save=None, stamps={}, required=True):
        def make():
            self.calls += 1
            return {"call": self.calls}

        given = {"stamps": stamps} | ({"save": save} if save else {})
        given |= {"otherwise": otherwise, "required": required}
        return CachedResult(self.path, made_with, make, **given).result()


@pytest.fixture
def counted(tmp_path):
    return Counter(tmp_path)


def test_it_is_made_once(counted):
    options = {"widths": (1, 2), "seed": 0}  # tuples come back from JSON as lists
    assert counted(options) == counted(options) == {"call": 1}


def test_with_other_options_it_is_made_again(counted):
    counted({"seed": 0})
    assert counted({"seed": 1}) == {"call": 2}
    assert counted({"seed": 0}) == {"call": 3}


def test_with_other_options_it_is_refused_where_it_is_dear(counted):
    counted({"seed": 0})
    with pytest.raises(ValueError, match=r"result.json.*seed: 0 -> 1"):
        counted({"seed": 1}, otherwise="Give another folder")
    assert counted({"seed": 0}, otherwise="Give another folder") == {"call": 1}


def test_of_other_files_it_is_made_again_or_refused(counted):
    counted({"seed": 0}, stamps={"de.txt": "1 a", "en.txt": "1 b"})
    assert counted({"seed": 0}, stamps={"de.txt": "1 a", "en.txt": "1 b"}) == {"call": 1}
    changed = {"de.txt": "1 c", "fr.txt": "1 b"}
    with pytest.raises(ValueError, match=r"result.json .* de.txt, en.txt, fr.txt\. .*Delete"):
        counted({"seed": 0}, otherwise="Delete it", stamps=changed)
    assert (
        counted({"seed": 0}, stamps=changed) == {"call": 2} == counted({"seed": 0}, stamps=changed)
    )


def test_a_result_of_a_release_without_stamps_is_read_with_a_warning(counted, said):
    counted({"seed": 0})
    found = counted({"seed": 0}, otherwise="Delete it", stamps={"de.txt": "1 a"})
    assert found == {"call": 1} and "result.json" in said.text


@pytest.mark.parametrize("ending", ["", ".made_with.json"])
def test_a_damaged_file_is_made_again(counted, ending):
    counted({"seed": 0})
    with open(counted.path + ending, "w") as file:
        file.write("{")
    assert counted({"seed": 0}) == {"call": 2} == counted({"seed": 0})


def test_a_file_that_was_not_finished_is_not_taken_for_another(counted):
    """Stopped while a new result takes the place of another, neither is taken for the other."""
    counted({"seed": 0})

    def stopped(value, path):
        with open(path, "w") as file:
            json.dump(value, file)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        counted({"seed": 1}, save=stopped)
    assert os.path.exists(counted.path)
    assert counted({"seed": 0}) == {"call": 3}


def test_where_nothing_can_be_written_it_is_an_error_or_not_kept(counted):
    def fail(result, path):
        raise PermissionError(f"{path} is read-only")

    with pytest.raises(PermissionError, match="read-only"):
        counted({"seed": 0}, save=fail)
    assert counted({"seed": 0}, save=fail, required=False) == {"call": 2}
    assert counted({"seed": 0}) == {"call": 3}


def test_a_result_of_other_options_is_not_stored(counted):
    counted({"seed": 0})
    stored = [CachedResult(counted.path, {"seed": x}, counted).read_stored() for x in (0, 1)]
    assert stored == [{"call": 1}, None]


def test_a_claimed_folder_stays_with_its_options(tmp_path):
    folder, options = tmp_path / "seed0", {"widths": (1, 2)}
    claim(str(folder), options)
    (folder / "checkpoint").touch()
    claim(str(folder), options)
    assert (folder / "checkpoint").exists()
    claim(str(folder), {"widths": (1, 3)})
    assert not (folder / "checkpoint").exists()
    (folder / "checkpoint").touch()
    (folder / "made_with.json").unlink()  # a folder that nobody has claimed
    claim(str(folder), {"widths": (1, 3)})
    assert not (folder / "checkpoint").exists()


@pytest.mark.parametrize("unreadable", [OSError(errno.EIO, "Input/output error"), None])
def test_a_training_whose_record_cannot_be_read_stays(tmp_path, monkeypatch, unreadable):
    folder = tmp_path / "seed0"
    claim(str(folder), {"seed": 0})
    (folder / "checkpoint").touch()

    def fail(*args, **options):
        raise unreadable

    (folder / "made_with.json").write_text("{")  # damaged, where it can be read
    with monkeypatch.context() as patch, pytest.raises((OSError, ValueError)):
        if unreadable:
            patch.setattr("builtins.open", fail)
        claim(str(folder), {"seed": 0})
    assert (folder / "checkpoint").exists()


def test_a_result_that_cannot_be_read_is_an_error_or_made_again(counted, monkeypatch):
    counted({"seed": 0})

    def fail(path, *args, **options):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", fail)
        with pytest.raises(PermissionError):
            counted({"seed": 0})
        assert counted({"seed": 0}, required=False) == {"call": 2}

"""Words with vectors: rows, parts, and the file that is mapped into memory."""

import dataclasses
import os
import zipfile

import numpy as np
import pytest

from clwe_jax.embeddings import vectors as stored
from clwe_jax.embeddings.vectors import Vectors


def sample(counts=True) -> Vectors:
    random = np.random.default_rng(0)
    words = ["haus", "straße", "東京", "a b", "x"]
    numbers = random.standard_normal((5, 3)).astype(np.float32)
    occurrences = np.array([9, 7, 5, 3, 1]) if counts else None
    return Vectors(words, numbers, occurrences, {"duplicates": 2}, {"duplicates": "f:3: haus"})


def test_rows_of_words():
    vectors = sample()
    assert vectors.rows(["東京", "nowhere", "haus"]).tolist() == [2, -1, 0]
    assert vectors.index["straße"] == 1
    # Of a word that stands twice the first counts.
    assert Vectors(["a", "b", "a"], np.zeros((3, 1), np.float32)).index["a"] == 0


def test_take_and_top_keep_words_vectors_and_counts_together():
    vectors = sample()
    taken = vectors.take([3, 0])
    assert taken.words == ["a b", "haus"] and taken.counts.tolist() == [3, 9]
    np.testing.assert_array_equal(taken.vectors, vectors.vectors[[3, 0]])
    top = vectors.top(2)
    assert top.words == ["haus", "straße"] and top.counts.tolist() == [9, 7]
    assert top.vectors.base is not None  # no copy
    assert vectors.top(9) is vectors and vectors.top(None) is vectors


@pytest.mark.parametrize("counts", [True, False])
def test_saved_and_loaded_alike(tmp_path, counts):
    vectors, path = sample(counts), str(tmp_path / "v.npz")
    vectors.save(path, {"source": [1, 2]})
    found, about = stored.load(path)
    assert found.words == vectors.words and about["source"] == [1, 2]
    assert found.report == vectors.report and found.examples == vectors.examples
    np.testing.assert_array_equal(found.vectors, vectors.vectors)
    if counts:
        np.testing.assert_array_equal(found.counts, vectors.counts)
    else:
        assert found.counts is None
    # Mapped, at an address that vector instructions like; and any reader of .npz reads it.
    assert isinstance(found.vectors.base, np.memmap) and not found.vectors.flags.writeable
    assert found.vectors.base.offset % 64 == 0
    with np.load(path) as plain:
        np.testing.assert_array_equal(plain["vectors"], vectors.vectors)


def test_vectors_in_float16_take_half_the_file_and_are_mapped_on_request(tmp_path):
    whole, path = sample(), str(tmp_path / "v.npz")
    dataclasses.replace(whole, vectors=whole.vectors.astype(np.float16)).save(path)
    mapped, _ = stored.load(path, narrow=True)
    assert isinstance(mapped.vectors.base, np.memmap) and mapped.vectors.dtype == np.float16
    read = Vectors.load(path)
    assert read.vectors.dtype == np.float32
    np.testing.assert_array_equal(read.vectors, whole.vectors.astype(np.float16))


def test_npz_of_other_makers(tmp_path):
    path = str(tmp_path / "other.npz")
    numbers = np.arange(6, dtype=np.float64).reshape(3, 2)
    np.savez_compressed(path, words=np.array(["a", "ü", "c"]), vectors=numbers)
    found = Vectors.load(path)
    assert found.words == ["a", "ü", "c"] and found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors, numbers)


def test_byte_strings_of_another_program_are_read_as_utf8(tmp_path):
    path = str(tmp_path / "other.npz")
    words = ["haus", "tür", "река"]
    np.savez(path, words=np.char.encode(words, "utf-8"), vectors=np.eye(3))
    assert Vectors.load(path).words == words
    np.savez(path, words=np.array([b"t\xfcr"]), vectors=np.eye(1))
    assert Vectors.load(path).words == ["t\ufffdr"]


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = str(tmp_path / "v.npz")
    sample().save(path)
    monkeypatch.setattr(np.lib.format, "write_array", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        sample().take([0]).save(path)
    assert os.listdir(tmp_path) == ["v.npz"] and len(Vectors.load(path)) == 5


def test_damaged_and_foreign_files_are_named(tmp_path):
    path = tmp_path / "v.npz"
    sample().save(str(path))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"v\.npz"):
        Vectors.load(str(path))
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(ValueError, match=r"v\.npz"):
        Vectors.load(str(path))
    np.savez(path, weights=np.zeros(3))
    with pytest.raises(ValueError, match=r"v\.npz .*expected arrays words and vectors.*weights"):
        Vectors.load(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "nothing")
    with pytest.raises(ValueError, match=r"v\.npz"):
        Vectors.load(str(path))


def test_numbers_of_words_and_vectors_must_agree():
    with pytest.raises(ValueError, match=r"2 words and vectors of shape \(3, 4\)"):
        Vectors(["a", "b"], np.zeros((3, 4), np.float32))
    with pytest.raises(ValueError, match="1 words and 2 counts"):
        Vectors(["a"], np.zeros((1, 4), np.float32), np.array([1, 2]))

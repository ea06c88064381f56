"""The file of a run's measurements."""

import zipfile

import numpy as np
import pytest

from clwe_jax.compare import measured
from clwe_jax.compare.measured import Measured, PartOutcomes


def test_a_damaged_file_is_named(tmp_path):
    path = str(tmp_path / "measured.npz")
    items = PartOutcomes(np.zeros((1, 500, 3), np.int32), np.arange(500), np.arange(500))
    made = Measured({"a": 1.0}, {"x/de": items}, {})
    made.save(path)
    assert measured.load(path).figures == {"a": 1.0}
    with open(path, "rb") as file:
        whole = file.read()
    with zipfile.ZipFile(path) as packed:
        place = packed.getinfo("x/de/counts.npy").header_offset
    for damaged in (
        b"",
        b"no archive",
        whole[:-30],
        whole[: place + 60] + b"\xff" * 9 + whole[place + 69 :],
    ):
        with open(path, "wb") as file:
            file.write(damaged)
        with pytest.raises(ValueError, match="measured.npz is damaged"):
            measured.load(path)

"""Weights from files: what a pickle may hold, and files that are damaged."""

import io
import os
import pathlib
from pickle import GLOBAL, REDUCE, _Pickler
import zipfile

import numpy as np
import pytest
from safetensors.numpy import save_file

from clwe_jax.interop import arrays


class Named:
    """A name in a pickle, called with arguments, as PyTorch's own pickles have them."""

    def __init__(self, module, name, *arguments):
        self.call = (module, name), arguments

    def __reduce__(self):
        return stand_in, self.call


def stand_in(*_):
    raise AssertionError("no pickle calls this")


class Pickler(_Pickler):
    """Writes the names of other programs' classes, without those programs."""

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, Named):
            (module, name), arguments = obj.call
            self.write(GLOBAL + f"{module}\n{name}\n".encode())
            if arguments:
                super().save(arguments)
                self.write(REDUCE)
            return
        super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        return obj.key if isinstance(obj, Storage) else None


class Storage:
    def __init__(self, kind, name, size, what="storage", **view):
        self.key = (what, Named("torch", kind), name, "cpu", size, *view.values())


def tensor(kind, name, size, shape, stride, offset=0, **what):
    return Named(
        "torch._utils",
        "_rebuild_tensor_v2",
        Storage(kind, name, size, **what),
        offset,
        shape,
        stride,
        False,
        Named("collections", "OrderedDict"),
    )


def write(folder, value, data, order=b"little"):
    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(value)
    path = pathlib.Path(folder) / "pytorch_model.bin"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", buffer.getvalue())
        archive.writestr("archive/byteorder", order)
        for name, array in data.items():
            archive.writestr(f"archive/data/{name}", array.tobytes())
    return path


def write_old(path, value, data, little=True):
    """As PyTorch before 1.6, which `torch.save` still does on demand."""
    with open(path, "wb") as file:
        for part in (arrays._MAGIC, 1001, {"little_endian": little}, value, list(data)):
            Pickler(file, 2).dump(part)
        for array in data.values():
            file.write(len(array).to_bytes(8, "little") + array.tobytes())
    return path


NUMBERS = np.arange(12, dtype=np.float32)


def test_a_pickle_of_tensors(tmp_path):
    value = {
        "whole": tensor("FloatStorage", "0", 12, (3, 4), (4, 1)),
        "turned": tensor("FloatStorage", "0", 12, (4, 3), (1, 4)),
        "part": tensor("HalfStorage", "1", 4, (2,), (1,), offset=2),
        "ids": tensor("LongStorage", "2", 2, (2,), (1,)),
        "one": tensor("FloatStorage", "0", 12, (), (), offset=5),
    }
    data = {"0": NUMBERS, "1": np.array([1, 2, 3, 4], np.float16), "2": np.array([7, 8])}
    write(tmp_path, value, data)
    found = arrays.read(str(tmp_path))
    np.testing.assert_array_equal(found["whole"], NUMBERS.reshape(3, 4))
    np.testing.assert_array_equal(found["turned"], NUMBERS.reshape(3, 4).T)
    np.testing.assert_array_equal(found["part"], [3, 4])
    assert found["part"].dtype == np.float32 and found["ids"].tolist() == [7, 8]
    assert found["one"] == 5 and found["one"].shape == ()


@pytest.mark.parametrize(
    "value, message",
    [
        ({"a": Named("os", "getcwd", "x")}, "it calls os.getcwd, which is no tensor"),
        ({"a": Named("builtins", "eval", "1")}, "it calls builtins.eval"),
        ({"a": Named("torch", "load", "x")}, "it calls torch.load"),
        ({"a": Named("torch", "FloatStorage", 1)}, "is refused"),
        ({"a": 3}, "no dictionary of tensors"),
        ([1], "no dictionary of tensors"),
        ({"a": tensor("FloatStorage", "9", 12, (3, 4), (4, 1))}, "is refused.*data/9"),
        ({"a": tensor("FloatStorage", "0", 99, (3, 4), (4, 1))}, "data/0 is cut short"),
        ({"a": tensor("FloatStorage", "0", 12, (4, 4), (4, 1))}, "outside its data"),
        ({"a": tensor("FloatStorage", "0", 12, (3, 4), (-4, 1))}, "outside its data"),
        ({"a": tensor("FloatStorage", "0", 12, (3,), (1,), offset=-2)}, "outside its data"),
        ({"a": tensor("FloatStorage", "0", 12, (3,), (1,), what="module")}, "holds 'module'"),
    ],
)
def test_other_pickles_are_refused(value, message, tmp_path):
    write(tmp_path, value, {"0": NUMBERS})
    with pytest.raises(ValueError, match=f"pytorch_model.bin.*{message}"):
        arrays.read(str(tmp_path))


def test_nothing_in_a_pickle_runs(tmp_path):
    target = tmp_path / "made"
    write(tmp_path, {"a": Named("os", "mkdir", str(target))}, {})
    with pytest.raises(ValueError, match="it calls os.mkdir"):
        arrays.read(str(tmp_path))
    assert not target.exists()


def test_files_that_are_cut_short(tmp_path):
    path = write(tmp_path, {"a": tensor("FloatStorage", "0", 12, (12,), (1,))}, {"0": NUMBERS})
    os.truncate(path, path.stat().st_size - 30)
    with pytest.raises(ValueError, match="PyTorch"):
        arrays.read(str(tmp_path))
    path = tmp_path / "model.safetensors"
    save_file({"a": NUMBERS}, str(path))
    assert arrays.read(str(tmp_path))["a"].tolist() == NUMBERS.tolist()
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(ValueError, match="model.safetensors"):
        arrays.read(str(tmp_path))


def test_a_file_of_old_pytorch(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    value = {
        "whole": tensor("FloatStorage", "a", 12, (3, 4), (4, 1), view=None),
        "part": tensor("FloatStorage", "a", 12, (2,), (1,), offset=2, view=None),
        "ids": tensor("LongStorage", "b", 2, (2,), (1,), view=None),
    }
    data = {"b": np.array([7, 8]), "a": NUMBERS}
    write_old(path, value, data)
    found = arrays.read(str(tmp_path))
    np.testing.assert_array_equal(found["whole"], NUMBERS.reshape(3, 4))
    assert found["part"].tolist() == [2, 3] and found["ids"].tolist() == [7, 8]
    write_old(path, {"n": 3, "of": {"a": True}, "x": value["ids"]}, {"b": data["b"]})
    found = arrays.unpickle(str(path))
    assert found["n"] == 3 and found["of"] == {"a": True} and found["x"].tolist() == [7, 8]


@pytest.mark.parametrize(
    "value, message",
    [
        ({"a": Named("os", "getcwd", "x")}, "it calls os.getcwd, which is no tensor"),
        ({"a": tensor("FloatStorage", "9", 12, (12,), (1,), view=None)}, "is refused"),
        ({"a": tensor("FloatStorage", "0", 10**15, (12,), (1,), view=None)}, "0 is cut short"),
        ({"a": tensor("FloatStorage", "0", 12, (13,), (1,), view=None)}, "outside its data"),
    ],
)
def test_old_files_that_are_refused(value, message, tmp_path):
    path = write_old(tmp_path / "pytorch_model.bin", value, {"0": NUMBERS})
    with pytest.raises(ValueError, match=f"pytorch_model.bin.*{message}"):
        arrays.read(str(tmp_path))
    good = {"a": tensor("FloatStorage", "0", 12, (12,), (1,), view=None)}
    write_old(path, good, {"0": NUMBERS}, little=False)
    with pytest.raises(ValueError, match="big-endian"):
        arrays.read(str(tmp_path))
    write_old(path, good, {"0": NUMBERS})
    os.truncate(path, path.stat().st_size - 4)
    with pytest.raises(ValueError, match="0 is cut short"):
        arrays.read(str(tmp_path))


def test_big_endian_numbers_and_absent_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="expected model.safetensors or pytorch_model.bin"):
        arrays.read(str(tmp_path))
    write(tmp_path, {"a": tensor("FloatStorage", "0", 12, (12,), (1,))}, {"0": NUMBERS}, b"big")
    with pytest.raises(ValueError, match="big-endian"):
        arrays.read(str(tmp_path))


def test_bfloat16_in_safetensors(tmp_path):
    import ml_dtypes

    save_file({"a": NUMBERS.astype(ml_dtypes.bfloat16)}, str(tmp_path / "model.safetensors"))
    found = arrays.read(str(tmp_path))["a"]
    assert found.dtype == np.float32 and found.tolist() == NUMBERS.tolist()


def test_numbers_of_eight_bits_are_refused(tmp_path):
    import ml_dtypes

    save_file({"a": NUMBERS.astype(ml_dtypes.float8_e4m3fn)}, str(tmp_path / "model.safetensors"))
    with pytest.raises(ValueError, match="model.safetensors .*bfloat16"):
        arrays.read(str(tmp_path))


def test_weights_that_are_no_numbers_are_refused(tmp_path):
    broken = np.where(NUMBERS == NUMBERS.max(), np.nan, NUMBERS).astype(np.float32)
    save_file({"fine": NUMBERS, "broken": broken}, str(tmp_path / "model.safetensors"))
    with pytest.raises(ValueError, match="broken"):
        arrays.read(str(tmp_path))

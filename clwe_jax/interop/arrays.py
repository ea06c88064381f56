"""Reads the weights of PyTorch models by name: safetensors, and pickles of tensors.

A pickle is a program. The unpickler here knows seven names, those of tensors and their containers,
and refuses a file that calls anything else.
"""

from __future__ import annotations

import collections
import json
import os
from pickle import PROTO, Unpickler, UnpicklingError
from typing import IO, Any, Callable, Mapping
import zipfile

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, safe_open

SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"  # suffix of the list of the parts of large weights
_DTYPES = {
    "FloatStorage": np.dtype(np.float32),
    "DoubleStorage": np.dtype(np.float64),
    "HalfStorage": np.dtype(np.float16),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "LongStorage": np.dtype(np.int64),
    "IntStorage": np.dtype(np.int32),
    "BoolStorage": np.dtype(np.bool_),
    "ByteStorage": np.dtype(np.uint8),
}
_MAGIC = 0x1950A86A20F9469CFC6C  # begins a file of PyTorch before 1.6
# Errors of an instruction of a pickle that is used on something else than a tensor.
_WRONG = (KeyError, IndexError, ValueError, TypeError, AttributeError)


def read(directory: str) -> dict[str, np.ndarray]:
    """The arrays in a folder, by name; floating-point numbers as float32.

    Args:
      directory: the folder, with model.safetensors or pytorch_model.bin, or with their parts and
        the list of parts (model.safetensors.index.json).

    Raises:
      FileNotFoundError: the folder has no weights, or a part is missing.
      ValueError: a file is damaged or cut short, holds a number that is none (NaN), or a pickle
        holds more than tensors.
    """
    for name, reader in ((SAFETENSORS, _safetensors), (PICKLE, _read_pickle)):
        path = os.path.join(directory, name)
        if os.path.exists(path):
            return {key: _float32(array, key, path) for key, array in reader(path).items()}
        if os.path.exists(path + INDEX):
            arrays: dict[str, np.ndarray] = {}
            for part in _parts(path + INDEX):
                arrays |= {k: _float32(array, k, part) for k, array in reader(part).items()}
            return arrays
    raise FileNotFoundError(
        f"{directory} has no weights: expected {SAFETENSORS} or {PICKLE}, as "
        "model.save_pretrained of transformers writes them"
    )


def _float32(array: np.ndarray, name: str, path: str) -> np.ndarray:
    floating = np.issubdtype(array.dtype, np.floating) or array.dtype == ml_dtypes.bfloat16
    if not floating:
        return array
    array = array.astype(np.float32, copy=False)
    refuse_nan(array, name, path)
    return array


def refuse_nan(array: np.ndarray, name: str, path: str) -> None:
    """Raises ValueError if a tensor of a file has a value that is no number."""
    if np.isnan(array).any():
        raise ValueError(
            f"{path} is refused: the tensor {name} has values that are no numbers (NaN); its training "
            "failed, or the file is damaged"
        )


def _parts(path: str) -> list[str]:
    """The files that an index names."""
    try:
        with open(path, encoding="utf-8") as file:
            names = sorted(set(json.load(file)["weight_map"].values()))
    except (ValueError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {error!r}") from error
    paths = [os.path.join(os.path.dirname(path), os.path.basename(name)) for name in names]
    for part in paths:
        if not os.path.exists(part):
            raise FileNotFoundError(f"{path} names {os.path.basename(part)}, which is absent")
    return paths


def _safetensors(path: str) -> dict[str, np.ndarray]:
    try:
        with safe_open(path, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}
    except (SafetensorError, OSError, ValueError) as error:
        raise ValueError(
            f"{path} is damaged or cut short ({error}): copy it again, all "
            f"{os.path.getsize(path):,} bytes and more"
        ) from error
    except (AttributeError, TypeError) as error:  # of a type by its name, such as float8_e4m3fn
        raise ValueError(
            f"{path} is refused: NumPy lacks the type of its numbers ({error}); save the model in "
            "float32, float16 or bfloat16"
        ) from error


def _read_pickle(path: str) -> dict[str, np.ndarray]:
    tensors = unpickle(path)
    if not isinstance(tensors, Mapping) or not all(
        isinstance(key, str) and isinstance(value, np.ndarray) for key, value in tensors.items()
    ):
        raise ValueError(f"{path} is refused: it holds no dictionary of tensors by name")
    return dict(tensors)


def unpickle(path: str) -> Any:
    """Tensors, containers and numbers that `torch.save` has written, before and since PyTorch 1.6.

    Raises:
      ValueError: the file is damaged, cut short, or holds more than these.
    """
    try:
        return (_read_archive if zipfile.is_zipfile(path) else _read_stream)(path)
    except (zipfile.BadZipFile, UnpicklingError, EOFError, OverflowError, *_WRONG) as error:
        raise ValueError(
            f"{path} is refused: {error}. Expected a dictionary of tensors by name; save the model "
            f"as {SAFETENSORS} if you trust the file"
        ) from error


def _read_archive(path: str) -> Any:
    with zipfile.ZipFile(path) as archive:
        [name] = [x for x in archive.namelist() if x.endswith("/data.pkl")]
        folder = name.removesuffix("data.pkl")
        if f"{folder}byteorder" in archive.namelist():
            order = archive.read(f"{folder}byteorder")
            if order != b"little":
                raise ValueError(f"its numbers are {order.decode()}-endian")

        def read_storage(key: str, dtype: np.dtype, size: int) -> np.ndarray:
            array = np.frombuffer(archive.read(f"{folder}data/{key}"), dtype)
            if len(array) < size:
                raise UnpicklingError(f"the tensor data/{key} is cut short")
            return array

        with archive.open(name) as file:
            return _Tensors(file, read_storage).load()


def _read_stream(path: str) -> Any:
    """Before PyTorch 1.6: four pickles, the last one of the model; the keys of its data; the data."""
    end = os.path.getsize(path)
    with open(path, "rb") as file:
        if file.read(1) != PROTO or file.seek(0) or _Tensors(file, None).load() != _MAGIC:
            raise UnpicklingError("it is cut short, or was not written by PyTorch")
        _Tensors(file, None).load()  # the version of the format
        if not _Tensors(file, None).load().get("little_endian", True):
            raise ValueError("its numbers are big-endian")
        start = file.tell()
        kinds = {}

        def size_storage(key: str, dtype: np.dtype, size: int) -> np.ndarray:
            if not 0 <= size * dtype.itemsize <= end:
                raise UnpicklingError(f"the tensor {key} is cut short")
            kinds[key] = dtype
            return np.zeros(size, dtype)

        _Tensors(file, size_storage).load()  # the data's types, which its bytes do not say
        storages = {}
        for key in _Tensors(file, None).load():
            size = int.from_bytes(file.read(8), "little")
            data = file.read(min(size, end) * kinds[key].itemsize)
            if len(data) != size * kinds[key].itemsize:
                raise UnpicklingError(f"the tensor {key} is cut short")
            storages[key] = np.frombuffer(data, kinds[key])
        file.seek(start)
        return _Tensors(file, lambda key, dtype, size: storages[key]).load()


class _Tensors(Unpickler):
    """Reads tensors as arrays, and refuses everything else."""

    def __init__(self, file: IO[bytes], stored: Callable[[str, np.dtype, int], np.ndarray] | None):
        """`stored`: function of a key, a type and a number of values to the values; None: no tensors."""
        super().__init__(file)
        self._stored = stored

    def find_class(self, module: str, name: str) -> Any:
        allowed = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _parameter,
            **{("torch", kind): kind for kind in _DTYPES},
        }
        if (module, name) not in allowed:
            raise UnpicklingError(f"it calls {module}.{name}, which is no tensor")
        return allowed[module, name]

    def persistent_load(self, key: Any) -> np.ndarray:
        kind, storage_type, name, _, size, *view = key
        if kind != "storage" or storage_type not in _DTYPES or any(view) or self._stored is None:
            raise UnpicklingError(f"it holds {kind!r}, which is no tensor")
        return self._stored(name, _DTYPES[storage_type], size)


def _tensor(storage: np.ndarray, offset: int, size: Any, stride: Any, *_: Any) -> np.ndarray:
    """`torch._utils._rebuild_tensor_v2`: a view of a storage, copied."""
    size = tuple(map(int, size))
    stride = tuple(map(int, stride))
    last = int(offset) + sum((n - 1) * step for n, step in zip(size, stride))
    if offset < 0 or len(size) != len(stride) or min((0, *stride)) < 0 or last >= len(storage):
        if 0 not in size:
            raise UnpicklingError(f"a tensor of the sizes {size} is outside its data")
        return np.zeros(size, storage.dtype)
    strides = tuple(step * storage.dtype.itemsize for step in stride)
    return np.lib.stride_tricks.as_strided(storage[int(offset) :], size, strides).copy()


def _parameter(tensor: np.ndarray, *_: Any) -> np.ndarray:
    """`torch._utils._rebuild_parameter`: its tensor."""
    return tensor

"""A mapping whose values are made when they are asked for."""

from __future__ import annotations

from typing import Callable, Iterable, Iterator, Mapping, TypeVar

T = TypeVar("T")


class LazyVectors(Mapping[str, T]):
    """Values that are too large to be held together: each access makes its value again."""

    def __init__(self, keys: Iterable[str], make: Callable[[str], T]) -> None:
        """Args:
        keys: the keys, in their order.
        make: key -> its value.
        """
        self._keys = dict.fromkeys(keys)
        self._make = make

    def __getitem__(self, key: str) -> T:
        if key not in self._keys:
            raise KeyError(key)
        return self._make(key)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

"""Results that a run computes once and keeps in files for its next start."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from typing import Any, Callable, Generic, Mapping, TypeVar

from absl import logging

from clwe_jax import atomic, options

T = TypeVar("T")
RECORD = ".made_with.json"  # end of the name of the record beside a result


@dataclasses.dataclass(frozen=True)
class CachedResult(Generic[T]):
    """A result in a file, beside a record of the options that it was made with.

    The record is written last: a file without a record is made again.

    Attributes:
      path: path of the file; the record is `path` + `RECORD`.
      made_with: the options that the result depends on and that may change between two starts;
        values that JSON can hold.
      save: function save(result, path) that writes it.
      load: function that reads it and raises ValueError for a damaged file.
      otherwise: advice in the error for a file made with other options; '': no error, such a file
        is made again.
    """

    path: str
    made_with: Mapping[str, Any]
    make: Callable[[], T]
    save: Callable[[T, str], None]
    load: Callable[[str], T]
    otherwise: str = ""

    def result(self) -> T:
        """The result in the file if it was made with `made_with`, else a new result, saved there.

        Raises:
          ValueError: the file was made with other options, and `otherwise` is not empty.
        """
        wanted = json.loads(json.dumps(dict(self.made_with)))
        record = self.path + RECORD
        try:
            with open(record, encoding="utf-8") as file:
                stored = json.load(file)
            if stored == wanted:
                result = self.load(self.path)
                logging.info("%s was made before", self.path)
                return result
        except FileNotFoundError:
            stored = wanted
        except ValueError as error:
            logging.warning("%s: %s; it is made again", self.path, error)
            stored = wanted
        if stored != wanted and self.otherwise:
            changed = "; ".join(options.differences(stored, wanted))
            raise ValueError(f"{self.path} was made with other options: {changed}. {self.otherwise}")
        result = self.make()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(record)  # an interruption while saving must not leave the old record
        self.save(result, self.path)
        atomic.write_json(record, wanted)
        return result

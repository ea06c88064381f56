"""Results that are computed once, kept in a file, and used again by the next start."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from typing import Any, Callable, Generic, Mapping, TypeVar

from absl import logging

from clwe_jax import atomic
from clwe_jax import config as options

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Kept(Generic[T]):
    """A result in a file, beside a record of the options that it was made with.

    The record is written last: a file without its record is made again.

    Attributes:
      path: the file; the record is `path` + '.made_with.json'.
      made_with: JSON-able, all that the result depends on and that may change between two starts.
      make: computes the result.
      save: writes it: save(result, path).
      load: reads it; raises ValueError where the file is damaged.
      otherwise: advice for a file that was made with other options, which is then an error; '':
        such a file is made again.
    """

    path: str
    made_with: Mapping[str, Any]
    make: Callable[[], T]
    save: Callable[[T, str], None]
    load: Callable[[str], T]
    otherwise: str = ""

    def result(self) -> T:
        """The result of the file where it fits `made_with`, else a new one, which is kept there.

        Raises:
          ValueError: the file was made with other options, and `otherwise` says what to do.
        """
        wanted = json.loads(json.dumps(dict(self.made_with)))
        record = f"{self.path}.made_with.json"
        try:
            with open(record, encoding="utf-8") as file:
                found = json.load(file)
            if found == wanted:
                result = self.load(self.path)
                logging.info("%s was made before", self.path)
                return result
        except FileNotFoundError:
            found = wanted
        except ValueError as error:
            logging.warning("%s: %s; it is made again", self.path, error)
            found = wanted
        if found != wanted and self.otherwise:
            changed = "; ".join(options.differences(found, wanted))
            raise ValueError(f"{self.path} was made with other options: {changed}. {self.otherwise}")
        result = self.make()
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(record)  # it says nothing of the new file, were this stopped before the next line
        self.save(result, self.path)
        atomic.write_json(record, wanted)
        return result

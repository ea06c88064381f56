"""Results that a run computes once and keeps in files for its next start."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
from typing import Any, Callable, Generic, Mapping, TypeVar

from absl import logging

from clwe_jax import atomic, options

T = TypeVar("T")
RECORD = ".made_with.json"  # end of the name of the record beside a result
_STAMPS = "stamps"  # key of the record for the stamps of files
_NAMED = 3  # changed files that a message names
_CLAIM = "made_with.json"  # the record in the folder of a training


@dataclasses.dataclass(frozen=True)
class CachedResult(Generic[T]):
    """A result in a file, beside a record of the options that it was made with.

    The record is written last: a file without a record is made again.

    Attributes:
      path: path of the file; the record is `path` + `RECORD`.
      made_with: the options that the result depends on and that may change between two starts;
        values that JSON can hold.
      make: function that makes the result, which is not None.
      save: function save(result, path) that writes it; JSON where it is not given.
      load: function that reads it and raises ValueError for a damaged file.
      otherwise: advice in the error for a file made with other options; '': no error, such a file
        is made again.
      stamps: name -> `text.stamps.stamp` of each file that the result was made of, {} for none. A
        result of an earlier release, whose record has none, is read with a warning.
      required: whether a folder that cannot be written to is an error; else the result is not kept.
    """

    path: str
    made_with: Mapping[str, Any]
    make: Callable[[], T]
    save: Callable[[T, str], None] = lambda result, path: atomic.write_json(path, result)
    load: Callable[[str], T] = atomic.read_json
    otherwise: str = ""
    stamps: Mapping[str, str] = dataclasses.field(default_factory=dict)
    required: bool = True

    def result(self) -> T:
        """The result in the file if it was made with `made_with` and `stamps`, else a new one, saved there.

        Raises:
          ValueError: the file was made with other options or of other files, and `otherwise` is not
            empty.
          OSError: it cannot be read or written, and is required.
        """
        result = self.read_stored()
        if result is None:
            result = self.make()
            try:
                self._write(result)
            except OSError as error:
                if self.required:
                    raise
                logging.info("%s is not kept: %s", self.path, error)
        return result

    def _write(self, result: T) -> None:
        """Writes the file, and then its record."""
        record = self.path + RECORD
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            os.remove(record)  # an interruption while saving must not leave the old record
        self.save(result, self.path)
        stamps = {_STAMPS: dict(self.stamps)} if self.stamps else {}
        atomic.write_json(record, {**self.made_with, **stamps})

    def read_stored(self) -> T | None:
        """The result in the file if it was made with `made_with` and `stamps`, else None.

        Raises:
          ValueError, OSError: as of `result`.
        """
        # Tuples come back from JSON as lists: compared as they are, the two would differ.
        new_record = _from_json(self.made_with)
        names = []
        try:
            old_record = atomic.read_json(self.path + RECORD)
            stamps = old_record.pop(_STAMPS, None)
            if stamps is not None:
                names = sorted({name for name, _ in stamps.items() ^ self.stamps.items()})
            if old_record == new_record and not names:
                result = self.load(self.path)
                logging.info("%s was made before", self.path)
                if stamps is None and self.stamps:
                    logging.warning(
                        "%s is of an earlier release: whether the text and the dictionaries that it "
                        "was made of have changed since is not known",
                        self.path,
                    )
                return result
        except FileNotFoundError:
            old_record = new_record
        except (ValueError, OSError) as error:
            if isinstance(error, OSError) and self.required:
                raise
            logging.warning("%s: %s; it is made again", self.path, error)
            old_record = new_record
        if old_record != new_record and self.otherwise:
            changes = "; ".join(options.differences(old_record, new_record))
            raise ValueError(
                f"{self.path} was made with other options: {changes}. {self.otherwise}"
            )
        if names and self.otherwise:
            raise ValueError(
                f"{self.path} was made before these files changed: {', '.join(names[:_NAMED])}"
                f"{', ...' if len(names) > _NAMED else ''}. Bring the old ones back. {self.otherwise}"
            )
        return None


def claim(folder: str, made_with: Mapping[str, Any]) -> None:
    """Makes the folder of a training, which resumes by itself; removes that of other options.

    Of a record that is damaged or cannot be read the error is raised, and the folder stays.
    """
    record = os.path.join(folder, _CLAIM)
    with contextlib.suppress(FileNotFoundError):
        if atomic.read_json(record, f"Delete {folder} to train again") == _from_json(made_with):
            return
    if os.path.isdir(folder):
        logging.info("%s was made with other options; it is made again", folder)
        shutil.rmtree(folder)
    os.makedirs(folder)
    atomic.write_json(record, dict(made_with))


def _from_json(values: Mapping[str, Any]) -> Any:
    """Values as a JSON file gives them back."""
    return json.loads(json.dumps(dict(values)))

"""Downloads files into a folder; an interrupted transfer continues where it stopped.

Here too: the public MUSE dictionaries (Conneau et al. 2017, Word Translation Without Parallel Data),
which are licensed CC BY-NC 4.0: not for commercial use. `text.data` has the other sets.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import pathlib
import socket
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Mapping, Sequence

from absl import logging
import pooch

from clwe_jax import atomic

ADDRESS = "https://dl.fbaipublicfiles.com/arrival/dictionaries/"
LICENCE = "The MUSE dictionaries are licensed CC BY-NC 4.0: not for commercial use."
MANIFEST = "manifest.json"
_EUROPEAN = "de en es fr it pt".split()
_OTHERS = (
    "af ar bg bn bs ca cs da el et fa fi he hi hr hu id ja ko lt lv mk ms nl no pl ro ru sk sl sq sv ta th "
    "tl tr uk vi zh"
).split()
# MUSE counts 110: these, and English to itself twice.
PAIRS = tuple(
    list(map("-".join, itertools.permutations(_EUROPEAN, 2)))
    + [f"en-{other}" for other in _OTHERS]
    + [f"{other}-en" for other in _OTHERS]
)
_BLOCK = 1 << 16
_NAMES = pathlib.Path(__file__).parents[1] / "data_names.tsv"


@functools.cache
def names_of(data_set: str) -> dict[str, str]:
    """Our name of each language or translation of a set -> the set's name, such as 'ar' -> 'Arabic-PADT' in 'ud'."""
    rows = (row.split("\t") for row in _NAMES.read_text(encoding="utf-8").splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3 and row[0] == data_set}


def download(
    directory: str,
    pairs: Sequence[str] = PAIRS,
    *,
    splits: bool = False,
    address: str = ADDRESS,
    attempts: int = 5,
    timeout: float = 60.0,
) -> list[str]:
    """Downloads MUSE's dictionaries into a directory; a second call continues an interrupted one.

    Args:
      directory: destination folder, which is created if it is missing.
      pairs: language pairs such as 'en-de'.
      splits: whether to download the training and test splits too, `xx-yy.0-5000.txt` and
        `xx-yy.5000-6500.txt`.
      address, attempts, timeout: as of `download_files`.

    Returns:
      The names of the files, all of which are now complete.

    Raises:
      ValueError, OSError: as of `download_files`.
    """
    ends = (".txt", ".0-5000.txt", ".5000-6500.txt") if splits else (".txt",)
    names = list(map("".join, itertools.product(pairs, ends)))
    download_files(directory, names, address=address, attempts=attempts, timeout=timeout)
    return names


def download_files(
    directory: str,
    names: Sequence[str],
    *,
    address: str,
    sums: Mapping[str, str] = {},
    attempts: int = 5,
    timeout: float = 60.0,
) -> None:
    """Downloads files into a directory; complete files in it are not downloaded again.

    A file is transferred into `NAME.part`, which the next attempt or the next call continues. Its
    size is checked against the size that the server names. Its SHA-256 is checked against `sums`, or
    against DIRECTORY/manifest.json ({"NAME": {"size": bytes, "sha256": hex}}) if the manifest lists
    the file; otherwise the file is added to the manifest, so that a second copy of the directory can
    be checked against the first.

    Args:
      directory: destination folder, which is created if it is missing.
      names: names of the files there and here.
      address: URL of the folder that holds the files, with a slash at the end.
      sums: name of a file -> its SHA-256 in hexadecimal digits, where it is known.
      attempts: maximum number of attempts per file; each continues the one before.
      timeout: seconds without a byte after which an attempt fails.

    Raises:
      ValueError: a file differs from its SHA-256.
      OSError: a file could not be downloaded; its first part is kept.
    """
    os.makedirs(directory, exist_ok=True)
    manifest = _read_manifest(directory)
    for number, name in enumerate(names, 1):
        path = os.path.join(directory, name)
        sha256 = sums.get(name) or manifest.get(name, {}).get("sha256")
        digest = _digest(path) if os.path.exists(path) else ""
        if digest and (not sha256 or digest == sha256):
            # Without a sum an earlier call stopped before it wrote the manifest, or a user copied the
            # file here.
            logging.info("%s exists", path)
        else:
            logging.info("%d/%d %s%s", number, len(names), address, name)
            try:
                _fetch(address + urllib.parse.quote(name), path, attempts, timeout, sha256)
            except ValueError as error:
                if name in sums:
                    raise
                raise ValueError(
                    f"{error}. If the server has a new version, remove the file's entry from "
                    f"{os.path.join(directory, MANIFEST)}"
                ) from error
            digest = _digest(path)
        entry = {"size": os.path.getsize(path), "sha256": digest}
        if manifest.get(name) != entry:
            manifest[name] = entry
            atomic.write_json(os.path.join(directory, MANIFEST), manifest, sort_keys=True)


def _fetch(url: str, path: str, attempts: int, timeout: float, sha: str | None) -> None:
    """Fetches a file; pooch checks its SHA-256 and puts it in its place."""

    def resume_transfer(url: str, output: str, _: object) -> None:
        # pooch's own transfer would start over from the first byte.
        _transfer(url, f"{path}.part", attempts, timeout)
        os.replace(f"{path}.part", output)

    folder, name = os.path.split(path)
    pooch.get_logger().setLevel("WARNING")
    try:
        pooch.retrieve(url, sha and f"sha256:{sha}", name, folder, downloader=resume_transfer)
    except ValueError as error:
        raise ValueError(
            f"{url} differs in SHA-256 from the sum that is known of it: the transfer damaged it, or "
            "another file is there now"
        ) from error


def _transfer(url: str, part: str, attempts: int, timeout: float) -> None:
    for attempt in range(1, attempts + 1):
        try:
            _fetch_once(url, part, timeout)
            return
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise OSError(f"{url}: the server answers {error.code} {error.reason}") from error
            failure: Exception = error
        except urllib.error.URLError as error:
            if isinstance(error.reason, socket.gaierror):
                raise OSError(
                    f"{url}: there is no network, or no such server ({error.reason}). Fetch the file on "
                    f"another machine and put it at {part.removesuffix('.part')}: the same command takes "
                    "it from there"
                ) from error
            failure = error
        except (OSError, ValueError) as error:
            failure = error
        if attempt == attempts:
            raise OSError(
                f"{url}: {attempts} attempts failed, the last with: {failure}. Run the same "
                "command again: it continues where this one stopped"
            ) from failure
        logging.warning("%s: %s; trying again", url, failure)
        time.sleep(min(2.0**attempt * 0.1, 10.0))


def _fetch_once(url: str, part: str, timeout: float) -> None:
    """Appends the missing bytes to `part`.

    Raises:
      OSError, ValueError: the transfer stopped, or the size differs from the server's.
    """
    offset = os.path.getsize(part) if os.path.exists(part) else 0
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    request = urllib.request.Request(url, headers=headers)
    try:
        answer = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # no byte follows: the part is complete, or belongs to another file
            size = _total(error.headers.get("Content-Range"))
            if size == offset:
                return
            os.remove(part)
            raise ValueError(f"{part} had {offset:,} bytes of {size}; it is removed") from error
        raise
    with answer:
        resumed = answer.status == 206
        length = answer.headers.get("Content-Length")
        size = _total(answer.headers.get("Content-Range")) if resumed else None
        if size is None and length is not None:
            size = int(length) + (offset if resumed else 0)
        with open(part, "ab" if resumed else "wb") as file:
            while block := answer.read(_BLOCK):
                file.write(block)
    byte_count = os.path.getsize(part)
    if size is not None and byte_count != size:
        if byte_count > size:
            os.remove(part)
        raise ValueError(f"got {byte_count:,} bytes of {size:,}")


def _total(content_range: str | None) -> int | None:
    """The size of the whole file that a Content-Range header names."""
    total = (content_range or "").rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_manifest(directory: str) -> dict[str, dict[str, object]]:
    path = os.path.join(directory, MANIFEST)
    if not os.path.exists(path):
        return {}
    return atomic.read_json(path, "Remove it to create it again")

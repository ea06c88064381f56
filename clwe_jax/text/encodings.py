"""The encoding of text that is not UTF-8: what `iconv` must be told."""

from __future__ import annotations

import codecs
from typing import Sequence

import charset_normalizer

_MARKS = (
    # UTF-32's mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_MANY_NULLS = 0.2  # share of null bytes that only letters of 16 or 32 bits have
_MOSTLY_NULLS = 0.6  # share of null bytes in ASCII text with 32 bits a letter
# Python's names of the encodings in which text is found -> iconv's.
_ENCODINGS = {
    "cp1252": "WINDOWS-1252",
    "cp1250": "WINDOWS-1250",
    "cp1254": "WINDOWS-1254",
    "cp1251": "WINDOWS-1251",
    "koi8_u": "KOI8-U",
    "cp866": "CP866",
    "iso8859_5": "ISO-8859-5",
    "cp1253": "WINDOWS-1253",
    "cp1255": "WINDOWS-1255",
    "cp1256": "WINDOWS-1256",
    "tis_620": "TIS-620",
    "gb18030": "GB18030",
    "big5": "BIG5",
    "euc_jp": "EUC-JP",
    "cp932": "CP932",
    "cp949": "CP949",
}
_COMMON = "cp1252"


def name_wide(data: bytes) -> str:
    """The encoding of 16 or 32 bits a letter in which a file begins; '' for another one."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return name
    nulls = data.count(0)
    if nulls <= _MANY_NULLS * len(data):
        return ""
    if nulls > _MOSTLY_NULLS * len(data):
        return "UTF-32BE" if data[0] == 0 else "UTF-32LE"
    # The second byte of an ASCII letter is null where the lower byte comes first.
    return "UTF-16LE" if data[1::2].count(0) > data[::2].count(0) else "UTF-16BE"


def guess(lines: Sequence[bytes]) -> str:
    """iconv's name of the encoding in which lines make the most plausible text.

    Args:
      lines: lines that are not UTF-8.
    """
    # ASCII is the same in all of them; beside English words Cyrillic ones look like Polish.
    words = [word for word in b" ".join(lines).split() if not word.isascii()]
    matches = charset_normalizer.from_bytes(b" ".join(words), cp_isolation=list(_ENCODINGS))
    best = max(
        matches,
        # German or French text is as plausible in the encoding of central Europe.
        key=lambda x: (-x.chaos, x.coherence, _COMMON in x.could_be_from_charset),
        default=None,
    )
    if best is None or _COMMON in best.could_be_from_charset:
        return _ENCODINGS[_COMMON]
    return _ENCODINGS.get(best.encoding, _ENCODINGS[_COMMON])

"""Languages, sizes and files that follow from the options of a run."""

from __future__ import annotations

import math
import os
import pathlib
import re
from typing import Sequence

from clwe_jax.options.systems import Run
from clwe_jax.options.text import BatchesOptions

# Tables over the vocabulary have a multiple of this many rows, so that devices divide them evenly.
PAD_ROWS_TO = 128

# The languages of multilingual BERT as Wikipedia codes: 103 codes for its 104 languages, because
# simplified and traditional Chinese share one Wikipedia.
MBERT_LANGUAGES = (
    "af,an,ar,ast,az,azb,ba,bar,be,bg,bn,bpy,br,bs,ca,ce,ceb,cs,cv,cy,da,de,el,en,es,et,eu,fa,fi,"
    "fr,fy,ga,gl,gu,he,hi,hr,ht,hu,hy,id,io,is,it,ja,jv,ka,kk,kn,ko,ky,la,lb,lmo,lt,lv,mg,min,mk,"
    "ml,mn,mr,ms,my,nds,ne,new,nl,nn,no,oc,pa,pl,pms,pnb,pt,ro,ru,scn,sco,sh,sk,sl,sq,sr,su,sv,sw,"
    "ta,te,tg,th,tl,tr,tt,uk,ur,uz,vi,vo,war,yo,zh"
)


def languages(config: Run) -> tuple[str, ...]:
    """`config.data.languages` as a tuple.

    Raises:
      ValueError: no language, one named twice, or one with capitals or a hyphen.
    """
    names = tuple(name.strip() for name in config.data.languages.split(",") if name.strip())
    if not names:
        raise ValueError(
            "config.data.languages is empty. Give two or more, e.g. --config.data.languages=en,de"
        )
    for name in names:
        if name != name.lower():
            raise ValueError(
                f"config.data.languages={config.data.languages}: write codes in lower case, "
                f"--config.data.languages={','.join(names).lower()}"
            )
        if "-" in name:
            # Names of pairs, in files and figures, are cut at the hyphen.
            raise ValueError(
                f"config.data.languages={config.data.languages}: {name!r} has a hyphen, which stands "
                f"between the languages of a pair, as in en-de: give it and its files a code without one, such as yue for zh-yue"
            )
        if names.count(name) > 1:
            raise ValueError(f"config.data.languages names {name!r} twice: {config.data.languages}")
    return names


def named_files(names: str) -> list[tuple[str, str]]:
    """(language or '', path) of each file of 'de=FILE,en=FILE' or 'FILE,FILE'.

    The path of a file that is there may hold the two marks itself; a comma only where it is the one file.
    """
    parts = [names] if os.path.isfile(names) else [part.strip() for part in names.split(",")]
    files = []
    for part in filter(None, parts):
        language, equals, path = part.partition("=")
        is_path = not equals or os.path.isfile(part)
        files.append(("", part) if is_path else (language.strip(), path))
    return files


def list_files(names: str) -> list[str]:
    """The files that an option names: those of a folder, or FILE,...; [] for 'pocket'."""
    if os.path.isdir(names):
        paths = sorted(map(str, pathlib.Path(names).rglob("*")))
    else:
        paths = [path for _, path in named_files(names)]
    return list(filter(os.path.isfile, paths))


def vector_files(
    names: str, among: Sequence[str], option: str, others: Sequence[str] = ()
) -> dict[str, str]:
    """Language -> file of vectors.

    Args:
      names: as of `named_files`; of a file without a language, a part of its name is one: 'wiki.de.vec'.
      among: the run's languages.
      others: languages that a file may also have, where its name has none of the run's.
      option: the option that names the files, for messages.

    Raises:
      ValueError: a file of no language of the run, or two of one.
    """
    files: dict[str, str] = {}
    known = [*among, *others]
    for code, path in named_files(names):
        parts = re.split(r"[._-]", os.path.basename(path))
        parts.sort(key=lambda part: part not in among)
        language = code or next((part for part in parts if part in known), "")
        if language not in known or language in files:
            why = "names a language twice" if language in files else "is in none of the languages"
            name = f"{code}={path}" if code else path
            raise ValueError(
                f"{option}: {name!r} {why} ({', '.join(known[:8])}{', ...' if known[8:] else ''}). Expected "
                "one file a language, as de=FILE,en=FILE or wiki.de.vec,wiki.en.vec"
            )
        files[language] = path
    return files


def max_predictions(data: BatchesOptions) -> int:
    """Most masked pieces of a row: the option, or a fifth of its length as a multiple of four."""
    return data.max_predictions or 4 * math.ceil(data.sequence_length / 20)


def padded_rows(words: int) -> int:
    """Rows of a table over a vocabulary of `words` words: the next multiple of `PAD_ROWS_TO`."""
    return -(-words // PAD_ROWS_TO) * PAD_ROWS_TO

"""Fetches public data for a run: clwe-jax data SET --languages=de,es,en [--out=DIR].

Files of Tatoeba are checked against known SHA-256 sums. For the other sets the first fetch keeps the sums, and later
ones are checked against them. An interrupted transfer resumes. The command prints the licence of the set.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import os
import pathlib
import sys
import tarfile
import zlib
from typing import Callable, Iterable, Mapping, Sequence

from absl import logging

from clwe_jax import atomic, terminal
from clwe_jax.text import ebible
from clwe_jax.text.corpus import download
from clwe_jax.text.dictionary import wiktionary
from clwe_jax.text.words import languages as language_codes

# The commit of LASER's repository that has the files of tatoeba.sha256.
_TATOEBA = (
    "https://raw.githubusercontent.com/facebookresearch/LASER/74bc6ae7ffb7cba670fe0f428d0ede9f666fb821/"
    "data/tatoeba/v1/"
)
_SUMS = pathlib.Path(__file__).parent / "tatoeba.sha256"
_FLORES = "https://dl.fbaipublicfiles.com/nllb/"
_ARCHIVE = "flores200_dataset.tar.gz"
_PARTS = ("dev", "devtest")  # of FLORES-200
_NTREX = "https://raw.githubusercontent.com/MicrosoftTranslator/NTREX/main/NTREX-128/"
_NEWS = "newstest2019"
_SENTENCES = "sentences"  # of SIB-200, for retrieval
_SIB200 = "https://raw.githubusercontent.com/dadelani/sib-200/main/data/annotated/"
# The last state with files of two columns; the newest releases are rows of JSON at another host.
_GATITOS = (
    "https://raw.githubusercontent.com/google-research/url-nlp/"
    "3622039cf51f7eeffa58b957332a8e8c337981d7/gatitos/"
)
_UD = "https://raw.githubusercontent.com/UniversalDependencies/UD_{}/r2.14/"


@dataclasses.dataclass(frozen=True)
class Set:
    """A public set of files.

    Attributes:
      fetch: fetches the files of some languages into a folder; raises as of `download.download_files`.
      use: (folder, languages) -> the options that read it.
      show: prints what there is, for --languages=list; None: the set has no such list.
    """

    about: str
    licence: str
    fetch: Callable[[str, Sequence[str]], object]
    use: Callable[[str, Sequence[str]], str]
    show: Callable[[str], None] | None = None


def _tatoeba(out: str, languages: Sequence[str]) -> None:
    sums = dict(line.split() for line in _SUMS.read_text(encoding="utf-8").splitlines())
    codes = {name.split(".")[1].removesuffix("-eng") for name in sums}
    names = []
    for three in _find_names(languages, codes, "Tatoeba's test set").values():
        names += [f"tatoeba.{three}-eng.{three}", f"tatoeba.{three}-eng.eng"]
    download.download_files(out, names, address=_TATOEBA, sums=sums)


def _muse(out: str, languages: Sequence[str]) -> None:
    codes = set().union(*(pair.split("-") for pair in download.PAIRS))
    chosen = _find_names(languages, codes, "MUSE").values()
    pairs = [x for x in download.PAIRS if set(x.split("-")) <= {*chosen, "en"}]
    download.download(out, pairs, splits=True)


def _flores(out: str, languages: Sequence[str]) -> None:
    download.download_files(out, [_ARCHIVE], address=_FLORES)
    path = os.path.join(out, _ARCHIVE)
    try:
        _unpack_flores(path, out, languages)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is damaged ({error}): delete it and {os.path.join(out, download.MANIFEST)}, and fetch it again"
        ) from error


def _unpack_flores(path: str, out: str, languages: Sequence[str]) -> None:
    with tarfile.open(path) as archive:
        texts: dict[str, dict[str, tarfile.TarInfo]] = {}  # als_Latn -> part -> file
        for member in archive.getmembers():
            name, _, part = os.path.basename(member.name).partition(".")
            if part in _PARTS and member.isfile() and "_" in name:
                texts.setdefault(name, {})[part] = member
        names = _find_names(languages, texts, "FLORES-200", english=True)
        for language, name in names.items():
            for part in _PARTS:
                if part not in texts[name]:
                    raise ValueError(f"{path} has no {part} of {name}: fetch it again")
                content = archive.extractfile(texts[name][part]).read()
                atomic.write(os.path.join(out, f"{part}.{language}"), content)


def _ntrex(out: str, languages: Sequence[str]) -> None:
    names = download.names_of("ntrex")
    for language, name in _find_names(languages, names, "NTREX-128", english=True).items():
        served = f"{_NEWS}-{'src' if name == 'eng' else 'ref'}.{names[name]}.txt"
        _fetch_as({served: f"{_NEWS}.{language}"}, _NTREX, out, "")


def _sib200(out: str, languages: Sequence[str]) -> None:
    chosen = _find_names(languages, download.names_of("sib200"), "SIB-200", english=True)
    for language, name in chosen.items():
        names = {f"{part}.tsv": f"{language}.{part}.tsv" for part in ("train", "dev", "test")}
        _fetch_as(names, f"{_SIB200}{name}/", out, name)
        sentences: dict[int, str] = {}
        for part_name in names.values():
            with open(os.path.join(out, part_name), encoding="utf-8", newline="") as file:
                sentences |= {
                    int(x["index_id"]): x["text"] for x in csv.DictReader(file, dialect="excel-tab")
                }
        # In the order of their ids the sentences of all languages translate each other.
        lines = [f"{' '.join(sentences[number].split())}\n" for number in sorted(sentences)]
        atomic.write(os.path.join(out, f"{_SENTENCES}.{language}"), "".join(lines).encode())


def _gatitos(out: str, languages: Sequence[str]) -> None:
    names = download.names_of("gatitos")
    for language, name in _find_names(languages, names, "GATITOS").items():
        _fetch_as({f"en_{names[name]}.tsv": f"en-{language}.txt"}, _GATITOS, out, "")


def _fetch_as(names: Mapping[str, str], address: str, out: str, folder: str) -> None:
    """Fetches files into a folder of `out/served`, and copies them to `out` under our names."""
    served = os.path.join(out, "served", folder)
    download.download_files(served, list(names), address=address)
    for name, our_name in names.items():
        atomic.write(os.path.join(out, our_name), pathlib.Path(served, name).read_bytes())


def _use_sib200(out: str, languages: Sequence[str]) -> str:
    chosen = list(_find_names(languages, download.names_of("sib200"), "SIB-200", True))
    trained = "en" if "en" in chosen else chosen[0]
    return (
        f"--config=configs/classify_topics.py --config.transfer.train={trained}:{out}/{trained}.train.tsv "
        f"--config.transfer.tests={out}, or --config.evals.retrieval.data={out}/{_SENTENCES}"
    )


def _ud(out: str, languages: Sequence[str]) -> None:
    for language in _find_names(
        languages, download.names_of("ud"), "this list of treebanks", True
    ).values():
        start = _treebank(language)
        address = _UD.format(download.names_of("ud")[language])
        names = [f"{start}-ud-{part}.conllu" for part in ("train", "dev", "test")]
        download.download_files(out, names, address=address)
        licences = os.path.join(out, "licences", start)
        download.download_files(licences, ["LICENSE.txt"], address=address)


def _treebank(language: str) -> str:
    """The beginning of the names of a treebank's files, such as en_ewt."""
    treebank = download.names_of("ud")[language]
    return f"{language}_{treebank.partition('-')[2].lower()}"


def _use_ud(out: str, languages: Sequence[str]) -> str:
    names = list(
        _find_names(languages, download.names_of("ud"), "this list of treebanks", True).values()
    )
    source = "en" if "en" in names else names[0]
    return (
        f"--config=configs/finetune_pos.py --config.transfer.train={source}:{out}/{_treebank(source)}"
        f"-ud-train.conllu --config.transfer.tests={out}"
    )


def _use_ebible(out: str, languages: Sequence[str]) -> str:
    codes = dict.fromkeys(language_codes.code_of(x[:3]) for x in languages)  # engwebp: English
    return f"--config=configs/bible.py:small --config.data.pairs={out} --config.data.languages={','.join(codes)}"


SETS: Mapping[str, Set] = {
    "tatoeba": Set(
        "up to 1,000 sentences with their English translations, 112 languages (Artetxe, Schwenk 2019)",
        "Sentences of tatoeba.org: CC BY 2.0 FR.",
        _tatoeba,
        lambda out, _: f"--config.evals.retrieval.data={out}",
    ),
    "muse": Set(
        "dictionaries with English, and between de en es fr it pt, with their test words",
        download.LICENCE,
        _muse,
        lambda out, _: f"--config.data.dictionaries={out} --config.evals.bli.data={out}",
    ),
    "wiktionary": Set(
        "dictionaries with English that were made from Wiktionary, many languages",
        "Wiktionary's words: CC BY-SA.",
        wiktionary.download_languages,
        lambda out, _: f"--config.data.dictionaries={out}",
    ),
    "gatitos": Set(
        "4,000 frequent English words and phrases in 173 languages of little text (Jones et al. 2023)",
        "GATITOS: CC BY 4.0.",
        _gatitos,
        lambda out, _: f"--config.data.dictionaries={out}",
    ),
    "flores": Set(
        "FLORES-200: 2,009 sentences in 204 languages (NLLB Team 2022)",
        "FLORES-200: CC BY-SA 4.0.",
        _flores,
        lambda out, _: f"--config.evals.retrieval.data={out}/devtest",
    ),
    "ntrex": Set(
        "NTREX-128: 1,997 sentences of English news in 122 languages (Federmann et al. 2022)",
        "NTREX-128: CC BY-SA 4.0.",
        _ntrex,
        lambda out, _: f"--config.evals.retrieval.data={out}/{_NEWS}",
    ),
    "sib200": Set(
        "SIB-200: 1,004 of FLORES' sentences in 205 languages, and their topics (Adelani et al. 2024)",
        "SIB-200: Apache-2.0; its sentences, FLORES-200's: CC BY-SA 4.0.",
        _sib200,
        _use_sib200,
    ),
    "ebible": Set(
        "a Bible, or part of one, in each of 1,000 languages (eBible.org, BibleNLP's corpus); --languages=list",
        "Each translation has its own licence, many non-commercial: DIR/licences.tsv.",
        ebible.fetch,
        _use_ebible,
        ebible.show,
    ),
    "ud": Set(
        "words with their parts of speech: a treebank of Universal Dependencies 2.14 a language",
        "Each treebank has its own licence (most CC BY-SA 4.0, some non-commercial): DIR/licences/.",
        _ud,
        _use_ud,
    ),
}


def _find_names(
    languages: Sequence[str], codes: Iterable[str], name: str, english: bool = False
) -> dict[str, str]:
    """Our code of each language -> the set's name of it; with English only where `english`.

    The log says where a code differs from what was asked for.

    Raises:
      ValueError: a language that the set lacks, one in two scripts, or only English.
    """
    codes = list(codes)
    names: dict[str, str] = {}
    for language in languages:
        code = language_codes.parse_tag(language).code
        if code == "en" and not english:
            continue
        match = language_codes.find_name(language, codes)
        if not match:
            raise ValueError(f"{name} has no {language!r}. {language_codes.hint(language, codes)}")
        if names.setdefault(code, match) != match:
            raise ValueError(
                f"--languages={','.join(languages)}: {names[code]} and {match} would both be {code!r}: "
                "fetch one of them into another --out=DIR"
            )
        if code != language:
            logging.info("%s: %s of %s, which is called %s here", language, match, name, code)
        elif language_codes.code_of(language_codes.parse_tag(match).name) != code:
            logging.warning("%s: %s has of it only %s", language, name, match)
    if not names:
        raise ValueError(f"{name} pairs languages with English: name another one than 'en'")
    return names


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetches the set that the arguments name; ends with 1 and a message on an error."""
    sets = "\n".join(f"  {name:<11} {x.about}. {x.licence}" for name, x in SETS.items())
    parser = argparse.ArgumentParser(
        prog="clwe-jax data",
        description=__doc__,
        epilog=f"sets:\n{sets}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", choices=SETS, metavar="SET", help=", ".join(SETS))
    parser.add_argument(
        "--languages", required=True, help="codes, such as en,de,zh or deu,zho_Hant"
    )
    parser.add_argument(
        "--out", default="", metavar="DIR", help="folder to write; default: the name of SET"
    )
    options = parser.parse_args(arguments)
    terminal.command_log(logging.INFO)
    dataset = SETS[options.set]
    out = options.out or options.set
    languages = [x.strip() for x in options.languages.split(",") if x.strip()]
    print(dataset.licence)
    try:
        if languages == ["list"] and dataset.show is not None:
            dataset.show(out)
            return
        dataset.fetch(out, languages)
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    print(f"{out}: complete. Use it with {dataset.use(out, languages)}")


if __name__ == "__main__":
    terminal.until_stopped(main)

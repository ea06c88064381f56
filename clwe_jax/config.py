"""The options that every run shares, and the file that keeps them in a run's folder.

A config file in `configs/` defines `get_config(scale='laptop')`; its argument is the scale, as in
`--config=configs/dict_mlm_50.py:paper`. A scale changes sizes and data, never the method. This
module imports neither jax nor TensorFlow, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import math
import os
import re
from typing import Any, Sequence

from ml_collections import ConfigDict

from clwe_jax import __version__, atomic

SCALES = ("laptop", "small", "base", "paper")
# The layout of a run's folder, which config.json names, and the release that reads each older one.
LAYOUT = 2
FILE = "config.json"
_READ_BY = {1: "0.1.0"}
# The key of config.json for the folder that relative paths of options begin in, as seen from WORKDIR.
_STARTED_IN = "started_in"
# The value of an option that names data: the embedded world's for a run on the embedded world, else
# none; see `resolved`.
SOURCE = "source"
# The values of `init.embeddings` for which a run trains word vectors first.
TRAINED_STARTS = ("joint", "joint+dictionary")
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


def base_config() -> ConfigDict:
    """Every option with its default; config files and `--config.key=value` override them."""
    return ConfigDict(
        dict(
            job="pretrain",  # pretrain | static | project | transfer | clcr | evaluate
            system="",  # the name shown in reports
            scale="laptop",  # of --config=FILE:SCALE
            seed=0,  # of parameters, masks, dropout and the embedded world's text
            data=dict(
                source="pocket",  # pocket | text:DIR | tfds:NAME | batches:DIR
                languages="en,de,es,fr,ja,zh",  # codes, with commas between them
                dictionaries=SOURCE,  # source | pocket | a directory of xx-yy.txt | '' for none
                dictionary_clean="",  # any of: identical,one_to_many
                # leave the test words of config.evals and of the dictionaries' folder out of training
                exclude_tests=True,
                exclude_dictionaries="",  # a directory of more test dictionaries to leave out
                temperature=5.0,  # of the language sampling; 1 is proportional to size
                lower_case=True,  # of text and dictionaries
                simplify_chinese=False,  # whether Chinese characters become simplified ones
                sequence_length=64,  # pieces or words of a row
                max_predictions=0,  # masked pieces a row; 0: a fifth of sequence_length
                distinct_words=0,  # most distinct words of a biLM's batch; 0: by the text
                heldout_share=0.01,  # of the lines, chosen by a hash of their text
                chunk_lines=512,  # lines that the graph handles at once
                shuffle_lines=4096,  # shuffle buffer, over all languages together
                sample_bytes=100_000,  # text of a language that bli averages word vectors over
                pocket_sentences=60_000,  # sentences of a language, when the source is pocket
                pocket_domains="",  # their domains, with commas between them; '' for all
                pocket_shared=0.0,  # share of their lines that translate other languages' lines
                pocket_shared_order="documents",  # documents (stretches in one order) | scattered
                pocket_apart=False,  # whether each language's other lines have domains of their own
                tfds_dir="",  # folder of TensorFlow Datasets; '' for its default
            ),
            vocab=dict(
                kind="wordpiece",  # wordpiece | unigram | bpe | word
                size=8_192,  # pieces or words
                path="",  # vocab.txt, a SentencePiece .model, fastBPE's .fcodes, a run's vocab, Hugging Face's folder
                min_count=1,  # rarer words do not count
                dictionary_share=0.0,  # of its pieces, at most: the dictionary's frequent words, whole
                sample_bytes=20_000_000,  # text of a language that the words are counted in
            ),
            task=dict(name="mlm"),  # how batches are made of text
            model=dict(name="transformer"),
            objective=dict(name="mlm"),
            init=dict(
                parameters="",  # run:DIR, npz:FILE or hf:DIR to start from; '': initialisers
                parts="",  # patterns of parameter paths, with commas between them; '': all
                # Word vectors that the tokens' tables start from: joint (trained first, in
                # WORKDIR/start) | dictionary (no training) | a static run's folder | vector files
                # of one space, as wiki.de.vec,wiki.en.vec or de=FILE,en=FILE | '' for none
                embeddings="",
                method="mean",  # from words to tokens: mean | wechsel | focus | subword
                center=True,  # subtract each language's mean vector
                tables="both",  # both | input | output
                scale=1.0,  # length of a row, in units of the initialiser's rows
                # Of embeddings='joint'; dim 0 is the model's width, 300 at most.
                joint=dict(dim=0, epochs=5, min_count=5, buckets=100_000, workers=1),
            ),
            optimizer=dict(name="adamw", groups=dict()),
            train=dict(
                steps=1_000,  # optimizer steps of the run
                batch_size=64,  # rows, over all hosts
                microbatches=1,  # parts of a batch, one after the other: less memory
                log_every_steps=50,  # steps between two lines of metrics
                prefetch=2,  # batches that are made ahead
                max_skipped_in_row=20,  # stop after so many non-finite steps in a row
                phases=(),  # dicts of steps and learn (groups of parameters, or 'all')
                repeat_phases=False,  # whether the phases start again after the last one
            ),
            mesh=dict(
                data=-1,  # devices among which rows are divided; -1: all that remain
                fsdp=1,  # devices among which rows and parameters are divided
                tensor=1,  # devices among which each layer is divided
            ),
            checkpoint=dict(
                every_steps=500,  # steps between two checkpoints; 0: at the end only
                keep=2,  # newest checkpoints that stay
                best="",  # a metric whose best checkpoint stays too
                best_mode="max",  # max | min
            ),
            finish=dict(  # sentences against code-switched copies, after train.steps
                steps=0,  # 0: none
                batch_size=256,  # pairs, over all hosts
                microbatches=1,  # parts that are encoded one at a time; the loss is the same
                sequence_length=32,  # pieces of a sentence, at most data.sequence_length
                temperature=0.05,  # of the contrastive loss
                share=0.9,  # of a copy's words with a translation, that are switched
                drop=0.0,  # share of words that each side loses, at most
                pool="mean",  # mean | sif: weights of a sentence's pieces
                against="layers",  # layers | table: the vectors of copies
                learning_rate=5e-4,  # highest learning rate of the finish
                warmup_steps=20,  # steps of linear growth to learning_rate
            ),
            evals=dict(
                mlm=dict(name="mlm", every_steps=500, batches=4),
                retrieval=dict(
                    name="retrieval", data=SOURCE, every_steps=1_000, max_sentences=1_000
                ),
                bli=dict(name="bli", data=SOURCE, every_steps=0, occurrences=10),
                word_alignment=dict(  # data: pocket | a folder of gold links | '' for none
                    name="word_alignment", data="", max_sentences=500, layers=""
                ),
            ),
            report=dict(
                compare_with="",  # folders of runs to show beside this one
                words="",  # words to show with their nearest words; '' chooses some
                title="",  # heading of the report; '' for the system's name
            ),
            plan=dict(
                utilisation=0.4,  # share of the devices' peak that --plan expects
                dollars_per_chip_hour=0.0,  # price that --plan multiplies
            ),
        )
    )


def resolved(config: ConfigDict) -> ConfigDict:
    """A copy in which options that follow the run's data ('source') are 'pocket' or ''.

    These are config.data.dictionaries, config.task.parallel and the option `data` of all
    evaluators. A run on its own text or vectors has no such data unless its config names them.
    """
    config = config.copy_and_resolve_references()
    given = (config.get("align") or {}).get("source_vectors")
    value = "pocket" if config.data.source == "pocket" and not given else ""
    options = [(config.data, "dictionaries"), (config.task, "parallel")]
    options += [(spec, "data") for spec in config.evals.values()]
    for section, key in options:
        if section.get(key) == SOURCE:
            section[key] = value
    return config


def languages(config: ConfigDict) -> tuple[str, ...]:
    """`config.data.languages` as a tuple.

    Raises:
      ValueError: no language, one named twice, or one in capitals.
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
        if names.count(name) > 1:
            raise ValueError(f"config.data.languages names {name!r} twice: {config.data.languages}")
    return names


def vector_files(names: str, among: Sequence[str], option: str) -> dict[str, str]:
    """Language -> file of vectors.

    Args:
      names: 'de=FILE,en=FILE'; or 'wiki.de.vec,wiki.en.vec', where a part of the name is a language.
      among: the run's languages.
      option: the option that names the files, for messages.

    Raises:
      ValueError: a file of no language of the run, or two of one.
    """
    found: dict[str, str] = {}
    for name in filter(None, (name.strip() for name in names.split(","))):
        language, given, path = name.partition("=")
        if not given:
            parts = re.split(r"[._-]", os.path.basename(name))
            path, language = name, next((part for part in parts if part in among), "")
        if language not in among or language in found:
            why = "names a language twice" if language in found else "is in none of the languages"
            raise ValueError(
                f"{option}: {name!r} {why} ({','.join(among)}). Expected one file a "
                "language, as de=FILE,en=FILE or wiki.de.vec,wiki.en.vec"
            )
        found[language] = path
    return found


def hub_of(config: ConfigDict) -> str:
    """The language whose space the others are mapped to: `config.static.hub`, or the first one.

    The source of two vector files is mapped to the target, so their hub is the second language.
    """
    names = languages(config)
    if config.align.source_vectors:
        return names[1]
    return config.static.hub if config.static.hub in names else names[0]


def pairs(config: ConfigDict) -> list[tuple[str, str]]:
    """The directions in which static vectors are evaluated: both directions of every pair.

    Raises:
      ValueError: a pair that does not consist of two of the run's languages.
    """
    names = languages(config)
    if config.align.source_vectors:
        return [(names[0], names[1]), (names[1], names[0])]
    hub = hub_of(config)
    chosen = [(hub, name) for name in names if name != hub]
    if config.static.pairs.strip():
        chosen = [tuple(pair.strip().split("-")) for pair in config.static.pairs.split(",")]
    for pair in chosen:
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(names):
            raise ValueError(
                f"config.static.pairs: {'-'.join(pair)!r} is not a pair of two of the languages "
                f"{config.data.languages}; write en-de,en-fr"
            )
    return list(dict.fromkeys(way for a, b in chosen for way in ((a, b), (b, a))))


def max_predictions(config: ConfigDict) -> int:
    """Most masked pieces of a row: the option, or a fifth of its length as a multiple of four."""
    if config.data.max_predictions:
        return config.data.max_predictions
    return 4 * math.ceil(config.data.sequence_length / 20)


def padded_rows(words: int) -> int:
    """Rows of a table over a vocabulary of `words` words: the next multiple of `PAD_ROWS_TO`."""
    return -(-words // PAD_ROWS_TO) * PAD_ROWS_TO


# Options that may change between two starts of a run; a section stands for all its options.
_FREE = (
    "job", "projection", "finish", "report", "plan", "evals", "checkpoint", "mesh", "data.tfds_dir",
    "data.sample_bytes", "train.steps", "train.log_every_steps", "train.prefetch",
    "train.max_skipped_in_row",
)  # fmt: skip


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """Lines 'config.KEY: old -> new' of the options in which two runs differ.

    Options that may change between two starts of a run are left out.

    Args:
      old, new: resolved configs, or the same section of both.
      prefix: 'SECTION.' of a section.
    """
    lines = []
    for key in sorted(set(old) | set(new)):
        path = f"{prefix}{key}"
        if path in _FREE:
            continue
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{path}.")
        elif a != b:
            lines.append(f"config.{path}: {a!r} -> {b!r}")
    return lines


def check_folder(workdir: str) -> None:
    """Raises ValueError where a file stands in the place of the run's folder."""
    if os.path.exists(workdir) and not os.path.isdir(workdir):
        raise ValueError(f"--workdir={workdir} is a file; name the folder of a run")


def claim_workdir(config: ConfigDict, workdir: str, write: bool = True) -> None:
    """Writes WORKDIR/config.json, or checks that the folder holds a run of this config.

    Args:
      config: the run's config.
      workdir: the run's folder.
      write: whether config.json is written; False on all hosts except the first, and for jobs that
        work on the run of another job.

    Raises:
      ValueError: the folder holds a run of another config (the message lists the differences), or
        has another layout.
    """
    new = _plain(config)
    if os.path.exists(_path(workdir)):
        changed = differences(_plain(read_config(workdir)), new)
        if changed:
            raise ValueError(
                f"{workdir} holds the run of another config:\n  "
                + "\n  ".join(changed)
                + "\nGive a new folder with --workdir=DIR, or the options that it was started with."
            )
    if write:
        os.makedirs(workdir, exist_ok=True)
        write_config(config, workdir, os.path.relpath(os.getcwd(), workdir))


def read_config(workdir: str | os.PathLike[str]) -> ConfigDict:
    """The config of the run in a folder.

    Raises:
      FileNotFoundError: the folder holds no run.
      ValueError: config.json is damaged, or the folder has another layout than this release's.
    """
    found = _stored(workdir)
    found.pop(_STARTED_IN, None)
    return ConfigDict(found)


def placed(path: str, workdir: str | os.PathLike[str]) -> str:
    """The path of a file or folder that an option of the run in `workdir` names.

    A relative path begins in the folder where the run was started. This folder is kept as seen from
    `workdir`, so that both may be moved together; where nothing is there, the path stays as it is.
    """
    if os.path.isabs(path):
        return path
    started_in = _stored(workdir).get(_STARTED_IN, "")
    found = os.path.normpath(os.path.join(os.path.abspath(workdir), started_in, path))
    return found if os.path.exists(found) else path


def _stored(workdir: str | os.PathLike[str]) -> dict[str, Any]:
    """The values of config.json, apart from the number of its layout; errors as of `read_config`."""
    path = _path(workdir)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{workdir} holds no run: it has no config.json. Train a run there with "
            f"python -m clwe_jax.main --config=configs/dict_mlm_50.py --workdir={workdir}"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    layout = found.pop("layout", 1)
    if layout != LAYOUT:
        reader = _READ_BY.get(layout, "of a later version")
        raise ValueError(
            f"{path}: the folder has layout {layout}, which clwe_jax {reader} reads; clwe_jax "
            f"{__version__} reads layout {LAYOUT}. Train again with another --workdir=DIR."
        )
    return found


def write_config(config: ConfigDict, workdir: str, started_in: str = "") -> None:
    """Writes WORKDIR/config.json, with the number of the folder's layout.

    `started_in` is the folder that relative paths begin in, seen from `workdir`; '': as in the file.
    """
    started_in = started_in or _stored(workdir).get(_STARTED_IN, "")
    values = {"layout": LAYOUT, _STARTED_IN: started_in, **_plain(config)}
    atomic.write_json(_path(workdir), values, indent=2, sort_keys=True)


def _plain(config: ConfigDict) -> dict[str, Any]:
    return json.loads(config.to_json_best_effort())


def _path(workdir: str | os.PathLike[str]) -> str:
    return os.path.join(workdir, FILE)

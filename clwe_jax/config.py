"""The options that every run shares, and the scales.

A config file in `configs/` defines `get_config(scale='laptop')`; its argument is the scale, as in
`--config=configs/dict_mlm_50.py:paper`. A scale changes sizes and data, never the method. This
module imports neither jax nor TensorFlow, so that `--help` answers at once.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

from ml_collections import ConfigDict

from clwe_jax import atomic

SCALES = ("laptop", "small", "base", "paper")
# Tables over the vocabulary have a multiple of so many rows, so that devices can hold as many each.
PAD_ROWS_TO = 128

# The languages of multilingual BERT as Wikipedia codes. Its list counts simplified and traditional
# Chinese apart, which are one Wikipedia: 104 names, 103 codes.
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
            job="pretrain",
            system="",  # the name shown in reports
            scale="laptop",
            seed=0,
            data=dict(
                source="pocket",  # pocket | text:DIR | tfds:NAME | batches:DIR
                languages="en,de,es,fr,ja,zh",
                dictionaries="pocket",  # pocket | a directory of xx-yy.txt | '' for none
                dictionary_clean="",  # any of: identical,one_to_many
                exclude_dictionaries="",  # a directory of test dictionaries to leave out
                temperature=5.0,  # of the language sampling; 1 is proportional to size
                lower_case=True,
                simplify_chinese=False,
                sequence_length=64,
                max_predictions=0,  # masked pieces a row; 0: a fifth of sequence_length
                distinct_words=0,  # whose characters a biLM's batch holds; 0: by the text
                heldout_share=0.01,  # of the lines, chosen by a hash of their text
                chunk_lines=512,  # lines that the graph handles at once
                shuffle_lines=4096,  # shuffle buffer, over all languages together
                sample_bytes=100_000,  # a language, that words' vectors are averaged over (bli)
                pocket_sentences=60_000,  # a language, when the source is pocket
                pocket_domains="",  # what they are about; '' for all domains
                tfds_dir="",
            ),
            vocab=dict(
                kind="wordpiece",  # wordpiece | unigram | bpe | word
                size=8_192,
                path="",  # a BERT vocab.txt, a SentencePiece .model or a run's vocab folder
                min_count=1,  # rarer words do not count
                sample_bytes=20_000_000,  # of text a language that the words are counted in
            ),
            task=dict(name="mlm"),
            model=dict(name="transformer"),
            objective=dict(name="mlm"),
            optimizer=dict(name="adamw", groups={}),  # groups: see training/optim.py
            # run:DIR or npz:FILE to start from; parts: patterns of parameter paths, '' for all
            init=dict(parameters="", parts=""),
            train=dict(
                steps=1_000,
                batch_size=64,  # rows, over all hosts
                microbatches=1,
                log_every_steps=50,
                prefetch=2,
                max_skipped_in_row=20,  # stop after so many non-finite steps in a row
                phases=(),  # dicts of steps and learn (groups of parameters, or 'all')
                repeat_phases=False,
            ),
            mesh=dict(data=-1, fsdp=1, tensor=1),
            checkpoint=dict(every_steps=500, keep=2, best="", best_mode="max"),
            evals=dict(
                mlm=dict(name="mlm", every_steps=500, batches=4),
                retrieval=dict(
                    name="retrieval", data="pocket", every_steps=1_000, max_sentences=1_000
                ),
                bli=dict(name="bli", data="pocket", every_steps=0, occurrences=10),
            ),
            report=dict(compare_with="", words="", title=""),
            plan=dict(utilisation=0.4, dollars_per_chip_hour=0.0),
        )
    )


# What each scale of the BERT-style systems (D1-D8) sets.
_BERT_SCALES: dict[str, dict[str, Any]] = {
    "laptop": {
        # A part of the domains, no dropout (no sentence is seen three times): minutes, not hours.
        "data": dict(pocket_domains="money,nature,kitchen,sport,travel,school,music,animals"),
        "model": dict(layers=2, width=128, heads=4, mlp_dim=512, dropout=0.0),
        "optimizer": dict(learning_rate=3e-3, warmup_steps=100),
        "train": dict(steps=3_000, batch_size=32, log_every_steps=50),
        "checkpoint": dict(every_steps=500),
        "evals": dict(
            mlm=dict(every_steps=500, batches=8),
            retrieval=dict(every_steps=1_000),
        ),
    },
    "small": {
        "data": dict(
            source="text:corpora",
            languages="en,de,es,fr,ru,zh",
            dictionaries="dictionaries",
            sample_bytes=5_000_000,
            sequence_length=128,
        ),
        "vocab": dict(size=32_768),
        "model": dict(layers=6, width=384, heads=6, mlp_dim=1_536),
        "optimizer": dict(learning_rate=1e-3, warmup_steps=1_000),
        "train": dict(steps=20_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
        "evals": dict(
            mlm=dict(every_steps=2_000, batches=8),
            retrieval=dict(data="tatoeba", every_steps=2_000),
            bli=dict(data="dictionaries", every_steps=0),
        ),
    },
    "base": {
        "data": dict(
            source="tfds:wikipedia/20230601",
            languages=MBERT_LANGUAGES,
            dictionaries="dictionaries",
            sample_bytes=5_000_000,
            lower_case=False,
            sequence_length=128,
            heldout_share=0.0005,
        ),
        "vocab": dict(size=119_552),
        "model": dict(layers=12, width=768, heads=12, mlp_dim=3_072),
        "optimizer": dict(learning_rate=5e-4, warmup_steps=10_000),
        "train": dict(steps=500_000, batch_size=256, log_every_steps=100),
        "checkpoint": dict(every_steps=5_000),
        "evals": dict(
            mlm=dict(every_steps=10_000, batches=8),
            retrieval=dict(data="tatoeba", every_steps=10_000),
            bli=dict(data="dictionaries", every_steps=0),
        ),
    },
    "paper": {
        "data": dict(
            source="tfds:wikipedia/20230601",
            languages=MBERT_LANGUAGES,
            dictionaries="dictionaries",
            sample_bytes=5_000_000,
            lower_case=False,
            sequence_length=512,
            heldout_share=0.0005,
        ),
        "vocab": dict(size=119_552),
        "model": dict(layers=12, width=768, heads=12, mlp_dim=3_072),
        # AdamW is as good below batches of some thousand rows; LAMB is made for these.
        "optimizer": dict(name="lamb", learning_rate=1.6e-3, warmup_steps=10_000),
        "train": dict(steps=500_000, batch_size=8_192, log_every_steps=100),
        "checkpoint": dict(every_steps=2_000),
        "evals": dict(
            mlm=dict(every_steps=10_000, batches=8),
            retrieval=dict(data="tatoeba", every_steps=10_000),
            bli=dict(data="dictionaries", every_steps=0),
        ),
    },
}


def bert_config(scale: str, system: str, task: dict[str, Any]) -> ConfigDict:
    """The config of a BERT-style system (D1-D8) at one of the four scales.

    Args:
      scale: 'laptop', 'small', 'base' or 'paper'.
      system: the name shown in reports.
      task: how examples are made: `name` and its fields.

    Raises:
      ValueError: an unknown scale.
    """
    if scale not in SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(SCALES)}."
        )
    config = base_config()
    config.system = system
    config.scale = scale
    masking = dict(masking_rate=0.15, mask_share=0.8, keep_share=0.1, random_share=0.1)
    config.task = ConfigDict({**masking, **task})
    config.model = ConfigDict(
        dict(
            name="transformer",
            layers=4,
            width=128,
            heads=4,
            mlp_dim=512,
            dropout=0.1,
            norm="post",
            positions="learned",
            language_embeddings=True,
            condition_on_language=True,
            dtype="auto",
            remat=False,
        )
    )
    config.objective = ConfigDict(dict(name="mlm"))
    config.optimizer = ConfigDict(
        dict(
            name="adamw",
            learning_rate=1e-3,
            warmup_steps=1_000,
            schedule="linear",
            weight_decay=0.01,
            b1=0.9,
            b2=0.999,
            eps=1e-6,
            clip=1.0,
        )
    )
    for section, values in _BERT_SCALES[scale].items():
        config[section].update(values)
    return config


def languages(config: ConfigDict) -> tuple[str, ...]:
    """`config.data.languages` as a tuple.

    Raises:
      ValueError: no language, or one named twice.
    """
    names = tuple(name.strip() for name in config.data.languages.split(",") if name.strip())
    if not names:
        raise ValueError(
            "config.data.languages is empty. Give two or more, e.g. --config.data.languages=en,de"
        )
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"config.data.languages names {name!r} twice: {config.data.languages}")
    return names


def max_predictions(config: ConfigDict) -> int:
    """Masked pieces a row can hold: the option, or a fifth of the length in steps of four."""
    if config.data.max_predictions:
        return config.data.max_predictions
    return 4 * math.ceil(config.data.sequence_length / 20)


def padded_rows(words: int) -> int:
    """The rows of a table over so many words: the next multiple of `PAD_ROWS_TO`."""
    return -(-words // PAD_ROWS_TO) * PAD_ROWS_TO


# Options that may change between two starts of the same run.
_FREE = ("job", "projection", "report", "plan", "evals", "checkpoint", "mesh", "data.tfds_dir")
_FREE_KEYS = (
    "train.steps", "train.log_every_steps", "train.prefetch", "train.max_skipped_in_row",
    "data.sample_bytes",
)  # fmt: skip


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[str]:
    """Lines 'key: old -> new' for what two resolved configs do not share, free options left out."""
    lines = []
    for key in sorted(set(old) | set(new)):
        path = f"{prefix}{key}"
        if path in _FREE or path in _FREE_KEYS:
            continue
        a, b = old.get(key), new.get(key)
        if isinstance(a, dict) and isinstance(b, dict):
            lines += differences(a, b, f"{path}.")
        elif a != b:
            lines.append(f"config.{path}: {a!r} -> {b!r}")
    return lines


def claim_workdir(config: ConfigDict, workdir: str, write: bool = True) -> None:
    """Writes WORKDIR/config.json, or checks that the run there is this run.

    Raises:
      ValueError: the folder holds another config's run; the message lists the differences.
    """
    path = os.path.join(workdir, "config.json")
    new = json.loads(config.to_json_best_effort())
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = json.load(file)
        changed = differences(old, new)
        if changed:
            raise ValueError(
                f"{workdir} holds the run of another config:\n  "
                + "\n  ".join(changed)
                + "\nGive a new folder with --workdir=DIR, or the options that it was started with."
            )
    if write:
        os.makedirs(workdir, exist_ok=True)
        atomic.write_json(path, new, indent=2, sort_keys=True)

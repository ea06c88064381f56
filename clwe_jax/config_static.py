"""The options of static embeddings: joint training, reallocation, alignment, lexicon induction.

This module imports neither jax nor TensorFlow, so that `--help` answers at once.
"""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax import registry

TRAININGS = ("joint", "separate", "replace", "duong")
RULES = ("ratio", "neighbours")

# Options of the language models that static embeddings have no use for.
_UNUSED = (
    "sequence_length", "max_predictions", "distinct_words", "temperature", "heldout_share",
    "chunk_lines", "shuffle_lines", "tfds_dir",
)  # fmt: skip


def static_config(
    scale: str,
    system: str,
    *,
    training: str,
    reallocation: bool,
    refinement: bool,
    aligner: str = "procrustes",
    supervised: bool = True,
) -> ConfigDict:
    """The config of a system of static embeddings (E1-E7) at one of the four scales.

    Args:
      scale: 'laptop', 'small', 'base' or 'paper'.
      system: the name shown in reports.
      training: 'joint' (one set of vectors on all text), 'separate' (a set a language), 'replace'
        (joint, dictionary words replaced at random), 'duong' (joint, with the dictionary).
      reallocation: whether words that one language owns are taken out of the shared ones.
      refinement: whether what is not shared is aligned.
      aligner: a name of the registry's table 'aligner'.
      supervised: whether the aligner is given the dictionary.

    Raises:
      ValueError: an unknown scale.
    """
    if scale not in options.SCALES:
        raise ValueError(
            f"Unknown scale {scale!r} after the config's ':'. Known: {', '.join(options.SCALES)}."
        )
    base = options.base_config()
    data = {name: value for name, value in base.data.items() if name not in _UNUSED}
    config = ConfigDict(
        dict(
            job="static",
            system=system,
            scale=scale,
            seed=0,
            data=data,  # source: pocket | text:DIR
            task=dict(),
            static=dict(
                training=training,  # joint | separate | replace | duong
                reallocation=reallocation,
                rule="ratio",  # of reallocation: ratio (Eqs 5-6) | neighbours (learned)
                gamma=0.9,
                refinement=refinement,
                hub="en",  # the language that the others are mapped to, if it is there
                pairs="",  # to evaluate, as en-de,de-fr; '': the hub with every other language
                write_text=True,  # WORKDIR/vectors/{lang}.vec for other tools
                induced_words=20_000,  # most frequent of a side, for the induced dictionaries
                replace_share=0.5,  # of the dictionary words, in training='replace'
                trained="",  # a folder of trained vectors for several runs; '': WORKDIR/trained
            ),
            embeddings=dict(
                dim=300,
                epochs=5,
                min_count=5,
                window=5,
                negatives=5,
                learning_rate=0.05,
                min_n=3,
                max_n=6,
                buckets=2_000_000,
                max_vocab=200_000,  # most frequent words of a language that count
                workers=1,  # threads; more are faster, and no two runs the same
            ),
            align=dict(
                name=aligner,
                supervised=supervised,  # False: the dictionary is not given to the aligner
                source_vectors="",  # files that people bring: align these, train nothing
                target_vectors="",
                max_vocab=200_000,  # read from these
                lower_case_dictionary=False,  # for such files; text is spelled as data.lower_case
                split="",  # '0-5000': train on xx-yy.0-5000.txt instead of xx-yy.txt
            ),
            evals=dict(
                bli=dict(
                    name="bli", data="pocket", methods="nn,csls,inverted_softmax",
                    neighbourhood=10, beta=30.0, bootstrap=1_000, tags="",
                ),
                similarity=dict(name="similarity", data=""),
                retrieval=dict(name="retrieval", data="pocket", max_sentences=1_000),
            ),
            report=dict(compare_with="", words="", title="", errors=300),
        )
    )  # fmt: skip
    for name, fields in _ALIGNERS.items():
        config.align[name] = ConfigDict(fields)
    for section, values in _SCALES[scale].items():
        config[section].update(values)
    return config


# The hyperparameters of each aligner to choose from; the others have their class's defaults.
_ALIGNERS: dict[str, dict[str, Any]] = {
    "procrustes": dict(refinements=0, preprocess=("unit",)),
    "least_squares": dict(ridge=0.0, preprocess=("unit",)),
    "rcsls": dict(
        learning_rate=1.0, iterations=10, neighbourhood=10, spectral=False,
        max_neighbours=200_000, preprocess=("unit", "center", "unit"),
    ),
    "geomm": dict(l2=100.0, preprocess=("unit", "center")),
    "adversarial": dict(
        epochs=5, epoch_size=1_000_000, batch_size=32, hidden=2_048, most_frequent=75_000,
        beta=0.001, refinements=5, restarts=1, preprocess=(),
    ),
    "self_learning": dict(
        self_learning=True, max_words=20_000, initial_words=4_000, keep=0.1, reweight=0.5,
        preprocess=("unit", "center", "unit"),
    ),
}  # fmt: skip

_BROUGHT: dict[str, dict[str, Any]] = {
    "data": dict(source="text:corpora", dictionaries="dictionaries"),
    "evals": dict(
        bli=dict(data="dictionaries", methods="nn,csls"),
        retrieval=dict(data="tatoeba"),
    ),
}
# 160,000 steps with a discriminator of 2 x 2048, and hundreds of dictionaries of 20,000 words a
# side, take a GPU, or a night.
_FEWER_STEPS: dict[str, Any] = {
    "adversarial": dict(epoch_size=64_000, hidden=256),
    "self_learning": dict(max_words=5_000),
}
# What the authors of RCSLS recommend for 300 dimensions.
_WIDE: dict[str, Any] = {"rcsls": dict(learning_rate=25.0)}
_SCALES: dict[str, dict[str, Any]] = {
    "laptop": {
        "data": dict(pocket_sentences=20_000),
        "embeddings": dict(dim=100, buckets=100_000),
        "align": _FEWER_STEPS,
    },
    "small": {
        **_BROUGHT,
        "data": {**_BROUGHT["data"], "languages": "en,de,es,fr,ru,zh"},
        "embeddings": dict(dim=100, buckets=200_000),
        "align": _FEWER_STEPS,
    },
    "base": {
        **_BROUGHT,
        "data": {**_BROUGHT["data"], "languages": "en,de,es,fr,it,ru,zh"},
        "align": _WIDE,
    },
    # A joint space of two languages each, as the paper has them.
    "paper": {
        **_BROUGHT,
        "data": {**_BROUGHT["data"], "languages": "en,de"},
        "align": _WIDE,
    },
}


def pairs(config: ConfigDict) -> list[tuple[str, str]]:
    """The directions to evaluate: both of every pair.

    Raises:
      ValueError: a pair that is not of two of the run's languages.
    """
    names = options.languages(config)
    if config.job == "align" or config.align.source_vectors:
        return [(names[0], names[1]), (names[1], names[0])]
    hub = hub_of(config)
    listed = [part.strip() for part in config.static.pairs.split(",") if part.strip()]
    chosen = [tuple(part.split("-")) for part in listed]
    if not listed:
        chosen = [(hub, name) for name in names if name != hub]
    found: dict[tuple[str, str], None] = {}
    for text, pair in zip(listed, chosen):
        if len(pair) != 2 or pair[0] == pair[1] or not set(pair) <= set(names):
            raise ValueError(
                f"config.static.pairs: {text!r} is no pair of two of the languages "
                f"{config.data.languages}; write en-de,en-fr"
            )
    for a, b in chosen:
        found |= {(a, b): None, (b, a): None}
    return list(found)


def hub_of(config: ConfigDict) -> str:
    """The language whose space the others are mapped to: the option, or the first language.

    For vectors that people bring it is the second, as these are mapped source to target.
    """
    names = options.languages(config)
    if config.job == "align" or config.align.source_vectors:
        return names[1]
    return config.static.hub if config.static.hub in names else names[0]


def validate(config: ConfigDict) -> None:
    """Raises ValueError for settings that cannot work, before anything slow has started."""
    names = options.languages(config)
    brought = bool(config.align.source_vectors), bool(config.align.target_vectors)
    if any(brought) != all(brought):
        raise ValueError(
            "config.align.source_vectors and config.align.target_vectors go together: give both "
            "files"
        )
    if config.job == "align" and not any(brought):
        raise ValueError(
            "config.job='align' aligns vectors that are there: give "
            "--config.align.source_vectors=FILE --config.align.target_vectors=FILE"
        )
    if all(brought) and len(names) != 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: two vector files are of two "
            "languages, the source's first: --config.data.languages=de,en"
        )
    if len(names) < 2:
        raise ValueError(
            f"config.data.languages={config.data.languages}: an alignment takes two languages"
        )
    source = config.data.source
    if source != "pocket" and not source.startswith("text:"):
        raise ValueError(f"config.data.source={source!r}: expected pocket or text:DIR")
    static = config.static
    for key, known in (("training", TRAININGS), ("rule", RULES)):
        if static[key] not in known:
            raise ValueError(
                f"config.static.{key}={static[key]!r}. {registry.nearest(static[key], known)}"
            )
    if not 0.5 <= static.gamma < 1:
        raise ValueError(f"config.static.gamma={static.gamma}: must be in [0.5, 1)")
    if not 0 <= static.replace_share <= 1:
        raise ValueError(f"config.static.replace_share={static.replace_share}: must be in [0, 1]")
    if static.training == "separate" and static.reallocation:
        raise ValueError(
            "config.static.reallocation is of joint vectors; with "
            "config.static.training='separate' nothing is shared: set it to False"
        )
    if static.training in ("replace", "duong") and not config.data.dictionaries:
        raise ValueError(
            f"config.static.training={static.training!r} reads a dictionary: set "
            "config.data.dictionaries"
        )
    if config.align.name not in registry.TABLES["aligner"]:
        registry.lookup("aligner", config.align.name)
    for key, least in (
        ("dim", 1), ("epochs", 1), ("min_count", 1), ("max_vocab", 2), ("workers", 1),
    ):  # fmt: skip
        if config.embeddings[key] < least:
            raise ValueError(
                f"config.embeddings.{key}={config.embeddings[key]}: must be at least {least}"
            )
    pairs(config)

"""Static word vectors of several languages in one space (E1-E7)."""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.presets.base import YOUR_TEXT, Values, at, set_values

# The options that only language models read.
_NOT_STATIC = (
    "sequence_length", "max_predictions", "distinct_words", "temperature", "heldout_share",
    "chunk_lines", "shuffle_lines", "tfds_dir",
)  # fmt: skip
# The hyperparameters of each aligner; the others have the defaults of its class.
_ALIGNERS: dict[str, dict[str, Any]] = {
    "procrustes": dict(refinements=0, preprocess=("unit",)),
    "least_squares": dict(ridge=0.0, preprocess=("unit",)),
    "rcsls": dict(
        learning_rate=1.0, iterations=10, neighbourhood=10, spectral=False,
        max_neighbours=200_000, preprocess=("unit", "center", "unit"),
    ),
    "geomm": dict(l2=100.0, preprocess=("unit", "center")),
    "contrastive": dict(
        start="rcsls", start_options=dict(), temperature=0.1, learning_rate=3e-3,
        epochs=100, patience=20, batch_size=512, negatives=512, max_words=20_000, validation=0.1,
    ),
    "adversarial": dict(
        epochs=5, epoch_size=1_000_000, batch_size=32, hidden=2_048, most_frequent=75_000,
        beta=0.001, refinements=5, restarts=1, preprocess=(),
    ),
    "self_learning": dict(
        self_learning=True, max_words=20_000, initial_words=4_000, keep=0.1, reweight=0.5,
        preprocess=("unit", "center", "unit"),
    ),
}  # fmt: skip
# 160,000 steps with a discriminator of 2 x 2048, and hundreds of dictionaries of 20,000 words on
# each side, need a GPU or a night.
_FEWER_STEPS = dict(
    adversarial=dict(epoch_size=64_000, hidden=256), self_learning=dict(max_words=5_000)
)
_STATIC_EVALS = dict(
    bli=dict(data="dictionaries", methods="nn,csls"), retrieval=dict(data="tatoeba")
)
_WIDE: Values = {
    # The authors of RCSLS recommend it for 300 dimensions.
    "align": dict(rcsls=dict(learning_rate=25.0)),
    "evals": _STATIC_EVALS,
}
_STATIC: dict[str, Values] = {
    "laptop": {
        "data": dict(pocket_sentences=20_000),
        "embeddings": dict(dim=100, buckets=100_000),
        "align": _FEWER_STEPS,
    },
    "small": {
        "data": dict(YOUR_TEXT, languages="en,de,es,fr,ru,zh"),
        "embeddings": dict(dim=100, buckets=200_000),
        "align": _FEWER_STEPS,
        "evals": _STATIC_EVALS,
    },
    "base": {**_WIDE, "data": dict(YOUR_TEXT, languages="en,de,es,fr,it,ru,zh")},
    # A joint space of two languages, as in the paper.
    "paper": {**_WIDE, "data": dict(YOUR_TEXT, languages="en,de")},
}


def static(scale: str) -> ConfigDict:
    """Static vectors of several languages in one space (E1-E7).

    The config file sets `static.training`, `static.reallocation`, `static.refinement` and
    `align.name`.
    """
    base = at(scale)
    data = {name: value for name, value in base.data.items() if name not in _NOT_STATIC}
    config = ConfigDict(
        dict(
            job="static",
            system="",
            scale=scale,
            seed=0,  # of vectors and aligners
            data=dict(
                data,
                source="pocket",  # pocket | text:DIR
            ),
            task=dict(),
            static=dict(
                temperature=0.0,  # of the languages' sizes; 1: all text; 0: as small as the smallest
                training="joint",  # joint | separate | replace | duong | dictionary
                reallocation=False,  # whether words that one language owns stop being shared
                rule="ratio",  # of reallocation: ratio (Eqs 5-6) | neighbours (learned)
                gamma=0.9,  # threshold of the rule ratio, in [0.5, 1): higher shares more words
                refinement=False,  # whether the words that are not shared are aligned
                hub="en",  # the language that the others are mapped to, if the run has it
                pairs="",  # pairs to evaluate, en-de,de-fr; '': the hub with every other language
                write_text=True,  # WORKDIR/vectors/{lang}.vec for other tools
                induced_words=20_000,  # frequent words a side, for induced dictionaries; 0: none
                keep_subwords=False,  # keep joint vectors' n-grams, for config.init.method='subword'
                replace_share=0.5,  # share of replaced dictionary words, in training='replace'
                dictionary_dim=0,  # dictionary vectors' width, beside the trained ones; 0: none
                trained_length=0.6,  # of trained vectors beside those of the dictionary
                trained="",  # a folder of trained vectors for several runs; '': WORKDIR/trained
                mine=False,  # whether translations in the text add to the dictionary
                judge="",  # an encoder that says which mined pairs are right: hf:DIR, run:DIR; '': none
                mining=dict(
                    rounds=5, min_words=4, max_words=40, neighbourhood=4, margin=1.02,
                    support_lines=3, grow_lines=2, grow_cosine=0.33, least_supported=20,
                    unsupported_margin=0.0, position=4.0, dim=256,
                ),
            ),
            embeddings=dict(
                dim=300, epochs=5, min_count=5, window=5, negatives=5, learning_rate=0.05,
                min_n=3, max_n=6, buckets=2_000_000,
                max_vocab=200_000,  # frequent words of a language
                workers=1,  # threads; with more, training is faster, and runs differ
            ),
            align=dict(
                _ALIGNERS,
                name="procrustes",
                supervised=True,  # False: the dictionary is not given to the aligner
                source_vectors="",  # two files of your own vectors: align these, train nothing
                target_vectors="",  # see source_vectors
                max_vocab=200_000,  # words to read from each of these files
                lower_case_dictionary=False,  # for these files; text follows data.lower_case
                split="",  # '0-5000': train on xx-yy.0-5000.txt instead of xx-yy.txt
            ),
            evals=dict(
                bli=dict(
                    name="bli", data=options.SOURCE, methods="nn,csls,inverted_softmax",
                    neighbourhood=10, beta=30.0, bootstrap=1_000, tags="",
                ),
                similarity=dict(name="similarity", data=""),
                retrieval=dict(name="retrieval", data=options.SOURCE, max_sentences=1_000),
                bleu=dict(  # word by word
                    name="bleu", data="", max_sentences=1_000
                ),
            ),
            report=dict(
                base.report,
                errors=50,  # wrong translations of a direction in the table
            ),
        )
    )  # fmt: skip
    return set_values(config, _STATIC[scale])

"""Transfer to languages without labels (A14, C4-C8, D8, D9, E8, E9)."""

from __future__ import annotations

from typing import Any

from ml_collections import ConfigDict

from clwe_jax.presets.base import ADAMW, YOUR_TEXT, at
from clwe_jax.presets.translation import translation

_HEADS: dict[str, dict[str, Any]] = {
    "linear": dict(dropout=0.1, ending="softmax"),
    "bilstm_crf": dict(cells=256, layers=1, dropout=0.5, word_dropout=0.05, ending="crf"),
    "transformer_crf": dict(
        layers=2, width=300, heads=2, mlp_dim=300, input_dropout=0.25, dropout=0.15, ending="crf"
    ),
    "mean_mlp": dict(hidden=256, dropout=0.1),
    "bilstm_max": dict(cells=300, hidden=300, pool="max", dropout=0.5, word_dropout=0.0),
    "esim": dict(cells=300, hidden=300, dropout=0.5),
    "edge": dict(width=256, hidden=256, dropout=0.2),
}  # fmt: skip
_OF_TEXT = (
    "languages", "dictionaries", "lower_case", "simplify_chinese", "pocket_sentences", "tfds_dir",
)  # fmt: skip


def transfer(scale: str, task: str, head: str) -> ConfigDict:
    """A task whose labels are learned in English and tested in other languages.

    Args:
      scale: as in all presets.
      task: a name of the registry's table 'transfer_task'.
      head: a name of the registry's table 'head'.

    Raises:
      ValueError: an unknown scale.
    """
    base, laptop = at(scale), scale == "laptop"
    config = ConfigDict(
        dict(
            job="transfer",
            system="",
            scale=scale,
            seed=0,  # of the first head; the next ones have seed + 1, seed + 2 and so on
            # run:DIR | hf:DIR | laser:DIR | vec:en=FILE,de=FILE | joint, joint-align vectors of
            # config.data, trained first | bow, gru, lstm, which learn from the labelled rows alone
            encoder="joint",
            data=dict(
                {name: base.data[name] for name in _OF_TEXT},
                languages="",  # to test | '': those of the test files that the encoder knows
                source="pocket",  # text of the encoders joint, bow, gru and lstm: pocket | text:DIR
            ),
            vocab=dict(  # for the encoders bow, gru and lstm
                kind="bpe", size=50_000, sample_bytes=20_000_000
            ),
            task=dict(),
            transfer=dict(
                # ner | pos | xnli | pawsx | mldoc | topics | sentiment, or labelled spans: edge/pos |
                # edge/consts | edge/deps | edge/entities | edge/srl | edge/coref | edge/spr | edge/relations
                task=task,
                types="PER,LOC,ORG,MISC",  # of ner and edge/entities: types of entities
                lower_case=False,  # of ner and pos: words of the rows in lower case (C7)
                ignored="",  # types whose entities become O, such as MISC, which PAN-X lacks
                tags=17,  # of pos and edge/pos: universal parts of speech, 17 or 12
                # en:FILE,de:FILE | en:tfds:NAME | languages of the embedded world: en,de | '': en
                train="",
                dev="",  # as train; '': a tenth of the training rows, or the embedded world's
                # a folder of {lang}.* files | tfds:NAME, with {lang} in it | '': the embedded world
                tests="",
                rows="",  # training rows, or rows or shares by language: en:1,de:.25; '': all
                test_rows=0,  # most rows of a test file; 0: all
                embedded_rows=2_000,  # training rows of a language of the embedded world
                embedded_tests=500,  # its development and test rows of a language
                # word by word, by data.dictionaries: train, training rows into the tested languages
                # | test, test rows into the training language | '': none
                translate="",
                seeds=5,  # heads, which differ in initial parameters, dropout and order of rows
                # in mode frozen, trials of a Bayesian optimisation of recipe.l2 and the head's dropout on
                # the development rows (C6); 0: none
                search=dict(trials=0),
                mode="frozen",  # frozen, features of the encoder | tune, the backbone learns too
                # mix (learned) | upper | last | top | last4 | sum4 | mean | a number | each
                layers="mix",
                words="mean",  # a word's vector, of its pieces: first | mean | max
                text_vector="mean",  # in mode tune, a text's vector: mean | cls
                # of a CLCR run, texts as pivots: extract | extract,reorder | '': every word
                reduce="",
                pivot_probability=0.0,  # with reduce, least probability of a pivot; 0: the CLCR run's
                center=False,  # take each language's own mean feature away
                length=128,  # longest training row: words, or in mode tune pieces
                constrained=True,  # forbid a CRF an I- tag that continues no name
                head=dict(_HEADS[head], name=head),
                align=dict(  # orthogonal maps of a language model's layers onto English (E9)
                    # STEM of parallel files STEM.en, STEM.de, ... | pocket | '': no maps
                    parallel="",
                    # STEM of files STEM.de-en with links `0-0 1-2` of these sentences | gold, with
                    # pocket | '': the encoder aligns the words, by the options below
                    links="",
                    sentences=30_000,  # most sentences of a language
                    method="mutual_argmax", layers="", level="pieces", threshold=0.1,
                ),
                # of bow, gru and lstm: run:DIR or laser:DIR, whose pieces and table are the start | '': the
                # vocabulary is trained, and the table begins at random
                pieces="",
                embedder=dict(width=320, cells=512, layers=2),  # of the encoders bow, gru, lstm
                joint=dict(dim=300, epochs=5, min_count=5, buckets=2_000_000, workers=1),
            ),
            recipe=dict(  # of the head, in mode frozen
                name="adam", learning_rate=1e-3, epochs=15, batch_size=32, schedule="constant",
                patience=2, least_rate=1e-4, momentum=0.0, l2=0.0, clip=5.0,
            ),
            # Of backbone and head, in mode tune: XTREME's recipe (Hu et al. 2020).
            optimizer=dict(
                ADAMW, learning_rate=2e-5, warmup_steps=0, weight_decay=0.0, eps=1e-8
            ),
            train=dict(  # in mode tune
                epochs=10,  # passes over the training rows
                batch_size=32, microbatches=1, log_every_steps=50, prefetch=2,
                max_skipped_in_row=20,
            ),
            mesh=base.mesh,
            checkpoint=dict(every_steps=0, keep=1, best="", best_mode="max"),
            evals=dict(),
            report=dict(
                base.report,
                errors=3,  # test rows of a language with wrong labels, in the report
            ),
        )
    )  # fmt: skip
    if laptop:
        config.transfer.seeds = 3
        config.data.pocket_sentences = 20_000
        config.transfer.joint.update(dim=100, buckets=100_000)
        config.transfer.embedder.update(width=64, cells=64)
        config.vocab.size = 4_000
    elif scale == "small":
        config.data.update(YOUR_TEXT)
        config.transfer.joint.update(dim=100, buckets=200_000)
        config.transfer.embedder.update(width=128, cells=128)
        config.vocab.size = 16_000
    else:
        config.data.update(YOUR_TEXT)
    return config


def esim(scale: str) -> ConfigDict:
    """ESIM on frozen vectors: entailment, the head of CLCR's Table 4 (B7).

    Args:
      scale: as in all presets.
    """
    config = transfer(scale, "xnli", "esim")
    config.recipe.update(learning_rate=4e-4)
    config.transfer.update(length=50, seeds=2)
    if scale == "laptop":
        config.transfer.head.update(cells=64, hidden=64, dropout=0.2)
        config.recipe.update(learning_rate=3e-3)
    else:
        config.transfer.update(train="en:nli/train.en.tsv", tests="nli")
    return config


def laser_tagger(scale: str, task: str) -> ConfigDict:
    """The tagger of the LASER paper on LASER's encoder (C2, C3, C5, C6); its config sets the layers.

    Args:
      scale, task: see `transfer`.
    """
    config = transfer(scale, task, "transformer_crf")
    config.encoder = "run:laser"
    if scale != "paper":  # LASER's own languages there are all that have labels
        config.data.languages = translation(scale).data.languages
    config.transfer.words = "max"
    config.transfer.search.trials = 10 if scale == "laptop" else 30
    # The paper names no rate; chosen on English development rows of the embedded world.
    config.recipe.update(
        name="sgd", schedule="onecycle", learning_rate=0.05, momentum=0.95, patience=0
    )
    if scale == "laptop":
        config.transfer.head.update(width=64, mlp_dim=128)
        config.transfer.update(embedded_rows=1_000, embedded_tests=300)
    else:
        config.transfer.update(train=f"en:{task}/en.train.tsv", tests=task, lower_case=True)
    return config

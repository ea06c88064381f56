"""Two monolingual models made one: CLCR (B1-B7)."""

from __future__ import annotations

from ml_collections import ConfigDict

from clwe_jax import config as options
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, at

_OF_TEXT = (
    "lower_case", "simplify_chinese", "pocket_sentences", "pocket_domains", "pocket_shared",
    "pocket_shared_order", "pocket_apart",
)  # fmt: skip


def clcr(scale: str) -> ConfigDict:
    """CLCR of a source language and a target language.

    Args:
      scale: as in all presets.

    Raises:
      ValueError: an unknown scale.
    """
    base, laptop, paper = at(scale), scale == "laptop", scale == "paper"
    config = ConfigDict(
        dict(
            job="clcr",
            system="",
            scale=scale,
            seed=0,  # of the encoders, the maps and the predictors
            data=dict(
                source="pocket",  # text of encoders that are trained first: pocket | text:DIR
                languages="ja,en",  # the source, which is mapped and reordered, and the target
                dictionaries=options.SOURCE,  # of translate-train and translate-test
                **{name: base.data[name] for name in _OF_TEXT},
            ),
            task=dict(),
            clcr=dict(
                # run:DIR or hf:DIR, a language model of the source's language | '': trained first
                source="",
                target="",  # the same of the target's language
                # folders of finished CLCR runs with the same target (DIR,DIR), whose space and model of
                # the target this run takes and whose languages it joins | '': two languages
                hub="",
                encoder=dict(  # of the models that are trained first
                    steps=20_000,  # training steps
                    vocab_kind="wordpiece",  # wordpiece | unigram | bpe | word
                    vocab_size=16_000,  # pieces or words
                    layer="",  # as clcr.layer, of these models alone, where that is ''
                ),
                # pocket | DIR of xx-yy.xx, xx-yy.yy | DIR/train for train.xx, train.yy
                parallel="pocket",
                # gold links, for the figures: source (pocket where clcr.parallel is) | pocket | a
                # folder | '': none
                gold=options.SOURCE,
                # sentences with gold links that the figures are of: test | dev, others, for choices
                gold_part="test",
                sentences=250_000,  # most parallel sentences
                test_sentences=500,  # most sentences with gold links
                length=64,  # most words of a sentence
                # a number, a range, mean_last4 | '': two thirds of the depth (clcr.faithful: three
                # quarters)
                layer="",
                # the paper's method: the options beyond it are off, whatever their values, and both
                # encoders learn (docs/clcr.md has the list)
                faithful=paper,
                whiten=True,  # whether vectors are whitened before T
                unit_length=True,  # whether they are scaled to one length
                transform=dict(  # T by attention matching; its rows of Table 1 share the sizes
                    beta=0.01, hidden=1_536, steps=20_000, batch_size=64, learning_rate=2e-3,
                    weight_decay=0.0, start="zero",
                ),
                tune=dict(  # of both encoders, in turns (the paper's phases 2 and 3)
                    rounds=0, steps=2_000, batch_size=32, learning_rate=3e-5
                ),
                # other sentences that a word's distances are compared with: they are in units of that to
                # the nearest word there | 0: the plain symmetric distances
                contrast=10,
                # largest distance of a pivot; 1: as near as in other sentences (contrast=0: the mean
                # distance of words to their mean vector)
                threshold=1.0,
                predictor=dict(  # of pivots and of orders
                    hidden=512, steps=10_000, batch_size=256, learning_rate=1e-3,
                    weight_decay=0.01, dropout=0.1,
                ),
                pivot_probability=0.2,  # least probability of a pivot, in use
                beam=10,  # of the search for an order, in use
                reordered="source",  # the side whose words get the other one's order: source | target
                entailment=dict(  # Table 4: ESIM on T, T + E, T + E + R and on translations
                    seeds=0,  # heads of a row; 0: no entailment
                    # as of config.transfer (configs/nli_esim.py), in the target's language | '' and '': the
                    # embedded world
                    train="", tests="",
                    # one model of both languages for the row mBERT: run:DIR or hf:DIR | '': no such row
                    multilingual="",
                ),
            ),
            plan=base.plan,
            evals=dict(),
            report=base.report,
        )
    )  # fmt: skip
    if laptop:
        config.data.update(pocket_domains=DOMAINS, pocket_sentences=30_000)
        # The best of three choices of layers on development sentences; benchmarks/README.md has them.
        config.clcr.encoder.update(steps=2_000, vocab_kind="word", vocab_size=4_000, layer="0-1")
        config.clcr.update(sentences=6_000, length=32)
        config.clcr.transform.update(hidden=256, steps=4_000)
        config.clcr.tune.update(steps=200, learning_rate=3e-4)
        config.clcr.predictor.update(hidden=128, steps=1_000)
        config.clcr.entailment.seeds = 5
    else:
        config.data.update(source=YOUR_TEXT["source"])
        config.clcr.parallel = "parallel"
        if scale == "small":
            config.clcr.sentences = 50_000
        if paper:
            config.data.languages = "zh,en"
            config.clcr.update(source="hf:bert-base-chinese", target="hf:bert-base-uncased")
            config.clcr.entailment.update(seeds=1, train="en:nli/train.en.tsv", tests="nli")
    return config

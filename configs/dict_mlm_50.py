"""DICT-MLM-50: half of the masked words are labelled with a cross-lingual synonym (D1-D5).

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_50.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             6 x 384, minutes on one GPU, from prepared batches:
                       python -m clwe_jax.data.prepare --config=configs/dict_mlm_50.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/dict_mlm_50.py:small \\
                         --config.data.source=batches:DIR
  :base              12 x 768, Wikipedia, one accelerator for days.
  :paper             12 x 768, 104 languages, batch 8,192 x 512, LAMB, 500k steps, a v3 slice of 256
                     cores; --plan=v3:8x16 compiles and costs it without one.

:base and :paper draw a label for 15% of the words, as the paper does. At :laptop and :small 80% of the
words are predicted, most of which can be read, and the loss is the expectation over the draw: all
languages at once, x = .5. One command draws there as well:
  --config.task.labels=drawn --config.model.condition_on_language=True --config.objective.dense=True \\
  --config.model.language_embeddings=True --config.objective.stay_near_embeddings=0

Your own text at :laptop, in minutes; whole words as pieces, all parts of the dictionaries:
  --config.data.source=text:DIR --config.data.languages=en,de --config.data.dictionaries=DIR \\
  --config.vocab.size=16384 --config.vocab.dictionary_share=.8 --config.optimizer.learning_rate=2e-3 \\
  --config.train.steps=400 --config.data.max_predictions=32

Expected: Table 1 of the paper: NER 71.3, POS 70.4, XNLI 67.9, PAWS-X 84.2, MLDoc 66.1, Tatoeba 46.4.
At :laptop, in three minutes of one core: seven sentences of ten by CSLS (docs/results.md).
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.bert(scale)
    config.system = "DICT-MLM-50"
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    config.vocab.size = pick(8_192, 49_152, 119_552, 119_552)
    config.data.sequence_length = pick(64, 128, 128, 512)
    config.model.update(
        layers=pick(2, 6, 12, 12),
        width=pick(128, 384, 768, 768),
        heads=pick(4, 6, 12, 12),
        mlp_dim=pick(512, 1_536, 3_072, 3_072),
        dropout=pick(0.0, 0.1, 0.1, 0.1),
    )
    # LAMB is made for batches of thousands of rows; AdamW is as good below.
    config.optimizer.update(
        name=pick("adamw", "adamw", "adamw", "lamb"),
        learning_rate=pick(3e-3, 1e-3, 5e-4, 1.6e-3),
        warmup_steps=pick(100, 1_000, 10_000, 10_000),
    )
    config.train.update(
        steps=pick(750, 20_000, 500_000, 500_000), batch_size=pick(32, 256, 256, 8_192)
    )

    config.task = options.section_of("task", "dict_mlm", cross_lingual_share=0.5)
    config.task.kept = pick("text", "text", "text", "label")
    if scale in ("laptop", "small"):
        # All labels at once. Most words are predicted, and most of these can be read (docs/lessons.md).
        config.task.labels = "expected"
        config.task.update(masking_rate=0.8, mask_share=0.2, keep_share=0.75, random_share=0.05)
        config.data.max_predictions = pick(48, 96, 0, 0)
        # One product scores the labels of all languages. The layers stay in the labels' space without a
        # dense layer between and without languages, where words that are only read are held.
        config.model.update(norm="pre", language_embeddings=False, condition_on_language=False)
        config.objective.update(dense=False, stay_near_embeddings=1.0)
        config.vocab.dictionary_share = pick(0.0, 0.5, 0.0, 0.0)
    return config

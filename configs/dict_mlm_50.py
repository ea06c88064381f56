r"""DICT-MLM-50: translations are half of the labels of masked words (the paper's cross-lingual synonyms).

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_50.py

  :laptop (default)  the embedded world, four minutes of one core.
  :small             6 layers, width 384, minutes on one GPU. It reads batches that another command
                     prepares, because a GPU computes faster than a few cores make batches:
                       python -m clwe_jax.data.prepare --config=configs/dict_mlm_50.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/dict_mlm_50.py:small \
                         --config.data.source=batches:DIR
  :base              12 layers, width 768, Wikipedia, one accelerator for days.
  :paper             12 layers, width 768, 104 languages, batches of 8,192 rows of 512 pieces, LAMB, 500k
                     steps on 128 chips of TPU v3 (256 cores); --plan=v3:8x16 compiles it and forecasts its
                     cost without a TPU.

:base and :paper predict 15% of the words, and draw one label for each word at random, as the paper does.
:laptop and :small learn more from each batch. They predict 80% of the words, and leave most of these
unchanged in the input. They predict all labels of a word in all languages at once: the loss is the
expectation of the paper's loss over its random draw, in which translations have half of the weight.
These options draw one label at :laptop and :small, too, with the head and language embeddings it needs:
  --config.task.labels=drawn --config.model.condition_on_language=True --config.objective.dense=True \
  --config.model.language_embeddings=True --config.objective.stay_near_embeddings=0

At :laptop the matrices of the layers learn by Muon, as in the configs that start from this one; AdamW for all:
  --config.optimizer.name=adamw --config.optimizer.groups.matrices.learning_rate=3e-3

On your own text, in minutes: configs/dict_mlm_text.py.

Expected at :paper are the figures of Table 1 of the DICT-MLM paper: NER 71.3, POS 70.4, XNLI 67.9,
PAWS-X 84.2, MLDoc 66.1, Tatoeba 46.4. At :laptop almost eight of ten sentences find their translation by CSLS.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.masked_model(scale)
    config.system = "DICT-MLM-50"
    pick = presets.pick_for(scale)  # pick(laptop, small, base, paper) chooses one by the scale
    config.vocab.size = pick(8_192, 49_152, 119_552, 119_552)
    config.data.sequence_length = pick(64, 128, 128, 512)
    config.model.update(
        layers=pick(2, 6, 12, 12),
        width=pick(128, 384, 768, 768),
        heads=pick(4, 6, 12, 12),
        mlp_dim=pick(512, 1_536, 3_072, 3_072),
        dropout=pick(0.0, 0.1, 0.1, 0.1),
    )
    # LAMB is made for batches of thousands of rows. AdamW is as good for smaller ones, Muon better at :laptop.
    config.optimizer.update(
        name=pick("muon", "adamw", "adamw", "lamb"),
        learning_rate=pick(3e-3, 1e-3, 5e-4, 1.6e-3),
        warmup_steps=pick(100, 1_000, 10_000, 10_000),
    )
    config.train.update(
        steps=pick(750, 20_000, 500_000, 500_000), batch_size=pick(32, 256, 256, 8_192)
    )
    if scale == "laptop":
        # Muon learns the matrices of the layers, at a rate of its own.
        config.optimizer.groups = dict(
            matrices=dict(pattern="backbone/layer_.*_kernel", learning_rate=0.02)
        )

    # The task makes the batches: it chooses words and labels them. The objective is their loss.
    config.task = options.section_of("task", "dict_mlm", cross_lingual_share=0.5)
    # A predicted word that stays visible in the input is shown as in the text. The paper shows its label there,
    # which teaches a small model to copy.
    config.task.kept_piece = pick("text", "text", "text", "label")
    if scale in ("laptop", "small"):
        # A batch teaches more: all labels count, and 80% of the words are predicted, most of them visible.
        config.task.labels = "expected"
        config.task.update(masking_rate=0.8, mask_share=0.2, keep_share=0.75, random_share=0.05)
        config.data.max_predictions = 48 if scale == "laptop" else 96  # 3/4 of a row's pieces
        # One table holds the embeddings of all languages' pieces and scores the labels. The output of the
        # layers must stay in its space: no dense layer before the scores, no language embeddings, and a loss
        # that keeps words which are not predicted near their embeddings.
        config.model.update(language_embeddings=False, condition_on_language=False)
        config.objective.update(dense=False, stay_near_embeddings=1.0)
        # Pre-norm learns sooner: with post-norm a model first predicts frequent pieces alone for many steps.
        config.model.norm = "pre"
        # Half of the vocabulary of :small is whole words of the dictionary; :laptop splits few words anyway.
        config.vocab.dictionary_share = 0.0 if scale == "laptop" else 0.5
    return config

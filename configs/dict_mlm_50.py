r"""DICT-MLM-50: half of the labels of masked words are translations (cross-lingual synonyms).

Command:
  python -m clwe_jax.main --config=configs/dict_mlm_50.py

  :laptop (default)  the embedded world (generated text, docs/glossary.md), five minutes of one core.
  :small             6 layers, width 384, your text in corpora/ and dictionaries/, minutes on one GPU. A GPU
                     computes faster than a few cores make batches, so prepare them first:
                       python -m clwe_jax.data.prepare --config=configs/dict_mlm_50.py:small --out=DIR
                       python -m clwe_jax.main --config=configs/dict_mlm_50.py:small \
                         --config.data.source=batches:DIR
  :base              12 layers, width 768, Wikipedia, one accelerator for days.
  :paper             12 layers, width 768, mBERT's languages, batches of 8,192 rows of 512 pieces, LAMB, 500k
                     steps on 128 chips of TPU v3 (256 cores); --plan=v3:8x16 compiles it and forecasts its
                     cost without a TPU.

:base and :paper predict 15% of the words, and draw one label for each word at random, as the paper does.
:laptop and :small learn more from each batch: they predict up to 80% of a line's words. At all scales these are
words that the dictionary has (all words of a language without a dictionary). It has two thirds of the embedded
world's words, and :laptop predicts all of these. Most stay visible in the input: a visible word teaches its
translations, and a masked word teaches the context. All labels of a word, in all languages, are predicted at
once: the loss is the expectation of the paper's loss over the label that the paper draws, with a softmax over
the pieces of the label's language instead of all pieces, and with a bag of pieces for a label of several.
The translations have 50% of the weight, hence the name, and the word itself the rest.
To draw one label at :laptop and :small, too, give the options below. The model must then know the label's
language: the input reads it (language_embeddings), and so does the head, in its layer `dense`, which can leave
the space of the embeddings, so that no loss need keep positions near theirs:
  --config.task.labels=drawn --config.model.condition_on_language=True --config.objective.dense=True \
  --config.model.language_embeddings=True --config.objective.stay_near_embeddings=0

At :laptop the matrices of the layers learn by Muon, also in the configs that start from this one
(`presets.start_from`), such as dict_mlm_70. These options choose AdamW for all parameters:
  --config.optimizer.name=adamw --config.optimizer.groups.matrices.learning_rate=3e-3

On your own text, in minutes: configs/dict_mlm_text.py.
Expected at :laptop: eight of ten sentences find their translation by CSLS. At :paper, not measured by us, Table 1
of the paper: NER 71.3, POS 70.4, XNLI 67.9, PAWS-X 84.2, MLDoc 66.1, Tatoeba 46.4.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    # Text, evaluations and checkpoints of the scale are those of clwe_jax/presets/masked.py.
    config = presets.masked_model(scale)
    config.system = "DICT-MLM-50"  # its name in reports
    pick = presets.pick_for(scale)  # pick(laptop, small, base, paper) chooses one by the scale
    config.vocab.size = pick(8_192, 49_152, 119_552, 119_552)  # mBERT's 119,547, rounded up
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
        # Muon moves the matrices of the layers (`training.optim` lists them), and Adam all other parameters, at
        # the rate above. This group gives these matrices another rate. Its pattern must match them alone: Adam
        # would train anything else at .02.
        config.optimizer.groups = dict(
            matrices=dict(pattern="backbone/layer_.*_kernel", learning_rate=0.02)
        )

    # The task makes the batches: it chooses words and labels them. The objective is their loss. `masked_model`
    # has set the task of plain MLM, whose options differ: this replaces it, with defaults where no value is given.
    config.task = options.section_of("task", "dict_mlm", cross_lingual_share=0.5)
    # What the input shows where a predicted word stays visible: the word of the text. The paper shows the label
    # there, and our models then learn to copy it.
    config.task.kept_piece = pick("text", "text", "text", "label")
    if scale in ("laptop", "small"):
        # A batch teaches more: all labels count, and up to 80% of the words are predicted (`masking_rate`; only
        # words with an entry can be). Of their pieces 20% are masked, 75% stay visible, 5% become random pieces.
        config.task.labels = "expected"
        config.task.update(masking_rate=0.8, mask_share=0.2, keep_share=0.75, random_share=0.05)
        # Of a row; more of a line goes to another row. At other scales a fifth of the row, enough for 15%.
        config.data.max_predictions = 48 if scale == "laptop" else 96
        # One table embeds the pieces of all languages and scores the labels: the output of the layers must stay
        # in its space. So there are no language embeddings and no dense layer, which alone could read the label's
        # language; a loss keeps the positions that are not predicted near their embeddings.
        config.model.update(language_embeddings=False, condition_on_language=False)
        config.objective.update(dense=False, stay_near_embeddings=1.0)
        # Pre-norm learns sooner: with post-norm a model first predicts frequent pieces alone for many steps.
        config.model.norm = "pre"
        # Up to half of the vocabulary of :small is whole words of the dictionary; :laptop splits few anyway.
        config.vocab.dictionary_share = 0.0 if scale == "laptop" else 0.5
    return config

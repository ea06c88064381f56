"""Warm DICT-MLM: tokens start from vectors of the same text and dictionaries, and keep them.

Command:
  python -m clwe_jax.main --config=configs/warm_dict_mlm.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             your text, six languages, 6 x 384:
                       --config.data.source=text:DIR --config.data.dictionaries=DIR
  :base, :paper      as dict_mlm_90.py, on text files; train the vectors first on one host, then
                       --config.init.embeddings=DIR

The run first makes the vectors of joint_dictionary.py, in WORKDIR/start. The table of tokens starts from
them and is frozen, because training would destroy the common space. DICT-MLM trains the layers above
it: nine of ten masked words are labelled with a translation, layers are normalised before
attention, and the output has a table of its own that starts from the same vectors. The head reads
the target's language; the input does not, because a language embedding there would move the languages apart.
Words that are read and not predicted stay near the table's vectors (`objective.stay_near_embeddings`), so that
the layers stay in the common space. A short contrastive finish then brings sentences and their
code-switched copies together. At :laptop the matrices of the layers learn by Muon, as in dict_mlm_50.py.

Variants, by override:
  no training of vectors   --config.init.embeddings=dictionary
  joint-align alone        --config.init.embeddings=joint
  your own vectors         --config.init.embeddings=de=FILE,en=FILE (one space), or a static run
  vectors that learn from translations in the text (configs/mined_vectors.py)
                           --config.init.mine=True
  a finish on these        --config.finish.pairs=mined
  on given parallel text   --config.finish.pairs=DIR
  layers that move freely  --config.objective.stay_near_embeddings=0
  no finish                --config.finish.steps=0
  a table that learns      --config.optimizer.groups.table.frozen=False
  one that is held         the same with --config.optimizer.groups.table.decay_to_start=10
  a tied output            --config.objective.tied=True

Expected: layers above the dictionary floor, in fewer steps than dict_mlm_50.py:
docs/lessons.md. The recipe is this project's own.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.start_from("mbert", scale)
    config.system = "Warm DICT-MLM"
    config.data.simplify_chinese = True  # texts and dictionaries mix both ways of writing
    config.task = options.section_of("task", "dict_mlm", cross_lingual_share=0.9)
    config.data.max_predictions = 0
    # Pieces of words find fewer sentences than whole words.
    config.vocab.update(size=max(config.vocab.size, 32_768), dictionary_share=0.8)
    config.model.update(norm="pre", language_embeddings=False)
    config.objective.update(tied=False, stay_near_embeddings=3.0)
    # The vectors are centered and of comparable length already: rows take them as they are.
    config.init.update(embeddings="joint+dictionary", method="mean", center=False, scale=4.0)
    config.init.joint.dim = 100
    config.optimizer.groups.table = dict(
        pattern="backbone/token_embedding",
        learning_rate=config.optimizer.learning_rate / 10,
        warmup_steps=config.optimizer.warmup_steps,
        decay_to_start=0.0,
        frozen=True,
    )
    config.finish.update(drop=0.6, pool="sif", against="table")
    if scale == "laptop":
        config.model.width = 256
        config.train.steps = 600
        config.checkpoint.every_steps = 500
        config.finish.update(steps=40, batch_size=128)
        config.evals.mlm.every_steps = 0
        config.evals.retrieval.every_steps = 400
        config.init.joint.epochs = 2
    elif scale == "small":
        config.finish.steps = 300
    else:
        config.data.source = "text:corpora"
    return config

"""LASER: sentence vectors from translation (C1; Artetxe and Schwenk 2019).

Command:
  python -m clwe_jax.main --config=configs/laser.py

  :laptop (default)  English, German and French of the embedded world, smaller layers, two cores, minutes;
                     the tables of pieces start from joint-align vectors, which are trained first.
  :small             your parallel text (--config.data.pairs=DIR/train, with DIR/train.en,
                     DIR/train.de, ...; --config.data.source=text:DIR for the vocabulary), one GPU.
  :base              the paper's model, six languages, one accelerator for days.
  :paper             the paper's model and languages; --plan=v3:8x16 compiles it and
                     forecasts its cost.

Options: --config.task.targets=en,es translates into these languages only, as in the paper;
--config.data.pairs=mined mines the run's own text for it, as configs/mined_vectors.py does;
--config.evals.bleu.data=DIR/val and --config.evals.retrieval.data=DIR name test text.

A loaded run has `encode(texts, lang=...)` and `translate_sentence(text, lang=..., to=...)`;
configs/laser_top_ner.py and configs/laser_elmo_ner.py take its encoder for named entities.

Expected: at :laptop retrieval near that of the vectors it starts from: docs/lessons.md.
With two languages retrieval varies with the seed: each language is written only from the other, and only the start holds their
vectors together. Translation suffers because the decoder reads a single vector: unsupervised_mt.py, whose decoder reads every
piece, translates better without pairs.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.translation(scale)
    config.system = "LASER"
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    # Of two languages each is written from the other alone, and nothing except the start makes a
    # sentence's vector like its translation's; a third language does.
    config.data.languages = pick(
        "en,de,fr", "en,de,fr", "en,de,es,fr,ru,zh", options.MBERT_LANGUAGES
    )
    config.data.update(temperature=1.0, sequence_length=pick(32, 64, 128, 128))
    config.vocab.update(kind="bpe", size=pick(3_000, 16_000, 50_000, 50_000))
    config.task = options.section_of("task", "translation", widths=3)
    config.model = options.section_of("model", "laser")
    config.objective = options.section_of("objective", "translation")
    config.optimizer.update(
        name="adam",
        learning_rate=pick(3e-3, 1e-3, 1e-3, 1e-3),
        warmup_steps=pick(100, 500, 4_000, 4_000),
        schedule=pick("linear", "inverse_sqrt", "inverse_sqrt", "inverse_sqrt"),
        eps=1e-8,
        clip=5.0,
    )
    config.train.update(
        steps=pick(1_200, 20_000, 200_000, 500_000),
        batch_size=pick(64, 256, 512, 2_048),
        microbatches=pick(1, 1, 1, 4),
    )
    if scale == "laptop":
        config.model.update(
            width=128, cells=128, layers=2, decoder_cells=256, language_width=16, dropout=0.0
        )
        # Without word vectors at the start, minutes are too few.
        config.init.update(embeddings="joint", center=False)
    elif scale == "small":
        config.model.update(width=256, cells=256, layers=3, decoder_cells=1_024)
    config.checkpoint.every_steps = pick(600, 1_000, 5_000, 5_000)
    if scale != "laptop":
        config.data.pairs = "parallel"
    tests, dev = [options.SOURCE] * 2 if scale == "laptop" else ("tatoeba", "dev")
    config.evals.update(
        retrieval=options.section_of("evaluator", "retrieval", data=tests),
        mining=options.section_of("evaluator", "mining", data=tests, max_sentences=1_000),
        bleu=options.section_of("evaluator", "bleu", data=dev, max_sentences=1_000),
    )
    config.evals.retrieval.every_steps = pick(600, 0, 0, 0)
    config.evals.bleu.update(
        every_steps=pick(600, 2_000, 20_000, 20_000), max_sentences=pick(60, 500, 1_000, 1_000)
    )
    return config

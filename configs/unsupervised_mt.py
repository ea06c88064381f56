"""Translation learned from text without translations (E10; Wang et al. 2020, section 3.3).

Command:
  python -m clwe_jax.main --config=configs/unsupervised_mt.py

  :laptop (default)  the embedded world, English and German, two cores, minutes.
  :small             your text of two languages (--config.data.source=text:DIR), one GPU; give
                     --config.evals.bleu.data=DIR/val to measure it.
  :base, :paper      four layers each of encoder and decoder, as Lample et al. 2018; your text.

Every step trains a denoising autoencoder and back-translation; no pair of sentences is read. The table of pieces
starts from joint-align vectors of the run's own text, and learns at :base and :paper. An embedding and a bias of each
piece tell the decoder which language to write. Languages share three of four
layers, as in Lample et al.; at :laptop they share both layers.

Options: --config.init.embeddings=DIR takes a static run's vectors (Fig. 2 compares joint_align.py,
align_procrustes.py and joint vectors without refinement); --config.data.languages=en,zh other languages;
--config.objective.translate_after=0 translates from the first step on;
--config.model.shared_layers=1 gives each language its own other layers.
`python benchmarks/translation.py multi30k` learns from real captions, `starts` compares Fig. 2's starts.
configs/supervised_mt.py is the same model on parallel text; where the text of both languages shares
documents, start from its run on --config.data.pairs=mined: --config.init.parameters=run:RUN. Batches of a few
sentences learn nothing.

Expected: nearly half of the ceiling's BLEU at :laptop, and a curve that still rises: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop"):
    config = presets.translation(scale)
    config.system = "Unsupervised MT"
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    config.data.update(languages="en,de", sequence_length=pick(24, 64, 128, 128))
    config.vocab.size = pick(4_000, 8_192, 60_000, 60_000)
    config.task = options.section_of("task", "sentences")
    config.model = options.section_of("model", "translator")
    config.objective = options.section_of("objective", "unsupervised_translation")
    config.init.update(embeddings="joint", center=False, scale=4.0)
    config.optimizer.update(
        name="adam",
        learning_rate=pick(2e-3, 1e-3, 1e-4, 1e-4),
        warmup_steps=pick(100, 500, 4_000, 4_000),
        schedule=pick("linear", "constant", "constant", "constant"),
        eps=1e-8,
    )
    config.train.update(
        steps=pick(1_500, 30_000, 500_000, 500_000), batch_size=pick(64, 128, 512, 512)
    )
    if scale == "laptop":
        config.task.widths = 2
        config.model.update(
            layers=2,
            decoder_layers=2,
            shared_layers=2,
            width=128,
            heads=4,
            mlp_dim=512,
            dropout=0.0,
        )
        config.objective.update(denoising=((0, 1.0), (500, 0.1), (1_500, 0.0)), translate_after=250)
    elif scale == "small":
        config.model.update(width=256, heads=4, mlp_dim=1_024)
        config.objective.update(
            denoising=((0, 1.0), (10_000, 0.1), (30_000, 0.0)), translate_after=1_000
        )
    if scale in ("laptop", "small"):
        # The table of pieces learns at :base and :paper (E10); few steps wash its common space away.
        config.optimizer.groups = dict(table=dict(pattern="backbone/token_embedding", frozen=True))
    config.checkpoint.every_steps = pick(500, 1_000, 5_000, 5_000)
    dev, tests = [options.SOURCE] * 2 if scale == "laptop" else ("dev", "")
    config.evals.update(
        bleu=options.section_of("evaluator", "bleu", data=dev, width=1),
        retrieval=options.section_of("evaluator", "retrieval", data=tests),
    )
    config.evals.bleu.update(
        every_steps=pick(250, 2_000, 10_000, 10_000), max_sentences=pick(200, 500, 1_000, 1_000)
    )
    return config

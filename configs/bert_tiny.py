"""BERT-Tiny: a masked language model of whole words (A11).

Command:
  python -m clwe_jax.main --config=configs/bert_tiny.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              4 x 512, 27,654 words, batch 128, 1M steps (A11).
  :paper             as :base.

The twin of sabert_tiny.py, without senses.
Expected: Table 2 of the paper, WSD F1: SE2 .596, SE3 .539, SE07 .466, SE13 .536, SE15 .572.
At :laptop: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop", languages: str = "en"):
    config = presets.word_model(scale, languages)
    config.system = "BERT-Tiny"
    several = "," in languages
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    config.vocab.size = pick(8_192, 27_654, 27_654, 27_654)
    config.data.update(sequence_length=pick(64, 128, 128, 128), max_predictions=pick(0, 0, 20, 20))
    config.model.update(
        layers=pick(2, 4, 4, 4),
        width=pick(128, 256, 512, 512),
        heads=pick(4, 4, 8, 8),
        mlp_dim=pick(512, 1_024, 2_048, 2_048),
        dropout=pick(0.0, 0.1, 0.1, 0.1),
        language_embeddings=False,
        condition_on_language=False,
    )
    config.objective = options.section_of("objective", "sense_mlm")
    config.objective.senses = presets.senses(
        scale, several, senses=1, warmup_slot=False, projected=14
    )
    config.optimizer.update(
        learning_rate=pick(3e-3, 5e-4, 1e-4, 1e-4), warmup_steps=pick(100, 1_000, 20_000, 20_000)
    )
    config.train.update(
        steps=pick(4_000 if several else 2_400, 50_000, 1_000_000, 1_000_000),
        batch_size=pick(32, 128, 128, 128),
    )
    config.evals.mlm.every_steps = pick(800, 2_000, 10_000, 15_000)
    if scale == "laptop" and several:
        config.evals.senses.every_steps = 2_000
    return config

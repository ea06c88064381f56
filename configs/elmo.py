"""ELMo: a bidirectional language model that reads words as characters (A1, A2).

Command:
  python -m clwe_jax.main --config=configs/elmo.py

  :laptop (default)  the embedded world, two cores, minutes.
  :small             text files in corpora/, one GPU, hours.
  :base              2 x 4,096 cells, 200,000 words, an accelerator for days.
  :paper             A11: batch 512, window 16, 1M steps; V=800,000 fits a v3 slice (--plan=v3:4x8).

The twin of saelmo.py, without senses.
Expected: Table 2 of the paper, WSD F1: SE2 .555, SE3 .576, SE07 .446, SE13 .544, SE15 .538.
At :laptop: docs/lessons.md.
"""

from clwe_jax import options, presets


def get_config(scale: str = "laptop", languages: str = "en"):
    config = presets.word_model(scale, languages)
    config.system = "ELMo"
    several = "," in languages
    # At laptop, small, base, paper:
    pick = presets.pick_for(scale)
    config.vocab.size = pick(8_192, 65_536, 200_000, 800_000)
    config.data.sequence_length = pick(20, 20, 16, 12 if several else 16)
    config.task = options.section_of("task", "bilm")
    config.model = options.section_of(
        "model", "bilm", width=pick(128, 256, 512, 512), cells=pick(256, 1_024, 4_096, 4_096)
    )
    config.objective = options.section_of(
        "objective", "bilm", negatives=pick(512, 4_096, 8_192, 8_192)
    )
    config.objective.senses = presets.senses(scale, several, senses=1)
    # Senses are removed only in biLMs (A7; for Bi-SaELMo Table 8 of the paper).
    config.objective.senses.prune_every = pick(0, 5_000, 20_000, 20_000)
    config.objective.senses.prune_after = pick(40_000, 10_000, 40_000, 40_000)
    config.train.update(
        steps=pick(4_000 if several else 2_400, 50_000, 600_000, 600_000 if several else 1_000_000),
        batch_size=pick(32, 128, 256, 512),
        microbatches=pick(1, 1, 1, 4),
    )
    if scale == "laptop":
        config.model.update(dropout=0.1, filters=((1, 16), (2, 16), (3, 32), (4, 64)))
        config.optimizer.update(name="adam", learning_rate=3e-3, warmup_steps=100, eps=1e-8)
        config.optimizer.initial_accumulator = 1.0
    else:
        # A2: the loss is summed over the window's steps, so that its gradients are not scaled.
        config.optimizer.update(
            name="adagrad",
            learning_rate=0.2,
            schedule="constant",
            initial_accumulator=1.0,
            eps=1e-8,
            clip=10.0,
            scale=0.0,
        )
    # Sense vectors and centers take 10 GB each at :paper; every core holds a part of the words.
    config.mesh.tensor = pick(1, 1, 1, 32)
    # A held-out batch costs up to thirty training steps: it is scored against the whole vocabulary.
    config.evals.mlm.every_steps = pick(0, 2_000, 10_000, 15_000)
    return config

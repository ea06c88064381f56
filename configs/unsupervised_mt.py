"""Translation learned from text without translations (E10; Wang et al. 2020, section 3.3).

Command:
  python -m clwe_jax.main --config=configs/unsupervised_mt.py

  :laptop (default)  the embedded world, English and German, two cores, minutes.
  :small             your text of two languages (--config.data.source=text:DIR), one GPU; give
                     --config.evals.bleu.data=DIR/val to measure it.
  :base, :paper      four layers each of encoder and decoder, as Lample et al. 2018; your text.

A denoising autoencoder and back-translation in every step; no pair of sentences is read. Joint-align
vectors of the run's own text are the start of the table of pieces, which learns at :base and :paper. The decoder knows
the language that it writes, by an embedding and a bias of each piece. Languages share three of four
layers, as in Lample et al.; at :laptop both of two.

Options: --config.init.embeddings=DIR takes a static run's vectors (Fig. 2 compares joint_align.py,
align_procrustes.py and joint vectors without refinement); --config.data.languages=en,zh other languages;
--config.objective.translate_after=0 translates from the first step on;
--config.model.shared_layers=1 gives each language its own other layers.
`python benchmarks/translation.py multi30k` learns from real captions, `starts` compares Fig. 2's starts.
configs/supervised_mt.py is the same model on parallel text; where the text of both languages shares
documents, start from its run on --config.data.pairs=mined: --config.init.parameters=run:RUN. Batches of a few sentences learn nothing.

Expected: about 40% of the ceiling's BLEU at :laptop, and a curve that still rises: docs/lessons.md.
"""

from clwe_jax import presets


def get_config(scale: str = "laptop"):
    config = presets.unsupervised_translation(scale)
    config.system = "Unsupervised MT"
    return config

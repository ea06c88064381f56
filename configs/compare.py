"""One comparison: systems trained on one text and dictionary, measured by the same tests.

Command:
  python -m clwe_jax.main --config=configs/compare.py
  a few systems, in minutes:   --config.compare.systems=quick
  the ones that you name:      --config.compare.systems=floor,joint_dictionary,warm_dict_mlm
  a model that you downloaded: --config.compare.systems=joint_dictionary,hf:DIR,vec:en=FILE,de=FILE

  :laptop (default)  the embedded world, ten systems; or your text, with models for a laptop:
                       --config.data.source=text:DIR --config.data.languages=en,de
                       --config.data.dictionaries=DIR
  :small, :base, :paper  your text, by each system's own config of that scale.

Each system has its folder, WORKDIR/systems/NAME/seed0, a run like any other; WORKDIR/tasks has its runs on
the tasks. The same command continues an interrupted comparison; with more systems or seeds it adds
them. Test sets that are not named follow the text. The embedded world has its own; your text is tested by the test
dictionaries in the dictionaries' folder, or by words that are held out of the dictionaries.

At :laptop each language model reads 1.5 million pieces or words, which are the 750 steps of dict_mlm_50.
Fewer show what a warm start is worth: --config.compare.budget='300_000 tokens'.

Options: --config.compare.seeds=3 (intervals and significance over seeds too);
--config.compare.budget='5 minutes' (or tokens, or steps) for the training of every language model;
--config.evals.retrieval.data=DIR and --config.evals.bli.data=DIR name test
sets; --config.compare.labelled=DIR has labelled rows, DIR/ner/en.train.tsv, DIR/ner/de.test.tsv, ...;
--config.compare.parallel=DIR/train is for systems that learn from translations.

Expected: static vectors with a dictionary find the most sentences in the least time. Of the masked language
models dict_mlm_all, from random parameters, finds more than those with a warm start, and reads the most parts
of speech rightly. docs/results.md has the figures.
"""

import os

from clwe_jax.options.compare import CompareRun
from clwe_jax.presets.base import DOMAINS, YOUR_TEXT, at


def get_config(scale: str = "laptop"):
    config = at(scale, CompareRun)
    config.system = "Comparison"
    config.compare.configs = os.path.relpath(os.path.dirname(os.path.abspath(__file__)))
    if scale == "laptop":
        config.data.update(pocket_sentences=10_000, pocket_domains=DOMAINS)
        config.compare.update(budget="1_500_000 tokens", rows=500, test_rows=200)
    else:
        config.data.update(YOUR_TEXT)
        config.data.languages = "en,de,es,fr,ru,zh"
    return config

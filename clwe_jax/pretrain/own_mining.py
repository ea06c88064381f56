"""The sentences and translations that a language model mines in its own text before it trains.

`config.task.parallel=mined` and `config.finish.pairs=mined` train on them. They are kept in the
folder of the vectors that the run starts from, where these learn from them (`init.mine`), else in
WORKDIR/mining, and are mined once.
"""

from __future__ import annotations

import os

from absl import logging
import jax

from clwe_jax import options
from clwe_jax.embeddings.text_links import TextLinks
from clwe_jax.options.pretrain import PretrainRun
from clwe_jax.options.static import StaticRun
from clwe_jax.pretrain import warm_start
from clwe_jax.text import text_of_run


def run(config: PretrainRun, workdir: str) -> None:
    """Mines, unless that is done.

    Raises:
      ValueError: the texts hold no translations, or there are several hosts.
    """
    # Most runs train no vectors, and load none of this.
    from clwe_jax.static.job import Static
    from clwe_jax.static.trainer import GROWN

    names = config.mined_by
    if jax.process_count() > 1:
        raise ValueError(
            f"config.{names[0]}='{options.MINED}' runs on one host: mine first with "
            f"configs/mined_vectors.py, then give what it found: --config.{names[0]}=RUN/mined"
        )
    folders = text_of_run.resolve_folders(config, workdir)
    place = os.path.dirname(text_of_run.mined_folder(config, workdir))
    if config.init.mine:
        warm_start.train(config, workdir, folders)
    else:
        # The run itself measures the floor.
        Static(_config(config, folders), place, with_floor=False).run()
    _check(TextLinks.load(os.path.join(place, "trained", GROWN)), names[0])


def _config(config: PretrainRun, folders: dict[str, str]) -> StaticRun:
    """The config of a static run that mines, and needs no training for it."""
    static = dict(
        training="dictionary",
        mine=True,
        reallocation=False,
        refinement=False,
        dictionary_dim=0,
        keep_subwords=False,
    )
    base = warm_start.static_config(config, folders)
    return options.with_values(base, {"system": "Mined dictionary", "static": static})


def _check(grown: TextLinks, option: str) -> None:
    """Raises ValueError where nothing was mined; the log names the pairs of languages without any."""
    rows = {row["pair"]: row for row in grown.rounds}  # of the last round of each pair
    without = [
        f"{pair}: {row['mutual']:,} mutual best pairs of sentences, {row['supported']:,} with another "
        f"one beside them ({row['by_chance']:,} in shuffled text)"
        for pair, row in rows.items()
        if not row["taken"]
    ]
    if len(without) < len(rows):
        for line in without:
            logging.warning("Nothing is mined in %s", line)
        return
    raise ValueError(
        f"config.{option}='{options.MINED}': the texts hold no translations that could be mined. "
        + "; ".join(without or ["no two languages have sentences of a fitting length"])
        + f". Give parallel text, --config.{option}=DIR, or mine text whose lines are in no order "
        f"with configs/mined_vectors.py, --config.{option}=RUN/mined"
    )

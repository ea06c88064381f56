"""The peer of adversarial.py: the discriminator and the trainer of MUSE.

Run by adversarial.py --peer-python=PYTHON --muse=FOLDER; needs torch and scipy.
"""

import argparse
import inspect
import os
import sys

import side_by_side
import torch
from torch import nn


def setup(options):
    """Returns facts about the peer and a function that measures a round."""
    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    # MUSE calls this function under a name that Python 3.11 has dropped.
    inspect.getargspec = inspect.getfullargspec
    sys.path.insert(0, options["muse"])
    from src.models import Discriminator
    from src.trainer import Trainer

    torch.manual_seed(0)
    words, dim = options["words"], options["dim"]
    # The defaults of unsupervised.py.
    params = argparse.Namespace(
        emb_dim=dim,
        dis_layers=2,
        dis_hid_dim=options["hidden"],
        dis_dropout=0.0,
        dis_input_dropout=0.1,
        dis_smooth=0.1,
        dis_lambda=1.0,
        dis_clip_weights=0.0,
        dis_most_frequent=words,
        dis_optimizer="sgd,lr=0.1",
        map_optimizer="sgd,lr=0.1",
        map_beta=0.001,
        batch_size=32,
        cuda=False,
        src_dico=range(words),
        tgt_dico=range(words),
    )
    tables = []
    for _ in range(2):
        table = nn.Embedding(words, dim, sparse=True)
        table.weight.data.copy_(torch.randn(words, dim) / dim**0.5)
        tables.append(table)
    mapping = nn.Linear(dim, dim, bias=False)
    mapping.weight.data.copy_(torch.eye(dim))
    trainer = Trainer(*tables, mapping, Discriminator(params), params)
    clock = side_by_side.CLOCKS[options["clock"]]

    def measure():
        stats = {"DIS_COSTS": []}
        start = clock()
        for _ in range(options["steps"]):
            for _ in range(5):
                trainer.dis_step(stats)
            trainer.mapping_step(stats)
        return options["steps"] / (clock() - start)

    return {"torch": torch.__version__, "threads": torch.get_num_threads()}, measure


side_by_side.serve(setup)

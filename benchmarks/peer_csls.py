"""The peer of csls.py: the mean cosine with the nearest words, by products and topk in PyTorch.

Run by csls.py --peer-python=PYTHON; needs torch and numpy. It is what MUSE does without faiss, with as many
rows at once as fit a gigabyte of scores.
"""

import time

import numpy as np
import side_by_side
import torch

_SCORES = 2**28  # float32 scores in memory at once


def setup(options):
    """Reads the vectors; options: words (a .npy file of [2, N, D]), neighbourhood, device, threads."""
    torch.set_num_threads(options["threads"])
    pool, keys = torch.from_numpy(np.load(options["words"])).to(options["device"])
    pool, keys = (torch.nn.functional.normalize(x) for x in (pool, keys))
    rows = max(1, _SCORES // len(pool))

    def measure():
        start = time.perf_counter()
        parts = [
            (part @ pool.T).topk(options["neighbourhood"]).values.mean(1)
            for part in keys.split(rows)
        ]
        torch.cat(parts).sum().item()
        return len(keys) / (time.perf_counter() - start)

    return {"torch": torch.__version__, "threads": torch.get_num_threads()}, measure


if __name__ == "__main__":
    side_by_side.serve(setup)

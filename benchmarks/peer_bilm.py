"""The peer of bilm.py: nn.LSTM(proj_size=...) in PyTorch.

Run by bilm.py --peer-python=PYTHON; needs only torch. The model is ours without the clips, which
nn.LSTM lacks: character CNN once per distinct word, highway layers, a forward and a backward stack
of projected LSTM layers with the skip connection, state carried from window to window, sampled
softmax with one set of log-uniform negatives per direction, Adagrad, clipping by the global norm.
"""

import json
import math

import peer_torch
import side_by_side
import torch
from torch import nn
from torch.nn import functional as F


class Words(nn.Module):
    """Character CNN: characters to word vectors."""

    def __init__(self, options):
        super().__init__()
        self.embedding = nn.Embedding(261, options["character_dim"])
        self.convolutions = nn.ModuleList(
            nn.Conv1d(options["character_dim"], count, size) for size, count in options["filters"]
        )
        features = sum(count for _, count in options["filters"])
        self.highways = nn.ModuleList(nn.Linear(features, 2 * features) for _ in range(2))
        self.projection = nn.Linear(features, options["width"])

    def forward(self, characters):
        x = self.embedding(characters).transpose(1, 2)
        x = torch.cat([F.relu(layer(x).amax(2)) for layer in self.convolutions], 1)
        for layer in self.highways:
            gate, y = layer(x).chunk(2, 1)
            gate = torch.sigmoid(gate)
            x = gate * F.relu(y) + (1 - gate) * x
        return self.projection(x)


class BiLm(nn.Module):
    """Forward and backward language models and their output tables."""

    def __init__(self, options):
        super().__init__()
        width, cells = options["width"], options["cells"]
        self.words = Words(options)
        self.layers = nn.ModuleList(
            nn.ModuleList(
                nn.LSTM(width, cells, proj_size=width, batch_first=True)
                for _ in range(options["layers"])
            )
            for _ in range(2)
        )
        self.tables = nn.ParameterList(
            nn.Parameter(torch.randn(options["vocab"], width) * width**-0.5) for _ in range(2)
        )
        self.biases = nn.ParameterList(
            nn.Parameter(torch.zeros(options["vocab"])) for _ in range(2)
        )
        self.dropout = nn.Dropout(options["dropout"])
        self.negatives, self.vocab = options["negatives"], options["vocab"]

    def forward(self, characters, spellings, targets, states):
        vectors = self.words(characters)
        loss, after = 0.0, []
        for d in range(2):
            x = F.embedding(spellings[d], vectors)
            for number, layer in enumerate(self.layers[d]):
                x = self.dropout(x)
                y, state = layer(x, states[d * len(self.layers[d]) + number])
                x = x + y if number else y
                after.append(tuple(part.detach() for part in state))
            hidden = self.dropout(x).reshape(-1, x.shape[-1])
            loss = loss + self.sampled_loss(hidden, self.tables[d], self.biases[d], targets[d])
        return loss / 2, after

    def sampled_loss(self, hidden, table, bias, targets):
        draws = torch.rand(self.negatives) * math.log(self.vocab + 1)
        ids = (draws.exp().long() - 1).clamp(0, self.vocab - 1)
        counts = torch.log1p(1 / (ids + 1.0)) / math.log(self.vocab + 1) * self.negatives
        rows = F.embedding(torch.cat([ids, targets]), table)
        negatives, positives = rows[: self.negatives], rows[self.negatives :]
        scores = torch.addmm(bias[ids] - counts.log(), hidden, negatives.T)
        scores = scores.masked_fill(ids[None] == targets[:, None], -1e30)
        score = (hidden * positives).sum(1) + bias[targets]
        return (torch.logaddexp(scores.logsumexp(1), score) - score).mean()


def setup(options):
    """Builds the model; options: the sizes of bilm.py, `batch`, a JSON file, and `device`."""
    device = peer_torch.start(options)
    rows, window = options["rows"], options["window"]
    model = BiLm(options).train()
    fused = True if device == "cpu" else None  # a GPU has no fused kernel of it
    with torch.device("cpu"):  # where its step counts belong: it reads them in each step
        optimizer = torch.optim.Adagrad(
            model.parameters(), lr=0.2, initial_accumulator_value=1.0, fused=fused
        )
    with open(options["batch"], encoding="utf-8") as file:
        batch = {key: torch.tensor(value) for key, value in json.load(file).items()}
    characters = batch["characters"]
    spellings = batch["spelling"], batch["spelling_reverse"]
    targets = [batch[key].reshape(-1) for key in ("target_forward", "target_reverse")]
    states = [
        (torch.zeros(1, rows, options["width"]), torch.zeros(1, rows, options["cells"]))
        for _ in range(2 * options["layers"])
    ]

    def loss():
        nonlocal states
        value, states = model(characters, spellings, targets, states)
        return value

    run = peer_torch.loop(loss, model, optimizer, 10.0, device)
    rounds = side_by_side.rounds_of(run, rows * window, options["seconds"], options["clock"])
    return peer_torch.facts("nn.LSTM(proj_size)", model), rounds.measure


if __name__ == "__main__":
    side_by_side.serve(setup)

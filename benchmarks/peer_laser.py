"""The peer of laser.py: LASER's encoder and decoder of nn.LSTM, or nn.Transformer, in PyTorch.

Run by laser.py --peer-python=PYTHON; needs only torch. LASER is as in fairseq's examples/laser: a
bidirectional nn.LSTM, the maximum over time, and an nn.LSTM whose input is piece, sentence and language.
"""

import peer_torch
import side_by_side
import torch
from torch import nn
from torch.nn import functional as F


class Laser(nn.Module):
    """Encoder and decoder."""

    def __init__(self, options):
        super().__init__()
        width, cells, states = options["width"], options["cells"], options["decoder_cells"]
        self.source = nn.Embedding(options["vocab"], width)
        self.target = nn.Embedding(options["vocab"], width)
        self.language = nn.Embedding(options["languages"], options["language_width"])
        self.encoder = nn.LSTM(
            width,
            cells,
            options["layers"],
            batch_first=True,
            bidirectional=True,
            dropout=options["dropout"] if options["layers"] > 1 else 0.0,
        )
        read = width + 2 * cells + options["language_width"]
        self.decoder = nn.LSTM(read, states, batch_first=True)
        self.start = nn.Linear(2 * cells, 2 * states)
        self.output = nn.Linear(states, options["vocab"])
        self.dropout = nn.Dropout(options["dropout"])

    def forward(self, texts, before, languages):
        outputs, _ = self.encoder(self.dropout(self.source(texts)))
        sentence = outputs.amax(1)
        cell, output = self.start(sentence).chunk(2, 1)
        length = before.shape[1]
        fixed = torch.cat([sentence, self.language(languages)], 1)[:, None].expand(-1, length, -1)
        x = torch.cat([self.dropout(self.target(before)), fixed], 2)
        y, _ = self.decoder(x, (output[None].contiguous(), cell[None].contiguous()))
        return self.output(self.dropout(y))


class Translator(nn.Module):
    """nn.Transformer with one table of pieces for its inputs and its output."""

    def __init__(self, options):
        super().__init__()
        width = options["width"]
        self.table = nn.Embedding(options["vocab"], width)
        nn.init.normal_(self.table.weight, std=width**-0.5)
        self.places = nn.Embedding(options["length"], width)
        self.language = nn.Embedding(options["languages"], width)
        self.layers = nn.Transformer(
            width,
            options["heads"],
            options["layers"],
            options["decoder_layers"],
            options["mlp_dim"],
            options["dropout"],
            "gelu",
            batch_first=True,
            norm_first=options["norm"] == "pre",
        )
        self.dropout = nn.Dropout(options["dropout"])

    def forward(self, texts, before, languages):
        length = texts.shape[1]
        mask = self.layers.generate_square_subsequent_mask(length)
        texts = self.dropout(self.table(texts) + self.places.weight)
        before = self.table(before) + self.places.weight + self.language(languages)[:, None]
        y = self.layers(texts, self.dropout(before), tgt_mask=mask, tgt_is_causal=True)
        return F.linear(y, self.table.weight)


def setup(options):
    """Builds the model; options: the sizes of laser.py, seconds (of a round), threads, clock, device."""
    device = peer_torch.start(options)
    rows, length = options["rows"], options["length"]
    kind = Laser if "cells" in options else Translator
    model = kind(options).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=options["learning_rate"], fused=True)
    texts = torch.randint(5, options["vocab"], (rows, length))
    targets = torch.randint(5, options["vocab"], (rows, length))
    before = F.pad(targets[:, :-1], (1, 0), value=3)
    languages = torch.randint(0, options["languages"], (rows,))

    def loss():
        scores = model(texts, before, languages)
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten())

    run = peer_torch.loop(loss, model, optimizer, options["clip"], device)
    rounds = side_by_side.rounds_of(run, rows * length, options["seconds"], options["clock"])
    name = "nn.LSTM" if kind is Laser else "nn.Transformer"
    return peer_torch.facts(name, model), rounds.measure


if __name__ == "__main__":
    side_by_side.serve(setup)

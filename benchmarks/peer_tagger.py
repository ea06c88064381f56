"""The peer of tagger.py: nn.LSTM and pytorch-crf on the CPU, as flair's SequenceTagger uses them.

Run by tagger.py --peer-python=PYTHON; needs torch and pytorch-crf. Word dropout, locked dropout
before and after the LSTM, packed sentences, a dense layer, the CRF's mean negative log-likelihood,
SGD, clipping by the global norm.
"""

import json

import peer_torch
import side_by_side
import torch
from torch import nn
import torchcrf


def locked(x, rate):
    """Dropout of the same dimensions at all words of a sentence."""
    kept = torch.empty(x.shape[0], 1, x.shape[2]).bernoulli_(1 - rate)
    return x * kept / (1 - rate)


class Tagger(nn.Module):
    """A BiLSTM-CRF."""

    def __init__(self, options):
        super().__init__()
        cells = options["cells"]
        self.lstm = nn.LSTM(options["dim"], cells, bidirectional=True, batch_first=True)
        self.output = nn.Linear(2 * cells, options["labels"])
        self.crf = torchcrf.CRF(options["labels"], batch_first=True)

    def forward(self, vectors, lengths, gold, mask):
        kept = torch.empty(*vectors.shape[:2], 1).bernoulli_(0.95)
        scores = self.output(locked(self.read(locked(vectors * kept, 0.5), lengths), 0.5))
        return -self.crf(scores, gold, mask, reduction="mean")

    def read(self, x, lengths):
        """The states of the LSTM."""
        packed = nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        return nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]

    def best(self, vectors, lengths, mask):
        """The best labels of each sentence."""
        return self.crf.decode(self.output(self.read(vectors, lengths)), mask)


def setup(options):
    """Facts, and the function that measures a round."""
    peer_torch.start({**options, "device": "cpu"})
    with open(options["data"], encoding="utf-8") as file:
        given = json.load(file)
    table = torch.tensor(given["table"])[:, 0]
    words, gold = ([torch.tensor(x) for x in given[key]] for key in ("words", "gold"))
    model = Tagger(options).train(not options["decode"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def batches():
        for rows in torch.randperm(len(words)).split(options["rows"]):
            lengths = torch.tensor([len(words[row]) for row in rows])
            mask = torch.arange(int(lengths.max())) < lengths[:, None]
            some, labels = (
                nn.utils.rnn.pad_sequence([x[row] for row in rows], batch_first=True)
                for x in (words, gold)
            )
            yield table[some], lengths, labels, mask

    def train():
        for vectors, lengths, labels, mask in batches():
            loss = model(vectors, lengths, labels, mask)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def predict():
        with torch.inference_mode():
            for vectors, lengths, _, mask in batches():
                model.best(vectors, lengths, mask)

    epoch = predict if options["decode"] else train

    def run(epochs):
        for _ in range(epochs):
            epoch()

    rounds = side_by_side.rounds_of(run, len(words), options["seconds"], options["clock"], least=1)
    return peer_torch.facts("nn.LSTM, pytorch-crf", model), rounds.measure


if __name__ == "__main__":
    side_by_side.serve(setup)

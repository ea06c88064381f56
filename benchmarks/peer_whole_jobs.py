"""The peer's side of whole_jobs.py: what one would run instead, each command from files to files.

    python peer_whole_jobs.py fasttext|encode|encode_static|align|laser|tag ARGUMENTS

Run by whole_jobs.py and export_sizes.py --peer-python=PYTHON. A command prints the figure that it has reached, if any.
"""

import json
import os
import re
import sys


def lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def fasttext(folder, sizes):
    """gensim's fastText on DIR/text, to DIR/LANG.vec."""
    from gensim.models import FastText

    given = json.loads(sizes)
    for language in ("de", "en"):
        path = os.path.join(folder, "text", f"{language}.txt")
        text = [re.findall(r"\w+|[^\w\s]", line.lower()) for line in lines(path)]
        model = FastText(
            text,
            vector_size=given["dim"],
            epochs=given["epochs"],
            min_count=given["min_count"],
            window=given["window"],
            negative=given["negatives"],
            alpha=given["learning_rate"],
            min_n=given["min_n"],
            max_n=given["max_n"],
            bucket=given["buckets"],
            sample=given["subsample"],
            sg=1,
            workers=1,
        )
        model.wv.save_word2vec_format(os.path.join(folder, f"{language}.vec"))


def encode(model, text, out):
    """A model of sentence-transformers."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    np.save(out, SentenceTransformer(model, device="cpu").encode(lines(text), batch_size=1_024))


def encode_static(model, text, out):
    """A folder of model2vec."""
    import numpy as np
    from model2vec import StaticModel

    loaded = StaticModel.from_pretrained(model, force_download=False)
    np.save(out, np.asarray(loaded.encode(lines(text)), np.float32))


def align(model, source, target, out):
    """simalign's default method, itermax, on an encoder of Hugging Face."""
    import simalign
    import torch

    torch.set_num_threads(1)
    aligner = simalign.SentenceAligner(model=model, token_type="bpe", matching_methods="i")
    with open(out, "w", encoding="utf-8") as file:
        for a, b in zip(lines(source), lines(target)):
            links = aligner.get_word_aligns(a.split(), b.split())["itermax"]
            file.write(" ".join(f"{i}-{j}" for i, j in links) + "\n")


def laser(folder, sizes):
    """BPE of `tokenizers`, an encoder and decoder of nn.LSTM, sentence retrieval."""
    import numpy as np
    from peer_laser import Laser
    import tokenizers
    import torch
    from torch import nn
    from torch.nn import functional as F

    given = json.loads(sizes)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    path = lambda *names: os.path.join(folder, *names)
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[unk]"))
    bpe.normalizer = tokenizers.normalizers.Lowercase()
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    specials = ["[pad]", "[unk]", "[end]", "[start]"]
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=given["vocab"], special_tokens=specials)
    bpe.train([path("text", f"{x}.txt") for x in ("en", "de")], trainer)

    def ids(text):
        known = [x.ids[: given["length"] - 1] + [2] for x in bpe.encode_batch(text)]
        return [torch.tensor(x) for x in known]

    class Padded(Laser):
        def sentences(self, texts, lengths):
            x = self.dropout(self.source(texts))
            packed = nn.utils.rnn.pack_padded_sequence(
                x, lengths, batch_first=True, enforce_sorted=False
            )
            outputs, _ = nn.utils.rnn.pad_packed_sequence(
                self.encoder(packed)[0], batch_first=True, padding_value=-1e9
            )
            return outputs.amax(1)

        def forward(self, texts, lengths, before, languages):
            sentence = self.sentences(texts, lengths)
            cell, output = self.start(sentence).chunk(2, 1)
            fixed = torch.cat([sentence, self.language(languages)], 1)[:, None]
            x = torch.cat(
                [self.dropout(self.target(before)), fixed.expand(-1, before.shape[1], -1)], 2
            )
            y, _ = self.decoder(x, (output[None].contiguous(), cell[None].contiguous()))
            return self.output(self.dropout(y))

    pad = lambda rows: nn.utils.rnn.pad_sequence(rows, batch_first=True)
    text = [ids(lines(path("parallel", f"de-en.{x}"))) for x in ("de", "en")]
    model = Padded(given).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=given["learning_rate"])
    count, random = len(text[0]), np.random.default_rng(0)
    for step in range(given["steps"]):
        here = step % 2  # both directions in turns
        rows = random.integers(0, count, given["rows"])
        source, target = ([side[row] for row in rows] for side in (text[here], text[1 - here]))
        targets = pad(target)
        scores = model(
            pad(source),
            torch.tensor([len(x) for x in source]),
            F.pad(targets[:, :-1], (1, 0), value=3),
            torch.full((len(rows),), 1 - here),
        )
        loss = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=0)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), given["clip"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    model.eval()

    def vectors(path):
        with torch.inference_mode():
            parts = [
                model.sentences(pad(part), torch.tensor([len(x) for x in part]))
                for part in (lambda x: [x[i : i + 64] for i in range(0, len(x), 64)])(
                    ids(lines(path))
                )
            ]
        return F.normalize(torch.cat(parts))

    de, en = (vectors(path("retrieval", f"tatoeba.deu-eng.{x}")) for x in ("deu", "eng"))
    torch.save(model.state_dict(), path("laser.pt"))
    print((de @ en.T).argmax(1).eq(torch.arange(len(de))).float().mean().item())


def tag(folder, sizes):
    """flair's SequenceTagger on word vectors, trained in English and tested in German."""
    import flair
    from flair.datasets import ColumnCorpus
    from flair.embeddings import WordEmbeddings
    from flair.models import SequenceTagger
    from flair.trainers import ModelTrainer
    import torch

    given = json.loads(sizes)
    torch.set_num_threads(1)
    flair.set_seed(0)
    names = {"train_file": "en.train.tsv", "dev_file": "en.dev.tsv", "test_file": "de.test.tsv"}
    corpus = ColumnCorpus(
        os.path.join(folder, "ner"), {0: "text", 1: "ner"}, column_delimiter="\t", **names
    )
    tagger = SequenceTagger(
        hidden_size=given["cells"],
        embeddings=WordEmbeddings(os.path.join(folder, "words.kv")),
        tag_dictionary=corpus.make_label_dictionary("ner"),
        tag_type="ner",
        use_crf=True,
        dropout=given["dropout"],
        locked_dropout=0.0,
        word_dropout=0.05,
    )
    found = ModelTrainer(tagger, corpus).train(
        os.path.join(folder, "flair"),
        learning_rate=given["learning_rate"],
        optimizer=torch.optim.Adam,
        mini_batch_size=given["rows"],
        max_epochs=given["epochs"],
        patience=given["epochs"],
        embeddings_storage_mode="cpu",
    )
    print(found["test_score"])


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    commands = (fasttext, encode, encode_static, align, laser, tag)
    {command.__name__: command for command in commands}[name](*arguments)

"""The peer of input_pipeline.py: Hugging Face's fast tokenizer and whole-word-masking collator.

Run by input_pipeline.py --peer-python=PYTHON; needs only torch and transformers. It reads the same
files, draws the languages by the same shares and uses the same vocabulary.
"""

import itertools
import os
import random
import time
import warnings

import side_by_side

CHUNK = 1000  # lines in a call of the tokenizer, as in transformers' run_mlm.py


def lines_of(paths, encoding="utf-8"):
    """The lines of the files, repeated without end."""
    while True:
        for path in paths:
            with open(path, encoding=encoding, errors="replace") as file:
                for line in file:
                    line = line.strip()
                    if line:
                        yield line


def mixed(files, shares, seed):
    """Lines of several languages; `shares` are the languages' shares of the lines."""
    names = sorted(files)
    draw = random.Random(seed)
    readers = {name: lines_of(files[name]) for name in names}
    weights = [shares[name] for name in names]
    while True:
        for name in draw.choices(names, weights, k=CHUNK):
            yield next(readers[name])


def setup(options):
    """Builds the pipeline; options: vocabulary (a vocab.txt), lower_case, files (paths by
    language), shares, length, batch_size, workers, batches (in a round), seed."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false" if options["workers"] else "true"
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    tokenizer = make_tokenizer(transformers, options)
    collator, collator_name = make_collator(transformers, tokenizer)

    class Rows(torch.utils.data.IterableDataset):
        """Rows of `length` pieces, another stream in each worker."""

        def __iter__(self):
            worker = torch.utils.data.get_worker_info()
            seed = options["seed"] * 1000 + (worker.id if worker else 0)
            torch.manual_seed(seed)
            lines = mixed(options["files"], options["shares"], seed)
            while True:
                encoded = tokenizer(
                    list(itertools.islice(lines, CHUNK)),
                    return_attention_mask=False,
                    return_token_type_ids=False,
                    return_special_tokens_mask=True,
                    return_offsets_mapping=True,
                )
                columns = grouped(encoded, options["length"])
                for values in zip(*columns.values(), strict=True):
                    yield dict(zip(columns, values, strict=True))

    loader = torch.utils.data.DataLoader(
        Rows(),
        batch_size=options["batch_size"],
        collate_fn=collator,
        num_workers=options["workers"],
        prefetch_factor=4 if options["workers"] else None,
    )
    batches = iter(loader)

    def measure():
        # Batches prefetched during the other side's turn do not count.
        for _ in range(4 * options["workers"] + 1):
            next(batches)
        start = time.perf_counter()
        pieces = 0
        for _ in range(options["batches"]):
            pieces += next(batches)["input_ids"].numel()
        rate = pieces / (time.perf_counter() - start)
        # The workers fill their buffers before the other side's turn begins.
        time.sleep(2.0 if options["workers"] else 0.0)
        return rate

    sample = next(batches)
    facts = {
        "peer": f"{type(tokenizer).__name__} + {collator_name}",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "workers": options["workers"],
        "share masked": round(float((sample["labels"] != -100).float().mean()), 3),
    }
    return facts, measure


def make_tokenizer(transformers, options):
    """The fast BERT tokenizer with the given vocabulary."""
    tokenizer = transformers.BertTokenizerFast(
        options["vocabulary"], do_lower_case=options["lower_case"]
    )
    with open(options["vocabulary"], encoding="utf-8") as file:
        size = sum(1 for _ in file)
    if len(tokenizer) != size:
        raise ValueError(
            f"{options['vocabulary']} has {size} pieces, but {len(tokenizer)} were read"
        )
    tokenizer.model_max_length = 10**9
    return tokenizer


def make_collator(transformers, tokenizer):
    """The whole-word-masking collator of the installed transformers, and its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(transformers, "DataCollatorForWholeWordMask"):
            name = "DataCollatorForWholeWordMask"
            return transformers.DataCollatorForWholeWordMask(tokenizer, mlm_probability=0.15), name
        name = "DataCollatorForLanguageModeling(whole_word_mask=True)"
        collator = transformers.DataCollatorForLanguageModeling(
            tokenizer, mlm_probability=0.15, whole_word_mask=True
        )
        return collator, name


def grouped(encoded, length):
    """All pieces of a chunk in rows of `length` without padding, as in run_mlm.py's group_texts."""
    columns = {name: list(itertools.chain.from_iterable(encoded[name])) for name in encoded.keys()}
    total = len(columns["input_ids"]) // length * length
    return {
        name: [column[start : start + length] for start in range(0, total, length)]
        for name, column in columns.items()
    }


if __name__ == "__main__":
    side_by_side.serve(setup)

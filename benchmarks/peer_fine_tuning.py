"""The peer of fine_tuning.py: Hugging Face BertForTokenClassification in PyTorch.

Run by fine_tuning.py --peer-python=PYTHON; needs torch and transformers, for Trainer accelerate too.
"""

import tempfile

import peer_torch
import side_by_side
import torch
import transformers


def trainer_loop(model, batch, rows, device):
    """The function of a number of steps, in Trainer; its own start is a part of each round."""
    examples = [{key: value[row].cpu() for key, value in batch.items()} for row in range(rows)]

    def run(steps):
        with tempfile.TemporaryDirectory() as folder:
            options = transformers.TrainingArguments(
                folder,
                max_steps=steps,
                per_device_train_batch_size=rows,
                learning_rate=2e-5,
                weight_decay=0.0,
                max_grad_norm=1.0,
                lr_scheduler_type="linear",
                use_cpu=device == "cpu",
                bf16=device != "cpu",
                save_strategy="no",
                logging_strategy="no",
                report_to=[],
                disable_tqdm=True,
            )
            transformers.Trainer(model=model, args=options, train_dataset=examples).train()

    return run


def setup(options):
    """Facts, and the function that measures a round."""
    device = peer_torch.start(options)
    rows, length = options["rows"], options["length"]
    config = transformers.BertConfig(
        vocab_size=options["vocab"],
        hidden_size=options["width"],
        num_hidden_layers=options["layers"],
        num_attention_heads=options["heads"],
        intermediate_size=4 * options["width"],
        max_position_embeddings=length,
        hidden_dropout_prob=options["dropout"],
        attention_probs_dropout_prob=options["dropout"],
        num_labels=options["labels"],
    )
    model = transformers.BertForTokenClassification(config).train()
    inputs = torch.randint(5, options["vocab"], (rows, length))
    labels = torch.randint(0, options["labels"], (rows, length))
    labels[:, 0] = -100
    batch = {"input_ids": inputs, "attention_mask": torch.ones_like(inputs), "labels": labels}
    if options["trainer"]:
        run = trainer_loop(model, batch, rows, device)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.0, fused=True)
        run = peer_torch.loop(lambda: model(**batch).loss, model, optimizer, 1.0, device)
    rounds = side_by_side.rounds_of(run, rows * length, options["seconds"], options["clock"])
    facts = {
        **peer_torch.facts(
            "BertForTokenClassification" + (", Trainer" if options["trainer"] else ""), model
        ),
        "transformers": transformers.__version__,
        "attention": config._attn_implementation,
    }
    return facts, rounds.measure


if __name__ == "__main__":
    side_by_side.serve(setup)

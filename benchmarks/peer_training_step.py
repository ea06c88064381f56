"""The peer of training_step.py: Hugging Face BertForMaskedLM in PyTorch.

Run by training_step.py --peer-python=PYTHON; needs only torch and transformers.
"""

import peer_torch
import side_by_side
import torch
import transformers


def setup(options):
    """Builds the model; options: layers, width, heads, mlp_dim, vocab_size, length, batch_size,
    predictions (masked positions in a row), dropout, learning_rate, weight_decay, seconds (of a
    round), clock, threads, compile, device ('cpu', or 'cuda': bfloat16)."""
    device = peer_torch.start(options)
    rows, length = options["batch_size"], options["length"]
    config = transformers.BertConfig(
        vocab_size=options["vocab_size"],
        hidden_size=options["width"],
        num_hidden_layers=options["layers"],
        num_attention_heads=options["heads"],
        intermediate_size=options["mlp_dim"],
        max_position_embeddings=length,
        hidden_dropout_prob=options["dropout"],
        attention_probs_dropout_prob=options["dropout"],
    )
    model = transformers.BertForMaskedLM(config).train()
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=options["learning_rate"],
        weight_decay=options["weight_decay"],
        fused=True,
    )
    forward = torch.compile(model) if options["compile"] else model

    inputs = torch.randint(5, options["vocab_size"], (rows, length))
    masked = torch.rand(rows, length).argsort(dim=1) < options["predictions"]
    batch = {
        "input_ids": inputs,
        "attention_mask": torch.ones_like(inputs),
        "labels": torch.where(masked, inputs, -100),
    }

    run = peer_torch.loop(lambda: forward(**batch).loss, model, optimizer, 1.0, device)
    rounds = side_by_side.rounds_of(run, rows * length, options["seconds"], options["clock"])
    facts = {
        **peer_torch.facts("BertForMaskedLM", model),
        "transformers": transformers.__version__,
        "attention": config._attn_implementation,
        "compiled": options["compile"],
        "masked positions a row": int(masked.sum(dim=1)[0]),
    }
    return facts, rounds.measure


if __name__ == "__main__":
    side_by_side.serve(setup)

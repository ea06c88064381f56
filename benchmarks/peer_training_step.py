"""The peer of training_step.py: Hugging Face BertForMaskedLM in PyTorch.

Run by training_step.py --peer-python=PYTHON; needs only torch and transformers.
"""

import time

import side_by_side
import torch
import transformers


def setup(options):
    """Builds the model; options: layers, width, heads, mlp_dim, vocab_size, length, batch_size,
    predictions (masked positions in a row), dropout, learning_rate, weight_decay, seconds (of a
    round), threads, compile, device ('cpu', or 'cuda': bfloat16)."""
    torch.set_num_threads(options["threads"])
    device = options["device"]
    torch.set_default_device(device)
    torch.manual_seed(0)
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

    def step():
        with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
            loss = forward(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    def run(steps):
        start = time.perf_counter()
        for _ in range(steps):
            loss = step()
        loss.item()
        return time.perf_counter() - start

    run(2)
    steps = max(2, round(options["seconds"] / (run(2) / 2)))

    def measure():
        return steps * rows * length / run(steps)

    facts = {
        "peer": "BertForMaskedLM",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "attention": config._attn_implementation,
        "compiled": options["compile"],
        "threads": torch.get_num_threads(),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "masked positions a row": int(masked.sum(dim=1)[0]),
    }
    return facts, measure


if __name__ == "__main__":
    side_by_side.serve(setup)

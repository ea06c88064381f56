"""What the peers in PyTorch share: their start, the loop of training steps, and facts."""

import torch


def start(options):
    """Sets the threads, the device and the seed; returns the device, 'cpu' or 'cuda'."""
    torch.set_num_threads(options["threads"])
    torch.set_default_device(options["device"])
    torch.manual_seed(0)
    return options["device"]


def loop(loss, model, optimizer, clip, device):
    """The function that trains a number of steps; on a GPU in bfloat16.

    Args:
      loss: function without arguments that gives the loss of the batch.
      model, optimizer: of the parameters.
      clip: largest global norm of the gradients.
      device: 'cpu' or 'cuda'.
    """

    def run(steps):
        for _ in range(steps):
            with torch.autocast(device, torch.bfloat16, enabled=device != "cpu"):
                value = loss()
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        value.item()  # waits for the GPU

    return run


def facts(name, model):
    """The program's name and version, its threads and the model's size."""
    return {
        "peer": name,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "parameters, peer": f"{sum(p.numel() for p in model.parameters()):,}",
    }

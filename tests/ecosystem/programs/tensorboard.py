"""A run written for TensorBoard while a network trains, and read back from the files."""

import tempfile

import numpy as np
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util import tensor_util
from torch import nn
from torch.utils.tensorboard import SummaryWriter


def run(device):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    x = torch.randn(64, 4).to(device)
    y = x.prod(-1, keepdim=True)
    with tempfile.TemporaryDirectory() as folder:
        with SummaryWriter(folder, comment="first", flush_secs=1) as writer:
            for step in range(6):
                optimizer.zero_grad()
                out = model(x)
                loss = nn.functional.mse_loss(out, y)
                loss.backward()
                optimizer.step()
                writer.add_scalar("loss", loss, step)
                writer.add_scalar("rate", optimizer.param_groups[0]["lr"], step, new_style=True)
                for name, value in model.named_parameters():
                    writer.add_histogram(f"weights/{name}", value, step)
            writer.add_image("image", out.detach().view(1, 8, 8).sigmoid(), 0)
            writer.add_images("images", torch.rand(3, 3, 4, 4), 0)
            writer.add_text("note", "six steps", 0)
            writer.add_pr_curve("curve", (y > 0).view(-1), out.sigmoid().view(-1), 0, num_thresholds=7)
            writer.add_hparams({"lr": 0.01, "deep": False}, {"final": loss.item()}, run_name=".")
        events = EventAccumulator(folder, size_guidance={"histograms": 0}).Reload()
        losses = [event.value for event in events.Scalars("loss")]
        rates = [float(tensor_util.make_ndarray(event.tensor_proto)) for event in events.Tensors("rate")]
        histogram = events.Histograms("weights/0.weight")[-1].histogram_value
        image = events.Images("image")[0]
        curve = tensor_util.make_ndarray(events.Tensors("curve")[0].tensor_proto)
        note = tensor_util.make_ndarray(events.Tensors("note/text_summary")[0].tensor_proto)[0]
    return {
        "losses": losses,
        "rates": rates,
        "histogram": [histogram.min, histogram.max, histogram.num, histogram.sum],
        "counts": torch.tensor(np.array(histogram.bucket)),
        "image": [image.width, image.height],
        "curve": torch.tensor(curve),
        "note": float(len(note)),
    }

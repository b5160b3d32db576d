"""Recurrent layers and cells: results and gradients, and the losses of a training.

python recurrent.py DEVICE "layer('LSTM')" "cell('GRUCell')" …
"""

import json
import sys
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
device = sys.argv[1]


def values(tensors: list[torch.Tensor | None]) -> list[list[float]]:
    return [[] if t is None else t.detach().float().cpu().flatten().tolist() for t in tensors]


def results_and_gradients(module: nn.Module, inputs: list, call) -> dict:
    """Weighted sums, so that every element of every result has a gradient of its own."""
    outputs = call(module, inputs)
    loss = sum(
        (t.float() * torch.linspace(0.5, 1.5, t.numel()).reshape(t.shape).to(device)).sum() for t in outputs
    )
    loss.backward()
    leaves = [t for t in inputs if isinstance(t, torch.Tensor) and t.requires_grad]
    return {
        "outputs": values(outputs),
        "gradients": values([t.grad for t in [*leaves, *module.parameters()]]),
    }


def flat(result) -> list[torch.Tensor]:
    return [result] if isinstance(result, torch.Tensor) else [t for part in result for t in flat(part)]


def layer(kind: str, dtype: torch.dtype = torch.float32, states: bool = False, **options) -> dict:
    torch.manual_seed(0)
    module = getattr(nn, kind)(5, 7, **options).to(device=device, dtype=dtype)
    x = torch.randn(4, 3, 5)
    count = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    batch = 4 if options.get("batch_first") else 3
    first = [torch.randn(count, batch, 7) for _ in range(2 if kind == "LSTM" else 1)]
    inputs = [t.to(device=device, dtype=dtype).requires_grad_() for t in ([x, *first] if states else [x])]

    def call(module, inputs):
        x, *first = inputs
        return flat(module(x, tuple(first) if kind == "LSTM" else first[0]) if first else module(x))

    return results_and_gradients(module, inputs, call)


def cell(kind: str, **options) -> dict:
    torch.manual_seed(0)
    module = getattr(nn, kind)(5, 7, **options).to(device)
    inputs = [torch.randn(3, 5).to(device).requires_grad_()]
    inputs += [torch.randn(3, 7).to(device).requires_grad_() for _ in range(2 if kind == "LSTMCell" else 1)]

    def call(module, inputs):
        return flat(module(inputs[0], tuple(inputs[1:]) if kind == "LSTMCell" else inputs[1]))

    return results_and_gradients(module, inputs, call)


def packed(dtype: torch.dtype = torch.float32, **options) -> dict:
    """torch_npu keeps packed sequences padded and leaves what is in the padding, so that does not count here.

    Its packing has no gradient, nor have the last states of the direction back.
    """
    torch.manual_seed(0)
    module = nn.LSTM(5, 7, **options).to(device=device, dtype=dtype)
    x, lengths = torch.randn(4, 3, 5).to(device=device, dtype=dtype), torch.tensor([4, 3, 2])
    used = (torch.arange(4)[:, None] < lengths[None, :]).to(device)[:, :, None]

    def call(module, inputs):
        rows = nn.utils.rnn.pack_padded_sequence(inputs[0], lengths)
        made, states = module(rows)
        return [nn.utils.rnn.pad_packed_sequence(made)[0] * used, *(state.detach() for state in states)]

    return results_and_gradients(module, [x], call)


def training(kind: str, **options) -> dict:
    """The mean of what a sequence was, to be said at its end."""
    torch.manual_seed(0)
    layer = getattr(nn, kind)(4, 16, batch_first=True, **options).to(device)
    head = nn.Linear(32 if options.get("bidirectional") else 16, 1).to(device)
    x = torch.rand(32, 12, 4) + torch.rand(32, 1, 1)
    y = x.mean((1, 2)).to(device)
    x = x.to(device)
    optimizer = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.02)
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(head(layer(x)[0][:, -1])[:, 0], y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}


print(json.dumps({case: eval(case) for case in sys.argv[2:]}))

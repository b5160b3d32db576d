"""An LSTM learns to go on with waves, in batches of sequences of different lengths.

mindtorch run --npu soft examples/lstm.py     on the software NPU
python examples/lstm.py                       the same program on PyTorch
"""

from __future__ import annotations

import math

import common
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Forecast(nn.Module):
    """Says at each point of a sequence what the next one will be."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.lstm = nn.LSTM(1, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, values, lengths):
        packed = pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.head(states)


def waves(count: int) -> list[torch.Tensor]:
    """Sums of two sines each, of 20 to 40 points."""
    made = []
    for _ in range(count):
        time = torch.arange(20 + int(torch.randint(21, ())))
        slow, fast = torch.rand(2)
        phase = 2 * math.pi * torch.rand(2)
        made.append(
            torch.sin(0.2 * (1 + slow) * time + phase[0]) + 0.5 * torch.sin((1 + fast) * time + phase[1])
        )
    return made


def main() -> None:
    options = common.parser(__doc__, steps=100).parse_args()
    torch.manual_seed(options.seed)
    model = Forecast().to(options.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(_):
        batch = waves(16)
        lengths = torch.tensor([len(wave) - 1 for wave in batch])
        values = pad_sequence(batch, batch_first=True).unsqueeze(2).to(options.device)
        expected = values[:, 1:]
        inside = (torch.arange(expected.shape[1]) < lengths[:, None]).unsqueeze(2).to(options.device)
        error = (model(values[:, :-1], lengths) - expected) * inside
        loss = error.square().sum() / inside.sum()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    common.train(step, options)


if __name__ == "__main__":
    main()

"""A convolutional model trained with DP-SGD, gradients of each sample in attention and LSTM, the privacy spent."""

import torch
from opacus import PrivacyEngine
from opacus.accountants import PRVAccountant, RDPAccountant
from opacus.grad_sample import GradSampleModule
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.validators import ModuleValidator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(16, 8)
        self.attention = DPMultiheadAttention(8, 2)
        self.norm = nn.LayerNorm(8)
        self.rnn = DPLSTM(8, 6, batch_first=True)
        self.last = nn.Linear(6, 3)

    def forward(self, tokens):
        x = self.embedding(tokens).transpose(0, 1)
        x = self.norm(x + self.attention(x, x, x)[0]).transpose(0, 1)
        return self.last(self.rnn(x)[0][:, -1])


def run(device: str):
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 3)
    )  # fmt: skip
    model = ModuleValidator.fix(model).to(device)  # group norm instead of batch norm
    images, labels = torch.randn(40, 1, 8, 8), torch.randint(0, 3, (40,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=DataLoader(TensorDataset(images, labels), batch_size=10),
        noise_multiplier=1.0, max_grad_norm=1.0, noise_generator=None if device == "cpu" else torch.Generator(device),
    )  # fmt: skip
    optimizer.noise_multiplier = (
        0.0  # noise of another device is other noise; what it is added to is compared
    )
    losses, norms = [], []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        norms.append(
            torch.stack([p.grad_sample.flatten(1).norm(dim=1).sum() for p in model.parameters()]).sum().item()
        )
        optimizer.step()
        losses.append(loss.item())

    epsilon = []
    for accountant in (PRVAccountant(), RDPAccountant()):
        for _ in range(8):
            accountant.step(noise_multiplier=1.1, sample_rate=0.25)
        epsilon.append(accountant.get_epsilon(1e-3))

    words, tokens = GradSampleModule(Words()), torch.randint(0, 16, (5, 7))
    words = words.to(device)
    nn.functional.cross_entropy(words(tokens.to(device)), torch.tensor([0, 1, 2, 1, 0]).to(device)).backward()
    samples = {f"sample.{name}": p.grad_sample for name, p in words.named_parameters()}
    state = {name: value for name, value in model.state_dict().items()}
    return {"losses": losses, "norms": norms, "epsilon": epsilon} | state | samples

"""Small networks train on the npu as on the cpu, and the host never waits inside a step."""

import json

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn, softnpu

STEPS = 50
# What makes the host wait for the device.
WAITS = {
    "aclrtSynchronizeDevice",
    "aclrtSynchronizeDeviceWithTimeout",
    "aclrtSynchronizeStream",
    "aclrtSynchronizeStreamWithTimeout",
    "aclrtSynchronizeEvent",
    "aclrtSynchronizeEventWithTimeout",
    "aclrtMemcpy",
    "aclrtMemcpy2d",
    "aclrtMemset",
}


class LayerNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias)


class BatchNorm(LayerNorm):
    def __init__(self, width):
        super().__init__(width)
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("variance", torch.ones(width))

    def forward(self, x):
        return F.batch_norm(x, self.mean, self.variance, self.weight, self.bias, self.training)


class Embedding(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(words, width))

    def forward(self, tokens):
        return F.embedding(tokens, self.weight)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mixing = LayerNorm(width), LayerNorm(width)
        self.query_key_value, self.merge = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.query_key_value(self.before_attention(x)).split(width, dim=2)
        query, key, value = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in parts
        )
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.merge(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.widen(self.before_mixing(x))))


class GPT(nn.Module):
    def __init__(self, words=19, width=16, heads=2, layers=4, length=8):
        super().__init__()
        self.words, self.places = Embedding(words, width), Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.norm(self.blocks(self.words(tokens) + self.places(places)))).flatten(0, 1)


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.first_norm, self.second_norm = BatchNorm(outputs), BatchNorm(outputs)
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride), BatchNorm(outputs))

    def forward(self, x):
        kept = self.second_norm(self.second(F.relu(self.first_norm(self.first(x)))))
        return F.relu(kept + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), BatchNorm(8), nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.body = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(self.pool(self.stem(x))), 1).flatten(1))


def gpt():
    tokens = torch.randint(0, 19, (4, 9))
    make = lambda parameters: torch.optim.AdamW(parameters, lr=3e-3)  # noqa: E731
    return GPT(), make, tokens[:, :-1], tokens[:, 1:].flatten()


def resnet():
    make = lambda parameters: torch.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=1e-4)  # noqa: E731
    return ResNet(), make, torch.randn(6, 3, 12, 12), torch.randint(0, 5, (6,))


def train(program, device, trace=None):
    """The losses of all steps, read when the last one has been enqueued."""
    torch.manual_seed(0)
    model, make_optimizer, inputs, targets = program()
    model, inputs, targets = model.to(device), inputs.to(device), targets.to(device)
    optimizer = make_optimizer(model.parameters())
    losses = []

    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())

    for number in range(STEPS):
        if trace is not None and number == 1:  # the first step opens the device and fills the caches
            with softnpu.trace(trace):
                step()
        else:
            step()
    return torch.stack(losses).cpu().numpy()


@pytest.mark.parametrize("program", [gpt, resnet])
def test_the_losses_on_the_npu_are_those_on_the_cpu_and_no_step_waits(program, tmp_path):
    trace = tmp_path / "step.json"
    on_npu, on_cpu = train(program, "npu", trace), train(program, "cpu")
    assert on_cpu[-1] < on_cpu[0] / 2  # it learns
    np.testing.assert_allclose(on_npu[:5], on_cpu[:5], rtol=1e-5)
    np.testing.assert_allclose(on_npu, on_cpu, rtol=2e-3)
    called = [json.loads(line)["function"] for line in trace.read_text().splitlines()]
    assert sum(name.startswith("aclnn") for name in called) > 100
    assert not WAITS & set(called)

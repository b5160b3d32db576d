"""Programs whose memory is recorded, and snapshots of other makers."""

import json
import lzma
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn

DATA = Path(__file__).parent / "data"
F = nn.functional


def _gpt():
    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
            self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            h = self.before(x)
            x = x + self.attention(h, h, h, need_weights=False)[0]
            return x + self.feed(self.between(x))

    model = nn.Sequential(nn.Embedding(256, 64), Layer(64), Layer(64), nn.Linear(64, 256)).npu()
    optimizer = torch.optim.AdamW(model.parameters())

    def step():
        x = torch.randint(0, 256, (8, 64)).npu()
        F.cross_entropy(model(x).view(-1, 256), x.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _cnn():
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    ).npu()  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        x = torch.randn(16, 3, 48, 48).npu()
        F.cross_entropy(model(x), torch.zeros(16, dtype=torch.int64).npu()).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _generate():
    weight = torch.randn(256, 256).npu()
    kept = []

    def step():
        kept.clear()
        keys = torch.zeros(1, 0, 256).npu()
        for _ in range(40):
            keys = torch.cat([keys, torch.randn(1, 1, 256).npu() @ weight], 1)
            kept.append(torch.softmax(keys @ keys.transpose(1, 2), -1))

    return step


PROGRAMS = {"gpt": _gpt, "cnn": _cnn, "generate": _generate}


@pytest.fixture
def memory():
    """torch.npu.memory with nothing cached and nothing recorded, and default settings afterwards."""
    found = torch.npu.memory
    torch.npu.synchronize()
    found.empty_cache()
    yield found
    found._record_memory_history(None)
    found._set_allocator_settings("")
    found.set_per_process_memory_limit(None)
    found.empty_cache()


@pytest.fixture
def recorded(memory, tmp_path):
    """``recorded(name, conf="", late=False)``: the file of a program's snapshot."""

    def record(name, conf="", late=False):
        memory._set_allocator_settings(conf)
        if not late:
            memory._record_memory_history()
        step = PROGRAMS[name]()
        step()
        if late:
            memory._record_memory_history()
        step()
        memory.empty_cache()
        step()
        path = tmp_path / f"{name}.pickle"
        memory._dump_snapshot(str(path))
        return path

    return record


@pytest.fixture(scope="session")
def pytorch_numbers():
    return json.loads((DATA / "pytorch_h200.json").read_text())["programs"]


@pytest.fixture
def pytorch_snapshot(tmp_path):
    """``pytorch_snapshot(name)``: the file of a snapshot that PyTorch wrote on a GPU."""

    def unpacked(name):
        path = tmp_path / f"pytorch_{name}.pickle"
        path.write_bytes(lzma.decompress((DATA / f"pytorch_h200_{name}.pickle.xz").read_bytes()))
        return path

    return unpacked

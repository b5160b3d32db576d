"""expandable_segments on the software NPU's virtual memory."""

import os
import subprocess
import sys

TRAINING = """
import gc
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu

def train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("npu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x = torch.randn(300, 64).to("npu")
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 6))
    return losses

print(train())
segments = torch.npu.memory_snapshot()["segments"]
print(sorted({segment["is_expandable"] for segment in segments}), {segment["stream"] for segment in segments} != set())
stats = torch.npu.memory_stats()
assert stats["segment.all.current"] == 0 or not segments[0]["is_expandable"]
assert stats["reserved_bytes.all.current"] == sum(segment["total_size"] for segment in segments)
assert 0 <= softnpu.live_bytes() - stats["reserved_bytes.all.current"] < 1024 * len(segments)
gc.collect()
torch.npu.empty_cache()
print(torch.npu.memory_allocated(), torch.npu.memory_reserved(), softnpu.live_bytes())
"""


def run(code, conf, **changes):
    environment = {**os.environ, "MINDTORCH_NPU": "soft", "MINDTORCH_NPU_ALLOC_CONF": conf, **changes}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_training_on_growing_segments_gives_the_same_losses_and_returns_all_memory():
    fixed, growing = run(TRAINING, ""), run(TRAINING, "expandable_segments:True")
    assert fixed[0] == growing[0]
    assert fixed[1] == "[False] True" and growing[1] == "[True] True"
    assert fixed[2] == growing[2] == "0 0 0"


def test_a_request_grows_the_segment_and_free_granules_go_back():
    code = """
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
MiB = 1 << 20
new = lambda mib: torch.empty(mib * MiB, dtype=torch.uint8, device="npu")
a, b, c = new(40), new(60), new(20)
assert b.data_ptr() == a.data_ptr() + 40 * MiB and c.data_ptr() == b.data_ptr() + 60 * MiB
hole = b.data_ptr()
b.fill_(7)
del b
torch.npu.empty_cache()
print(softnpu.live_bytes() // MiB, len(torch.npu.memory_snapshot()["segments"]))
d = new(50)
assert d.data_ptr() == hole
d.fill_(3)
print(d.sum().item() // 3 // MiB, softnpu.live_bytes() // MiB)
"""
    assert run(code, "expandable_segments:True", SOFTNPU_MEMORY="256MiB") == [
        "60 2",
        "50 122",
    ]  # the sum took 2 MiB


def test_a_full_device_is_an_error_without_advice_that_is_followed_already():
    code = """
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu
kept = []
try:
    while True:
        kept.append(torch.ones(1 << 20, device="npu"))
except torch.OutOfMemoryError as error:
    assert "expandable_segments" not in str(error), error
total = sum(t.sum().item() for t in kept)
assert total == len(kept) << 20
print(len(kept))
kept.clear()
torch.npu.empty_cache()
print(softnpu.live_bytes())
"""
    assert run(code, "expandable_segments:True", SOFTNPU_MEMORY="64MiB") == ["15", "0"]


def test_two_streams_grow_segments_of_their_own():
    code = """
import mindtorch_v2 as torch
side = torch.npu.Stream()
a = torch.ones(1000, device="npu")
with torch.npu.stream(side):
    b = torch.ones(1000, device="npu")
    b.record_stream(torch.npu.default_stream())
print(len({segment["stream"] for segment in torch.npu.memory_snapshot()["segments"]}))
"""
    assert run(code, "expandable_segments:True") == ["2"]

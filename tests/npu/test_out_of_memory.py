"""A small device that fills up: the error says so, and afterwards everything works."""

import os
import re
import subprocess
import sys

PROGRAM = """
import gc
import mindtorch_v2 as torch
from mindtorch_v2 import softnpu

softnpu.use(memory="64MiB")
kept = []
try:
    while True:
        kept.append(torch.ones(1 << 20, device="npu"))  # 4 MiB each
except torch.OutOfMemoryError as error:
    assert isinstance(error, RuntimeError) and len(error.args) == 1
    assert "NPU out of memory. Tried to allocate" in str(error)
assert 12 <= len(kept) <= 16, len(kept)
assert sum(t.sum().item() for t in kept) == len(kept) << 20  # what was there is still right

kept.clear()
gc.collect()
assert torch.npu.memory_allocated() == 0
# The cache is in 20 MiB segments; one request for more than half of the device needs all of them back.
large = torch.ones(10 << 20, device="npu")
assert large.sum().item() == 10 << 20
assert torch.npu.memory_stats()["num_alloc_retries"] >= 1
del large
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0
print("recovered", softnpu.live_bytes())
"""


def test_a_full_device_of_64_mib_recovers():
    environment = {**os.environ, "MINDTORCH_NPU": "soft"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["recovered", "0"]


ADVICE = """
import mindtorch_v2 as torch
new = lambda mib: torch.empty(mib << 20, dtype=torch.uint8, device="npu")
whole = new(120)
del whole
pin, middle, last = new(11), new(40), new(11)  # pieces of the segment of 120 MiB
del middle
try:
    large = new(60)
    print("fits")
except torch.OutOfMemoryError as error:
    print(error)
"""


def test_advice_that_is_followed_lets_the_request_succeed():
    def run(conf):
        environment = {
            **os.environ, "MINDTORCH_NPU": "soft", "SOFTNPU_MEMORY": "128MiB", "MINDTORCH_NPU_ALLOC_CONF": conf,
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, "-c", ADVICE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    advice = re.search(r"MINDTORCH_NPU_ALLOC_CONF=([a-z_]+:\w+)", run(""))
    assert advice.group(1) == "expandable_segments:True"
    assert run(advice.group(1)) == "fits\n"

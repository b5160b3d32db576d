"""The package shares a process with what else people load, in any order (Note [Thread-locals] in base/per_thread.h)."""

import itertools
import os
import subprocess
import sys

import pytest

COMPANIONS = ("torch", "scipy.linalg", "sklearn.cluster", "tokenizers")
# Every library before and behind ours and PyTorch's, each of the two before the other.
ORDERS = [
    *itertools.permutations(("mindtorch_v2", "torch")),
    ("mindtorch_v2", *COMPANIONS),
    (*COMPANIONS, "mindtorch_v2"),
    (*reversed(COMPANIONS), "mindtorch_v2"),
    ("sklearn.cluster", "mindtorch_v2", "tokenizers", "torch", "scipy.linalg"),
]

# What it computes runs on threads that began before and behind the loading, and on the npu.
PROGRAM = """
import importlib, sys, threading
begin, results = threading.Event(), []
def use():
    begin.wait()
    import mindtorch_v2, torch
    for module, device in ((mindtorch_v2, "cpu"), (mindtorch_v2, "npu"), (torch, "cpu")):
        x = module.ones(64, 64, device=device, requires_grad=True)
        (x @ x).sum().backward()
        results.append(x.grad.sum().item())
threads = [threading.Thread(target=use)]
threads[0].start()
for name in sys.argv[1:]:
    importlib.import_module(name)
threads.append(threading.Thread(target=use))
threads[1].start()
begin.set()
for thread in threads:
    thread.join()
use()
assert results == [2.0 * 64**3] * 9, results
print("all computed")
"""


@pytest.mark.parametrize("order", ORDERS, ids=" then ".join)
def test_it_loads_and_computes_in_one_process_with(order):
    environment = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *order], env=environment, capture_output=True, text=True, timeout=110
    )
    assert done.stdout == "all computed\n", done.stderr

"""Host time of small operators on the NPU beside torch_npu's, both on the same software NPU.

    python benchmarks/npu_host.py --torch-npu .venv-torch-npu/bin/python [--blocks 60] [--together]

Each side is a process of its own that runs one block of calls when asked, in turn, so that a machine that slows
down slows both. The stream is held back during a block and catches up outside of the measured time: the time
until the calls return is seen, not what the device does with them. --together lets the device run meanwhile,
which on a machine without a free core costs both sides the time of the device's thread. Ratios are medians over
the pairs of blocks. torch_npu runs with TASK_QUEUE_ENABLE=0, its fastest setting here.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from host import host_cases

REFERENCE = "torch"
CANDIDATE = "mindtorch_v2"
WITH_GRAPH = ("add_grad", "backward3")
# A held stream takes 1024 tasks before a launch waits; a backward pass launches several for each call.
CALLS = 500
CALLS_OF = {"backward3": 60}
ANSWER = "microseconds:"  # torch_npu writes warnings to the same stream


def work(module: str, together: bool) -> None:
    """Runs a block for every name of a case that comes in, and answers with the microseconds of a call."""
    torch: Any = __import__(module)
    cases = dict(host_cases(torch, "npu"))
    gate = ctypes.CDLL("libascendcl.so").softnpu_gate
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)
    for line in sys.stdin:
        name = line.strip()
        torch.set_grad_enabled(name in WITH_GRAPH)
        case, calls = cases[name], CALLS_OF.get(name, CALLS)
        torch.npu.synchronize()
        gate(stream, int(not together))
        begin = time.perf_counter()
        for _ in range(calls):
            case()
        end = time.perf_counter()
        gate(stream, 0)
        torch.npu.synchronize()
        print(ANSWER, (end - begin) / calls * 1e6, flush=True)


class Side:
    def __init__(self, python: str, module: str, together: bool, libraries: str) -> None:
        command = [python, __file__, "--worker", module, *(["--together"] if together else [])]
        before = os.environ.get("LD_LIBRARY_PATH")
        environment = {
            **os.environ,
            "MINDTORCH_NPU": "soft",
            "TASK_QUEUE_ENABLE": "0",
            "LD_LIBRARY_PATH": f"{libraries}:{before}" if before else libraries,
        }
        self.module = module
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def block(self, name: str) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith(ANSWER):
                return float(line.removeprefix(ANSWER))
        raise SystemExit(f"benchmarks/npu_host.py: {self.module} ended at {name}; its message is above.")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Time mindtorch_v2 on the NPU beside torch_npu.")
    parser.add_argument(
        "--torch-npu",
        default=".venv-torch-npu/bin/python",
        help="the Python that has torch_npu (make torch-npu installs one)",
    )
    parser.add_argument("--blocks", type=int, default=60, help="pairs of blocks per case")
    parser.add_argument(
        "--together", action="store_true", help="let the device run while its host is measured"
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker, options.together)
    if options.blocks < 1:
        parser.error(f"--blocks is {options.blocks}; it must be at least 1")
    if not Path(options.torch_npu).exists():
        parser.error(f"--torch-npu: there is no {options.torch_npu}. `make torch-npu` installs one.")

    from mindtorch_v2 import softnpu

    libraries = str(softnpu.lib_folder())
    theirs = Side(options.torch_npu, REFERENCE, options.together, libraries)
    ours = Side(sys.executable, CANDIDATE, options.together, libraries)
    print(
        f"{'case':16} {'torch_npu µs':>13} {'ours µs':>10} {'ratio':>7}   (medians of {options.blocks} pairs)"
    )
    import mindtorch_v2

    for name, _ in host_cases(mindtorch_v2, "cpu"):
        theirs.block(name), ours.block(name)  # warm up
        pairs = [(theirs.block(name), ours.block(name)) for _ in range(options.blocks)]
        print(
            f"{name:16} {statistics.median(p[0] for p in pairs):13.3f} "
            f"{statistics.median(p[1] for p in pairs):10.3f} "
            f"{statistics.median(mine / other for other, mine in pairs):7.3f}",
            flush=True,
        )
    theirs.close()
    ours.close()


if __name__ == "__main__":
    main()

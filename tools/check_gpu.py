"""Says what `make cuda` needs and does not find: a driver, a GPU, NVIDIA's libraries. Ends with 1 if something is."""

from __future__ import annotations

import sys

from mindtorch_v2._C import _cuda

OPTIONAL = {"NCCL"}  # for several GPUs


def main() -> int:
    problems = [
        library.problem
        for library in _cuda.vendor_libraries()
        if not library.available and library.title not in OPTIONAL
    ]
    if _cuda.driver_is_there() and not _cuda.probe():
        problems.append("The driver counts no GPU: see nvidia-smi and CUDA_VISIBLE_DEVICES")
    for problem in problems:
        print(f"make cuda: {problem}.", file=sys.stderr)
    if problems:
        print(
            "make cuda: nothing was tested. `mindtorch info` lists everything that was looked for.",
            file=sys.stderr,
        )
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())

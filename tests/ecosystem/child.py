"""One program on one device, in a process of its own: writes its numbers to a file for run.py.

    python child.py programs/peft.py npu numbers.npz

Which library `torch` is, and whether the device was used at all, is written beside the numbers, so that a program
cannot pass by running elsewhere.
"""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np


def as_numbers(name: str, value: Any) -> np.ndarray:
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().cpu()
        value = (value if value.is_complex() else value.double()).numpy()
    found = np.asarray(value)
    if found.dtype.kind not in "biufc":
        raise TypeError(
            f"run() gave {name!r} of {type(value).__name__}; expected a tensor, a number or a list of numbers"
        )
    return found if found.dtype.kind == "c" else found.astype(np.float64)


def main() -> None:
    program, device, target = sys.argv[1:]
    specification = importlib.util.spec_from_file_location(Path(program).stem + "_program", program)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # pickles of what it defines name it
    specification.loader.exec_module(module)
    numbers = {name: as_numbers(name, value) for name, value in module.run(device).items()}

    import torch

    ours = "mindtorch_v2" in sys.modules
    used = device == "cpu" or getattr(torch, device).max_memory_allocated() > 0
    np.savez(target, **numbers, **{"/library": "mindtorch_v2" if ours else "torch", "/device_used": used})


if __name__ == "__main__":
    main()

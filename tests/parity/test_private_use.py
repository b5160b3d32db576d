"""A device that a program brings along is announced as in PyTorch: the same program prints the same."""

import os
import subprocess
import sys
import textwrap

import pytest

STORIES = {
    "names": """
        show(lambda: torch._C._get_privateuse1_backend_name())
        show(lambda: torch.utils.rename_privateuse1_backend("cpu"))
        show(lambda: torch.utils.rename_privateuse1_backend("cuda"))
        show(lambda: torch.utils.rename_privateuse1_backend("mine"))
        show(lambda: torch.utils.rename_privateuse1_backend("mine"))
        show(lambda: torch.utils.rename_privateuse1_backend("other"))
        show(lambda: torch._C._get_privateuse1_backend_name())
        show(lambda: torch.utils.backend_registration._privateuse1_backend_name)
    """,
    "modules": """
        torch.utils.rename_privateuse1_backend("mine")
        device = types.ModuleType("device")
        show(lambda: torch._register_device_module("mine", device))
        show(lambda: torch.mine is device and torch.get_device_module("mine:3") is device)
        show(lambda: torch._register_device_module("privateuseone", device))
        show(lambda: torch.manual_seed(1) is None)
        device._is_in_bad_fork = lambda: False
        device.manual_seed_all = lambda seed: print("seeded", seed)
        show(lambda: torch.manual_seed(2) is None)
    """,
    "methods": """
        torch.utils.rename_privateuse1_backend("mine")
        show(lambda: torch.utils.generate_methods_for_privateuse1_backend())
        show(lambda: torch.utils.generate_methods_for_privateuse1_backend(for_module=False))
        x = torch.ones(2)
        show(lambda: [x.is_mine, hasattr(torch.nn.Module, "mine"), hasattr(x.untyped_storage(), "mine")])
        show(lambda: torch.nn.utils.rnn.pack_sequence([x]).is_mine)
        show(lambda: x.mine("cpu"))
        show(lambda: torch.nn.Linear(1, 1).mine("cpu"))
    """,
    "storages": """
        torch.utils.rename_privateuse1_backend("mine")
        torch.utils.generate_methods_for_privateuse1_backend(
            for_tensor=False, for_module=False, for_packed_sequence=False, for_storage=True,
            unsupported_dtype=[torch.float32],
        )
        x = torch.ones(2)
        show(lambda: [hasattr(x, "mine"), x.untyped_storage().is_mine, x.storage().is_mine])
        show(lambda: x.storage().mine())
    """,
}
START = """
import types, warnings
warnings.filterwarnings("ignore", "TypedStorage is deprecated")

def show(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "TypedStorage is deprecated")
        try:
            print(call())
        except (RuntimeError, AttributeError) as error:
            print(type(error).__name__, str(error).replace("mindtorch_v2.", "torch."))
    print(*[warning.message for warning in said])
"""


@pytest.mark.parametrize("story", STORIES)
def test_the_same_program_prints_the_same(story):
    printed = []
    for start in ("import torch", "import mindtorch_v2 as torch"):
        made = subprocess.run(
            [sys.executable, "-c", f"{start}\n{START}{textwrap.dedent(STORIES[story])}"],
            env=os.environ | {"MINDTORCH_NPU": "off"},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert made.returncode == 0, made.stderr
        printed.append(made.stdout)
    assert printed[1] == printed[0]

"""What importing the package does to the process, each in one of its own."""

import os
import subprocess
import sys


def output_of(program: str, **environment: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    return finished.stdout.strip()


def test_importing_starts_no_thread() -> None:
    assert output_of("import mindtorch_v2, os; print(len(os.listdir('/proc/self/task')))") == "1"


def test_importing_leaves_the_environment_as_it_was() -> None:
    program = "import os; before = dict(os.environ); import mindtorch_v2; print(before == dict(os.environ))"
    assert output_of(program) == "True"
    assert output_of(program, OPENBLAS_NUM_THREADS="3") == "True"


def test_functions_do_not_ask_before_there_is_somebody_to_ask() -> None:
    program = """
import mindtorch_v2 as torch
plain = torch.nn.functional.multi_head_attention_forward
before = plain.__code__
class Asked(torch.Tensor): ...
print(torch.nn.functional.multi_head_attention_forward is plain, plain.__code__ is before)
"""
    assert output_of(program) == "True False"


def test_namespaces_that_few_programs_use_are_not_loaded() -> None:
    program = """
import sys, mindtorch_v2 as torch
late = (
    "_library amp.grad_scaler compiler cuda distributions jit masked multiprocessing ops serialization signal "
    "utils._pytree utils.checkpoint utils.data"
)
print([name for name in late.split() if f"mindtorch_v2.{name}" in sys.modules])
"""
    assert output_of(program) == "[]"


def test_slow_modules_of_the_standard_library_are_not_loaded() -> None:
    program = """
import sys
before = set(sys.modules)
import mindtorch_v2
slow = {"ast", "dataclasses", "difflib", "inspect", "pathlib", "pickle", "subprocess", "tempfile", "unittest", "urllib"}
print(sorted(slow & (set(sys.modules) - before)))
"""
    assert output_of(program) == "[]"


def test_what_is_loaded_late_is_there_when_it_is_asked_for() -> None:
    program = """
import mindtorch_v2 as torch
print(torch.GradScaler is torch.amp.GradScaler is torch.amp.grad_scaler.GradScaler)
print(torch.nn.LinearCrossEntropyOptions is torch.nn.modules.LinearCrossEntropyOptions)
print({"GradScaler", "masked", "ops", "signal"} <= set(dir(torch)), torch.ops.aten.neg(torch.ones(1)).item())
"""
    assert output_of(program).split() == ["True", "True", "True", "-1.0"]


def test_signatures_of_functions_that_share_their_code_say_what_may_be_given() -> None:
    program = """
import inspect, mindtorch_v2 as torch
def names(): return " ".join(inspect.signature(torch.nn.functional.lp_pool2d).parameters)
before = names()
class Asked(torch.Tensor): ...
print(before, "|", before == names())
"""
    assert output_of(program) == "input norm_type kernel_size stride ceil_mode | True"


def test_every_public_module_can_be_imported_by_name() -> None:
    program = """
import importlib
for name in (
    "_C _VF _dynamo _tensor _tensor_str _utils __config__ compiler fft func functional futures hub jit library linalg "
    "ops overrides random return_types serialization special storage torch_version types version xpu"
).split():
    importlib.import_module(f"mindtorch_v2.{name}")
"""
    assert output_of(program) == ""

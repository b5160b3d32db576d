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
late = "compiler", "cuda", "distributions", "jit", "serialization", "utils.checkpoint", "utils.data", "multiprocessing"
print([name for name in late if f"mindtorch_v2.{name}" in sys.modules])
"""
    assert output_of(program) == "[]"


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

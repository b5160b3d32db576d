"""``mindtorch cuda warm``: kernels compiled ahead, for a chip that is not here."""

import json
import os
import subprocess
import sys

import pytest

from mindtorch_v2 import _cli
from mindtorch_v2._C import _cuda

REHEARSAL = """
import json, sys
from mindtorch_v2.cuda import _warm
print(json.dumps(_warm.rehearse("sm_90", sys.argv[1] == "all")))
"""


def rehearsed(what):
    environment = os.environ | {"MINDTORCH_CUDA": "on", "MINDTORCH_NPU": "off"}
    printed = subprocess.check_output([sys.executable, "-c", REHEARSAL, what], env=environment, text=True)
    return json.loads(printed.splitlines()[-1])


def test_operators_say_which_programs_they_need():
    usual = rehearsed("usual")
    assert len(usual) == len(set(usual)) > 200
    attention = "attention_forward<float, 64, false>", "attention_backward<::mt::BFloat16, 64, false, true>"
    for wanted in ("mt::kernels::exp_op, float, float, float", "softmax", "optimizer.h", *attention):
        assert any(wanted in program for program in usual), wanted
    products = {program for program in usual if "float_products.h" in program}
    assert len(products) == 5  # two tiles; forward, and the gradients of both sides
    everything = rehearsed("all")
    assert set(everything) > set(usual)
    assert any("lgamma_op" in program for program in everything)


def test_programs_are_compiled_once_into_the_folder_that_the_runtime_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("MINDTORCH_CACHE", str(tmp_path))
    program = 'extern "C" __global__ void f(float* x) { *x = 1; }'
    assert _cuda.compile_ahead(program, "sm_90")
    (made,) = (tmp_path / "cuda" / "sm_90").iterdir()
    assert made.suffix == ".cubin"
    assert made.read_bytes() == _cuda.compile(program, "sm_90")
    assert not _cuda.compile_ahead(program, "sm_90")
    monkeypatch.setenv("MINDTORCH_CACHE", "")
    with pytest.raises(RuntimeError, match="no folder to keep machine code in"):
        _cuda.compile_ahead(program, "sm_90")


def test_without_a_gpu_a_chip_has_to_be_named(monkeypatch, capsys):
    monkeypatch.setenv("MINDTORCH_CUDA", "off")
    assert _cli.main(["cuda", "warm"]) == 2
    assert "--arch names a chip" in capsys.readouterr().err


def test_info_lists_nvidia_s_libraries(capsys):
    assert _cli.main(["info"]) == 0
    printed = capsys.readouterr().out
    for library in _cuda.vendor_libraries():
        (line,) = (
            each for each in printed.splitlines() if each.startswith(f"{library.title.removeprefix('the ')} ")
        )
        assert (library.path if library.available else library.problem) in line
    assert "Gloo" in printed
    assert "MPI" in printed

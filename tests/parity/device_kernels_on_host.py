"""CUDA's device kernels, compiled for the host (tests/cuda/emulated.h) and called with tensors."""

import ctypes
import math
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import torch

ROOT = Path(__file__).parents[2]
_SCALARS = {
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "int": ctypes.c_int,
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "unsigned": ctypes.c_uint,
    "char": ctypes.c_char,
}
_FIELD = r"(?:const )?(unsigned long long|long long|unsigned|void|float|double|int|char|Walk|Places|ListCall)\b(.*)"


@cache
def structures():
    """The structures of device/calls.h, which the host fills."""
    text = re.sub(r"//.*", "", (ROOT / "csrc/backends/cuda/device/calls.h").read_text())
    constants = dict(re.findall(r"(k\w+) = (\d+)", text))
    made = {}
    for name, body in re.findall(r"struct (\w+) \{(.*?)\n\};", text, re.DOTALL):
        fields = []
        for declaration in filter(None, (part.strip() for part in body.split(";"))):
            base, rest = re.match(_FIELD, declaration.removeprefix("alignas(16) "), re.DOTALL).groups()
            for item in (part.strip() for part in rest.split(",")):
                kind = ctypes.c_void_p if item.startswith("*") else made.get(base) or _SCALARS[base]
                for size in reversed(re.findall(r"\[([^\]]+)\]", item)):
                    kind *= sum(int(constants.get(term.strip(), term)) for term in size.split("+"))
                fields.append((re.match(r"\*?\s*(\w+)", item).group(1), kind))
        made[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return made


@cache
def library(name="kernels_on_host"):
    """The kernels of a file in tests/cuda."""
    compiler = shutil.which("c++")
    assert compiler, "a C++ compiler is needed: install g++"
    built = Path(mkdtemp()) / "kernels.so"
    source = ROOT / f"tests/cuda/{name}.cpp"
    options = ["-std=c++20", "-O1", "-shared", "-fPIC", "-w", "-U_FORTIFY_SOURCE"]
    folders = [f"-I{ROOT / folder}" for folder in ("csrc", "tests/cuda")]
    subprocess.run([compiler, *options, *folders, str(source), "-o", str(built)], check=True)
    return ctypes.CDLL(str(built))


def _plain(value):
    return value.data_ptr() if isinstance(value, torch.Tensor) else value


def call_of(name, **values):
    call = structures()[name]()
    call.kept = values  # memory that the call has addresses of
    for field, value in values.items():
        field = field.removesuffix("_")  # `in_` for `in`
        if isinstance(value, list | tuple):
            for i, item in enumerate(value):
                getattr(call, field)[i] = _plain(item)
        else:
            setattr(call, field, _plain(value))
    return call


def run(kernel, call, grid=(1, 1), block=(64, 1), library=library):
    getattr(library(), kernel)(ctypes.byref(call), *grid, *block)


def walk(sizes):
    return call_of("Walk", count=math.prod(sizes), dims=len(sizes), sizes=list(reversed(sizes)))


def places(tensor, strides=None):
    return call_of("Places", data=tensor, strides=list(reversed(strides or tensor.stride())))


def with_gradient(function, gradient, *inputs):
    """The result of PyTorch's function and the gradients in its inputs."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    result = function(*leaves)
    result.backward(gradient(result) if callable(gradient) else gradient)
    return result.detach(), [leaf.grad for leaf in leaves]

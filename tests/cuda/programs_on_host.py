"""In a process with the made-up GPU of fake_driver.c: programs are compiled for the host when they are launched."""

import ctypes
import os
import re
import subprocess
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
_ENTRY = re.compile(r"void [^{}]*?(\w+)\(const __grid_constant__ ([\w:]+) call\) \{ (.+?)\(call\)")
_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint] * 5, ctypes.c_void_p)
_ROOM = TemporaryDirectory()  # until the process ends
_NUMBERS = count()
_OPTIONS = ["-std=c++20", "-O0", "-fPIC", "-w", "-U_FORTIFY_SOURCE"]
_OPTIONS += [f"-I{HERE.parents[1] / 'csrc'}", f"-I{HERE}"]
# What every program begins with, read once: half of what a program takes to compile.
_PRELUDE = """
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#include "emulated.h"
#include "backends/cuda/device/functors.h"
"""


def _run_compiler(*arguments):
    subprocess.run([os.environ.get("CXX", "c++"), *_OPTIONS, *map(str, arguments)], check=True)


@cache
def _prelude():
    header = Path(_ROOM.name) / "prelude.h"
    header.write_text(_PRELUDE)
    _run_compiler("-x", "c++-header", header, "-o", f"{header}.gch")
    return header


@cache
def _compiled(source):
    """The kernels of a program, by what they call."""
    header, rest = source.split("\n", 1)
    text = f'{header}\n#include "named_kernels.h"\n{rest}\n'
    entries = _ENTRY.findall(source)
    text += "".join(f"MT_KERNEL(run_{entry}, {call}, {entry})\n" for entry, call, _ in entries)
    program = Path(_ROOM.name) / f"program_{next(_NUMBERS)}.cpp"
    program.write_text(text)
    _run_compiler("-shared", "-include", _prelude(), program, "-o", program.with_suffix(".so"))
    library = ctypes.CDLL(str(program.with_suffix(".so")))
    return {body: getattr(library, f"run_{entry}") for entry, _, body in entries}


def install():
    """Launches run from now on; returns the list of what is launched, which grows."""
    launched = []

    @_HOOK
    def run(function, gx, gy, bx, by, shared, argument):
        body = ctypes.string_at(function)
        source = ctypes.string_at(function + len(body) + 1).decode()
        launched.append(body.decode())
        _compiled(source)[body.decode()](ctypes.c_void_p(argument), gx, gy, bx, by)

    install.kept = run  # as long as the driver may call it
    ctypes.CDLL("libcuda.so.1").fake_kernels(run)
    return launched

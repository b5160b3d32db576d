"""In a process with the made-up GPU of fake_driver.c: programs are compiled for the host when they are launched."""

import ctypes
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

HERE = Path(__file__).parent
_ENTRY = re.compile(r"void [^{}]*?(\w+)\(const __grid_constant__ ([\w:]+) call\) \{ (.+?)\(call\)")
_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_uint] * 5, ctypes.c_void_p)


@cache
def _compiled(source):
    """The kernels of a program, by what they call."""
    header, rest = source.split("\n", 1)
    text = (
        "#define __device__\n#define __global__\n#define __launch_bounds__(...)\n#define __grid_constant__\n"
    )
    text += f'#include "emulated.h"\n{header}\n#include "named_kernels.h"\n{rest}\n'
    entries = _ENTRY.findall(source)
    text += "".join(f"MT_KERNEL(run_{entry}, {call}, {entry})\n" for entry, call, _ in entries)
    folder = Path(mkdtemp())
    (folder / "program.cpp").write_text(text)
    options = ["-std=c++20", "-O0", "-shared", "-fPIC", "-w", "-U_FORTIFY_SOURCE"]
    folders = [f"-I{HERE.parents[1] / 'csrc'}", f"-I{HERE}"]
    files = [str(folder / "program.cpp"), "-o", str(folder / "program.so")]
    subprocess.run([os.environ.get("CXX", "c++"), *options, *folders, *files], check=True)
    library = ctypes.CDLL(str(folder / "program.so"))
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

"""Compiles device sources as the CUDA backend does: NVRTC, headers handed over by name. No GPU is needed."""

import ctypes
import importlib.util
import os
import re
from functools import cache
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "csrc"
SHADOWS = SOURCES / "backends/cuda/device/std"  # found before csrc
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
# No source asks what it is compiled for, so what compiles for the oldest does for all.
OLDEST = ARCHITECTURES[0]
OPTIONS = (
    "--std=c++20",
    "--device-as-default-execution-space",
    "-DMT_DEVICE_CODE=1",
    "--fmad=true",
    "-diag-suppress=1097,161,186,20044",
)
# Whether a program compiles does not depend on how well it is optimised; large kernels take a quarter of the time.
QUICKLY = ("--Ofast-compile=max", "--ptxas-options=-O0")
SHARED_BYTES = (
    48 * 1024
)  # what a kernel may have of shared memory unless it asks for more when it is launched
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)


def libraries():
    """Where libnvrtc may lie, the likeliest first."""
    if named := os.environ.get("MINDTORCH_NVRTC"):
        yield Path(named)
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for found in sorted(Path(root).glob("*/lib/libnvrtc.so.*"), reverse=True):
            if "builtins" not in found.name:
                yield found
    for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
        yield Path(name)


@cache
def library():
    """NVRTC, or None where there is none."""
    for path in libraries():
        try:
            for builtins in sorted(path.parent.glob("libnvrtc-builtins.so*")) if path.is_absolute() else ():
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


def headers_of(source):
    """Every header that a source includes, by the name that it is included by."""
    texts, left = {}, [source]
    while left:
        for name in _INCLUDE.findall(left.pop()):
            if name in texts:
                continue
            for folder in (SHADOWS, SOURCES):
                if (folder / name).is_file():
                    texts[name] = (folder / name).read_text()
                    left.append(texts[name])
                    break
    return texts


def assembly_of(source, architecture=OLDEST):
    """A program up to PTX, a seventh of the time that its binary takes. What the assembler behind it could still refuse
    is a kernel with too much shared memory, which raises here, and instructions that are written as text."""
    text = compile_source(source, architecture.replace("sm_", "compute_"), QUICKLY[:1]).decode()
    for kernel in text.split(".entry ")[1:]:
        shared = sum(map(int, re.findall(r"\.shared [^\[;]*\[(\d+)\]", kernel)))
        if shared > SHARED_BYTES:
            name = kernel.split("(")[0]
            raise AssertionError(f"{name} has {shared} bytes of shared memory; {SHARED_BYTES} may be had")
    return text


def headers_with_instructions(source):
    return {name for name, text in headers_of(source).items() if re.search(r"\basm\b", text)}


def compile_source(source, architecture, options=()):
    """What a program is for an architecture: the binary for a real one, the assembly for a virtual one. A program that
    does not compile raises with the compiler's words."""
    nvrtc, headers, program = library(), headers_of(source), ctypes.c_void_p()
    strings = ctypes.c_char_p * len(headers)
    made = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program),
        source.encode(),
        b"program.cu",
        len(headers),
        strings(*(text.encode() for text in headers.values())),
        strings(*(name.encode() for name in headers)),
    )
    assert made == 0, f"nvrtcCreateProgram answered {made}"
    options = [option.encode() for option in (*OPTIONS, f"-arch={architecture}", *options)]
    try:
        code = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        if code:
            raise AssertionError(f"{architecture}: {_text(nvrtc, program, 'ProgramLog').decode()}")
        return _text(nvrtc, program, "CUBIN" if architecture.startswith("sm_") else "PTX")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _text(nvrtc, program, what):
    size = ctypes.c_size_t()
    assert getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert getattr(nvrtc, f"nvrtcGet{what}")(program, text) == 0
    return text.raw[: size.value]

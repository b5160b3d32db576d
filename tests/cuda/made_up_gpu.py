"""A GPU of nothing for a process of its own: fake_driver.c, fake_compiler.c, and libraries that tests give."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def made_up_gpu(folder, libraries):
    """The environment of a process with a driver, a compiler and other libraries, whose sources are given by name."""
    packages = folder / "packages/nvidia/cu13/lib"
    packages.mkdir(parents=True)
    sources = {
        folder / "libcuda.so.1": HERE / "fake_driver.c",
        packages / "libnvrtc.so.13": HERE / "fake_compiler.c",
    }
    sources |= {packages / name: source for name, source in libraries.items()}
    for library, source in sources.items():
        compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-w"]
        subprocess.run([*compiler, str(source), "-o", str(library)], check=True)
    return os.environ | {
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), str(packages)]), "MINDTORCH_CUDA": "on",
        "MINDTORCH_NPU": "off", "CUDA_HOME": str(folder), "MINDTORCH_CACHE": str(folder / "cache"),
        "MINDTORCH_CUDA_QUEUE": "off",  # programs put functions of Python in the place of kernels
        "PYTHONPATH": os.pathsep.join([str(HERE), str(folder / "packages"), os.environ.get("PYTHONPATH", "")]),
    }  # fmt: skip


def ran(environment, *command):
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)

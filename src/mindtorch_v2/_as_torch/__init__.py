"""Makes ``import torch`` mean this package, in a program and in the processes it starts.

Note [Under the name torch]
``site/`` goes to the front of PYTHONPATH. Python imports ``sitecustomize`` from it before the program, which puts
a finder in front of all others. From then on the package itself is loaded *as* ``torch``: its modules, classes and
functions are called ``torch.nn.modules.linear.Linear``, as libraries and pickles expect, and ``mindtorch_v2`` is
the second name of the same module objects. Nothing in this package may therefore depend on being called
``mindtorch_v2``. Child processes inherit PYTHONPATH, and PATH, which has ``bin/torchrun``. An interpreter that
lacks what the package needs (another environment) is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def environment(current: Mapping[str, str]) -> dict[str, str]:
    """What must change in the environment of a process for ``import torch`` to mean this package there."""
    here = Path(__file__).resolve().parent
    return {
        "PYTHONPATH": _in_front(str(here / "site"), current.get("PYTHONPATH", "")),
        "PATH": _in_front(str(here / "bin"), current.get("PATH", os.defpath)),
    }


def _in_front(folder: str, path: str) -> str:
    return os.pathsep.join([folder, *(each for each in path.split(os.pathsep) if each not in ("", folder))])

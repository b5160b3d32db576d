"""Makes ``import torch`` mean this package, in a program and in the processes it starts.

Note [Under the name torch]
``site/`` goes to the front of PYTHONPATH. Python imports ``sitecustomize`` from it before the program, which puts
a finder in front of all others. From then on the package itself is loaded *as* ``torch``: its modules, classes and
functions are called ``torch.nn.modules.linear.Linear``, as libraries and pickles expect, and ``mindtorch_v2`` is
the second name of the same module objects. Nothing in this package may therefore depend on being called
``mindtorch_v2``. Child processes inherit PYTHONPATH. An interpreter that lacks what the package needs (another
environment) is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def environment(current: Mapping[str, str]) -> dict[str, str]:
    """What must change in the environment of a process for ``import torch`` to mean this package there."""
    site = str(Path(__file__).resolve().parent / "site")
    others = [
        folder for folder in current.get("PYTHONPATH", "").split(os.pathsep) if folder not in ("", site)
    ]
    return {"PYTHONPATH": os.pathsep.join([site, *others])}

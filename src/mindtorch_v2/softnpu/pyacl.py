"""pyACL's functions over the NPU that this process uses: ``from mindtorch_v2.softnpu import pyacl as acl``.

A program that says ``import acl`` finds the same module when :func:`mindtorch_v2.softnpu.python_folder` is on its
``PYTHONPATH``, where it needs nothing else of this package.
"""

from __future__ import annotations

from typing import Any

from .._backends.npu import acl_loader

acl_loader.load()

from .python import acl  # noqa: E402  (it takes the library that has just been loaded)


def __getattr__(name: str) -> Any:
    return getattr(acl, name)


def __dir__() -> list[str]:
    return dir(acl)

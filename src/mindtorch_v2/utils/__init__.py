"""Tools around tensors and modules."""

import typing as _typing

from . import checkpoint as checkpoint
from . import dlpack as dlpack
from . import hooks as hooks


def __getattr__(name: str) -> _typing.Any:
    if name == "data":  # most of what programs import for it is needed only there
        import importlib

        return importlib.import_module(".data", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

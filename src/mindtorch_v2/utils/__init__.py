"""Tools around tensors and modules."""

from typing import TYPE_CHECKING, Any

from . import dlpack as dlpack
from . import hooks as hooks

if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import cpp_extension as cpp_extension
    from . import data as data
    from . import model_zoo as model_zoo

# Loaded when first asked for: most of what they import is needed only there.
_LAZY_MODULES = {"_pytree", "benchmark", "checkpoint", "cpp_extension", "data", "model_zoo"}


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils' has no attribute '{name}'")

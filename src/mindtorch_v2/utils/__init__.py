"""Tools around tensors and modules."""

from typing import TYPE_CHECKING, Any

from .._absent import names_of
from . import _contextlib as _contextlib
from . import dlpack as dlpack
from . import hooks as hooks

if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import cpp_extension as cpp_extension
    from . import data as data
    from . import model_zoo as model_zoo
    from . import tensorboard as tensorboard
    from . import weak as weak

# Loaded when first asked for: most of what they import is needed only there.
_LAZY_MODULES = {
    "_pytree",
    "benchmark",
    "checkpoint",
    "cpp_extension",
    "data",
    "model_zoo",
    "tensorboard",
    "weak",
}


_names_that_refuse = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    return _names_that_refuse(name)

"""Neural networks: modules, their parameters, and the functions they call."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._absent import names_of
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter

if not TYPE_CHECKING:  # all but what modules load late
    globals().update((name, vars(modules)[name]) for name in modules.__all__ if name in vars(modules))
else:
    from . import attention as attention
    from . import common_types as common_types
    from . import grad as grad
    from . import parallel as parallel
    from . import quantized as quantized
    from .modules import *  # noqa: F403
    from .parallel import DataParallel as DataParallel
    from .parameter import UninitializedBuffer as UninitializedBuffer
    from .parameter import UninitializedParameter as UninitializedParameter


_names_that_refuse = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name in (
        "attention",
        "common_types",
        "grad",
        "parallel",
        "quantized",
    ):  # loaded when they are asked for
        return import_module(f".{name}", __name__)
    if name == "LinearCrossEntropyOptions":
        return modules.LinearCrossEntropyOptions
    if name == "DataParallel":
        return import_module(".parallel", __name__).DataParallel
    if name in ("UninitializedBuffer", "UninitializedParameter"):  # Note [Why these are loaded late]
        return getattr(parameter, name)
    return _names_that_refuse(name)

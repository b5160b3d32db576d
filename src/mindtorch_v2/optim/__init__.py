"""Optimizers: they change parameters by their gradients."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import lr_scheduler, optimizer, swa_utils
    from ._adafactor import Adafactor
    from ._muon import Muon
    from ._swap import swap_in_optimizer_params_and_state
    from .adadelta import Adadelta
    from .adagrad import Adagrad
    from .adam import Adam
    from .adamax import Adamax
    from .adamw import AdamW
    from .asgd import ASGD
    from .lbfgs import LBFGS
    from .nadam import NAdam
    from .optimizer import Optimizer
    from .radam import RAdam
    from .rmsprop import RMSprop
    from .rprop import Rprop
    from .sgd import SGD
    from .sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "optimizer",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]

# The module of each class, loaded when it is first asked for.
_MODULES = {
    "Adafactor": "_adafactor",
    "Muon": "_muon",
    "Adadelta": "adadelta",
    "Adagrad": "adagrad",
    "Adam": "adam",
    "Adamax": "adamax",
    "AdamW": "adamw",
    "ASGD": "asgd",
    "LBFGS": "lbfgs",
    "NAdam": "nadam",
    "Optimizer": "optimizer",
    "RAdam": "radam",
    "RMSprop": "rmsprop",
    "Rprop": "rprop",
    "SGD": "sgd",
    "SparseAdam": "sparse_adam",
    "swap_in_optimizer_params_and_state": "_swap",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is not None:
        value = getattr(importlib.import_module(f".{module}", __name__), name)
    elif name in ("_functional", "_multi_tensor", "lr_scheduler", "swa_utils") or name in _MODULES.values():
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Learning rates that change while a model trains."""

from ._base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._base import LRScheduler, _LRScheduler
from ._base import _enable_get_lr_call as _enable_get_lr_call
from ._base import _warn_get_lr_called_within_step as _warn_get_lr_called_within_step
from ._compound import ChainedScheduler, SequentialLR
from ._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from ._cyclic import CyclicLR, OneCycleLR
from ._plateau import ReduceLROnPlateau
from ._simple import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
    "_LRScheduler",
]

for _name in __all__:  # what is pickled is found under the public name
    globals()[_name].__module__ = __name__
del _name

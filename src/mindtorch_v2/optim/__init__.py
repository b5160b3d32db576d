"""Optimizers: they change parameters by their gradients."""

from . import optimizer
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "optimizer"]

"""Activations that are functions of one number: relu, the sigmoid, and those made of `tanh` and `abs`."""

from __future__ import annotations

import mindtorch_v2 as torch

from ... import _functions

__all__ = ["relu", "relu_", "sigmoid", "softsign", "tanh", "tanhshrink"]

relu_ = _functions.relu_


def relu(input: torch.Tensor, inplace: bool = False) -> torch.Tensor:
    return input.relu_() if inplace else _functions.relu(input)


def sigmoid(input: torch.Tensor) -> torch.Tensor:
    return input.sigmoid()


def tanh(input: torch.Tensor) -> torch.Tensor:
    return input.tanh()


def softsign(input: torch.Tensor) -> torch.Tensor:
    return input / (input.abs() + 1)


def tanhshrink(input: torch.Tensor) -> torch.Tensor:
    return input - input.tanh()

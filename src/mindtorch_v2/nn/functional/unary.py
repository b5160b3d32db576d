"""Activations that are functions of one number: the sigmoid, and those made of `tanh` and `abs`."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["sigmoid", "softsign", "tanh", "tanhshrink"]


def sigmoid(input: torch.Tensor) -> torch.Tensor:
    return input.sigmoid()


def tanh(input: torch.Tensor) -> torch.Tensor:
    return input.tanh()


def softsign(input: torch.Tensor) -> torch.Tensor:
    return input / (input.abs() + 1)


def tanhshrink(input: torch.Tensor) -> torch.Tensor:
    return input - input.tanh()

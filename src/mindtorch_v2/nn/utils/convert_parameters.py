"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_devices(parameters: list[Tensor]) -> None:
    if len({parameter.device for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of the parameters, one after another."""
    given = list(parameters)
    _check_devices(given)
    return torch.cat([parameter.reshape(-1) for parameter in given])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters views of a vector's parts."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    given = list(parameters)
    _check_devices(given)
    start = 0
    for parameter in given:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end

"""The average of parameters over processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...._C import Tensor, _functions
from ... import collectives
from ...world import GroupMember, resolved

__all__ = ["average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average"]


def average_parameters(params: Iterable[Tensor], process_group: Any) -> None:
    """Averages them in place, in one message for each dtype and device. Who is not in the group does nothing."""
    if process_group is GroupMember.NON_GROUP_MEMBER:
        return
    members = resolved(process_group)
    kinds: dict[Any, list[Tensor]] = {}
    for parameter in params:
        kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter.detach())
    for alike in kinds.values():
        flat = _functions.cat([each.reshape(-1) for each in alike]).div_(members.size())
        collectives.all_reduce(flat, group=members)
        for each, part in zip(alike, flat.split([each.numel() for each in alike]), strict=True):
            each.copy_(part.view(each.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Tensor]:
    """Of parameters, or of an optimizer's groups of them, those that have gradients."""
    found: list[Tensor] = []
    for each in params:
        if not isinstance(each, (Tensor, dict)):
            raise NotImplementedError(f"Parameter input of type {type(each)} is not supported")
        found += each["params"] if isinstance(each, dict) else [each]
    return [parameter for parameter in found if parameter.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """Averages those that have gradients."""
    average_parameters(get_params_to_average(params), process_group)

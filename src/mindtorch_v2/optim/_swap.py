"""Other parameters and state in an optimizer, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

import mindtorch_v2 as torch

from .optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer,
    swapin_parameters: dict[str, torch.Tensor],
    swapin_optim_state: dict[str, Any],
) -> Iterator[None]:
    """Inside, ``optimizer`` works on the given parameters (in its own order) and on a state as ``state_dict()`` gives
    it; what it writes into those tensors stays there.
    """
    state, groups = optimizer.state, optimizer.param_groups
    count = sum(len(group["params"]) for group in groups)
    if len(swapin_parameters) != count:
        raise ValueError(f"expected {count} parameters to swap in, got {len(swapin_parameters)}")
    saved_groups = swapin_optim_state["param_groups"]
    if [len(group["params"]) for group in saved_groups] != [len(group["params"]) for group in groups]:
        raise ValueError("the groups of the state to swap in do not match those of the optimizer")
    positions = list(chain.from_iterable(group["params"] for group in saved_groups))
    by_position = dict(zip(positions, swapin_parameters.values(), strict=True))
    swapped = type(state)(state.default_factory)
    for key, value in swapin_optim_state["state"].items():
        swapped[by_position.get(key, key)] = dict(value) if isinstance(value, dict) else value
    optimizer.state = swapped
    optimizer.param_groups = [
        {**group, "params": [by_position[position] for position in group["params"]]} for group in saved_groups
    ]
    try:
        yield
    finally:
        optimizer.state, optimizer.param_groups = state, groups

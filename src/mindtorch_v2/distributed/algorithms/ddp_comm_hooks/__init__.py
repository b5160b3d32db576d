"""``torch.distributed.algorithms.ddp_comm_hooks``: other ways to average gradients."""

from __future__ import annotations

from enum import Enum, member
from functools import partial
from typing import Any

from ...._absent import names_of
from . import debugging_hooks, default_hooks, powerSGD_hook, quantization_hooks

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _plain(hook: Any, model: Any, state: Any) -> None:
    model.register_comm_hook(state, hook)


def _power(hook: Any, model: Any, state: Any, rank: int) -> None:
    model.register_comm_hook(powerSGD_hook.PowerSGDState(state, rank), hook)


class DDPCommHookType(Enum):
    """The hooks by name; a value registers its hook."""

    ALLREDUCE = member(partial(_plain, default_hooks.allreduce_hook))
    FP16_COMPRESS = member(partial(_plain, default_hooks.fp16_compress_hook))
    BF16_COMPRESS = member(partial(_plain, default_hooks.bf16_compress_hook))
    QUANTIZE_PER_TENSOR = member(partial(_plain, quantization_hooks.quantization_pertensor_hook))
    QUANTIZE_PER_CHANNEL = member(partial(_plain, quantization_hooks.quantization_perchannel_hook))
    POWER_SGD = member(partial(_power, powerSGD_hook.powerSGD_hook, rank=1))
    POWER_SGD_RANK2 = member(partial(_power, powerSGD_hook.powerSGD_hook, rank=2))
    BATCHED_POWER_SGD = member(partial(_power, powerSGD_hook.batched_powerSGD_hook, rank=1))
    BATCHED_POWER_SGD_RANK2 = member(partial(_power, powerSGD_hook.batched_powerSGD_hook, rank=2))
    NOOP = member(partial(_plain, debugging_hooks.noop_hook))


def register_ddp_comm_hook(comm_hook_type: DDPCommHookType, model: Any, state: Any = None) -> None:
    """Registers a hook by its name; the state is a process group."""
    comm_hook_type.value(model=model, state=state)


__getattr__ = names_of(__name__)

"""A scaler of losses for gradients in parts: a step is left out by all processes, or by none."""

from __future__ import annotations

from typing import Any

from ..._absent import names_of
from ..._C import Tensor
from ...amp.grad_scaler import GradScaler
from .. import collectives
from ..process_group import ProcessGroup
from ..reduce_op import ReduceOp


class ShardedGradScaler(GradScaler):
    """``GradScaler`` that hears of infinite gradients on every process."""

    def __init__(
        self,
        device: str | None = None,
        init_scale: float = 2.0**16,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        chosen: dict[str, Any] = {} if device is None else {"device": device}
        super().__init__(
            **chosen,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self.process_group = process_group

    def _unscale_grads_(
        self, optimizer: Any, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[Any, Tensor]:
        found = super()._unscale_grads_(optimizer, inv_scale, found_inf, allow_fp16)
        for device in sorted(found, key=str):
            collectives.all_reduce(found[device], ReduceOp.MAX, group=self.process_group)
        return found


__getattr__ = names_of(__name__)

"""``torch_npu.optim``: optimizers by the names torch_npu has for them."""

from __future__ import annotations

from typing import Any

from ..optim import AdamW


class NpuFusedAdamW(AdamW):
    """AdamW with torch_npu's arguments."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad)

"""``torch.nn.quantized``: arithmetic as modules, for quantization to watch. There is none: numbers stay as they are."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ..._absent import names_of
from ..modules.linear import Identity
from ..modules.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Sums, products and joins whose results an observer could see."""

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x: Any) -> Any:
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. Please use the underlying operation"
        )

    def _seen(self, result: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self.activation_post_process(result)
        return seen

    def add(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._seen(torch.add(x, y))

    def add_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        return torch.add(x, y)

    def mul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._seen(torch.mul(x, y))

    def mul_scalar(self, x: torch.Tensor, y: float) -> torch.Tensor:
        return torch.mul(x, y)

    def cat(self, x: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
        return self._seen(torch.cat(x, dim=dim))

    def add_relu(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._seen(torch.nn.functional.relu(torch.add(x, y)))

    def matmul(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self._seen(torch.matmul(x, y))


__getattr__ = names_of(__name__)

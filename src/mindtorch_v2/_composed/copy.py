"""The method that chooses between tensors."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor


def where_receiver(self: Tensor, condition: Tensor, other: Tensor | float) -> Tensor:
    return torch.where(condition, self, other)

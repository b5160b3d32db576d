"""``torch.utils._foreach_utils``: lists of tensors, sorted by what can be computed together."""

from __future__ import annotations

from ..optim.optimizer import (
    _get_foreach_kernels_supported_devices as _get_foreach_kernels_supported_devices,
)
from ..optim.optimizer import (
    _get_fused_kernels_supported_devices as _get_fused_kernels_supported_devices,
)
from ..optim.optimizer import (
    _group_tensors_by_device_and_dtype as _group_tensors_by_device_and_dtype,
)

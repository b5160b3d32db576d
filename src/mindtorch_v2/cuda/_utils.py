"""``torch.cuda._utils``: the number of a device, which code of programs asks for here."""

from __future__ import annotations

from typing import Any

from .. import _C
from .._utils import _get_device_index as _index_of

__all__: list[str] = []


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The number of a GPU; with `optional`, None means the current one."""
    if isinstance(device, str):
        device = _C.device(device)
    if isinstance(device, _C.device) and device.type not in (("cuda", "cpu") if allow_cpu else ("cuda",)):
        raise ValueError(f"Expected a cuda{' or cpu' if allow_cpu else ''} device, but got: {device}")
    return _index_of(device, optional, allow_cpu)

"""Which way scaled_dot_product_attention may take. Here there is one for each device, whichever are allowed."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ..._absent import names_of

__all__ = ["SDPBackend", "WARN_FOR_UNFUSED_KERNELS", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.IntEnum):
    """The ways that PyTorch knows."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


# In the order in which they are listed; all are allowed at first.
_ORDER = (
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
)
_allowed = list(_ORDER)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_allowed)


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[object, object]]:
    """Inside, only ``backends`` are asked for. All of them compute the same here, by the device's own kernel."""
    global _allowed
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    wanted: Iterable[SDPBackend] = [backends] if isinstance(backends, SDPBackend) else backends
    before = _allowed
    _allowed = list(dict.fromkeys(wanted)) if set_priority else [b for b in _ORDER if b in wanted]
    try:
        yield {}
    finally:
        _allowed = before


__getattr__ = names_of(__name__)

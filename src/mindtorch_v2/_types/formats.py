"""Memory formats and layouts: how the elements of a tensor lie in memory."""

from __future__ import annotations

from collections.abc import Callable

from .. import _C
from .._C import (
    channels_last as channels_last,
)
from .._C import (
    channels_last_3d as channels_last_3d,
)
from .._C import (
    contiguous_format as contiguous_format,
)
from .._C import (
    memory_format as memory_format,
)
from .._C import (
    preserve_format as preserve_format,
)

legacy_contiguous_format = contiguous_format  # the older name


class layout:
    """How a tensor stores its elements."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> tuple[Callable[[str], layout], tuple[str]]:
        return _get_layout, (repr(self),)


def _get_layout(name: str) -> layout:
    """The layout of a name such as "torch.strided", as files have it."""
    return _layouts[name]


layout.__module__ = __name__.partition(".")[0]  # where people and files know it
_get_layout.__module__ = f"{layout.__module__}.serialization"
strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged, _mkldnn = map(layout, ("sparse_bsr", "sparse_bsc", "jagged", "_mkldnn"))
_layouts = {
    repr(value): value
    for value in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged, _mkldnn)
}
_C._set_strided(strided)

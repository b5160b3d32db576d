"""``torch._decomp``: operators in terms of others, for those who trace (``make_fx(decomposition_table=...)``)."""

from __future__ import annotations

from .._absent import names_of
from . import decompositions as decompositions
from ._registry import core_aten_decompositions as core_aten_decompositions
from ._registry import decomposition_table as decomposition_table
from ._registry import get_decompositions as get_decompositions
from ._registry import global_decomposition_table as global_decomposition_table
from ._registry import meta_table as meta_table
from ._registry import pre_autograd_decomposition_table as pre_autograd_decomposition_table
from ._registry import register_decomposition as register_decomposition
from ._registry import remove_decompositions as remove_decompositions

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "meta_table",
    "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions",
]  # fmt: skip

__getattr__ = names_of(__name__)

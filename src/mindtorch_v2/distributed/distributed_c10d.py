"""``torch.distributed.distributed_c10d``: where PyTorch defines what ``torch.distributed`` shows."""

from __future__ import annotations

import os
from typing import Any

from .._absent import names_of
from . import backends
from .backends import Backend as Backend
from .backends import BackendConfig as BackendConfig
from .collectives import *  # noqa: F403
from .collectives import _all_gather_base as _all_gather_base
from .collectives import _coalescing_manager as _coalescing_manager
from .collectives import _CoalescingManager as _CoalescingManager
from .collectives import _reduce_scatter_base as _reduce_scatter_base
from .constants import default_pg_timeout as default_pg_timeout
from .debug import *  # noqa: F403
from .errors import *  # noqa: F403
from .messages import *  # noqa: F403
from .objects import *  # noqa: F403
from .options import *  # noqa: F403
from .process_group import ProcessGroup as ProcessGroup
from .reduce_op import ReduceOp as ReduceOp
from .reduce_op import _make_nccl_premul_sum as _make_nccl_premul_sum
from .reduce_op import reduce_op as reduce_op
from .reducer import FIRST_BUCKET_BYTES as _DEFAULT_FIRST_BUCKET_BYTES  # noqa: F401
from .reducer import GradBucket as GradBucket
from .reducer import Reducer as Reducer
from .rendezvous import register_rendezvous_handler as register_rendezvous_handler
from .rendezvous import rendezvous as rendezvous
from .stores import FileStore as FileStore
from .stores import HashStore as HashStore
from .stores import PrefixStore as PrefixStore
from .stores import Store as Store
from .tcp_store import TCPStore as TCPStore
from .work import Work as Work
from .world import *  # noqa: F403
from .world import GroupMember, by_name, default_group, default_store, resolved

GroupName = str
_resolve_process_group, _get_default_group, _get_default_store = by_name, default_group, default_store


def is_available() -> bool:
    """True: processes can work together."""
    return True


def is_backend_available(backend: str) -> bool:
    """Whether a library is installed."""
    return backends.is_known(backend.lower())


def is_gloo_available() -> bool:
    """Whether Gloo is installed."""
    return is_backend_available("gloo")


def is_mpi_available() -> bool:
    """Whether MPI is installed."""
    return is_backend_available("mpi")


def is_nccl_available() -> bool:
    """Whether NCCL can be used."""
    return is_backend_available("nccl")


def is_ucc_available() -> bool:
    """Whether UCC can be used."""
    return is_backend_available("ucc")


def is_xccl_available() -> bool:
    """Whether XCCL can be used."""
    return is_backend_available("xccl")


def is_torchelastic_launched() -> bool:
    """Whether torchrun started this process."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def supports_complex(reduceOp: Any) -> bool:
    """Whether complex numbers can be reduced so."""
    unordered = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
    return reduceOp not in unordered


def get_default_backend_for_device(device: Any) -> str:
    """The library that serves a kind of device if none is named."""
    kind = str(device).split(":")[0]
    found = Backend.default_device_backend_map.get(kind)
    if found is None:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


def _rank_not_in_group(group: Any) -> bool:
    return group is GroupMember.NON_GROUP_MEMBER


def _get_process_group_name(pg: ProcessGroup) -> str:
    return pg.group_name


def _get_pg_default_device(group: Any = None) -> Any:
    return resolved(group).object_device


_get_object_coll_device = _get_pg_default_device

_absent = names_of(__name__)


def __getattr__(name: str) -> Any:
    if name.startswith("ProcessGroup"):  # ProcessGroupGloo and its kin: the engine of that library
        return backends.engine_class(name.removeprefix("ProcessGroup").lower())
    return _absent(name)

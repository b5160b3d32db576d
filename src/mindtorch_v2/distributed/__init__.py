"""``torch.distributed``: stores, through which processes find each other. Collectives are not there yet, which programs
ask :func:`is_available` about.

The other names that programs import are here or in the table of ``_absent``, with every module below this one.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar, NoReturn

from .._absent import names_of
from .constants import default_pg_timeout as default_pg_timeout
from .errors import (
    DistBackendError as DistBackendError,
)
from .errors import (
    DistError as DistError,
)
from .errors import (
    DistNetworkError as DistNetworkError,
)
from .errors import (
    DistStoreError as DistStoreError,
)
from .errors import (
    QueueEmptyError as QueueEmptyError,
)
from .stores import FileStore as FileStore
from .stores import HashStore as HashStore
from .stores import PrefixStore as PrefixStore
from .stores import Store as Store
from .tcp_store import TCPStore as TCPStore


def is_available() -> bool:
    """Whether several processes can work together: not yet."""
    return False


def is_initialized() -> bool:
    """Whether a process group exists: never."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchelastic started this process: never."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL can be used: never."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available
is_backend_available = is_nccl_available


class Backend(str):
    """The name of a library that processes talk through."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    backend_list: ClassVar[list[str]] = ["undefined"]
    default_device_backend_map: ClassVar[dict[str, str]] = {}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class _ReduceOp(IntEnum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)


class ReduceOp:
    """How values of several processes become one."""

    RedOpType = _ReduceOp
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = _ReduceOp


class group:
    """The group of all processes: there is none."""

    WORLD: ClassVar[Any] = None


class GroupMember(group):
    """What :func:`new_group` gives processes outside the group."""

    NON_GROUP_MEMBER = -100


def get_rank(group: Any = None) -> NoReturn:
    """Raises: there is no process group."""
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group."
    )


get_world_size = get_backend = get_rank


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: this library runs in one process."""
    raise NotImplementedError(
        "torch.distributed.init_process_group: this library runs in one process; start the program without a "
        "distributed launcher"
    )


__getattr__ = names_of(__name__)

"""``torch.distributed``: processes that work together.

Processes find each other through a store (``stores.py``, ``tcp_store.py``, ``rendezvous.py``) and form groups
(``world.py``). A group has an engine per kind of device (``engine.py``, ``engines/``), which is a library that carries
messages; what users call is made of its few functions (``process_group.py``, ``collectives.py``, ``messages.py``,
``objects.py``).
"""

from __future__ import annotations

from typing import Any

from .._absent import names_of
from . import distributed_c10d
from .device_mesh import DeviceMesh as DeviceMesh
from .device_mesh import init_device_mesh as init_device_mesh
from .distributed_c10d import *  # noqa: F403
from .distributed_c10d import _all_gather_base as _all_gather_base
from .distributed_c10d import _coalescing_manager as _coalescing_manager
from .distributed_c10d import _CoalescingManager as _CoalescingManager
from .distributed_c10d import _get_process_group_name as _get_process_group_name
from .distributed_c10d import _make_nccl_premul_sum as _make_nccl_premul_sum
from .distributed_c10d import _rank_not_in_group as _rank_not_in_group
from .distributed_c10d import _reduce_scatter_base as _reduce_scatter_base

_absent = names_of(__name__)


def __getattr__(name: str) -> Any:
    return getattr(distributed_c10d, name) if name.startswith("ProcessGroup") else _absent(name)

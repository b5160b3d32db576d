"""What PyTorch has in ``torch._C._distributed_c10d`` and this package elsewhere."""

from __future__ import annotations

from .debug import DebugLevel, get_debug_level, set_debug_level, set_debug_level_from_env
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError
from .flight_recorder.recorder import dumped as _dump_fr_trace
from .flight_recorder.recorder import dumped_json as _dump_fr_trace_json
from .flight_recorder.recorder import reset as _reset_fr_recording_nccl
from .process_group import ProcessGroup
from .reduce_op import ReduceOp
from .reducer import GradBucket, Reducer
from .stores import FileStore, HashStore, PrefixStore, Store
from .tcp_store import TCPStore
from .work import Work

_dump_nccl_trace, _dump_nccl_trace_json = _dump_fr_trace, _dump_fr_trace_json

__all__ = [
    "DebugLevel", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "GradBucket",
    "HashStore", "PrefixStore", "ProcessGroup", "ReduceOp", "Reducer", "Store", "TCPStore", "Work", "_dump_fr_trace",
    "_dump_fr_trace_json", "_dump_nccl_trace", "_dump_nccl_trace_json", "_reset_fr_recording_nccl",
    "get_debug_level", "set_debug_level", "set_debug_level_from_env",
]  # fmt: skip

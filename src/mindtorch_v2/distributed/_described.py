"""What traces say of a work, under the names of PyTorch's traces.

While somebody records, a work is two events: ``record_param_comms`` where the program asks for it, and
``engine:collective`` on the thread that carries it out, or around its launch on a stream. Both have these details.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._C import Tensor, _profiler
from .._types.dtypes import LEGACY_NAMES

if TYPE_CHECKING:
    from .process_group import ProcessGroup

recording = _profiler.recording
_begin = _profiler.begin_collective

# Where PyTorch has other names: for what is asked for, and for what a library carries out.
_ASKED = {
    "all_reduce": "allreduce", "all_gather_into_tensor": "_allgather_base", "all_to_all_single": "all_to_allv",
    "reduce_scatter_tensor": "_reduce_scatter_base",
}  # fmt: skip
_CARRIED = {
    "all_gather_into_tensor": "all_gather", "all_gather_coalesced": "all_gather", "all_to_all_single": "all_to_all",
    "reduce_scatter_tensor": "reduce_scatter",
}  # fmt: skip


def dtype_name(dtype: Any) -> str:
    """``Float`` for torch.float32, as PyTorch's traces and dumps have it."""
    plain = str(dtype).removeprefix("torch.")
    return LEGACY_NAMES.get(plain, plain)


def event_name(library: str, name: str) -> str:
    """``gloo:all_reduce``."""
    return f"{library}:{_CARRIED.get(name, name)}"


def details(
    group: ProcessGroup,
    name: str,
    number: int,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    lane: Any,
) -> str:
    """Members of a JSON object. ``lane`` of a message says who is at the other end."""
    some = [*inputs, *outputs]
    found: dict[str, Any] = {
        "Collective name": _ASKED.get(name, name),
        "dtype": dtype_name(some[0].dtype) if some else "",
        "In msg nelems": sum(tensor.numel() for tensor in inputs),
        "Out msg nelems": sum(tensor.numel() for tensor in outputs),
        "Group size": group.size(),
        "Process Group Name": group.group_name,
        "Process Group Description": group.group_desc,
        "Process Group Ranks": list(group.ranks),
        "Rank": group.ranks[group.rank()],
        "Seq": number,
        "bytes": max(sum(tensor.nbytes for tensor in inputs), sum(tensor.nbytes for tensor in outputs)),
    }
    if isinstance(lane, tuple):
        way, peer, tag = lane
        other = -1 if peer is None else group.ranks[peer]
        found |= {"Dst Rank" if way == "to" else "Src Rank": other, "Tag": tag}
    return json.dumps(found)[1:-1]


def shown(call: Callable[[], Any], name: str, details: str, asked: bool) -> Any:
    """Calls the function, inside an event of the trace; ``asked``: it only asks for what is carried out elsewhere."""
    scope = _begin(name, details, asked)
    try:
        return call()
    finally:
        if scope is not None:  # somebody still records
            scope.end()

"""What traces call the device's part of them: by the names of its own runtime, or by those that analysers of CUDA
programs look for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .._devices import registry
from .._devices.accelerator import Accelerator

RUNTIME = (
    "privateuse1_runtime"  # Kineto's category for calls of a device that is no GPU; it has none for its waits
)


class TraceNames(NamedTuple):
    runtime: str  # category of calls of the device's runtime
    sync: str  # category of waits on the device's tracks; empty: they are not written
    sync_kind: str  # argument of a wait: what kind it is
    awaited: str  # argument of a wait: the correlation of the recorded event
    calls: Mapping[str, str]  # where a call has another name than its own
    tasks: Mapping[str, str]  # and where a task has


def own_names(accelerator: Accelerator) -> TraceNames:
    if accelerator.known_to_analysers:
        return cuda_names(accelerator, False)
    return TraceNames(
        RUNTIME, f"{accelerator.type}_sync", "sync_kind", "wait_on_event_record_corr_id", {}, {}
    )


def cuda_names(accelerator: Accelerator, waits: bool) -> TraceNames:
    calls = accelerator.calls_elsewhere.get("cuda", {})
    tasks = accelerator.tasks_elsewhere.get("cuda", {})
    return TraceNames(
        "cuda_runtime",
        "cuda_sync" if waits else "",
        "cuda_sync_kind",
        "wait_on_cuda_event_record_corr_id",
        calls,
        tasks,
    )


def runtimes() -> list[str]:
    """The runtimes whose names are a device's own."""
    return [found.runtime or found.type for found in registry.accelerators.values()]

"""One recording at a time: starts and stops the native recorder and keeps what it recorded."""

from __future__ import annotations

import json
import os
import socket
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _C
from .._devices import registry
from .._devices.accelerator import Accelerator
from ._averages import FunctionEventAvg
from ._chrome_trace import write_chrome_trace
from ._collectives import of_world
from ._event_list import EventList
from ._events import build_events
from ._modules import ModuleWatch
from ._python_calls import ThreadWatch
from ._trace_names import TraceNames, own_names

if TYPE_CHECKING:
    from ._kineto_results import KinetoResults

_native = _C._profiler
os.register_at_fork(after_in_child=_native.forget)


class Recording:
    """Records between :meth:`start` and :meth:`stop`; can be started again.

    The native trace is kept as it is. Objects are made of it only when :meth:`events` is called, and an
    export needs none, so that long traces stay small.
    """

    def __init__(
        self,
        *,
        use_cpu: bool = True,
        use_device: str | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
        trace_names: Callable[[Accelerator], TraceNames] = own_names,
    ) -> None:
        self.use_cpu = use_cpu
        self.use_device = use_device
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.trace_names = trace_names
        self.acc_events = acc_events  # events of earlier recordings stay
        self.metadata: dict[str, Any] = {}
        self._session = 0  # 0: not recording
        self._watches: list[ModuleWatch | ThreadWatch] = []
        self._traces: list[tuple[Any, Mapping[str, str]]] = []  # and the paths of modules
        self._thread_names: dict[int, str] = {}  # of the last recording, by the system's number
        self._events: EventList | None = None

    @property
    def recording(self) -> bool:
        return self._session != 0

    @property
    def finished(self) -> bool:
        """Whether something has been recorded and stopped."""
        return bool(self._traces)

    def start(self) -> None:
        watches: list[ModuleWatch | ThreadWatch] = []
        if self.with_modules or self.with_stack:
            watches.append(ModuleWatch())
        if self.with_stack:
            watches.append(ThreadWatch())
        for watch in watches:
            watch.start()
        try:
            self._session = _native.start(
                self.use_cpu,
                self.use_device is not None,  # tasks
                self.record_shapes or self.with_flops,
                self.profile_memory,
                self.with_stack,
                _watched_devices() if self.profile_memory else [],
            )
        except BaseException:
            for watch in watches:
                watch.stop()
            raise
        self._watches = watches

    def stop(self) -> None:
        session, self._session = self._session, 0
        watches, self._watches = self._watches, []
        try:
            trace = _native.stop(session)
        finally:
            for watch in watches:
                watch.stop()
        if trace.taken_over:
            warnings.warn(
                "Another profiler was started while this one was recording, and took over: this one has no "
                "events. Profile one thing at a time.",
                stacklevel=3,
            )
        for problem in trace.problems:
            warnings.warn(problem, stacklevel=3)
        self._thread_names = _thread_names()
        kept = self._traces if self.acc_events else []
        paths = next((watch.paths() for watch in watches if isinstance(watch, ModuleWatch)), {})
        self._traces = [*kept, (trace, paths)]
        self._events = None

    def events(self) -> EventList:
        """What was recorded; nothing while the first recording is still going on."""
        if self._events is None:
            self._events = EventList(
                use_device=self.use_device, profile_memory=self.profile_memory, with_flops=self.with_flops
            )
            for trace, paths in self._traces:
                self._events += build_events(
                    trace,
                    self._traces[0][0].start_ns,
                    use_device=self.use_device,
                    shapes=self.record_shapes,
                    flops=self.with_flops,
                    module_paths=paths,
                )
        return self._events

    @property
    def kineto_results(self) -> KinetoResults | None:
        """The last finished recording as PyTorch's own objects; None before there is one."""
        if not self._traces:
            return None
        from ._kineto_results import KinetoResults  # few programs look

        return KinetoResults(self._traces[-1][0], self)

    @property
    def function_events(self) -> EventList:
        if not self._traces:
            raise RuntimeError("Profiler didn't finish running")
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        return self.function_events.self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        return self.function_events.total_average()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )

    def __repr__(self) -> str:
        return repr(self.events()) if self._traces else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return self.table() if self._traces else "<unfinished torch.autograd.profile>"

    def collect(self, enable: bool, *, cpu: bool, device: bool) -> None:
        """Leaves operators or what the device does out of the running recording, or takes them in again."""
        if self.recording:
            _native.collect(enable, ops=cpu and self.use_cpu, tasks=device and self.use_device is not None)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(
                f"add_metadata({key!r}): the value must be a str, got {type(value).__name__}; "
                "add_metadata_json() takes numbers and lists as JSON text"
            )
        self.metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        try:
            self.metadata[key] = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(
                f"add_metadata_json({key!r}): the value must be JSON text, got {value!r} ({error}); "
                "add_metadata() takes plain text"
            ) from error

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the last finished recording; ``.gz`` compresses."""
        if not self._traces:
            raise RuntimeError("export_chrome_trace(): nothing has been recorded; stop the profiler first")
        flags = ("with_stack", "profile_memory", "record_shapes", "with_modules", "with_flops")
        described: dict[str, Any] = {flag: 1 for flag in flags if getattr(self, flag)}
        described["host_name"] = socket.gethostname()
        trace, paths = self._traces[-1]
        described |= of_world()
        write_chrome_trace(
            path, trace, described | self.metadata, paths, self.trace_names, self._thread_names
        )


def _thread_names() -> dict[int, str]:
    """Of the threads that Python started."""
    other = (each for each in threading.enumerate() if each is not threading.main_thread())
    return {each.native_id: each.name for each in other if each.native_id is not None}


def _watched_devices() -> list[Any]:
    return [device for kind in registry.accelerators.values() for device in kind.watched_devices()]

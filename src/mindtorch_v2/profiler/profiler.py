"""``torch.profiler.profile``: records operators, annotations, memory and NPU tasks, in the steps of a schedule."""

from __future__ import annotations

import enum
import os
import socket
import time
import uuid
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .. import _C
from ._event_list import EventList
from ._kinds import STEP_PREFIX
from ._record_function import record_function
from ._recording import Recording, refuse

_native = _C._profiler


class ProfilerActivity(enum.Enum):
    """What to record: ``CPU`` is operators, which the host runs for tensors on every device; ``NPU`` is what
    the NPU does. ``CUDA`` is taken for the NPU, for programs that were written for another device."""

    CPU = 0
    CUDA = 2
    NPU = 3


class ProfilerAction(enum.Enum):
    """What a schedule asks for in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last recorded step: on_trace_ready is called after it


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
_DEVICE_ACTIVITIES = {ProfilerActivity.NPU, ProfilerActivity.CUDA}


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded here."""
    from .. import npu

    return {ProfilerActivity.CPU, ProfilerActivity.NPU} if npu.is_available() else {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Cycles of ``wait`` steps off, ``warmup`` steps discarded and ``active`` steps recorded, after
    ``skip_first`` steps off; ``repeat`` cycles, or without end for 0. ``skip_first_wait=1`` leaves out the
    wait of the first cycle."""
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results", stacklevel=2)
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        cycle, place = divmod(step - skip_first + (wait if skip_first_wait else 0), length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: writes each trace to ``dir_name`` under the name that TensorBoard looks for."""

    def handle(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + os.fspath(dir_name)) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class profile:
    """Records what happens inside it::

        with torch.profiler.profile(profile_memory=True) as prof:
            train_step()
        print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
        prof.export_chrome_trace("trace.json.gz")

    With a ``schedule``, call :meth:`step` after every training step; ``on_trace_ready`` gets this object each
    time a cycle has been recorded. One profiler records at a time: as in PyTorch, one that is started inside
    another takes over, and the outer one ends with no events.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object | None = None,
        execution_trace_observer: object | None = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        refuse(
            "profile",
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
        )
        self.activities = set(supported_activities() if activities is None else activities)
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2
            )
            (self.activities.add if use_cuda else self.activities.discard)(ProfilerActivity.NPU)
        if not self.activities & set(ProfilerActivity):
            raise AssertionError("No valid profiler activities found")
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.use_device = "npu" if self.activities & _DEVICE_ACTIVITIES else None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: Recording | None = None  # from the first recorded step on
        self._recording = Recording(
            use_cpu=ProfilerActivity.CPU in self.activities,
            use_device=self.use_device,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            acc_events=acc_events,
        )
        self._step_annotation: record_function | None = None

    # --- control ---

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self._change(ProfilerAction.NONE, self.current_action)
        self._enter_step()

    def step(self) -> None:
        """The next step of the schedule begins."""
        self._leave_step()
        before, action = self.current_action, self.schedule(self.step_num + 1)
        self.step_num += 1
        self.current_action = action
        self._change(before, action)
        self._enter_step()

    def stop(self) -> None:
        """Ends the recording; what was recorded goes to ``on_trace_ready``."""
        self._leave_step()
        if self.profiler is None and self.current_action in _RECORDING:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if self._recording.recording:
            self._stop_trace()
            self._trace_ready()

    def _change(self, before: ProfilerAction, after: ProfilerAction) -> None:
        """From one step's action to the next one's. A schedule that breaks off is warned about and its events
        are kept, but not handed to ``on_trace_ready``."""
        if before in (ProfilerAction.WARMUP, ProfilerAction.RECORD) and (
            after is ProfilerAction.NONE
            or (before is ProfilerAction.RECORD and after is ProfilerAction.WARMUP)
        ):
            warnings.warn(f"Incorrect schedule: {before.name} followed by {after.name}", stacklevel=3)
        if self._recording.recording and (
            before is ProfilerAction.RECORD_AND_SAVE or after not in _RECORDING
        ):
            self._stop_trace()
            if before is ProfilerAction.RECORD_AND_SAVE:
                self._trace_ready()
        if after in _RECORDING and before is not ProfilerAction.RECORD:
            self._start_trace()

    def _enter_step(self) -> None:
        _native.set_step(self.step_num)
        if self.record_steps:
            self._step_annotation = record_function(f"{STEP_PREFIX}{self.step_num}").__enter__()

    def _leave_step(self) -> None:
        annotation, self._step_annotation = self._step_annotation, None
        if annotation is not None:
            annotation.__exit__(None, None, None)

    def _start_trace(self) -> None:
        callback = self.custom_trace_id_callback
        self.add_metadata("trace_id", callback() if callback else uuid.uuid4().hex.upper())
        self._recording.start()
        self.profiler = self._recording

    def _stop_trace(self) -> None:
        self._recording.stop()

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # --- results ---

    def _recorded(self, purpose: str) -> Recording:
        if self.profiler is None:
            raise AssertionError(
                f"Profiler must be initialized before {purpose}: nothing has been recorded. Start the "
                "profiler, and if it has a schedule, call step() often enough to reach an active step."
            )
        return self.profiler

    def events(self) -> EventList:
        """The operators and annotations of the last cycle (of all cycles with ``acc_events=True``)."""
        return self._recorded("accessing events").events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed up by name; see :meth:`EventList.table`."""
        events = self._recorded("getting key averages").events()
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the last cycle for Perfetto, chrome://tracing or TensorBoard; ``.gz`` compresses."""
        self._recorded("exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes stacks and times for flame graph tools; needs ``with_stack=True``."""
        self._recorded("exporting stacks").events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Text for the top level of the exported trace."""
        self._recording.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """JSON text for the top level of the exported trace."""
        self._recording.add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """As :meth:`add_metadata_json`; may be called before the profiler is started."""
        self._recording.add_metadata_json(key, value)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """``callback`` names the traces that begin from now on."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        return self._recording.metadata.get("trace_id")

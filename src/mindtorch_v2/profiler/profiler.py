"""``torch.profiler.profile``: records operators, annotations, memory and devices' tasks, in the steps of a schedule."""

from __future__ import annotations

import enum
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from .. import _C
from ._execution_trace import ExecutionTraceObserver
from ._kinds import STEP_PREFIX
from ._kineto_profile import ProfilerActivity, _KinetoProfile, supported_activities
from ._record_function import record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_native = _C._profiler


class ProfilerAction(enum.Enum):
    """What a schedule asks for in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3  # the last recorded step: on_trace_ready is called after it


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


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


def _default_schedule_fn(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str],
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """For ``on_trace_ready``: writes each trace to ``dir_name`` under the name that TensorBoard looks for.
    ``use_python_export`` changes nothing: there is one way to write a trace."""

    def handle(prof: profile) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + os.fspath(dir_name)) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handle


class profile(_KinetoProfile):
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
        activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object | None = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        chosen = list(supported_activities() if activities is None else activities)
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead", FutureWarning, stacklevel=2
            )
            if use_cuda and ProfilerActivity.CUDA not in chosen:
                chosen.append(ProfilerActivity.CUDA)
            elif not use_cuda:
                chosen = [each for each in chosen if each is not ProfilerActivity.CUDA]
        if not any(isinstance(each, ProfilerActivity | dict) for each in chosen):
            raise AssertionError("No valid profiler activities found")
        super().__init__(
            activities=chosen,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer
            or ExecutionTraceObserver.build_execution_trace_obs_from_env(),
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.step_rec_fn: record_function | None = None

    # --- control ---

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.cleanup()

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
            self.stop_trace()
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
            self.stop_trace()
            if before is ProfilerAction.RECORD_AND_SAVE:
                self._trace_ready()
        if after in _RECORDING and before is not ProfilerAction.RECORD:
            self.prepare_trace()
            self.start_trace()

    def _enter_step(self) -> None:
        _native.set_step(self.step_num)
        if self.record_steps:
            self.step_rec_fn = record_function(f"{STEP_PREFIX}{self.step_num}").__enter__()

    def _leave_step(self) -> None:
        annotation, self.step_rec_fn = self.step_rec_fn, None
        if annotation is not None:
            annotation.__exit__(None, None, None)

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """``callback`` names the traces that begin from now on."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self) -> str | None:
        return self._recording.metadata.get("trace_id")

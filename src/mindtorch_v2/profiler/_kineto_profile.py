"""``_KinetoProfile``: the profiler without a schedule, and the results that every profiler has."""

from __future__ import annotations

import enum
import os
import uuid
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from .._devices import registry
from .._devices.accelerator import Accelerator
from ._config import checked
from ._event_list import EventList
from ._kinds import name_after_accelerators
from ._recording import Recording


class ProfilerActivity(enum.Enum):
    """What to record: ``CPU`` is operators, which the host runs for tensors on every device; the name of an accelerator
    is what that does. ``CUDA`` is taken for the accelerator, for programs that were written for another device."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


name_after_accelerators(ProfilerActivity, ProfilerActivity.PrivateUse1)
_warned: set[str] = set()


def accelerator_of(activity: ProfilerActivity) -> Accelerator | None:
    """The accelerator that an activity is about, if it is there."""
    if activity is ProfilerActivity.CUDA:
        return registry.available()
    for found in registry.accelerators.values():
        if activity is ProfilerActivity[found.title] and found.module.is_available():
            return found
    return None


def supported_activities() -> set[ProfilerActivity]:
    """The activities that can be recorded here."""
    there = [found for found in registry.accelerators.values() if found.module.is_available()]
    return {ProfilerActivity.CPU, *(ProfilerActivity[found.title] for found in there)}


def _parse(
    activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]],
) -> set[ProfilerActivity]:
    found: set[ProfilerActivity] = set()
    for item in activities:
        if isinstance(item, dict):
            raise NotImplementedError(
                f"profile(activities=[{item!r}]): an activity is recorded whole; pass the activities themselves"
            )
        if not isinstance(item, ProfilerActivity):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        if item in found:
            raise ValueError(f"Activity {item} specified more than once")
        found.add(item)
    return found


def _without_absent(activities: set[ProfilerActivity]) -> set[ProfilerActivity]:
    """Warns of devices that are not there, and goes on without them."""
    absent = {
        each for each in activities if each is not ProfilerActivity.CPU and accelerator_of(each) is None
    }
    for activity in sorted(absent, key=lambda each: each.value):
        name = activity.name
        warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=4)
    return activities - absent


class _KinetoProfile:
    """Records from :meth:`start` to :meth:`stop`; ``profile`` adds a schedule and the ``with`` statement."""

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object | None = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        self.activities = _parse(supported_activities() if activities is None else activities)
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        # PyTorch gives up on making events after this time; here an export makes none, so it is never late.
        self.post_processing_timeout_s = post_processing_timeout_s
        self._options = checked(experimental_config)
        self._recorded_activities = _without_absent(self.activities)
        devices = {found.type for each in self._recorded_activities if (found := accelerator_of(each))}
        self.use_device = next((kind for kind in registry.accelerators if kind in devices), None)
        self.profiler: Recording | None = None  # from the first recorded step on
        self._recording = Recording(
            use_cpu=ProfilerActivity.CPU in self._recorded_activities,
            use_device=self.use_device,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            acc_events=acc_events,
            trace_names=self._options.trace_names,
        )

    # --- control ---

    def start(self) -> None:
        """Begins to record."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """Ends the recording."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """The warm-up: nothing is recorded yet."""
        if not self._recorded_activities:
            raise AssertionError("No activities specified for the profiler")
        if self._recording.finished and not self.acc_events and "cycles" not in _warned:
            _warned.add("cycles")
            warnings.warn(
                "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle "
                "will be reported. To keep events across cycles, set acc_events=True.",
                stacklevel=4,
            )
        self.profiler = self._recording

    def start_trace(self) -> None:
        """Begins to record what :meth:`prepare_trace` has prepared."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.start()
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before starting trace")
        callback = self.custom_trace_id_callback
        self.add_metadata("trace_id", callback() if callback else uuid.uuid4().hex.upper())
        self.profiler.start()

    def stop_trace(self) -> None:
        """Ends the recording."""
        if self.execution_trace_observer is not None:
            self.execution_trace_observer.stop()
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before stopping trace")
        if self.profiler.recording:
            self.profiler.stop()

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Leaves ``activities`` out of the recording from here on, or takes them in again."""
        if self.profiler is None:
            return
        chosen = set(activities)
        device = any(accelerator_of(each) for each in chosen)
        self.profiler.collect(enable, cpu=ProfilerActivity.CPU in chosen, device=device)

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
        recording = self._recorded("accessing events")
        if self._options.trace_only:
            raise RuntimeError(
                "events() is not available when trace_only=True in ExperimentalConfig. Use "
                "export_chrome_trace() instead."
            )
        return recording.events()

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed up by name; see :meth:`EventList.table`."""
        self._recorded("getting key averages")
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str | os.PathLike[str], use_python_export: bool = False) -> None:
        """Writes the last cycle for Perfetto, chrome://tracing or TensorBoard; ``.gz`` compresses. There is one
        way to write it, so ``use_python_export`` changes nothing."""
        self._recorded("exporting chrome trace").export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes stacks and times for flame graph tools; needs ``with_stack=True``."""
        self._recorded("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path: str | os.PathLike[str], device: str | None = None) -> None:
        """Not offered: PyTorch has deprecated it too. The error says what shows memory over time."""
        memory = f"torch.{registry.accelerator().type}.memory"
        raise NotImplementedError(
            "export_memory_timeline() is deprecated in PyTorch and not offered here. For memory over time, call "
            f"{memory}._record_memory_history() before and {memory}._dump_snapshot(path) after, "
            "and open the file at https://pytorch.org/memory_viz; export_chrome_trace() of "
            "profile(profile_memory=True) has every allocation as well."
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Text for the top level of the exported trace."""
        self._recording.add_metadata(key, value)

    def add_metadata_json(self, key: str, value: str) -> None:
        """JSON text for the top level of the exported trace."""
        self._recording.add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """As :meth:`add_metadata_json`; may be called before the profiler is started."""
        self._recording.add_metadata_json(key, value)

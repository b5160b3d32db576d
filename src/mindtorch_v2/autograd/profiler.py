"""``torch.autograd.profiler``: the older door to the same recorder; new code uses ``torch.profiler``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NoReturn

from .. import _C
from .._devices import registry
from ..profiler import (
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    ProfilerActivity,
    kineto_available,
    record_function,
)
from ..profiler._config import _ExperimentalConfig, checked
from ..profiler._kineto_profile import accelerator_of
from ..profiler._recording import Recording

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "ProfilerActivity",
    "_ExperimentalConfig",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]


def __getattr__(name: str) -> Any:
    if name == "_is_profiler_enabled":  # programs look at it before they spend time on names
        return _C._profiler.recording()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class profile(Recording):
    """Records operators and annotations inside it, if ``enabled``; with ``use_device``, tasks of that device too."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: object | None = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        options = checked(experimental_config)
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        super().__init__(
            use_cpu=use_cpu,
            use_device=_device(use_device),
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            acc_events=acc_events,
            trace_names=options.trace_names,
        )
        self.enabled = enabled
        self.entered = False
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        if self.custom_trace_id_callback is not None:
            self.add_metadata("trace_id", self.custom_trace_id_callback())
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.recording:
            self.stop()

    def toggle_collection_dynamic(self, enabled: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Leaves ``activities`` out of the recording from here on, or takes them in again."""
        chosen = set(activities)
        device = any(accelerator_of(each) for each in chosen)
        self.collect(enabled, cpu=ProfilerActivity.CPU in chosen, device=device)


def _device(wanted: str | None) -> str | None:
    """The accelerator, also for programs written for CUDA; a warning for devices that are not there."""
    if wanted is None:
        return None
    if wanted not in ("cuda", registry.PRIVATE_USE, *registry.accelerators):
        warnings.warn(f"The {wanted} is not a valid device option.", stacklevel=3)
        return None
    accelerator = registry.accelerators.get(wanted) or registry.accelerator()
    if accelerator.module.is_available():
        return accelerator.type
    name = wanted.upper()
    warnings.warn(f"{name} is not available, disabling {name} profiling", stacklevel=3)
    return None


def load_nvprof(path: str) -> NoReturn:
    """Not offered: files of NVIDIA's nvprof have nothing to do with these devices."""
    _no_nvprof("load_nvprof")


def parse_nvprof_trace(path: str) -> NoReturn:
    """Not offered, like :func:`load_nvprof`."""
    _no_nvprof("parse_nvprof_trace")


def _no_nvprof(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: files of NVIDIA's nvprof are not read. Use torch.profiler.profile and export_chrome_trace()."
    )


class emit_nvtx:
    """Inside it, every operator and every node of the backward pass is a range for NVIDIA's tools. Operators say the
    number of the node that they make (``seq``), by which their backward is found."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("NVTX annotation context manager is not reentrant")
        _C._cuda.begin_ranges(self.record_shapes)
        self.entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.enabled:
            _C._cuda.end_ranges()


class emit_itt:
    """Intel's ranges: refused when entered."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> emit_itt | None:
        if not self.enabled:
            return None
        raise NotImplementedError(
            "emit_itt: Intel's VTune does not see the devices of this library. Use torch.profiler.profile and "
            "export_chrome_trace()."
        )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

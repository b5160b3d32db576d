"""``_ExperimentalConfig``: options of PyTorch's profiler beside those of ``profile`` itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._devices.accelerator import Accelerator
from ._trace_names import TraceNames, cuda_names, own_names, runtimes

# What these ask for is always so: stacks in traces, all threads, names of overloads.
_ALWAYS = (
    "verbose",
    "profile_all_threads",
    "capture_overload_names",
    "expose_kineto_event_metadata",
)


class Options(NamedTuple):
    """What a configuration changes."""

    trace_only: bool = False  # no events
    trace_names: Callable[[Accelerator], TraceNames] = own_names


class _ExperimentalConfig:
    """What ``profile(experimental_config=…)`` takes. Options that are not offered are refused there.
    ``custom_profiler_config="names=cuda"`` gives traces the names that analysers of CUDA programs look for, and
    waits on the device's tracks only with ``enable_cuda_sync_events``, because such analysers take them for work."""

    def __init__(
        self,
        profiler_metrics: Sequence[str] = (),
        profiler_measure_per_kernel: bool = False,
        verbose: bool = False,
        performance_events: Sequence[str] = (),
        enable_cuda_sync_events: bool = False,
        adjust_profiler_step: bool = False,
        disable_external_correlation: bool = False,
        profile_all_threads: bool = False,
        capture_overload_names: bool = False,
        record_python_gc_info: bool = False,
        expose_kineto_event_metadata: bool = False,
        custom_profiler_config: str = "",
        adjust_timestamps: bool = False,
        trace_only: bool = False,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self" and value}
        self.custom_profiler_config = custom_profiler_config
        self.trace_only = trace_only
        self.enable_cuda_sync_events = enable_cuda_sync_events
        offered = (*_ALWAYS, "trace_only", "custom_profiler_config", "enable_cuda_sync_events")
        self._refused = {name: value for name, value in given.items() if name not in offered}

    def check(self) -> Options:
        """What is asked for; refuses what is not offered."""
        own = [f"names={name}" for name in runtimes()]
        # What PyTorch passes on to the profiler of a device.
        offered: dict[str, Callable[[Accelerator], TraceNames]] = {
            "": own_names,
            **dict.fromkeys(own, own_names),
            "names=cuda": functools.partial(cuda_names, waits=self.enable_cuda_sync_events),
        }
        if self.custom_profiler_config not in offered:
            raise NotImplementedError(
                f"profile(experimental_config=_ExperimentalConfig(custom_profiler_config="
                f"{self.custom_profiler_config!r})) is not supported; it may be {' or '.join(map(repr, own))}, "
                "which is the default, or 'names=cuda', for traces with the names of CUDA's calls"
            )
        for name, value in self._refused.items():
            raise NotImplementedError(
                f"profile(experimental_config=_ExperimentalConfig({name}={value!r})) is not supported; "
                f"leave {name} out"
            )
        return Options(self.trace_only, offered[self.custom_profiler_config])


def checked(config: object) -> Options:
    """What a configuration asks for; refuses what is none or asks for too much."""
    if config is None:
        return Options()
    check = getattr(config, "check", None)
    if check is None:
        raise TypeError(
            "profile(): experimental_config must be a torch.profiler._ExperimentalConfig, got "
            f"{type(config).__name__}"
        )
    options: Options = check()
    return options

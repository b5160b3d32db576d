"""``_ExperimentalConfig``: options of PyTorch's profiler beside those of ``profile`` itself."""

from __future__ import annotations

from collections.abc import Sequence

# What these ask for is always so: stacks in traces, events of waits, all threads, names of overloads.
_ALWAYS = (
    "verbose",
    "enable_cuda_sync_events",
    "profile_all_threads",
    "capture_overload_names",
    "expose_kineto_event_metadata",
)


class _ExperimentalConfig:
    """What ``profile(experimental_config=…)`` takes. Options that are not offered are refused there."""

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
        self._refused = {name: value for name, value in given.items() if name not in (*_ALWAYS, "trace_only")}

    def check(self) -> None:
        """Refuses what is not offered."""
        for name, value in self._refused.items():
            raise NotImplementedError(
                f"profile(experimental_config=_ExperimentalConfig({name}={value!r})) is not supported; "
                f"leave {name} out"
            )


def checked(config: object) -> bool:
    """Whether only a trace is wanted, no events; refuses what is no configuration or asks for too much."""
    if config is None:
        return False
    check = getattr(config, "check", None)
    if check is None:
        raise TypeError(
            "profile(): experimental_config must be a torch.profiler._ExperimentalConfig, got "
            f"{type(config).__name__}"
        )
    check()
    return bool(getattr(config, "trace_only", False))

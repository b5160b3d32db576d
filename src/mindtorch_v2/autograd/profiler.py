"""``torch.autograd.profiler``: the older door to the same recorder; new code uses ``torch.profiler``."""

from __future__ import annotations

import os
from types import TracebackType

from ..profiler import DeviceType, EventList, FunctionEvent, FunctionEventAvg, record_function
from ..profiler._recording import Recording, refuse

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "profile",
    "record_function",
]


class profile(Recording):
    """Records operators and annotations inside it, if ``enabled``; with ``use_device="npu"``, NPU tasks too."""

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
    ) -> None:
        refuse("profile", experimental_config=experimental_config)
        if use_device not in (None, "npu", "cuda"):
            raise ValueError(f"profile(use_device={use_device!r}): the devices are 'npu' (or 'cuda', for it)")
        super().__init__(
            use_cpu=use_cpu,
            use_device="npu" if use_device or use_cuda else None,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            acc_events=acc_events,
        )
        self.enabled = enabled
        self.entered = False

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.recording:
            self.stop()

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

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        self.function_events.export_stacks(path, metric)

    def __repr__(self) -> str:
        return repr(self.events()) if self._traces else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return self.table() if self._traces else "<unfinished torch.autograd.profile>"


class _Emit:
    """Ranges for a vendor's tool, which is for other devices than these."""

    _tool = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self) -> _Emit | None:
        if not self.enabled:
            return None
        raise NotImplementedError(
            f"{type(self).__name__}: {self._tool} does not see the devices of this library. Use "
            "torch.profiler.profile and export_chrome_trace()."
        )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class emit_nvtx(_Emit):
    """NVIDIA's ranges: refused when entered."""

    _tool = "NVIDIA's Nsight"


class emit_itt(_Emit):
    """Intel's ranges: refused when entered."""

    _tool = "Intel's VTune"

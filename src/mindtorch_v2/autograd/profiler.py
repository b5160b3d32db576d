"""``torch.autograd.profiler``: the older door to the same recorder; new code uses ``torch.profiler``."""

from __future__ import annotations

from types import TracebackType

from ..profiler import DeviceType, EventList, FunctionEvent, FunctionEventAvg, record_function
from ..profiler._recording import Recording, refuse

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "profile",
    "record_function",
]


class profile(Recording):
    """Records operators and annotations inside it, if ``enabled``."""

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_cpu: bool = True,
        acc_events: bool = False,
    ) -> None:
        refuse("profile", with_stack=with_stack, with_flops=with_flops, with_modules=with_modules)
        if not use_cpu:
            raise NotImplementedError("profile(use_cpu=False): device-side events are not recorded yet")
        super().__init__(record_shapes=record_shapes, profile_memory=profile_memory, keep_all=acc_events)
        self.enabled = enabled
        self.use_device = use_device

    def __enter__(self) -> profile:
        if self.enabled:
            self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.recording:
            self.stop()

    @property
    def function_events(self) -> EventList:
        return self.events()

    @property
    def self_cpu_time_total(self) -> float:
        return self.events().self_cpu_time_total

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        return self.events().total_average()

    def table(self, sort_by: str | None = None, row_limit: int = 100, header: str | None = None) -> str:
        return self.events().table(sort_by=sort_by, row_limit=row_limit, header=header)

    def __str__(self) -> str:
        return self.table()

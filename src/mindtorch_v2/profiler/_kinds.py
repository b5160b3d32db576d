"""The kinds of rows that the native recorder hands over, and the names of device types."""

from __future__ import annotations

import enum
from typing import Any

from .. import _C
from .._devices import registry
from .._devices.accelerator import Accelerator

EventKind = _C._profiler.EventKind
TaskKind = _C._profiler.TaskKind

# Tasks that keep a device busy, as opposed to waiting.
WORK = frozenset({TaskKind.KERNEL, TaskKind.COPY, TaskKind.FILL, TaskKind.HOST_COPY})


class DeviceType(enum.IntEnum):
    """Whose clock an event was taken with. The numbers are those of PyTorch's traces."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


def name_after_accelerators(members: type[enum.Enum], first: enum.Enum) -> None:
    """Accelerators have members called after them. That of the first is ``first``, which keeps its name as another."""

    def add(found: Accelerator) -> None:
        value = first.value + found.number - DeviceType.PrivateUse1.value
        member: Any = members._value2member_map_.get(value)
        if member is None:
            member = int.__new__(members, value) if issubclass(members, int) else object.__new__(members)
            member._value_ = value
            member.__objclass__ = members
            member._sort_order_ = len(members._member_names_)
            members._member_names_.append(found.title)
            members._value2member_map_[value] = member
        member._name_ = found.title
        type.__setattr__(members, found.title, member)
        members._member_map_[found.title] = member

    registry.for_each_accelerator(add)


name_after_accelerators(DeviceType, DeviceType.PrivateUse1)


class RecordScope(enum.IntEnum):
    """PyTorch's numbers for what an event of the host is (``event.scope``)."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9

    def __str__(self) -> str:
        return f"RecordScope.{self.name}"


STEP_PREFIX = "ProfilerStep#"
MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"  # an allocation that failed

"""The kinds of rows that the native recorder hands over, and the names of device types."""

from __future__ import annotations

import enum


class EventKind(enum.IntEnum):
    """What happened on the host (``EventKind`` of ``csrc/profiler/event.h``)."""

    OPERATOR = 0
    ANNOTATION = 1
    MEMORY = 2
    VISIT = 3  # the backward pass visits a node
    RUN = 4  # and runs it
    MODULE = 5
    CALL = 6  # of the device's runtime
    PYTHON = 7  # a call of a Python function


class TaskKind(enum.IntEnum):
    """What a device was asked for (``TaskKind`` of ``csrc/core/observe_task.h``)."""

    KERNEL = 0
    COPY = 1
    FILL = 2
    STREAM_WAIT = 3
    RECORD_EVENT = 4
    HOST_COPY = 5
    STREAM_SYNC = 6
    EVENT_SYNC = 7
    DEVICE_SYNC = 8


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
    NPU = 20
    PrivateUse1 = 20

    def __str__(self) -> str:
        return f"DeviceType.{self.name}"


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

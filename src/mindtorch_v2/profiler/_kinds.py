"""The kinds of rows that the native recorder hands over, and the names of device types."""

from __future__ import annotations

import enum


class EventKind(enum.IntEnum):
    """What a row of ``Trace.rows()`` is about (``csrc/profiler/event.h``)."""

    OPERATOR = 0
    ANNOTATION = 1
    MEMORY = 2
    VISIT = 3  # the backward pass visits a node
    RUN = 4  # and runs it
    MODULE = 5
    CALL = 6  # of the device's runtime


class TaskKind(enum.IntEnum):
    """What a row of ``Trace.tasks()`` is about (``csrc/core/observe_task.h``)."""

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
    NPU = 20


STEP_PREFIX = "ProfilerStep#"

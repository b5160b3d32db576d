"""``torch_npu.profiler``: ``torch.profiler`` by the name torch_npu has for it."""

from ..profiler import ProfilerAction as ProfilerAction
from ..profiler import ProfilerActivity as ProfilerActivity
from ..profiler import profile as profile
from ..profiler import schedule as schedule
from ..profiler import tensorboard_trace_handler as tensorboard_trace_handler

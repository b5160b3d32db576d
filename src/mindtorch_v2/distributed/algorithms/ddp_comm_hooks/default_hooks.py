"""Communication hooks that reduce a bucket as it is, or in a dtype of half the size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _C
from ...._C import Tensor
from ....futures import Future
from ...reduce_op import ReduceOp
from ...reducer import GradBucket
from ...world import resolved

__all__ = [
    "allreduce_hook", "bf16_compress_hook", "bf16_compress_wrapper", "fp16_compress_hook", "fp16_compress_wrapper",
]  # fmt: skip

Hook = Callable[[Any, GradBucket], Future[Any]]


def _averaged(group: Any, tensor: Tensor) -> Future[Any]:
    members = resolved(group)
    tensor.div_(members.size())
    work = members.all_reduce([tensor], ReduceOp(ReduceOp.SUM))
    work.begin()
    return work.get_future().then(lambda done: done.value()[0])


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average, as it is without a hook."""
    return _averaged(process_group, bucket.buffer())


def _into(buffer: Tensor) -> Callable[[Future[Any]], Tensor]:
    def copied(done: Future[Any]) -> Tensor:
        value = done.value()
        return buffer.copy_(value[0] if isinstance(value, (list, tuple)) else value)

    return copied


def _compressed(dtype: _C.dtype, group: Any, bucket: GradBucket) -> Future[Any]:
    buffer = bucket.buffer()
    return _averaged(group, buffer.to(dtype)).then(_into(buffer))


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average, computed and sent in float16."""
    return _compressed(_C.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average, computed and sent in bfloat16."""
    return _compressed(_C.bfloat16, process_group, bucket)


def _wrapped(dtype: _C.dtype, hook: Hook) -> Hook:
    def compressed(state: Any, bucket: GradBucket) -> Future[Any]:
        buffer = bucket.buffer()
        bucket.set_buffer(buffer.to(dtype))
        sent = hook(state, bucket)
        bucket.set_buffer(buffer)
        return sent.then(_into(buffer))

    return compressed


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """Another hook, on a bucket in float16."""
    return _wrapped(_C.float16, hook)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """Another hook, on a bucket in bfloat16."""
    return _wrapped(_C.bfloat16, hook)

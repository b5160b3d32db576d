"""Communication hooks that send gradients as bytes, a quarter of float32's size.

A row of numbers becomes whole numbers from 0 to 255: ``round(x / scale) + zero``, with the scale and the zero that the
smallest and the largest of the row (and 0) ask for. Sums of such bytes mean nothing, so every process gets those of
all, with their scales, and averages what they stand for.
"""

from __future__ import annotations

from typing import Any

from .... import _C
from ...._C import Tensor, _functions
from ....futures import Future
from ... import collectives
from ...reducer import GradBucket
from ...world import resolved

__all__ = ["quantization_perchannel_hook", "quantization_pertensor_hook"]

_MOST = 255
_EPSILON = 2.0**-23  # of float32: a row of zeros has a scale, too


def _scales_and_zeros(rows: Tensor) -> Tensor:
    """Two columns for each row."""
    smallest, largest = rows.amin(1).clamp(max=0), rows.amax(1).clamp(min=0)
    scales = ((largest - smallest) / _MOST).clamp(min=_EPSILON)
    zeros = (-(smallest / scales).round()).clamp(0, _MOST)
    return _functions.stack([scales, zeros], 1)


def _averaged(group: Any, rows: Tensor, like: Tensor) -> Future[Any]:
    members = resolved(group)
    rows = rows.float()
    own = _scales_and_zeros(rows)
    told = own.new_empty([members.size(), *own.shape])
    collectives.all_gather_single(told, own, group=members)
    sent = ((rows / own[:, :1]).round() + own[:, 1:]).clamp(0, _MOST).to(_C.uint8)
    received = sent.new_empty([members.size(), *sent.shape])
    work = collectives.all_gather_single(received, sent, group=members, async_op=True)
    assert work is not None

    def meant(_: Future[Any]) -> Tensor:
        values = told[:, :, :1] * (received.float() - told[:, :, 1:])
        return (values.sum(0) / members.size()).view(-1)[: like.numel()].to(like.dtype)

    averaged: Future[Any] = work.get_future().then(meant)
    return averaged


def quantization_pertensor_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """One scale for the bucket."""
    buffer = bucket.buffer()
    return _averaged(process_group, buffer.view(1, -1), buffer)


def quantization_perchannel_hook(
    process_group: Any, bucket: GradBucket, bucket_size: int = 512
) -> Future[Any]:
    """A scale for each ``bucket_size`` elements: a large gradient costs those beside it their last digits, no more."""
    buffer = bucket.buffer()
    missing = -buffer.numel() % bucket_size
    filled = _functions.cat([buffer, buffer.new_zeros([missing])]) if missing else buffer
    return _averaged(process_group, filled.view(-1, bucket_size), buffer)

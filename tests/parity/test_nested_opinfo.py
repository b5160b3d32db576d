"""Operators on nested tensors: PyTorch's samples of them, against the operator on each sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from opinfo_bridge import as_array, full_name, translated
from torch.testing._internal.opinfo.definitions.nested import njt_op_db

import mindtorch_v2 as mt

# What a sample may ask for and PyTorch refuses too, as the table of docs/running_pytorch_programs.md says.
_REFUSED = (RuntimeError, NotImplementedError, ValueError, IndexError, TypeError)
# The samples are random numbers of a real dtype.
OPS = {
    full_name(op): op
    for op in njt_op_db
    if op.supports_njt
    and {torch.float32, torch.float64} & op.supported_dtypes("cpu")
    and "jiterator" not in op.name
    and op.name != "chalf"  # numpy has none
}


class _Ours:
    """Arguments of PyTorch's as ours; offsets that are shared stay shared."""

    def __init__(self, grad: bool) -> None:
        self._known: dict[int, Any] = {}
        self._grad = grad
        self.leaves: list[tuple[Any, Any]] = []

    def dense(self, tensor: torch.Tensor) -> Any:
        return mt.from_numpy(np.array(tensor.detach().numpy()))  # a copy

    def sizes(self, tensor: torch.Tensor | None) -> Any:
        if tensor is None:
            return None
        return self._known.setdefault(id(tensor), self.dense(tensor))

    def __call__(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return getattr(mt, str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return str(value)
        if not isinstance(value, torch.Tensor):
            return value
        if value.is_nested:
            parts = (self.dense(value._values), self.sizes(value._offsets), self.sizes(value._lengths))
            made = mt.nested.nested_tensor_from_jagged(*parts, jagged_dim=value._ragged_idx)
        else:
            made = self.dense(value)
        if self._grad and value.requires_grad:
            made.requires_grad_()
            self.leaves.append((value, made))
        return made


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for v in value for item in _flat(v)]
    return [value]


def _pieces(tensor: Any) -> list[Any]:
    return list(tensor.unbind()) if tensor.is_nested else [tensor]


def _compare(theirs: Any, ours: Any, where: str) -> None:
    theirs, ours = _flat(theirs), _flat(ours)
    assert len(theirs) == len(ours), where
    for a, b in zip(theirs, ours, strict=True):
        if not isinstance(a, torch.Tensor):
            assert a == b, where
            continue
        assert a.is_nested == b.is_nested, f"{where}: nested {a.is_nested}, here {b.is_nested}"
        for p, q in zip(_pieces(a), _pieces(b), strict=True):
            assert tuple(p.shape) == tuple(q.shape), where
            assert str(p.dtype) == str(q.dtype), where
            np.testing.assert_allclose(as_array(q), as_array(p), rtol=1e-4, atol=1e-6, err_msg=where)


def _samples(op: Any, grad: bool) -> list[Any]:
    torch.manual_seed(1)
    dtype = torch.float64 if torch.float64 in op.supported_dtypes("cpu") else torch.float32
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=grad))
    # Operators of two tensors have a hundred, every layout beside every other; PyTorch takes most of the time.
    return samples[:: 1 + len(samples) // 24]


@pytest.mark.parametrize("name", sorted(OPS))
def test_an_operator_on_a_nested_tensor_is_the_operator_on_each_sequence(name: str) -> None:
    op = OPS[name]
    ours = translated(op, mt)
    tried = 0
    for sample in _samples(op, grad=False):
        try:
            expected = op.ref(op, sample)
        except (*_REFUSED, AssertionError, StopIteration):  # it cannot say what is right
            continue
        tried += 1
        given = _Ours(grad=False)
        try:
            made = ours(given(sample.input), *given(sample.args), **given(sample.kwargs))
        except _REFUSED as error:
            _check_refused_there_too(op, sample, error)
            continue
        if sample.input.is_nested and sample.input._lengths is not None and _is_dense(made):
            continue  # what lies in holes counts in PyTorch's reductions, and does not here
        _compare(expected, made, sample.name)
    assert tried, "PyTorch says of no sample what is right"


def _is_dense(value: Any) -> bool:
    return not any(getattr(v, "is_nested", False) for v in _flat(value))


def _check_refused_there_too(op: Any, sample: Any, error: Exception) -> None:
    try:
        op(sample.input, *sample.args, **sample.kwargs)
    except Exception:  # noqa: BLE001 - whatever it says, it refuses
        return
    raise AssertionError(f"{sample.name}: PyTorch computes it, here: {error}") from error

"""Cross entropy of logits whose classes lie in parts: only a maximum and two sums for each sample are sent.

Note [Losses in parts]
Inside ``loss_parallel`` four operators run here instead of on whole tensors. The logarithm of a softmax needs the
largest logit and the sum of exponentials of each sample over all processes; the loss of a sample is what the process
that has its class picks, and zeros of the others; gradients are local but for one sum. Each process knows which classes
it has from the placements (``local_shape_and_offset``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ...._C import Tensor, _functions
from ... import collectives
from ..._told import functional
from ...reduce_op import RedOpType, ReduceOp
from .._api import DTensor
from .._dispatch import TAKEN_OVER
from .._redistribute import local_shape_and_offset
from ..placement_types import DTensorSpec, Placement, Replicate, Shard, TensorMeta


class _Classes:
    """Logits, or their logarithms, that one dimension of the mesh cuts along the classes."""

    def __init__(self, tensor: Any, dim: int) -> None:
        self.spec: DTensorSpec = tensor._spec
        self.local: Tensor = tensor._local_tensor
        self.dim = dim % max(tensor.dim(), 1)
        cutting = [at for at, each in enumerate(self.spec.placements) if each.is_shard(self.dim)]
        if len(cutting) != 1 or any(each.is_partial() for each in self.spec.placements):
            raise ValueError(
                "loss_parallel() should be enabled only when the input tensor is sharded on the class dimension, "
                f"by one dimension of the mesh; it has the placements {self.spec.placements}"
            )
        self.group = self.spec.mesh.get_group(cutting[0])
        self.cutting = cutting[0]
        sizes, begins = local_shape_and_offset(self.spec.shape, self.spec.mesh, self.spec.placements)
        self.begin, self.length = begins[self.dim], sizes[self.dim]

    def reduced(self, value: Tensor, how: RedOpType) -> Tensor:
        """Over the processes with the other classes."""
        value = value.contiguous()
        with functional("all_reduce"):
            collectives.all_reduce(value, how, group=self.group)
        return value

    def of_samples(self) -> tuple[Placement, ...]:
        """How something with a value for each sample lies: without the classes."""
        made: list[Placement] = []
        for each in self.spec.placements:
            cut = isinstance(each, Shard) and each.dim != self.dim
            made.append(Shard(each.dim - (each.dim > self.dim)) if cut else Replicate())  # type: ignore[attr-defined]
        return tuple(made)

    def over_samples(self, value: Tensor) -> Tensor:
        """Summed over the processes with other samples."""
        for at, each in enumerate(self.spec.placements):
            if isinstance(each, Shard) and at != self.cutting:
                with functional("all_reduce"):
                    collectives.all_reduce(value, ReduceOp.SUM, group=self.spec.mesh.get_group(at))
        return value

    def like(self, local: Tensor) -> DTensor:
        """A tensor that lies as these."""
        meta = self.spec.tensor_meta
        assert meta is not None
        made = TensorMeta(meta.shape, meta.stride, local.dtype)
        return DTensor(local, DTensorSpec(self.spec.mesh, self.spec.placements, made), requires_grad=False)

    def placed(self, value: Any, placements: tuple[Placement, ...]) -> Tensor:
        """The local part of another argument; a plain tensor counts as whole."""
        if not isinstance(value, DTensor):
            whole = (Replicate(),) * self.spec.mesh.ndim
            meta = TensorMeta(value.shape, value.stride(), value.dtype)
            value = DTensor(value, DTensorSpec(self.spec.mesh, whole, meta), requires_grad=False)
        moved: Tensor = value.redistribute(placements=placements)._local_tensor
        return moved

    def weights(self, value: Any) -> Tensor | None:
        """Of the classes that are here."""
        if value is None:
            return None
        cut = [Shard(0) if at == self.cutting else Replicate() for at in range(self.spec.mesh.ndim)]
        return self.placed(value, tuple(cut))


def _bound(args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> list[Any]:
    return [args[at] if at < len(args) else kwargs.get(name) for at, name in enumerate(names)]


def _log_softmax(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    logits, dim, last = _bound(args, kwargs, "self", "dim", "half_to_float")
    if not isinstance(logits, DTensor):
        return NotImplemented
    classes = _Classes(logits, dim)
    local = classes.local
    wanted = last if last is not None and not isinstance(last, bool) else kwargs.get("dtype")
    if wanted is not None:
        local = local.to(wanted)
    elif last is True:
        local = local.float()
    if classes.length:
        largest = local.amax(classes.dim, keepdim=True)
    else:
        sizes = list(local.shape)
        sizes[classes.dim] = 1
        largest = local.new_full(sizes, float("-inf"))
    shifted = local - classes.reduced(largest, ReduceOp.MAX)
    total = classes.reduced(shifted.exp().sum(classes.dim, keepdim=True), ReduceOp.SUM)
    return classes.like(shifted - total.log())


def _log_softmax_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    gradient, output, dim, kind = _bound(args, kwargs, "grad_output", "output", "dim", "input_dtype")
    if not isinstance(output, DTensor):
        return NotImplemented
    classes = _Classes(output, dim)
    local = classes.placed(gradient, classes.spec.placements)
    total = classes.reduced(local.sum(classes.dim, keepdim=True), ReduceOp.SUM)
    made = local - classes.local.exp() * total
    return classes.like(made if kind is None else made.to(kind))


def _picked(classes: _Classes, target: Tensor, ignored: int) -> tuple[Tensor, Tensor]:
    """For each sample the number of its class here, and whether it counts here."""
    here = target - classes.begin
    counts = (target != ignored) & (here >= 0) & (here < classes.length)
    return here.masked_fill(~counts, 0).unsqueeze(classes.dim), counts


def _nll_loss(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    given = _bound(args, kwargs, "self", "target", "weight", "reduction", "ignore_index")
    logs, target, weight, reduction, ignored = given
    if not isinstance(logs, DTensor):
        return NotImplemented
    classes = _Classes(logs, 1 if logs.dim() > 1 else 0)
    places = classes.of_samples()
    here, counts = _picked(classes, classes.placed(target, places), ignored)
    weights = classes.weights(weight)
    if classes.length:
        each = -classes.local.gather(classes.dim, here).squeeze(classes.dim)
        factor = _functions.ones_like(each) if weights is None else weights[here.squeeze(classes.dim)]
    else:
        each = factor = _functions.zeros(counts.shape, dtype=classes.local.dtype, device=classes.local.device)
    factor = factor.masked_fill(~counts, 0)
    both = classes.reduced(_functions.stack([(each * factor).masked_fill(~counts, 0), factor]), ReduceOp.SUM)
    losses, factors = both[0], both[1]
    whole = (Replicate(),) * classes.spec.mesh.ndim
    total = factors.sum() if reduction else factors.new_zeros(())
    if reduction:
        sums = classes.over_samples(_functions.stack([losses.sum(), total]))
        total, shape = sums[1], []
        losses = sums[0] / total if reduction == 1 else sums[0]
    else:
        shape = [size for at, size in enumerate(logs.shape) if at != classes.dim]
    return _wrapped(classes, losses, whole if reduction else places, shape), _wrapped(
        classes, total, whole, []
    )


def _wrapped(classes: _Classes, local: Tensor, placements: Any, shape: list[int]) -> DTensor:
    strides, stride = [], 1
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(length, 1)
    meta = TensorMeta(type(classes.spec.shape)(shape), tuple(reversed(strides)), local.dtype)
    return DTensor(local, DTensorSpec(classes.spec.mesh, tuple(placements), meta), requires_grad=False)


def _nll_loss_backward(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    gradient, logs, target, weight, reduction, ignored, total = _bound(
        args, kwargs, "grad_output", "self", "target", "weight", "reduction", "ignore_index", "total_weight"
    )
    if not isinstance(logs, DTensor):
        return NotImplemented
    classes = _Classes(logs, 1 if logs.dim() > 1 else 0)
    places, whole = classes.of_samples(), (Replicate(),) * classes.spec.mesh.ndim
    here, counts = _picked(classes, classes.placed(target, places), ignored)
    made = _functions.zeros_like(classes.local)
    if not classes.length:
        return classes.like(made)
    weights = classes.weights(weight)
    factor = _functions.ones_like(counts, dtype=made.dtype)
    if weights is not None:
        factor = weights[here.squeeze(classes.dim)]
    factor = -factor.masked_fill(~counts, 0)
    if reduction:
        factor = factor * classes.placed(gradient, whole)
        if reduction == 1:
            factor = factor / classes.placed(total, whole)
    else:
        factor = factor * classes.placed(gradient, places)
    return classes.like(made.scatter(classes.dim, here, factor.to(made.dtype).unsqueeze(classes.dim)))


_HANDLERS = {
    "_log_softmax": _log_softmax,
    "log_softmax": _log_softmax,
    "_log_softmax_backward_data": _log_softmax_backward,
    "nll_loss_forward": _nll_loss,
    "nll_loss_backward": _nll_loss_backward,
}


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Inside, ``cross_entropy`` and its backward keep logits in parts along the classes. Note [Losses in parts]."""
    before = dict(TAKEN_OVER)
    TAKEN_OVER.update(_HANDLERS)
    try:
        yield
    finally:
        TAKEN_OVER.clear()
        TAKEN_OVER.update(before)

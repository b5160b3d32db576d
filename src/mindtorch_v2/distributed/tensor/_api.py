"""``DTensor``: a tensor whose parts lie on the processes of a mesh, and how it is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import _C, nn
from ..._C import Tensor, _functions
from ..._types.size import Size
from ...autograd import Function
from .. import collectives
from ..device_mesh import DeviceMesh
from ._dispatch import dispatch
from ._redistribute import local_shape_and_offset, normalized, redistribute, scattered
from .placement_types import DTensorSpec, Partial, Placement, Replicate, Shard, TensorMeta, cut_order


def _given(mesh: DeviceMesh | None) -> DeviceMesh:
    if mesh is None:
        raise ValueError("device_mesh was not given: make one with init_device_mesh(device, (processes,))")
    return mesh


def _for_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """The gradient of a sum is the same for all its terms."""
    return tuple(Replicate() if isinstance(each, Partial) else each for each in placements)


class _FromLocal(Function):
    @staticmethod
    def forward(
        ctx: Any, local: Tensor, spec: DTensorSpec, grad_placements: Sequence[Placement] | None
    ) -> DTensor:
        ctx.spec, ctx.grad_placements = spec, grad_placements
        return DTensor(local.view_as(local), spec, requires_grad=local.requires_grad)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        wanted = ctx.grad_placements or _for_gradient(ctx.spec.placements)
        return grads[0].redistribute(ctx.spec.mesh, wanted)._local_tensor, None, None


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, tensor: DTensor, grad_placements: Sequence[Placement] | None) -> Tensor:
        ctx.spec, ctx.grad_placements = tensor._spec, grad_placements
        local = tensor._local_tensor
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        placements = tuple(ctx.grad_placements or _for_gradient(ctx.spec.placements))
        made = DTensorSpec(ctx.spec.mesh, placements, ctx.spec.tensor_meta)
        return DTensor(grads[0], made, requires_grad=grads[0].requires_grad), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, tensor: DTensor, placements: tuple[Placement, ...]) -> DTensor:
        ctx.spec, ctx.after = tensor._spec, placements
        return _redistributed(tensor, placements)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _redistributed(grads[0], _for_gradient(ctx.spec.placements)), None


def _redistributed(tensor: DTensor, placements: tuple[Placement, ...]) -> DTensor:
    spec = tensor._spec
    local = redistribute(tensor._local_tensor, spec.shape, spec.mesh, spec.placements, placements)
    return DTensor(
        local, DTensorSpec(spec.mesh, placements, spec.tensor_meta), requires_grad=tensor.requires_grad
    )


class DTensor(Tensor):
    """Looks like the whole tensor; holds the part of this process. Operators run on the parts (``_dispatch.py``)."""

    _local_tensor: Tensor
    _spec: DTensorSpec
    _implicit_replication = False

    @staticmethod
    def __new__(cls, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool) -> DTensor:
        meta = spec.tensor_meta
        assert meta is not None
        made: DTensor = Tensor._make_wrapper_subclass(
            cls,
            meta.shape,
            strides=meta.stride,
            dtype=local_tensor.dtype,
            device=local_tensor.device,
            layout=local_tensor.layout,
            requires_grad=requires_grad,
        )
        made._local_tensor = local_tensor.detach() if local_tensor.requires_grad else local_tensor
        made._spec = spec
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        spec = self._spec
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={spec.mesh}, placements={spec.placements})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return dispatch(func, args, kwargs or {}, DTensor)

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict[str, Tensor], told: Any, outer_size: Any, outer_stride: Any
    ) -> DTensor:
        spec, requires_grad = told
        local = inner["_local_tensor"]
        meta = TensorMeta(outer_size, outer_stride, local.dtype)
        return DTensor(local, DTensorSpec(spec.mesh, spec.placements, meta), requires_grad=requires_grad)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh it lies on."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """How it lies on each dimension of the mesh."""
        return self._spec.placements

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: tuple[int, ...] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """A tensor of which each process brings its part. Without ``shape``, parts are as long everywhere."""
        mesh = _given(device_mesh)
        placed = normalized(placements or [Replicate()] * mesh.ndim, local_tensor.dim())
        _check(placed, mesh, local_tensor.dim())
        if shape is None:
            shape = list(local_tensor.shape)
            for dim, placement in enumerate(placed):
                if isinstance(placement, Shard):
                    shape[placement.dim] *= mesh.size(dim)
        if stride is None:
            stride = _whole_strides(local_tensor, shape)
        if run_check:
            local_tensor = _checked_copies(local_tensor, mesh, placed)
        meta = TensorMeta(Size(shape), tuple(stride), local_tensor.dtype)
        made: DTensor = _FromLocal.apply(local_tensor, DTensorSpec(mesh, placed, meta), grad_placements)
        return made

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This process's part."""
        if not _C.is_grad_enabled():
            return self._local_tensor
        local: Tensor = _ToLocal.apply(self, grad_placements)
        return local

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor under other placements."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError(
                "redistribute(forward_dtype, backward_dtype): cast with to() before or after"
            )
        wanted = normalized(placements, self.dim())
        _check(wanted, self._spec.mesh, self.dim())
        moved: DTensor = _Redistribute.apply(self, wanted)
        return moved

    def _detached(self) -> DTensor:
        return DTensor(self._local_tensor, self._spec, requires_grad=False)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor, on every process."""
        whole = self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)


def _check(placements: Sequence[Placement], mesh: DeviceMesh, ndim: int) -> None:
    if len(placements) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    for each in placements:
        if not isinstance(each, Placement):
            raise ValueError(f"a placement is Shard(dim), Replicate() or Partial(), and {each!r} was given")
        if isinstance(each, Shard) and not 0 <= each.dim < max(ndim, 1):
            raise ValueError(f"{each!r} cuts a dimension that a tensor of {ndim} dimensions does not have")


def _whole_strides(local: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of the whole, in the order that the part has."""
    order = sorted(range(len(shape)), key=lambda dim: (local.stride(dim), local.shape[dim]))
    strides, next_stride = [0] * len(shape), 1
    for dim in order:
        strides[dim] = next_stride
        next_stride *= max(shape[dim], 1)
    return tuple(strides)


def _checked_copies(local: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    for dim, placement in enumerate(placements):
        if placement.is_replicate():
            local = local.contiguous()
            group = mesh.get_group(dim)
            collectives.broadcast(local, group=group, group_src=0)
    return local


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Cuts a whole tensor. ``src_data_rank``: whose values are meant; None: each process's own."""
    mesh = _given(device_mesh)
    placed = normalized(placements or [Replicate()] * mesh.ndim, tensor.dim())
    _check(placed, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != placed:
            raise ValueError(
                f"Cannot distribute a DTensor with {tensor.placements} on {tensor.device_mesh} to {placed} on {mesh}; "
                "use redistribute"
            )
        return tensor
    if any(each.is_partial() for each in placed):
        raise RuntimeError("a whole tensor is not a sum that is still to be made: use Shard or Replicate")
    local = tensor.detach()
    if local.device.type != mesh.device_type and local.device.type != "meta":
        local = local.to(mesh.device_type)
    if src_data_rank is not None and local.device.type != "meta":
        local = _dealt(local, mesh, placed, src_data_rank)
    sizes, begins = local_shape_and_offset(tensor.shape, mesh, placed)
    for dim, (size, begin) in enumerate(zip(sizes, begins, strict=True)):
        if size != local.shape[dim]:
            local = local.narrow(dim, begin, size)
    meta = TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)
    made = DTensor(
        local.contiguous() if any(p.is_shard() for p in placed) else local,
        DTensorSpec(mesh, placed, meta),
        requires_grad=False,
    )
    return made.requires_grad_(tensor.requires_grad)


def _dealt(local: Tensor, mesh: DeviceMesh, placed: Sequence[Placement], source: int) -> Tensor:
    """Each process's part of the values of one, along one dimension of the mesh after the other."""
    local = local.clone(memory_format=_C.contiguous_format)
    cuts = cut_order(placed)
    for dim in [*(dim for dim in range(mesh.ndim) if dim not in cuts), *cuts]:
        if mesh.size(dim) == 1:
            continue
        placement = placed[dim]
        if isinstance(placement, Shard):
            local = scattered(local, placement, mesh, dim, source)
        else:
            collectives.broadcast(local, group=mesh.get_group(dim), group_src=source)
    return local


def distribute_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, nn.Module, DeviceMesh], None] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> nn.Module:
    """Makes a module's parameters and buffers distributed, and converts what goes in and out."""
    mesh = _given(device_mesh)
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        whole = [Replicate()] * mesh.ndim
        for key, parameter in list(part._parameters.items()):
            if parameter is not None and not isinstance(parameter.data, DTensor):
                part.register_parameter(
                    key, nn.Parameter(distribute_tensor(parameter.data, mesh, whole), parameter.requires_grad)
                )
        for key, buffer in list(part._buffers.items()):
            if buffer is not None and not isinstance(buffer, DTensor):
                part._buffers[key] = distribute_tensor(buffer, mesh, whole)
    if input_fn is not None:
        takes_module = len(inspect.signature(input_fn).parameters) == 3
        module.register_forward_pre_hook(
            lambda m, inputs: input_fn(m, inputs, mesh) if takes_module else input_fn(inputs, mesh)
        )
    if output_fn is not None:
        gives_module = len(inspect.signature(output_fn).parameters) == 3
        module.register_forward_hook(
            lambda m, inputs, outputs: output_fn(m, outputs, mesh)
            if gives_module
            else output_fn(outputs, mesh)
        )
    return module


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Plain tensors among the arguments count as whole on every process."""
    before = DTensor._implicit_replication
    DTensor._implicit_replication = True
    try:
        yield
    finally:
        DTensor._implicit_replication = before


def _factory(make: Callable[..., Tensor]) -> Callable[..., DTensor]:
    def made(
        *size: Any,
        dtype: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        mesh = _given(device_mesh)
        given = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
        shape = Size(given)
        placed = normalized(placements or [Replicate()] * mesh.ndim, len(shape))
        _check(placed, mesh, len(shape))
        sizes, _ = local_shape_and_offset(shape, mesh, placed)
        local = make(sizes, dtype=dtype, device=mesh.device_type)
        strides, stride = [], 1
        for length in reversed(shape):
            strides.append(stride)
            stride *= max(length, 1)
        spec = DTensorSpec(mesh, placed, TensorMeta(shape, tuple(reversed(strides)), local.dtype))
        return DTensor(local, spec, requires_grad=requires_grad)

    return made


zeros = _factory(_functions.zeros)
ones = _factory(_functions.ones)
empty = _factory(_functions.empty)
rand = _factory(_functions.rand)
randn = _factory(_functions.randn)


def full(size: Any, fill_value: Any, **options: Any) -> DTensor:
    """A tensor of one value."""
    return _factory(lambda sizes, **local: _functions.full(sizes, fill_value, **local))(size, **options)

"""How a tensor lies on one dimension of a mesh: in parts, whole, or as a sum that is still to be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..._absent import names_of
from ..._C import Tensor
from ..device_mesh import DeviceMesh


class Placement:
    """The base of the three."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether it is cut, along ``dim`` if that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self) -> bool:
        """Whether every process has all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the values of the processes are still to be reduced."""
        return isinstance(self, Partial) and (reduce_op is None or self.reduce_op == reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part along ``dim``, as ``chunk`` cuts it: the last may be shorter, or empty."""

    dim: int

    def part(self, size: int, parts: int, index: int) -> tuple[int, int]:
        """Where part ``index`` of ``size`` elements begins, and its length."""
        length = -(-size // parts)
        begin = min(length * index, size)
        return begin, min(length, size - begin)

    @staticmethod
    def local_shard_size_and_offset(curr_local_size: int, num_chunks: int, rank: int) -> tuple[int, int]:
        """The length of a part and where it begins."""
        begin, length = Shard(0).part(curr_local_size, num_chunks, rank)
        return length, begin

    _local_shard_size_and_offset = local_shard_size_and_offset

    def __repr__(self) -> str:
        return f"Shard(dim={self.dim})"

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class _StridedShard(Shard):
    """Cuts what dimensions of the mesh to its right have already cut along ``dim``, into ``split_factor`` parts.

    A parameter of tensor parallelism that ``fully_shard`` cuts again lies so. Note [Changing placements].
    """

    split_factor: int = 1

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


def cut_order(placements: Sequence[Placement]) -> list[int]:
    """Dimensions of the mesh that cut, in the order in which they do."""
    plain = [dim for dim, each in enumerate(placements) if type(each) is Shard]
    return plain + [dim for dim, each in enumerate(placements) if isinstance(each, _StridedShard)]


@dataclass(frozen=True)
class Replicate(Placement):
    """Every process has the whole tensor."""

    def __repr__(self) -> str:
        return "Replicate()"

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the reduction of what the processes have."""

    reduce_op: str = "sum"

    def before(self, local: Tensor, parts: int) -> Tensor:
        """What is handed to the reduction of the library."""
        return local

    def after(self, reduced: Tensor, parts: int) -> Tensor:
        """What becomes of its result."""
        return reduced / parts if self.reduce_op == "avg" else reduced

    @property
    def collective(self) -> str:
        """The reduction of the library."""
        return "sum" if self.reduce_op == "avg" else self.reduce_op

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True)
class NormPartial(Partial):
    """Norms of the parts, of which the norm of the whole is made."""

    reduce_op: str = "norm"
    order: float = 2.0

    def before(self, local: Tensor, parts: int) -> Tensor:
        return local if self._is_extreme() else local**self.order

    def after(self, reduced: Tensor, parts: int) -> Tensor:
        return reduced if self._is_extreme() else reduced ** (1.0 / self.order)

    @property
    def collective(self) -> str:
        return {float("inf"): "max", float("-inf"): "min"}.get(self.order, "sum")

    def _is_extreme(self) -> bool:
        return abs(self.order) == float("inf") or self.order == 0


@dataclass(frozen=True)
class TensorMeta:
    """What is known of the whole tensor."""

    shape: Any
    stride: tuple[int, ...]
    dtype: Any


@dataclass
class DTensorSpec:
    """A mesh, a placement for each of its dimensions, and the whole tensor's shape."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    tensor_meta: TensorMeta | None = None

    def __hash__(self) -> int:
        meta = self.tensor_meta
        told = None if meta is None else (tuple(meta.shape), meta.stride, meta.dtype)
        return hash((self.mesh, self.placements, told))

    @property
    def device_mesh(self) -> DeviceMesh:
        """The mesh."""
        return self.mesh

    @property
    def shape(self) -> Any:
        """Of the whole tensor."""
        assert self.tensor_meta is not None
        return self.tensor_meta.shape

    @property
    def ndim(self) -> int:
        """Of the whole tensor."""
        return len(self.shape)

    @property
    def stride(self) -> tuple[int, ...]:
        """Of the whole tensor."""
        assert self.tensor_meta is not None
        return self.tensor_meta.stride

    @property
    def num_shards(self) -> int:
        """Into how many different parts it is cut."""
        count = 1
        for size, placement in zip(self.mesh.shape, self.placements, strict=True):
            count *= size if placement.is_shard() else 1
        return count

    def is_replicated(self) -> bool:
        """Whether every process has all of it."""
        return all(each.is_replicate() for each in self.placements)

    def is_sharded(self) -> bool:
        """Whether it is cut somewhere."""
        return any(each.is_shard() for each in self.placements)


__getattr__ = names_of(__name__)

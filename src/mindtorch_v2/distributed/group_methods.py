"""The methods of a group as PyTorch names them, for programs that call them: lists of tensors and objects of options,
or plain arguments. They give works, which have begun."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from .._C import Tensor
from .reduce_op import RedOpType, ReduceOp, as_reduce_op
from .work import Work


def _one(tensors: Tensor | Sequence[Tensor]) -> Tensor:
    """The tensor of a list of one, which PyTorch's signatures have for several devices of a process."""
    if isinstance(tensors, Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"expected one tensor, got {len(tensors)}: a process has one device")
    return tensors[0]


def _reduction(chosen: Any) -> ReduceOp:
    """Of an operation, or of options."""
    return as_reduce_op(getattr(chosen, "reduceOp", chosen))


def _begun(work: Work) -> Work:
    work.begin()
    return work


def _lists(tensors: Sequence[Any]) -> list[Tensor]:
    """The tensors of a list of one list, or of a list."""
    return list(tensors) if not tensors or isinstance(tensors[0], Tensor) else list(tensors[0])


class GroupMethods:
    """What a group has under PyTorch's names besides its own."""

    @abstractmethod
    def all_reduce(self, tensors: list[Tensor], op: ReduceOp) -> Work: ...
    @abstractmethod
    def all_gather(self, outputs: list[Tensor], tensor: Tensor) -> Work: ...
    @abstractmethod
    def all_gather_many(self, outputs: list[list[Tensor]], tensors: list[Tensor]) -> Work: ...
    @abstractmethod
    def all_gather_into(self, output: Tensor, tensor: Tensor) -> Work: ...
    @abstractmethod
    def reduce_scatter_from(self, output: Tensor, tensor: Tensor, op: ReduceOp) -> Work: ...
    @abstractmethod
    def all_to_all(self, outputs: list[Tensor], inputs: list[Tensor]) -> Work: ...
    @abstractmethod
    def all_to_all_single(
        self, output: Tensor, tensor: Tensor, out_sizes: Sequence[int] | None, sizes: Sequence[int] | None
    ) -> Work: ...
    @abstractmethod
    def receive(self, tensor: Tensor, peer: int | None, tag: int) -> Work: ...

    def allreduce(self, tensors: Any, op: Any = RedOpType.SUM, timeout: Any = None) -> Work:
        """All get the reduction of all."""
        return _begun(self.all_reduce([_one(tensors)], _reduction(op)))

    def allreduce_coalesced(self, tensors: list[Tensor], op: Any = RedOpType.SUM) -> Work:
        """The same for each of several tensors."""
        return _begun(self.all_reduce(list(tensors), _reduction(op)))

    def allgather(self, outputs: Sequence[Any], tensors: Any, opts: Any = None) -> Work:
        """Everybody's tensor reaches all."""
        return _begun(self.all_gather(_lists(outputs), _one(tensors)))

    def allgather_coalesced(
        self, outputs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None
    ) -> Work:
        """The same for each of several tensors."""
        return _begun(self.all_gather_many(outputs, tensors))

    def all_gather_single(self, output: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        """Everybody's tensor, one behind the other."""
        return _begun(self.all_gather_into(output, tensor))

    _allgather_base = all_gather_single

    def reduce_scatter_single(self, output: Tensor, tensor: Tensor, op: Any = RedOpType.SUM) -> Work:
        """Everybody gets the reduction of its part."""
        return _begun(self.reduce_scatter_from(output, tensor, _reduction(op)))

    _reduce_scatter_base = reduce_scatter_single

    def alltoall(self, outputs: list[Tensor], inputs: list[Tensor], opts: Any = None) -> Work:
        """Tensor i reaches process i."""
        return _begun(self.all_to_all(list(outputs), list(inputs)))

    def alltoall_base(
        self,
        output: Tensor,
        tensor: Tensor,
        output_split_sizes: Sequence[int],
        input_split_sizes: Sequence[int],
        opts: Any = None,
    ) -> Work:
        """Part i reaches process i."""
        return _begun(self.all_to_all_single(output, tensor, output_split_sizes, input_split_sizes))

    def recv(self, tensors: Any, src: int, tag: int = 0) -> Work:
        """From one of the others."""
        return _begun(self.receive(_one(tensors), src, tag))

    def recv_anysource(self, tensors: Any, tag: int = 0) -> Work:
        """From anybody."""
        return _begun(self.receive(_one(tensors), None, tag))

"""PowerSGD (Vogels et al., 2019): gradients of matrices sent as two thin factors.

A gradient M of n x m is sent as P (n x r) and Q (m x r) with M close to P Qᵀ: P = M Q is averaged and made orthogonal,
then Q = Mᵀ P is averaged. What is lost is added to the next gradient (error feedback), and the next Q starts from
this one (warm start).
"""

from __future__ import annotations

from typing import Any

from ...._C import Tensor, _functions
from ....futures import Future
from ....linalg import qr
from ... import collectives
from ...reducer import GradBucket
from ...world import resolved
from . import default_hooks

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]


class PowerSGDState:
    """Settings, and what is kept between iterations."""

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD "
                "can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.random_seed = random_seed
        self.compression_stats_logging_frequency = compression_stats_logging_frequency
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.iter = 0
        self.error_dict: dict[int, Tensor] = {}
        self.q_memory_dict: dict[Any, Tensor] = {}
        self._sent = self._whole = 0

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts an iteration at its last bucket."""
        self.iter += bucket.is_last()

    def compression_stats(self) -> tuple[float, int, int]:
        """How much less was sent, and elements before and after."""
        return (self._whole / self._sent if self._sent else 0.0), self._whole, self._sent

    def counted(self, whole: int, sent: int) -> None:
        """Adds to the statistics."""
        self._whole += whole
        self._sent += sent

    def is_worth_it(self, rows: int, columns: int) -> bool:
        """Whether the factors are that much smaller than the matrix."""
        rank = min(rows, columns, self.matrix_approximation_rank)
        return (rows + columns) * rank * self.min_compression_rate < rows * columns


def _orthogonal(matrix: Tensor, epsilon: float) -> Tensor:
    if epsilon == 0 and matrix.shape[0] >= matrix.shape[1]:
        return qr(matrix.float())[0].to(matrix.dtype)
    columns: list[Tensor] = []
    for column in matrix.unbind(1):
        for other in columns:
            column = column - (other * column).sum() * other
        columns.append(column / (column.norm() + epsilon))
    return _functions.stack(columns, 1)


def _averaged(state: PowerSGDState, tensors: list[Tensor]) -> None:
    """Averages several tensors in one message."""
    if not tensors:
        return
    group = resolved(state.process_group)
    flat = _functions.cat([tensor.reshape(-1) for tensor in tensors]).div_(group.size())
    collectives.all_reduce(flat, group=group)
    for tensor, part in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _approximate(state: PowerSGDState, matrices: list[Tensor], key: Any) -> None:
    """Replaces matrices by the averages of their approximations."""
    ranks = [min(*matrix.shape, state.matrix_approximation_rank) for matrix in matrices]
    second = []
    for number, (matrix, rank) in enumerate(zip(matrices, ranks, strict=True)):
        kept = state.q_memory_dict.get((key, number)) if state.warm_start else None
        if kept is None:  # the same on all processes, and in every run
            kept = _start(matrix.shape[1], rank, state.random_seed + state.iter).to(matrix)
        second.append(_orthogonal(kept, state.orthogonalization_epsilon))
    first = [matrix @ q for matrix, q in zip(matrices, second, strict=True)]
    _averaged(state, first)
    first = [_orthogonal(p, state.orthogonalization_epsilon) for p in first]
    second = [matrix.t() @ p for matrix, p in zip(matrices, first, strict=True)]
    _averaged(state, second)
    for number, (matrix, p, q) in enumerate(zip(matrices, first, second, strict=True)):
        matrix.copy_(p @ q.t())
        if state.warm_start:
            state.q_memory_dict[key, number] = q
    state.counted(
        sum(m.numel() for m in matrices),
        sum(p.numel() + q.numel() for p, q in zip(first, second, strict=True)),
    )


def _start(rows: int, columns: int, seed: int) -> Tensor:
    """A matrix of full rank, the same wherever it is made: sines of numbers that the seed shifts."""
    return _functions.sin((_functions.arange(rows * columns) + 1.0) * (1.7 + 0.1 * (seed % 97))).view(
        rows, columns
    )


def _with_error(state: PowerSGDState, bucket: GradBucket) -> Tensor | None:
    """Adds what the last iteration lost; gives the gradients before they are compressed."""
    if not state.use_error_feedback:
        return None
    buffer, lost = bucket.buffer(), state.error_dict.get(bucket.index())
    if lost is not None:
        buffer.add_(lost)
    return buffer.clone()


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:
    """Matrices as thin factors, each parameter on its own; vectors as they are."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    before = _with_error(state, bucket)
    matrices, rest = [], []
    for gradient in bucket.gradients():
        matrix = gradient.view(gradient.shape[0], -1) if gradient.dim() > 1 else gradient
        if matrix.dim() == 2 and state.is_worth_it(*matrix.shape):
            matrices.append(matrix)
        else:
            rest.append(gradient)
    _averaged(state, rest)
    state.counted(sum(each.numel() for each in rest), sum(each.numel() for each in rest))
    _approximate(state, matrices, bucket.index())
    return _finished(state, bucket, before)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:
    """The whole bucket as one square matrix: faster, and less exact."""
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return default_hooks.allreduce_hook(state.process_group, bucket)
    before = _with_error(state, bucket)
    buffer = bucket.buffer()
    side = int(buffer.numel() ** 0.5)
    side += side * side < buffer.numel()
    square = _functions.zeros([side * side], dtype=buffer.dtype, device=buffer.device)
    square[: buffer.numel()] = buffer
    _approximate(state, [square.view(side, side)], bucket.index())
    buffer.copy_(square[: buffer.numel()])
    return _finished(state, bucket, before)


def _finished(state: PowerSGDState, bucket: GradBucket, before: Tensor | None) -> Future[Any]:
    if before is not None:
        state.error_dict[bucket.index()] = before.sub_(bucket.buffer())
    state.maybe_increase_iter(bucket)
    done: Future[Any] = Future()
    done.set_result(bucket.buffer())
    return done

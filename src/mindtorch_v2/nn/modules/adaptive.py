"""A softmax over many classes, of which the rare ones are computed only when they are needed."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor

from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes sorted by frequency: the head has the frequent ones and one entry per cluster of rare ones.

    ``cutoffs`` are the first classes of the clusters; each further cluster projects to a width smaller by
    ``div_value``.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **options),
                    Linear(width, size, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for projection, output in self.tail:
            projection.reset_parameters()
            output.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(log-probability of each target, their mean negated)."""
        if target_.dim() == 1:
            if input_.size(0) != target_.size(0):
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.size()}"
                )
        elif target_.dim() == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input_.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        head = F.log_softmax(self.head(input), dim=1)
        # Where a target's entry of the head is, and what its cluster adds to it.
        entry = target
        parts, rows_of_parts = [], []
        used = 0
        for i, (low, high) in enumerate(zip([0, *self.cutoffs[:-1]], self.cutoffs, strict=True)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            if i == 0:
                continue
            entry = entry.index_fill(0, rows, self.shortlist_size + i - 1)
            within = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
            relative = target.index_select(0, rows) - low
            parts.append(within.gather(1, relative.unsqueeze(1)).squeeze(1))
            rows_of_parts.append(rows)
        if used != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        output = head.gather(1, entry.unsqueeze(1)).squeeze(1)
        if parts:
            output = output.index_add(0, torch.cat(rows_of_parts), torch.cat(parts))
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        pieces = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            column = self.shortlist_size + i
            pieces.append(F.log_softmax(cluster(input), dim=1) + head[:, column : column + 1])
        return torch.cat(pieces, 1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row; clusters are computed only where the head points to one."""
        head: Tensor = self.head(input)
        output: Tensor = head.argmax(1)
        rare = output >= self.shortlist_size
        if not bool(rare.any()):
            return output
        if bool(rare.all()):
            return self.log_prob(input).argmax(1)
        rows = rare.nonzero().squeeze(1)
        classes = self._get_full_log_prob(input[rows], head[rows]).argmax(1)
        return output.index_copy(0, rows, classes)

"""Losses of nn.functional as functions of torch, where the reduction is a number."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import Tensor
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.functional.loss.reduction import reduce_values

_NAMES = ("none", "mean", "sum")


def _reduction(number: int) -> str:
    if not 0 <= number < len(_NAMES):
        raise ValueError(f"reduction must be 0 (none), 1 (mean) or 2 (sum), got {number}")
    return _NAMES[number]


def _with_number(function: Any) -> Any:
    """The function with its reduction given by number instead of name, and none if it is not given, as in PyTorch."""

    def loss(*, reduction: int = 0, **arguments: Any) -> Tensor:
        if "self" in arguments:
            arguments["input"] = arguments.pop("self")
        result: Tensor = function(reduction=_reduction(reduction), **arguments)
        return result

    return loss


cosine_embedding_loss = _with_number(F.cosine_embedding_loss)
ctc_loss = _with_number(F.ctc_loss)
hinge_embedding_loss = _with_number(F.hinge_embedding_loss)
l1_loss = _with_number(F.l1_loss)
margin_ranking_loss = _with_number(F.margin_ranking_loss)
multilabel_margin_loss = _with_number(F.multilabel_margin_loss)
poisson_nll_loss = _with_number(F.poisson_nll_loss)
soft_margin_loss = _with_number(F.soft_margin_loss)
triplet_margin_loss = _with_number(F.triplet_margin_loss)


def kl_div(self: Tensor, target: Tensor, reduction: int = 0, log_target: bool = False) -> Tensor:
    # Reduced here: the function warns about the name "mean".
    values = F.kl_div(self, target, reduction="none", log_target=log_target)
    return reduce_values(values, _reduction(reduction))

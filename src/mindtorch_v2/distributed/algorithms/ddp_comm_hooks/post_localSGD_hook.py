"""Post-local SGD (Lin et al., 2020): gradients of all are averaged at first, later only those of neighbours.

From then on parameters drift apart between groups of neighbours, and a model averager brings them together now and then
(``algorithms.model_averaging``, ``optim.PostLocalSGDOptimizer``).
"""

from __future__ import annotations

import logging
from typing import Any

from ....futures import Future
from ...reducer import GradBucket
from ...world import new_subgroups
from .debugging_hooks import noop_hook
from .default_hooks import allreduce_hook

__all__ = ["PostLocalSGDState", "post_localSGD_hook"]

_log = logging.getLogger("torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook")


class PostLocalSGDState:
    """Settings, and how many iterations there were."""

    def __init__(
        self,
        process_group: Any,
        subgroup: Any,
        start_localSGD_iter: int,
        post_local_gradient_allreduce: bool = True,
    ) -> None:
        self.process_group, self.subgroup = process_group, subgroup
        self.start_localSGD_iter = start_localSGD_iter
        self.post_local_gradient_allreduce = post_local_gradient_allreduce
        self.iter = 0
        _log.info("Local SGD will be started after %s iterations", start_localSGD_iter)

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Counts an iteration at its last bucket."""
        self.iter += bucket.is_last()
        if self.iter == self.start_localSGD_iter:
            _log.info("Start to apply local SGD after %s iterations.", self.iter)


def post_localSGD_hook(state: PostLocalSGDState, bucket: GradBucket) -> Future[Any]:
    """The average of all, and from iteration ``start_localSGD_iter`` on that of the subgroup, or no average."""
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    if not state.post_local_gradient_allreduce:
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = new_subgroups()
    return allreduce_hook(state.subgroup, bucket)

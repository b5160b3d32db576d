"""ZeRO, stage 1 (Rajbhandari et al., 2019): each process keeps the state of its share of the parameters, updates them,
and gives the others the new values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ..._C import Tensor, _functions
from ...autograd import no_grad
from ...optim.optimizer import Optimizer
from .. import collectives
from ..algorithms.join import Join, Joinable, JoinHook
from ..objects import gather_object
from ..world import resolved

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """Another optimizer, with its state spread over the processes."""

    def __init__(
        self,
        params: Any,
        optimizer_class: type[Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer: overlap_with_ddp is not here yet; leave it out"
            )
        self.process_group = resolved(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self._optim_constructor, self._optim_defaults = optimizer_class, defaults
        self._everything: list[dict[str, Any]] = []
        self._ready = False
        Joinable.__init__(self)
        Optimizer.__init__(self, params, defaults)
        self._ready = True
        self._divide()

    def _shares(self) -> list[list[list[Tensor]]]:
        """Of each process, the parameters of each group: the largest first, always to who has least."""
        loads = [0] * self.world_size
        shares: list[list[list[Tensor]]] = [[[] for _ in self.param_groups] for _ in range(self.world_size)]
        for number, group in enumerate(self.param_groups):
            for parameter in sorted(group["params"], key=lambda each: -each.numel()):
                owner = loads.index(min(loads))
                shares[owner][number].append(parameter)
                loads[owner] += parameter.numel()
        return shares

    def _divide(self) -> None:
        self._share = self._shares()
        groups = [
            {**{name: value for name, value in group.items() if name != "params"}, "params": own}
            for group, own in zip(self.param_groups, self._share[self.rank], strict=True)
        ]
        before = getattr(self, "optim", None)
        self.optim = self._optim_constructor(
            [group for group in groups if group["params"]], **self._optim_defaults
        )
        if before is not None:
            self.optim.state.update(before.state)
        self._inner = [number for number, group in enumerate(groups) if group["params"]]
        self._give_options()

    def _give_options(self) -> None:
        """Learning rates and the like, which schedulers change in ours; what only the inner one knows comes to ours."""
        for inner, number in zip(self.optim.param_groups, self._inner, strict=True):
            outer = self.param_groups[number]
            for name, value in inner.items():
                outer.setdefault(name, value)
            inner.update({name: value for name, value in outer.items() if name != "params"})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
        if self._ready:
            self._divide()

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> float | None:
        """Updates this process's share and gets the others'."""
        Join.notify_join_context(self)
        self._give_options()
        loss: float | None = (
            self.optim.step(closure, **kwargs) if closure is not None else self.optim.step(**kwargs)
        )
        self._sync()
        return loss

    def _sync(self) -> None:
        """Every owner gives all the new values, in a message for each dtype."""
        with no_grad():
            for owner, groups in enumerate(self._share):
                kinds: dict[Any, list[Tensor]] = {}
                for parameter in (each for group in groups for each in group):
                    kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter.detach())
                for alike in kinds.values():
                    flat = _functions.cat([each.reshape(-1) for each in alike])
                    collectives.broadcast(flat, group=self.process_group, group_src=owner)
                    if owner != self.rank:
                        for each, part in zip(
                            alike, flat.split([each.numel() for each in alike]), strict=True
                        ):
                            each.copy_(part.view(each.shape))

    # ---- state -------------------------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collects the states of all on one process, which may then be asked for the whole."""
        root = self.process_group.ranks.index(to) if to in self.process_group.ranks else to
        rooms: list[Any] | None = [None] * self.world_size if self.rank == root else None
        gather_object(self.optim.state_dict(), rooms, group=self.process_group, group_dst=root)
        self._everything = rooms or []

    def state_dict(self) -> dict[str, Any]:
        """The state as one optimizer alone would have it; on the process of :meth:`consolidate_state_dict`."""
        if not self._everything:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to="
                f"{self.rank})` on all ranks beforehand if you meant to save the global state."
            )
        numbers = self._numbers()
        state: dict[int, Any] = {}
        for owner, inner in enumerate(self._everything):
            owned = [each for group in self._share[owner] for each in group]
            for at, parameter in enumerate(owned):
                if at in inner["state"]:
                    state[numbers[id(parameter)]] = inner["state"][at]
        groups = []
        for group in self.param_groups:
            options = {name: value for name, value in group.items() if name != "params"}
            groups.append({**options, "params": [numbers[id(each)] for each in group["params"]]})
        return {"state": dict(sorted(state.items())), "param_groups": groups}

    def _numbers(self) -> dict[int, int]:
        every = (parameter for group in self.param_groups for parameter in group["params"])
        return {id(parameter): number for number, parameter in enumerate(every)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes this process's share of a whole state."""
        given = copy.deepcopy(state_dict)
        for group, options in zip(self.param_groups, given["param_groups"], strict=True):
            group.update({name: value for name, value in options.items() if name != "params"})
        numbers = self._numbers()
        inner = self.optim.state_dict()
        own = [each for group in self._share[self.rank] for each in group]
        states = ((at, given["state"].get(numbers[id(parameter)])) for at, parameter in enumerate(own))
        inner["state"] = {at: found for at, found in states if found is not None}
        self.optim.load_state_dict(inner)
        self._give_options()
        self._everything = []

    # ---- processes without inputs ------------------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group


class _Shadow(JoinHook):
    def __init__(self, zero: ZeroRedundancyOptimizer) -> None:
        self.zero = zero

    def main_hook(self) -> None:
        self.zero.step()

"""Modules for functions of functions: without running statistics, stacked, called with other parameters."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch

from .._C import Tensor
from ..nn import Module
from ..nn.utils._functional_call import functional_call as functional_call


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes batch normalisations below `root` keep no running statistics, which vmap could not update."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def stack_module_state(
    models: Sequence[Module], _caller: str = "stack_module_state"
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one kind, stacked for :func:`vmap`."""
    if len(models) == 0:
        raise RuntimeError(f"{_caller}: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError(f"{_caller}: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError(f"{_caller}: Expected all models to be of the same class.")

    def stacked(tensors: list[Tensor]) -> Tensor:
        needs = {tensor.requires_grad for tensor in tensors}
        if len(needs) > 1:
            raise RuntimeError("Expected either all parameters to require grad or none of them to")
        joined = torch.stack([tensor.detach() for tensor in tensors])
        return joined.requires_grad_() if needs == {True} else joined

    parameters = {name: stacked([dict(m.named_parameters())[name] for m in models])
                  for name, _ in models[0].named_parameters()}  # fmt: skip
    buffers = {name: stacked([dict(m.named_buffers())[name] for m in models])
               for name, _ in models[0].named_buffers()}  # fmt: skip
    return parameters, buffers

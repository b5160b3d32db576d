"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mindtorch_v2 as torch

from .._C import Tensor
from ..nn import Module


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Makes batch normalisations below `root` keep no running statistics, which vmap could not update."""
    for module in root.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def _named(module: Module, remove_duplicate: bool) -> dict[str, Tensor]:
    found: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=remove_duplicate))
    found.update(module.named_buffers(remove_duplicate=remove_duplicate))
    return found


def _with_tied(module: Module, values: dict[str, Tensor]) -> dict[str, Tensor]:
    """A value given under one name of a shared parameter is meant for its other names too."""
    names: dict[int, list[str]] = {}
    for name, tensor in _named(module, remove_duplicate=False).items():
        names.setdefault(id(tensor), []).append(name)
    complete = dict(values)
    for shared in names.values():
        given = {id(values[name]): values[name] for name in shared if name in values}
        if len(given) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(n for n in shared if n in values)}, which are "
                "tied. Consider using tie_weights=False"
            )
        for tensor in given.values():
            complete.update(dict.fromkeys(shared, tensor))
    return complete


def _place(module: Module, name: str) -> tuple[dict[str, Any], str] | None:
    """The dictionary that holds a parameter or buffer, and its name there."""
    path, _, short = name.rpartition(".")
    for part in filter(None, path.split(".")):
        child = module._modules.get(part)
        if child is None:
            return None
        module = child
    held: Any
    for held in (module._parameters, module._buffers):
        if short in held:
            return held, short
    return None


@contextmanager
def _replaced(module: Module, values: dict[str, Tensor], strict: bool) -> Iterator[None]:
    """The module holds the values inside the ``with`` block and its own tensors after it."""
    places = {name: _place(module, name) for name in values}
    if strict:
        missing = [name for name in _named(module, remove_duplicate=False) if name not in values]
        unexpected = [name for name, place in places.items() if place is None]
        lines = [
            f"{kind} key(s): {', '.join(map(repr, sorted(names)))}."
            for kind, names in (("Unexpected", unexpected), ("Missing", missing))
            if names
        ]
        if lines:
            raise RuntimeError(
                f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(lines)
            )
    before = [(*place, place[0][place[1]]) for place in places.values() if place is not None]
    try:
        for name, place in places.items():
            if place is not None:
                place[0][place[1]] = values[name]
        yield
    finally:
        for held, short, tensor in before:
            held[short] = tensor


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Calls a module with these parameters and buffers in place of its own."""
    dicts = parameter_and_buffer_dicts
    if isinstance(dicts, dict):
        values = dicts
    elif isinstance(dicts, Sequence):
        if not all(isinstance(d, dict) for d in dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in dicts for name in d]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(
                f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        values = {name: tensor for d in dicts for name, tensor in d.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    if tie_weights:
        values = _with_tied(module, values)
    given = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, values, strict):
        return module(*given, **(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of several modules of one kind, stacked for :func:`vmap`."""
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or all(not m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(m) is type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

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

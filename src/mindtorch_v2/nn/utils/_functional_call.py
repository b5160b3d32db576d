"""Calling a module with other parameters than its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._C import Tensor
from ..modules.module import Module


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

"""What fake tensors know of operators: which need values, what they write, on which device their results are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mindtorch_v2 as torch

from ..utils._pytree import tree_leaves
from ._exceptions import FakeTensorDeviceMismatchError

Tensor = torch.Tensor


@contextmanager
def no_modes() -> Iterator[None]:
    """Inside, operators are left alone."""
    before = torch._C._dispatch.set_off(True)
    try:
        yield
    finally:
        torch._C._dispatch.set_off(before)


def handles(kind: type) -> bool:
    own = getattr(kind, "__torch_dispatch__", None)
    return own is not None and own is not Tensor.__torch_dispatch__


def counts_values(func: Any, kwargs: dict[str, Any]) -> bool:
    return str(func) == "aten.repeat_interleave.Tensor" and kwargs.get("output_size") is None


def draws(func: Any) -> bool:
    schema = getattr(func, "_schema", None)
    return schema is None or any(a.name == "generator" for a in schema.arguments)


def written_by(func: Any, args: Any, kwargs: Any) -> list[Any]:
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.is_mutable:
        return []
    positional = [a for a in schema.arguments if not a.keyword_only]
    given = [(a, value) for a, value in zip(positional, args, strict=False)]
    given += [(a, kwargs[a.name]) for a in schema.arguments if a.name in kwargs]
    return [v for a, value in given if a.mutated for v in tree_leaves(value) if isinstance(v, Tensor)]


def device_of(
    func: Any, name: str, fakes: Sequence[Tensor], args: Any, kwargs: dict[str, Any]
) -> tuple[torch.device, dict[str, Any]]:
    """The device of the results, and the keywords with which the operator runs on meta."""
    schema = getattr(func, "_schema", None)
    takes = schema is not None and any(a.name == "device" for a in schema.arguments)
    if takes and (kwargs.get("device") is not None or not fakes):
        wanted = kwargs.get("device")
        device = torch.get_default_device() if wanted is None else torch.device(wanted)
        return _with_index(device), {**kwargs, "device": torch.device("meta"), **_unpinned(kwargs)}
    if not fakes:
        return torch.device("cpu"), kwargs
    if name in ("copy_", "_copy_from", "to", "set_", "_set_window") or _index_names(name):
        return fakes[0].device, kwargs
    return _common_device(fakes), kwargs


def _unpinned(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {"pin_memory": False} if kwargs.get("pin_memory") else {}


def _index_names(name: str) -> bool:
    return name in ("index", "index_put", "index_put_", "_index", "_index_put_", "_index_put_impl_")


def _with_index(device: torch.device) -> torch.device:
    if device.type in ("cpu", "meta") or device.index is not None:
        return device
    module = getattr(torch, device.type, None)
    index = module.current_device() if module is not None and module.is_available() else 0
    return torch.device(device.type, index)


def _common_device(fakes: Sequence[Tensor]) -> torch.device:
    """That of all tensors; one number of the host goes along with any."""
    found: Tensor | None = None

    def is_number(t: Tensor) -> bool:
        return t.dim() == 0 and t.device.type == "cpu"

    for each in fakes:
        if found is None or (is_number(found) and not is_number(each)):
            found = each
        elif found.device != each.device and not is_number(each):
            raise FakeTensorDeviceMismatchError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{found.device} and {each.device}!"
            )
    assert found is not None
    return found.device

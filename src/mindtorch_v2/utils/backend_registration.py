"""A device of one's own: its name, and the methods of tensors and modules that are called after it.

``torch._register_device_module(name, module)`` is the other part: it makes a module ``torch.<name>``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._devices import private_use, registry

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name: str) -> None:
    """Lets ``torch.device`` and all that is called after it say ``backend_name`` for "privateuseone"; once."""
    registry.rename_private_use(backend_name)


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: Sequence[Any] | None = None,
) -> None:
    """Adds ``is_<name>`` and ``<name>()`` to tensors, modules, packed sequences and storages.

    A typed storage of an ``unsupported_dtype`` cannot be moved to the device.
    """
    if for_packed_sequence:
        from ..nn.utils import rnn as rnn  # so that the class is there
    wanted = {
        "tensor": for_tensor,
        "module": for_module,
        "storage": for_storage,
        "packed_sequence": for_packed_sequence,
    }
    private_use.generate_methods(
        [group for group, chosen in wanted.items() if chosen], unsupported_dtype or ()
    )


def __getattr__(name: str) -> Any:
    if name == "_privateuse1_backend_name":
        return registry.private_use
    raise AttributeError(f"module 'torch.utils.backend_registration' has no attribute '{name}'")

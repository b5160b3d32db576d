"""torch.storage: the bytes behind tensors."""

from __future__ import annotations

from typing import Any

from ._absent import names_of
from ._settings.typed_storages import (
    _get_always_warn_typed_storage_removal as _get_always_warn_typed_storage_removal,
)
from ._settings.typed_storages import _reset_warn_typed_storage_removal as _reset_warn_typed_storage_removal
from ._settings.typed_storages import (
    _set_always_warn_typed_storage_removal as _set_always_warn_typed_storage_removal,
)
from ._settings.typed_storages import _warn_typed_storage_removal as _warn_typed_storage_removal
from ._storage import UntypedStorage as UntypedStorage
from ._storage import _StorageBase as _StorageBase
from ._storage_typed import TypedStorage as TypedStorage
from ._storage_typed import _dtype_to_storage_type_map as _dtype_to_storage_type_map
from ._storage_typed import _LegacyStorage as _LegacyStorage
from ._storage_typed import _storage_type_to_dtype_map as _storage_type_to_dtype_map

__all__ = ["TypedStorage", "UntypedStorage"]


def _load_from_bytes(data: bytes) -> Any:
    """What PyTorch's pickles of storages call: the bytes are a file that torch.save wrote."""
    import io

    from .serialization import load

    return load(io.BytesIO(data), weights_only=False)


__getattr__ = names_of(__name__)

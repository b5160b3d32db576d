"""torch.storage: the bytes behind tensors."""

from __future__ import annotations

from typing import Any

from ._absent import names_of
from ._storage import UntypedStorage as UntypedStorage
from ._storage_typed import TypedStorage as TypedStorage


def _load_from_bytes(data: bytes) -> Any:
    """What PyTorch's pickles of storages call: the bytes are a file that torch.save wrote."""
    import io

    from .serialization import load

    return load(io.BytesIO(data), weights_only=False)


__getattr__ = names_of(__name__)

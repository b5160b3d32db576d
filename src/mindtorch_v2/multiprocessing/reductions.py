"""How tensors and storages are pickled for another process: as shared memory.

Note [Sending a storage]
``file_descriptor``: the memory has no name; its descriptor is sent beside the pickle, through a socket that the sending
process serves (multiprocessing's own mechanism), so the sender must live until the receiver has unpickled. Nothing can
be left behind. ``file_system``: the memory has a name, which is sent; there is no limit of open descriptors, but a
killed process, or a message that nobody receives, leaves the object in /dev/shm. A file that was mapped
(`from_file(shared=True)`) is sent as its path.
"""

from __future__ import annotations

import os
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import Any

import mindtorch_v2 as torch

from .. import _C, _utils
from .._absent import names_of
from .._devices import registry
from .._storage import UntypedStorage
from .._storage_typed import TypedStorage

# --- storages

# Storages, by address, whose memory is written again when nobody here uses it: Note [Blocks that come back]. A process
# that passes one on, or forks, no longer knows when that is.
returnable: dict[int, Any] = {}
os.register_at_fork(before=returnable.clear)


def shared(storage: UntypedStorage) -> UntypedStorage:
    """The storage, moved to shared memory if it was not there."""
    if storage.device.type != "cpu":
        accelerator = registry.of(storage)
        where = f"a {storage.device.type}" if accelerator is None else accelerator.noun
        raise RuntimeError(
            f"cannot send {where} storage to another process, because only host memory is shared; send "
            "tensor.cpu() and move it to the device there"
        )
    return storage.share_memory_()


def reduce_storage(storage: UntypedStorage) -> Any:
    if storage.device.type == "meta":
        raise RuntimeError("Cannot pickle meta storage; try pickling a meta tensor instead")
    handle = shared(storage)._handle
    if handle.descriptor() >= 0:
        returnable.pop(handle._cdata, None)
        return rebuild_storage_fd, (reduction.DupFd(handle.descriptor()), handle.nbytes())
    if handle.is_named():
        handle.count_name(1)  # the message's; the receiver gives it back
        return rebuild_storage_filename, (handle.filename(), handle.nbytes())
    return UntypedStorage.from_file, (handle.filename(), True, handle.nbytes())


def rebuild_storage_fd(duplicate: Any, nbytes: int) -> UntypedStorage:
    return UntypedStorage._wrap(_C._StorageHandle.from_descriptor(duplicate.detach(), nbytes))


def rebuild_storage_filename(name: str, nbytes: int) -> UntypedStorage:
    handle = _C._StorageHandle.from_shared_name(name, nbytes)
    handle.count_name(-1)
    return UntypedStorage._wrap(handle)


def reduce_typed_storage(storage: TypedStorage) -> Any:
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def rebuild_typed_storage(storage: UntypedStorage, dtype: Any) -> TypedStorage:
    return TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


# --- tensors


def reduce_tensor(tensor: torch.Tensor) -> Any:
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
            "before serializing (e.g., putting it on the queue)."
        )
    if tensor.is_meta or _C._sparse.parts(tensor) is not None:
        return _utils._parts(tensor)
    window = (tensor.dtype, tensor.storage_offset(), tuple(tensor.size()), tensor.stride())
    return rebuild_tensor, (type(tensor), tensor.untyped_storage(), window, tensor.requires_grad)


def rebuild_tensor(kind: type, storage: UntypedStorage, window: Any, requires_grad: bool) -> torch.Tensor:
    made = _C.tensor_from_storage(storage._handle, *window)
    if kind is torch.nn.Parameter:
        return torch.nn.Parameter(made, requires_grad)
    if kind is not torch.Tensor:
        made = made.as_subclass(kind)
    return made.requires_grad_(True) if requires_grad else made


def init_reductions() -> None:
    """Teaches multiprocessing how to send what is ours."""
    ForkingPickler.register(UntypedStorage, reduce_storage)
    ForkingPickler.register(TypedStorage, reduce_typed_storage)
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, reduce_tensor)


__getattr__ = names_of(__name__)

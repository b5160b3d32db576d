"""``torch.distributed``: not available yet, which programs ask :func:`is_available` about."""

from __future__ import annotations

from typing import Any, NoReturn


def is_available() -> bool:
    """Whether several processes can work together: not yet."""
    return False


def is_initialized() -> bool:
    """Whether a process group exists: never."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether torchelastic started this process: never."""
    return False


def is_nccl_available() -> bool:
    """Whether NCCL can be used: never."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'torch.distributed' has no attribute '{name}': torch.distributed.is_available() is False"
    )


def get_rank(group: Any = None) -> NoReturn:
    """Raises: there is no process group."""
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group."
    )


get_world_size = get_rank


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: this library runs in one process."""
    raise NotImplementedError(
        "torch.distributed.init_process_group: this library runs in one process; start the program without a "
        "distributed launcher"
    )

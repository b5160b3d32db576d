"""Datasets, samplers and the DataLoader."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .dataloader import DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

if TYPE_CHECKING:
    from .datapipes._decorator import (
        argument_validation as argument_validation,
    )
    from .datapipes._decorator import functional_datapipe as functional_datapipe
    from .datapipes._decorator import guaranteed_datapipes_determinism as guaranteed_datapipes_determinism
    from .datapipes._decorator import non_deterministic as non_deterministic
    from .datapipes._decorator import runtime_validation as runtime_validation
    from .datapipes._decorator import runtime_validation_disabled as runtime_validation_disabled
    from .datapipes.datapipe import DataChunk as DataChunk
    from .datapipes.datapipe import DFIterDataPipe as DFIterDataPipe
    from .datapipes.datapipe import IterDataPipe as IterDataPipe
    from .datapipes.datapipe import MapDataPipe as MapDataPipe

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

# Few programs build datasets from steps; their names are found when they are asked for.
_DATAPIPES = dict.fromkeys(("DataChunk", "DFIterDataPipe", "IterDataPipe", "MapDataPipe"), "datapipe") | dict.fromkeys(
    (
        "argument_validation", "functional_datapipe", "guaranteed_datapipes_determinism", "non_deterministic",
        "runtime_validation", "runtime_validation_disabled",
    ),
    "_decorator",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _DATAPIPES:
        return getattr(import_module(f"{__name__}.datapipes.{_DATAPIPES[name]}"), name)
    if name in ("datapipes", "graph", "graph_settings"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.utils.data' has no attribute '{name}'")

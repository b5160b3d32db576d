"""Wrappers of modules that run on several devices."""

from ..._absent import names_of
from .data_parallel import DataParallel as DataParallel
from .data_parallel import data_parallel as data_parallel
from .distributed import DistributedDataParallel as DistributedDataParallel
from .scatter_gather import gather as gather
from .scatter_gather import scatter as scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]

__getattr__ = names_of(__name__)

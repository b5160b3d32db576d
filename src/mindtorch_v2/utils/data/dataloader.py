"""The DataLoader: batches of a dataset, fetched here or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.context
import os
import queue
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import mindtorch_v2 as torch

from ..._absent import names_of
from ..._devices import registry
from . import _utils
from ._utils import ExceptionWrapper
from ._utils.collate import default_collate as default_collate
from ._utils.collate import default_convert as default_convert
from ._utils.fetch import _DatasetKind as _DatasetKind
from ._utils.pool import WorkerPool
from ._utils.worker import StreamEnded, WorkerSettings
from ._utils.worker import get_worker_info as get_worker_info
from .dataset import Dataset as Dataset
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, new_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """What stands in for indices when the dataset is a stream."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Batches of a dataset, in the order of a sampler, fetched by ``num_workers`` processes (0: by this one).

    Every worker keeps ``prefetch_factor`` batches ready. The same seed gives PyTorch's order, and its random numbers in
    the workers.
    """

    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self._dataset_kind = (
            _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        )
        if self._dataset_kind == _DatasetKind.Iterable:
            for name, value in (
                ("shuffle", None if shuffle is False else shuffle),
                ("sampler", sampler),
                ("batch_sampler", batch_sampler),
            ):
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None:
            if self._dataset_kind == _DatasetKind.Iterable:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    @property
    def multiprocessing_context(self) -> Any:
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None and self.num_workers == 0:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={self.num_workers}"
            )
        if isinstance(context, str):
            methods = multiprocessing.get_all_start_methods()
            if context not in methods:
                raise ValueError(
                    f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                    f"multiprocessing_context={context!r}"
                )
            context = multiprocessing.get_context(context)
        if context is not None and not isinstance(context, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={context}"
            )
        self.__multiprocessing_context = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__initialized and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> Iterator[Any]:
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Remembered, because more samples than that deserve a warning.
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns when there are more workers than processors for them."""
        processors = len(os.sched_getaffinity(0))
        if self.num_workers > processors:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {processors}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


class _BaseDataLoaderIter:
    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._pin_memory = bool(loader.pin_memory) and self._can_pin(loader)
        self._timeout = loader.timeout
        self._collate_fn = loader.collate_fn
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = new_seed(loader.generator)
        self._persistent_workers = loader.persistent_workers
        self._num_yielded = 0
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"

    @staticmethod
    def _can_pin(loader: DataLoader[Any]) -> bool:
        if loader.pin_memory_device:
            warnings.warn(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,ignore "
                f"pin_memory_device='{loader.pin_memory_device}'.",
                stacklevel=6,
            )
        if registry.available() is None:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                "used.",
                stacklevel=6,
            )
            return False
        return True

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with torch.profiler.record_function(self._profile_name):
            data = self._next_data()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if (
            self._dataset_kind == _DatasetKind.Iterable
            and promised is not None
            and self._num_yielded > promised
        ):
            advice = (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {promised}(when accessing "
                f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
                + (advice if self._num_workers > 0 else ""),
                stacklevel=2,
            )
        return data

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        data = self._dataset_fetcher.fetch(next(self._sampler_iter))
        return _utils.pin_memory.pin_memory(data) if self._pin_memory else data


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Tasks are numbered; answers are given out in that order, whatever order they come in (``in_order``)."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._prefetch_factor: int = loader.prefetch_factor or 0
        self._in_order = loader.in_order
        if self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        settings = WorkerSettings(
            self._dataset_kind,
            self._dataset,
            self._auto_collation,
            self._collate_fn,
            self._drop_last,
            self._base_seed,
            loader.worker_init_fn,
            self._num_workers,
        )
        context = loader.multiprocessing_context or multiprocessing
        pin_device = registry.accelerator().module.current_device() if self._pin_memory else None
        self._pool = WorkerPool(context, settings, pin_device)
        # Also when the program ends or forgets this iterator half way.
        self._close = weakref.finalize(self, self._pool.close)
        self._epoch = -1
        self._begin()

    @property
    def _workers(self) -> list[Any]:
        return self._pool._processes

    def _reset(self, loader: DataLoader[Any]) -> None:
        super()._reset(loader)
        self._begin()

    def _begin(self) -> None:
        self._epoch += 1
        self._next_task = 0  # to be sent
        self._next_answer = 0  # to be given out
        self._assigned: dict[int, int] = {}  # task: its worker, while no answer has come
        self._waiting: dict[int, tuple[int, Any]] = {}  # task: worker and data that came before their turn
        self._active = [True] * self._num_workers  # whose stream has not ended
        self._load = [0] * self._num_workers
        self._turn = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._assign()

    def _assign(self) -> None:
        """Sends the next index to the worker whose turn it is."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        limit = self._prefetch_factor * self._num_workers // max(1, sum(self._active))
        for _ in range(self._num_workers):
            worker_id = next(self._turn)
            if self._active[worker_id] and (self._in_order or self._load[worker_id] < limit):
                break
        else:
            return
        self._pool.post(worker_id, self._epoch, self._next_task, index)
        self._assigned[self._next_task] = worker_id
        self._load[worker_id] += 1
        self._next_task += 1

    def _next_data(self) -> Any:
        while True:
            self._skip_ended()
            if self._next_answer in self._waiting:
                worker_id, data = self._waiting.pop(self._next_answer)
                self._next_answer += 1
                return self._given(worker_id, data)
            if self._next_answer >= self._next_task:
                if not self._persistent_workers:
                    self._close()
                raise StopIteration
            epoch, task, data = self._receive()
            if epoch != self._epoch:  # of an epoch that was left early
                continue
            worker_id = self._assigned.pop(task)
            if isinstance(data, StreamEnded):
                self._active[worker_id] = False
                self._assign()
                continue
            if task == self._next_answer:
                self._next_answer += 1
            elif self._in_order:
                self._waiting[task] = (worker_id, data)
                continue
            return self._given(worker_id, data)

    def _skip_ended(self) -> None:
        """Passes over tasks that were answered out of order, and those of workers whose stream has ended."""
        while self._next_answer < self._next_task and self._next_answer not in self._waiting:
            worker_id = self._assigned.get(self._next_answer)
            if worker_id is not None and self._active[worker_id]:
                return
            self._assigned.pop(self._next_answer, None)
            self._next_answer += 1

    def _receive(self) -> Any:
        if not self._close.alive:
            raise RuntimeError("the DataLoader's workers have ended after an error; start a new iteration")
        try:
            return self._pool.receive(self._timeout or None)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds") from None
        except RuntimeError:
            self._close()
            raise

    def _given(self, worker_id: int, data: Any) -> Any:
        self._load[worker_id] -= 1
        self._assign()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data


__getattr__ = names_of(__name__)

"""What runs in a worker process."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch

from ...._absent import names_of
from ...._utils import ExceptionWrapper
from .blocks import WorkerBlocks
from .fetch import _DatasetKind
from .status import MP_STATUS_CHECK_INTERVAL


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Which worker this is, of how many, its seed, and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None
blocks = WorkerBlocks()  # of this process, if it is a worker


def get_worker_info() -> WorkerInfo | None:
    """In a worker: which one it is; None elsewhere."""
    return _worker_info


@dataclass(frozen=True)
class WorkerSettings:
    """What all workers of a loader have in common."""

    dataset_kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    base_seed: int
    init_fn: Callable[[int], Any] | None
    num_workers: int

    def fetcher(self) -> Any:
        return _DatasetKind.create_fetcher(
            self.dataset_kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last
        )


class StreamEnded:
    """A worker's answer: its copy of an IterableDataset has no more samples."""


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """128 bits of their own, so that numpy's streams of neighbouring workers do not resemble each other."""
    import numpy

    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    state: list[int] = numpy.random.SeedSequence(entropy).generate_state(4).tolist()
    return state


def _seed_generators(base_seed: int, worker_id: int) -> None:
    import numpy

    random.seed(base_seed + worker_id)
    torch.manual_seed(base_seed + worker_id)
    numpy.random.seed(_generate_state(base_seed, worker_id))


def worker_loop(settings: WorkerSettings, worker_id: int, channel: Any) -> None:
    """Answers (epoch, task, index, memory) with (epoch, task, data) until the loader closes the channel."""
    global _worker_info
    where = f"in DataLoader worker process {worker_id}"
    try:
        parent = os.getppid()
        torch.set_num_threads(1)
        _seed_generators(settings.base_seed, worker_id)
        _worker_info = WorkerInfo(
            worker_id, settings.num_workers, settings.base_seed + worker_id, settings.dataset
        )
        init_failure, _ = _tried(lambda: settings.init_fn and settings.init_fn(worker_id), where)
        epoch, failure, fetcher = -1, None, None
        while True:
            if not channel.wait(MP_STATUS_CHECK_INTERVAL):
                if os.getppid() != parent:  # the loader's process is gone
                    return
                continue
            wanted_epoch, task, index, returned = channel.receive()
            blocks.begin_task(returned)
            if wanted_epoch != epoch:
                epoch, failure = wanted_epoch, init_failure
                if failure is None:
                    failure, fetcher = _tried(settings.fetcher, where)
            if failure is not None:
                data = failure
            elif fetcher is None:  # its stream has ended
                continue
            else:
                data = _fetched(settings, fetcher, index, where)
                if isinstance(data, StreamEnded):
                    fetcher = None
            _answer(channel, (epoch, task, data), where)
            del data
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return  # the loader is done with us, or is being stopped itself


def _tried(function: Callable[[], Any], where: str) -> tuple[ExceptionWrapper | None, Any]:
    """What went wrong, or what came out."""
    try:
        return None, function()
    except Exception:  # noqa: BLE001 - the loader raises it
        return ExceptionWrapper(where=where), None


def _fetched(settings: WorkerSettings, fetcher: Any, index: Any, where: str) -> Any:
    try:
        return fetcher.fetch(index)
    except Exception as error:  # noqa: BLE001 - the loader raises it
        if isinstance(error, StopIteration) and settings.dataset_kind == _DatasetKind.Iterable:
            return StreamEnded()
        return ExceptionWrapper(where=where)


def _answer(channel: Any, message: tuple[int, int, Any], where: str) -> None:
    try:
        channel.send(message, blocks)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception:  # noqa: BLE001 - what cannot be sent is told instead
        failure = message[2]
        if isinstance(failure, ExceptionWrapper):  # of a type that the loader cannot import
            failure.exc_type = RuntimeError
        else:
            failure = ExceptionWrapper(where=where)
        channel.send((message[0], message[1], failure), blocks)


__getattr__ = names_of(__name__)

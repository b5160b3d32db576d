"""The loader's side of its workers: starting them, hearing from them, and ending them."""

from __future__ import annotations

import os
import pickle
import queue
import select
import signal
import threading
import time
import warnings
from multiprocessing.util import register_after_fork
from typing import Any

from ...._devices import registry
from ...._utils import ExceptionWrapper
from .channel import Channel
from .pin_memory import pin_memory
from .status import MP_STATUS_CHECK_INTERVAL
from .worker import WorkerSettings, worker_loop


def _close(channel: Channel) -> None:
    channel.socket.close()


class WorkerPool:
    """Worker processes and the channels to them; with ``pin_device``, a thread that pins what they send."""

    def __init__(self, context: Any, settings: WorkerSettings, pin_device: int | None) -> None:
        self._owner = os.getpid()
        self._closed = False
        self._waiting = (
            threading.Lock()
        )  # of two threads that wait for a process, one would not learn how it ended
        self._processes: list[Any] = []
        self._channels: list[Channel] = []
        self._poll = select.poll()
        self._by_descriptor: dict[int, int] = {}
        self._pinned: queue.Queue[Any] | None = None
        self._thread: threading.Thread | None = None
        try:
            for worker_id in range(settings.num_workers):
                self._start(context, settings, worker_id)
        except BaseException:
            self.close()
            raise
        if pin_device is not None:
            self._pinned = queue.Queue()
            self._thread = threading.Thread(
                target=self._pin, args=(pin_device,), name="pin_memory", daemon=True
            )
            self._thread.start()

    def _start(self, context: Any, settings: WorkerSettings, worker_id: int) -> None:
        ours, theirs = Channel.pair()
        # A worker must not keep our end open: its closing is how workers learn that this process has ended.
        register_after_fork(ours, _close)
        process = context.Process(target=worker_loop, args=(settings, worker_id, theirs), daemon=True)
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            ours.socket.close()
            warnings.warn(
                "Got pickle error when attempting to start a worker Process. This might be because the worker Process "
                "arguments are not picklable. Python 3.14+ changed the multiprocessing start method in non-Mac POSIX "
                "platforms to 'forkserver', which requires the worker Process arguments to be picklable. You can "
                "also try multiprocessing.set_start_method('fork').",
                stacklevel=2,
            )
            raise
        finally:
            theirs.socket.close()
        self._processes.append(process)
        self._channels.append(ours)
        self._by_descriptor[ours.fileno()] = worker_id
        self._poll.register(ours.socket, select.POLLIN)

    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    # --- talking

    def post(self, worker_id: int, epoch: int, task: int, index: Any) -> None:
        """Gives a worker something to do, and the memory we no longer use; never waits for it."""
        channel = self._channels[worker_id]
        try:
            channel.post((epoch, task, index, channel.lent.unused()))
        except (BrokenPipeError, ConnectionResetError):
            raise self._ended(worker_id) from None

    def receive(self, seconds: float | None) -> Any:
        """The next answer of any worker; queue.Empty when none comes in time."""
        if self._pinned is None:
            return self._receive(seconds)
        limit = None if seconds is None else time.monotonic() + seconds
        while True:
            # The thread only reads; what a worker had no room for is ours to send.
            pending = not self._flush()
            step = 0.01 if pending else MP_STATUS_CHECK_INTERVAL
            if limit is not None:
                step = min(step, max(0.0, limit - time.monotonic()))
            try:
                answer = self._pinned.get(timeout=step)
            except queue.Empty:
                if limit is not None and time.monotonic() >= limit:
                    raise
                continue
            if isinstance(answer, BaseException):
                raise answer
            return answer

    def _flush(self) -> bool:
        return all([channel.flush() for channel in self._channels])

    def _receive(self, seconds: float | None) -> Any:
        limit = None if seconds is None else time.monotonic() + seconds
        while True:
            pending = self._pinned is None and not self._flush()
            milliseconds = None if limit is None else max(0.0, limit - time.monotonic()) * 1000
            if pending:  # a worker is busy answering; look again soon
                milliseconds = 10.0 if milliseconds is None else min(10.0, milliseconds)
            ready = self._poll.poll(milliseconds)
            if ready:
                worker_id = self._by_descriptor[ready[0][0]]
                try:
                    return self._channels[worker_id].receive()
                except (EOFError, ConnectionResetError):
                    raise self._ended(worker_id) from None
            if limit is not None and time.monotonic() >= limit:
                raise queue.Empty

    def _ended(self, worker_id: int) -> RuntimeError:
        process = self._processes[worker_id]
        if not self._closed:
            with self._waiting:
                process.join(MP_STATUS_CHECK_INTERVAL)
        code = process.exitcode
        if code is not None and code < 0:
            hint = ""
            if -code == signal.SIGBUS:
                hint = (
                    "It is possible that dataloader's workers are out of shared memory. Please try to raise your "
                    "shared memory limit."
                )
            return RuntimeError(
                f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. {hint}"
            )
        return RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly")

    # --- pinning

    def _pin(self, device: int) -> None:
        from .... import set_num_threads

        assert self._pinned is not None
        set_num_threads(1)
        registry.accelerator().module.set_device(device)
        while not self._closed:
            try:
                epoch, task, data = self._receive(None)
            except (RuntimeError, OSError) as error:
                if not self._closed:
                    self._pinned.put(error)
                return
            if not isinstance(data, ExceptionWrapper):
                try:
                    data = pin_memory(data)
                except Exception:  # noqa: BLE001 - the loader raises it
                    data = ExceptionWrapper(where=f"in pin memory thread for device {device}")
            self._pinned.put((epoch, task, data))
            del data

    # --- the end

    def close(self) -> None:
        """Ends the workers: those that do not end by themselves when their channel closes are terminated."""
        if self._closed or os.getpid() != self._owner:
            return
        self._closed = True
        for channel in self._channels:
            channel.shut_down()  # wakes the thread, which reads from them, and the workers
        if self._thread is not None:
            self._thread.join()
        for channel in self._channels:
            channel.socket.close()
            channel.lent.forget()
        limit = time.monotonic() + MP_STATUS_CHECK_INTERVAL
        for process in self._processes:
            process.join(max(0.0, limit - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join()

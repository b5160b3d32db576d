"""Messages between the loader and a worker: pickles over a socket, with shared memory as descriptors beside them.

Note [Descriptors beside the message]
multiprocessing's queues would send a message through a pipe and let the receiver fetch every descriptor over a
connection of its own, with a thread at each end. Here both ends know each other, so the descriptors go with the message
(SCM_RIGHTS) and no thread is needed.
"""

from __future__ import annotations

import array
import errno
import io
import os
import pickle
import select
import socket
import struct
import threading
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .... import _C
from ...._storage import UntypedStorage
from ....multiprocessing.reductions import reduce_storage, shared
from .blocks import LentBlocks, WorkerBlocks
from .collate import SMALL_BYTES

_HEADER = struct.Struct("<QI")  # bytes of the pickle, number of descriptors
_AT_ONCE = 200  # descriptors in one call; the kernel takes 253


def _pickled(message: Any, blocks: WorkerBlocks) -> tuple[memoryview, list[int], list[UntypedStorage]]:
    """The pickle, the descriptors that go with it, and the storages that keep them open."""
    descriptors: list[int] = []
    kept: list[UntypedStorage] = []

    # Not a method of a pickler: the two would keep each other, and the batch, until the next garbage collection.
    def reduce(storage: UntypedStorage) -> Any:
        if storage.device.type == "cpu" and not storage.is_shared() and storage.nbytes() < SMALL_BYTES:
            return storage.__reduce__()
        handle = shared(storage)._handle
        if handle.descriptor() < 0:
            return reduce_storage(storage)
        kept.append(storage)
        descriptors.append(handle.descriptor())
        return _take, (len(descriptors) - 1, *blocks.lend(storage))

    buffer = io.BytesIO()
    pickler = ForkingPickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.dispatch_table = {**pickler.dispatch_table, UntypedStorage: reduce}
    pickler.dump(message)
    return buffer.getbuffer(), descriptors, kept


_arrived = threading.local()


def _take(position: int, block: int, nbytes: int) -> UntypedStorage:
    descriptor, _arrived.descriptors[position] = _arrived.descriptors[position], -1
    storage = UntypedStorage._wrap(_C._StorageHandle.from_descriptor(descriptor, nbytes))
    if block:
        _arrived.lent.arrived(block, storage)
    return storage


class Channel:
    """One end of a connection between two processes."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.lent = LentBlocks()
        self._unsent = b""

    @staticmethod
    def pair() -> tuple[Channel, Channel]:
        first, second = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return Channel(first), Channel(second)

    def fileno(self) -> int:
        return self.socket.fileno()

    def shut_down(self) -> None:
        """Ends the connection in all processes that have this end."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise

    # --- sending

    def send(self, message: Any, blocks: WorkerBlocks) -> None:
        """Sends a message, whose shared memory may be of ``blocks``; waits until the other side has room for it."""
        payload, descriptors, kept = _pickled(message, blocks)
        header = _HEADER.pack(len(payload), len(descriptors))
        if not descriptors:
            self.socket.sendall(header + payload)
            return
        socket.send_fds(self.socket, [header], descriptors[:_AT_ONCE])
        for start in range(_AT_ONCE, len(descriptors), _AT_ONCE):
            socket.send_fds(self.socket, [b"+"], descriptors[start : start + _AT_ONCE])
        self.socket.sendall(payload)
        del kept  # the descriptors are the other side's as well now

    def post(self, message: Any) -> None:
        """Sends a message without shared memory; what there is no room for stays until flush()."""
        payload = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._unsent += _HEADER.pack(len(payload), 0) + payload
        self.flush()

    def flush(self) -> bool:
        """Sends on; whether everything is sent."""
        while self._unsent:
            try:
                sent = self.socket.send(self._unsent, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[sent:]
        return True

    # --- receiving

    def wait(self, seconds: float) -> bool:
        """Whether a message (or the end) is there within the time."""
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return bool(poll.poll(seconds * 1000))

    def receive(self) -> Any:
        """The next message; EOFError when the other side is gone."""
        descriptors: list[int] = []
        try:
            header = self._with_descriptors(_HEADER.size, descriptors)
            length, count = _HEADER.unpack(header)
            while len(descriptors) < count:
                self._with_descriptors(1, descriptors)
            payload = self._bytes(length)
            _arrived.descriptors, _arrived.lent = descriptors, self.lent
            self.lent.begin_message()
            return pickle.loads(payload)
        finally:
            for descriptor in descriptors:
                if descriptor >= 0:
                    os.close(descriptor)

    def _with_descriptors(self, size: int, descriptors: list[int]) -> bytes:
        space = socket.CMSG_LEN(_AT_ONCE * array.array("i").itemsize)
        data, controls, flags, _ = self.socket.recvmsg(size, space)
        for level, kind, content in controls:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(content[: len(content) - len(content) % found.itemsize])
                descriptors.extend(found)
        if flags & socket.MSG_CTRUNC:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. Please increase the limit "
                "using `ulimit -n` in the shell or change the sharing strategy by calling "
                "`torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of your code"
            )
        if not data:
            raise EOFError
        return data + self._bytes(size - len(data)) if len(data) < size else data

    def _bytes(self, size: int) -> bytes:
        if size == 0:
            return b""
        data = bytearray(size)
        view, done = memoryview(data), 0
        while done < size:
            count = self.socket.recv_into(view[done:])
            if not count:
                raise EOFError
            done += count
        return data  # type: ignore[return-value] # pickle reads any buffer

"""Connections that tests cut: a proxy on this machine, and a network of a world's own."""

from __future__ import annotations

import select
import socket
import struct
import threading


class Link:
    """Forwards connections to a port of this machine, until it is told to be silent or to reset them."""

    def __init__(self, port: int) -> None:
        self._target, self._silent, self._ended = port, False, False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while not self._ended:
            try:
                near, _ = self._listening.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return  # closed
            with self._lock:
                self._pairs.append((near, far))
            threading.Thread(target=self._forward, args=(near, far), daemon=True).start()

    def _forward(self, near: socket.socket, far: socket.socket) -> None:
        other = {near: far, far: near}
        while True:
            try:
                for ready in select.select([near, far], [], [], 0.05)[0]:
                    if self._silent:
                        threading.Event().wait(0.05)
                        continue
                    data = ready.recv(1 << 16)
                    if not data:
                        near.close()
                        far.close()
                        return
                    other[ready].sendall(data)
            except (OSError, ValueError):
                return  # closed

    def be_silent(self) -> None:
        """Nothing arrives any more, and nobody is told."""
        self._silent = True

    def reset(self) -> None:
        """Every connection breaks at both ends; new ones are forwarded."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for each in pair:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.close()

    def close(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._listening.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listening.close()
        self.reset()


# For a process that may have a network of its own: the loopback device of it, up or down. While it is down, what is
# sent is lost and nobody is told, as where a cable is cut.
LOOPBACK = """
import ctypes, fcntl, socket, struct

def loopback(up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1 if up else 0))  # SIOCSIFFLAGS, IFF_UP

def own_network():
    found = ctypes.CDLL(None, use_errno=True).unshare(0x10000000 | 0x40000000)  # CLONE_NEWUSER, CLONE_NEWNET
    if found:
        raise OSError(ctypes.get_errno(), "this system lets no user have a network of their own")
    loopback(True)
"""

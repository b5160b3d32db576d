"""Ports of this machine."""

from __future__ import annotations

import socket


def get_socket_with_port() -> socket.socket:
    """A socket that listens on a port that was free: who takes the port keeps it until it closes the socket."""
    taken = socket.create_server(("", 0))
    return taken


def get_free_port() -> int:
    """A port that was free a moment ago."""
    with get_socket_with_port() as taken:
        return int(taken.getsockname()[1])

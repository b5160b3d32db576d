"""A running program says what its memory is, each time it is asked: ``mindtorch memory watch``.

Note [Who may watch]
Nobody, unless the program or its environment asks for it. The server listens on this machine's own address only; who
asks needs a token, which stands in a file that only the program's user can read; and requests that name another host
are refused, since a page of somebody else that makes a browser ask would name its own. It only tells numbers.
"""

from __future__ import annotations

import functools
import hmac
import json
import os
import secrets
import stat
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

LOOPBACK = "127.0.0.1"
Stats = Callable[[], list[dict[str, Any]]]  # a device each

_PARTS = Path(__file__).parents[1] / "memory_tools" / "page"


@functools.cache
def _page() -> str:
    """In one piece, so that the server has no files to give away."""
    parts = {
        "style": ("uplot/uPlot.min.css", "page.css"),
        "uplot": ("uplot/uPlot.iife.min.js",),
        "scripts": ("watch.js",),
    }
    page = (_PARTS / "watch.html").read_text(encoding="utf-8")
    for name, files in parts.items():
        text = "\n".join((_PARTS / file).read_text(encoding="utf-8") for file in files)
        page = page.replace(f"<!--{name}-->", text)
    return page


def folder() -> Path:
    """Where programs of this user say how they are reached."""
    path = Path(tempfile.gettempdir()) / f"mindtorch_memory_{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(f"{path} is not a folder of this user alone: remove it, or set TMPDIR")
    return path


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        host = self.headers.get("Host", "")
        if host not in (f"{LOOPBACK}:{self.server.server_port}", f"localhost:{self.server.server_port}"):
            return self._answer(403, "text/plain", f"this server is not {host!r}")
        given = parse_qs(asked.query).get("token", [""])[0]
        given = self.headers.get("Authorization", "").removeprefix("Bearer ") or given
        if not hmac.compare_digest(given.encode(), self.server.token.encode()):
            return self._answer(403, "text/plain", "the token is wrong: it is in the file of the process")
        if asked.path == "/stats":
            told = {"pid": os.getpid(), "time": time.time(), "devices": self.server.stats()}
            return self._answer(200, "application/json", json.dumps(told))
        if asked.path == "/":
            return self._answer(200, "text/html; charset=utf-8", _page())
        return self._answer(404, "text/plain", "there are / and /stats")

    def _answer(self, code: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header(
            "Content-Security-Policy",
            "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'",
        )
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The program's output is the program's."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, stats: Stats, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.stats, self.token = stats, secrets.token_urlsafe(24)


class Watched:
    """This process can be watched until :meth:`close`. Note [Who may watch]."""

    def __init__(self, stats: Stats, port: int = 0) -> None:
        self._server = _Server(stats, port)
        self.token = self._server.token
        self.address = f"http://{LOOPBACK}:{self._server.server_port}"
        self.path = folder() / f"{os.getpid()}.json"
        self.path.unlink(missing_ok=True)
        with open(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump({"pid": os.getpid(), "address": self.address, "token": self.token}, file)
        threading.Thread(target=self._server.serve_forever, name="memory watch", daemon=True).start()

    @property
    def page(self) -> str:
        """For a browser."""
        return f"{self.address}/?token={self.token}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

"""Files to write and read: paths and file objects alike, and writing that never leaves half a file."""

from __future__ import annotations

import contextlib
import io
import os
import secrets
import stat
from collections.abc import Iterator
from typing import Any


def is_path(target: Any) -> bool:
    return isinstance(target, (str, os.PathLike))


def archive_name(target: Any) -> str:
    """The folder in the archive that holds everything: named after the file."""
    if not is_path(target):
        return "archive"
    name = os.fsdecode(os.path.basename(os.fspath(target)))
    stem = name.rpartition(".")[0] if "." in name else name
    if not stem:
        raise RuntimeError(f"invalid file name: {os.fspath(target)}")
    return stem if stem.isascii() else "archive"


@contextlib.contextmanager
def writing(target: Any) -> Iterator[Any]:
    """A binary file to write. A path gets the whole content or, when something goes wrong, keeps what it had."""
    if not is_path(target):
        if not hasattr(target, "write"):
            raise AttributeError(
                "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
            )
        yield target
        if hasattr(target, "flush"):
            target.flush()
        return
    path = os.path.realpath(os.fspath(target))
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise RuntimeError(f"Parent directory {os.path.dirname(os.fspath(target))} does not exist.")
    mode = None
    with contextlib.suppress(FileNotFoundError):
        there = os.stat(path)
        if not stat.S_ISREG(there.st_mode):  # a pipe or a device cannot be replaced
            with open(path, "wb") as file:
                yield file
            return
        mode = stat.S_IMODE(there.st_mode)
    temporary = os.path.join(folder, f".{os.path.basename(path)[:200]}.{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def read_into(file: Any, target: memoryview) -> int:
    """Reads straight into memory where the file object can; the number of bytes, 0 at the end."""
    if hasattr(file, "readinto"):
        return int(file.readinto(target))
    data = file.read(len(target))
    target[: len(data)] = data
    return len(data)


@contextlib.contextmanager
def reading(source: Any) -> Iterator[Any]:
    """A binary file to read in any order."""
    if is_path(source):
        with open(source, "rb") as file:
            yield file
        return
    try:
        source.seek(source.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" not in str(error) and "tell" not in str(error):
            raise
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a "
            "buffer like io.BytesIO and try to load from it instead."
        ) from None
    yield source

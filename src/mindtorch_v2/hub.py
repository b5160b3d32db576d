"""``torch.hub``: files and weights from the network, kept in a folder."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
import tempfile
import zipfile
from typing import Any, NoReturn, Self
from urllib.parse import urlparse
from urllib.request import Request, urlopen

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

try:
    from tqdm import tqdm as tqdm
except ImportError:  # it is not required

    class tqdm:  # type: ignore[no-redef]
        """A line of progress, where the package of that name is not installed."""

        def __init__(
            self, total: int | None = None, disable: bool = False, unit: Any = None, *args: Any, **kwargs: Any
        ) -> None:
            self.total, self.disable, self.n = total, disable or not sys.stderr.isatty(), 0

        def update(self, n: int = 1) -> None:
            self.n += n
            if not self.disable:
                sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n} bytes")
                sys.stderr.flush()

        def close(self) -> None:
            if not self.disable:
                sys.stderr.write("\n")
            self.disable = True

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *exception: object) -> None:
            self.close()


_folder: str | None = None
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
_CHUNK = 1 << 17


def get_dir() -> str:
    """Where downloads are kept: set_dir's folder, ``$TORCH_HOME/hub``, or ``~/.cache/torch/hub``."""
    return os.path.join(_get_torch_home(), "hub") if _folder is None else _folder


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of :func:`get_dir`."""
    global _folder
    _folder = os.path.expanduser(d)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Downloads a file; it appears under its name only when it is complete and its SHA-256 begins as wanted."""
    destination = os.path.expanduser(dst)
    digest = hashlib.sha256()
    request = Request(url, headers={"User-Agent": "torch.hub"})
    part = tempfile.NamedTemporaryFile(
        dir=os.path.dirname(destination) or ".", prefix=os.path.basename(destination) + ".", delete=False
    )
    try:
        with part, urlopen(request) as answer:
            total = int(answer.headers.get("Content-Length") or 0)
            with tqdm(total=total or None, disable=not progress, unit="B", unit_scale=True) as shown:
                while chunk := answer.read(_CHUNK):
                    part.write(chunk)
                    digest.update(chunk)
                    shown.update(len(chunk))
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()[: len(hash_prefix)]}")'
            )
        os.replace(part.name, destination)
    finally:
        if os.path.exists(part.name):
            os.remove(part.name)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> Any:
    """Loads what :func:`torch.load` finds at an address, downloading it once."""
    import mindtorch_v2 as torch

    if os.getenv("TORCH_MODEL_ZOO"):
        raise RuntimeError("TORCH_MODEL_ZOO is not read any more; set TORCH_HOME")
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    try:
        os.makedirs(folder)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stderr.write(f'Downloading: "{url}" to {path}\n')
        match = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, match[1] if match else None, progress)
    if zipfile.is_zipfile(path) and _holds_one_file(path):
        with zipfile.ZipFile(path) as archive:
            member = archive.infolist()[0].filename
            archive.extract(member, folder)
        path = os.path.join(folder, member)
    return torch.load(path, map_location=map_location, weights_only=weights_only)


def _holds_one_file(path: str) -> bool:
    """A zipped checkpoint, as opposed to the zip format of torch.save."""
    with zipfile.ZipFile(path) as archive:
        return len(archive.infolist()) == 1


def _no_repositories(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.hub.{name}: code is not fetched from repositories; install the package that has the model, and load "
        "weights with torch.hub.load_state_dict_from_url"
    )


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError: code is not fetched from the network."""
    _no_repositories("load")


def list(github: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError: code is not fetched from the network."""
    _no_repositories("list")


def help(github: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises NotImplementedError: code is not fetched from the network."""
    _no_repositories("help")

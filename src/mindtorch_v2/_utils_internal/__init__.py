"""torch._utils_internal: where files lie."""

from __future__ import annotations

import os
import tempfile

from .._absent import names_of


def get_file_path(*path_components: str) -> str:
    """A file of the package, by the parts of its path."""
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *path_components)


def get_file_path_2(*path_components: str) -> str:
    """The parts of a path, joined."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, or a place in the folder for temporary files if it cannot be written."""
    if os.access(path, os.W_OK):
        return path
    return tempfile.mkdtemp(suffix=os.path.basename(path))


__getattr__ = names_of(__name__)

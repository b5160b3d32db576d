"""Whose API this is: the version of PyTorch that programs may expect.

It imports nothing: what importlib.metadata says under ``mindtorch run`` is read from here without the package.
"""

__version__ = "2.13.0"
debug = False
git_version = "Unknown"
cuda = None
hip = None
rocm = None
xpu = None

"""``torch._vendor.packaging.version``: that of the package ``packaging``."""

from packaging.version import InvalidVersion as InvalidVersion
from packaging.version import Version as Version
from packaging.version import parse as parse

"""The finder that loads the package as ``torch``. See Note [Under the name torch].

Every Python process under ``mindtorch run`` imports this, so it loads nothing but what imports need anyway.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from types import CodeType, ModuleType
from typing import Any

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Packages that vendors of devices ship beside PyTorch. They lie in ours: torch_<device>, which has <device> in it.
VENDORS = sorted(name for name in os.listdir(PACKAGE) if name.startswith("torch_") and "." not in name)
# Second names of modules, and what they are names of.
_ALIASES = {"mindtorch_v2": "torch", "functorch": "torch.functorch"}  # PyTorch ships functorch, too
for _vendor in VENDORS:
    _device = _vendor.removeprefix("torch_")
    _ALIASES |= {f"{_vendor}.{_device}": f"torch.{_device}", _vendor: f"torch.{_vendor}"}


class _Alias:
    """Loads a module by giving out the one that has another name."""

    def __init__(self, real: importlib.machinery.ModuleSpec) -> None:
        self._real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return importlib.import_module(self._real.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._real  # the import system has just put the alias's there

    def get_code(self, name: str) -> CodeType:
        """For ``python -m``."""
        loader: Any = self._real.loader
        code: CodeType = loader.get_code(self._real.name)
        return code


class Finder:
    """Answers for ``torch`` and its aliases; submodules of ``torch`` are found the usual way, by its path."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name == "torch":
            return importlib.util.spec_from_file_location(
                name, os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE]
            )
        alias = next((a for a in _ALIASES if name == a or name.startswith(a + ".")), None)
        if alias is None:
            return None
        real = importlib.util.find_spec(_ALIASES[alias] + name[len(alias) :])
        if real is None:
            return None
        loader: Any = _Alias(real)
        spec = importlib.machinery.ModuleSpec(name, loader, origin=real.origin)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """What importlib.metadata says of ``torch`` and vendors' packages: PyTorch's version, whose API this is."""
        if context is not None and "path" in vars(context):
            return ()  # someone looks into folders, where none of them is
        import mindtorch_distributions  # type: ignore[import-not-found] # beside this file, on the path

        wanted = getattr(context, "name", None)
        found: Iterable[Any] = mindtorch_distributions.named(PACKAGE, ["torch", *VENDORS], wanted)
        return found


def install() -> None:
    """Puts the finder in front, if this interpreter can load the package."""
    suffixes = importlib.machinery.EXTENSION_SUFFIXES
    if any(os.path.exists(os.path.join(PACKAGE, "_C" + suffix)) for suffix in suffixes):
        sys.meta_path.insert(0, Finder())

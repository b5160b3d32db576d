"""The class of compiled modules."""

from __future__ import annotations

from typing import Any

from .module import Module


class OptimizedModule(Module):
    """What ``torch.compile`` makes of a module: it stands in front of it, and everything but calls and names is its.

    There is no compiler, so a call is one of the module itself. Names of parameters begin with ``_orig_mod.``, as in
    the checkpoints that programs write of compiled modules.
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._modules["_orig_mod"] = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the module, with its hooks."""
        return self._modules["_orig_mod"](*args, **kwargs)  # type: ignore[misc] # never None

    # Module.__init__ sets `training`, and train() sets it everywhere: there is one, the module's.
    @property
    def training(self) -> bool:
        """The module's mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        if "_modules" in self.__dict__ and "_orig_mod" in self._modules:
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules")
        if not modules:  # a copy that is being made
            raise AttributeError(name)
        return modules["_orig_mod"] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        # What Module keeps for itself stays here, and so does what was set before there was a module.
        if name in type(self).__dict__ or name in self.__dict__ or not self.__dict__.get("_modules"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        if not hasattr(self._orig_mod, "__len__"):
            raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")
        return len(self._orig_mod)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


Module._behind_compiled = OptimizedModule  # type: ignore[attr-defined] # what torch.compile asks a module for
OptimizedModule._behind_compiled = lambda self: self  # type: ignore[attr-defined]

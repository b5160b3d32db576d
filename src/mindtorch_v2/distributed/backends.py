"""Which library serves which kind of device, and those that programs register."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar

from .._devices import registry
from .._devices.accelerator import Accelerator
from .engine import Engine, Place
from .engines import fake, gloo, mpi
from .engines.foreign import ForeignEngine, backend_options

_makers: dict[str, Callable[[Place], Engine]] = {
    "gloo": gloo.GlooEngine,
    "mpi": mpi.MpiEngine,
    "fake": fake.FakeEngine,
}
_available: dict[str, Callable[[], bool]] = {
    "gloo": gloo.is_available,
    "mpi": mpi.is_available,
    "fake": lambda: True,
}


class Backend(str):
    """The name of a library that processes talk through."""

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list: ClassVar[list[str]] = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map: ClassVar[dict[str, str]] = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL}
    backend_capability: ClassVar[dict[str, list[str]]] = {
        GLOO: ["cpu"], NCCL: ["cuda"], XCCL: ["xpu"], UCC: ["cpu", "cuda"], MPI: ["cpu"],
        FAKE: ["cpu", "meta"],
    }  # fmt: skip

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())

    @classmethod
    def register_backend(
        cls,
        name: str,
        func: Callable[..., Any],
        extended_api: bool = False,
        devices: str | list[str] | None = None,
        _supports_rank: bool = True,
    ) -> None:
        """Makes ``name`` a backend. ``func`` gets PyTorch's arguments (store, rank, size and time limit; with
        ``extended_api`` an object with these and options) and gives an object with PyTorch's methods; a subclass of
        ``Engine`` gets a ``Place``."""
        known = name.lower()
        if known in _makers:
            raise AssertionError(f"{name.upper()} c10d backend creator function already exist")
        kinds = [devices] if isinstance(devices, str) else list(devices or ["cpu", *registry.accelerators])
        own = isinstance(func, type) and issubclass(func, Engine)
        _makers[known] = func if own else lambda place: _foreign(known, func, extended_api, place)
        _available[known] = lambda: True
        cls._announce(known, kinds)

    @classmethod
    def _announce(cls, name: str, kinds: list[str]) -> None:
        setattr(cls, name.upper(), name)
        if name not in cls.backend_list:
            cls.backend_list.append(name)
        cls.backend_capability[name] = kinds
        for kind in kinds:
            if kind not in ("cpu", "cuda"):
                cls.default_device_backend_map[kind] = name


def _add_libraries_of(found: Accelerator) -> None:
    """Those that a kind of device brings along, which are loaded when they are asked for."""
    for name, path in found.collectives.items():
        if name in _makers:
            continue
        _makers[name] = lambda place, path=path: import_module(f"..{path}", __package__).make_engine(place)  # type: ignore[misc]
        _available[name] = lambda path=path: import_module(f"..{path}", __package__).is_available()  # type: ignore[misc]
        Backend._announce(name, [found.type])


registry.for_each_accelerator(_add_libraries_of)


def _foreign(name: str, func: Callable[..., Any], extended: bool, place: Place) -> Engine:
    if extended:
        made = func(backend_options(place), None)
    else:
        made = func(place.store, place.rank, place.size, place.timeout)
    return made if isinstance(made, Engine) else ForeignEngine(place, name, made)


def is_known(name: str) -> bool:
    """Whether there is a library of this name and it is installed."""
    return name in _available and _available[name]()


class BackendConfig:
    """The library of each kind of device: what ``gloo`` or ``cpu:gloo,cuda:nccl`` means."""

    def __init__(self, backend: str | None) -> None:
        self.device_backend_map = chosen(backend)

    def __repr__(self) -> str:
        return ",".join(f"{kind}:{name}" for kind, name in self.device_backend_map.items())

    def get_device_backend_map(self) -> dict[str, str]:
        """The name of a library for each kind."""
        return self.device_backend_map


def chosen(backend: str | None) -> dict[str, str]:
    """The library of each kind of device; without a name, what each kind has by default and is installed."""
    if backend is None or backend == Backend.UNDEFINED:
        found = {kind: name for kind, name in Backend.default_device_backend_map.items() if is_known(name)}
        if not found:
            raise ValueError("no backend is installed: pip install 'mindtorch_v2[distributed]'")
        return found
    if ":" in backend:
        pairs = [part.split(":") for part in backend.lower().split(",")]
        if any(len(pair) != 2 for pair in pairs) or len({pair[0] for pair in pairs}) != len(pairs):
            raise ValueError(
                f"The custom backend string argument is invalid: {backend}; expected a library for each kind of "
                "device, like cpu:gloo,cuda:nccl"
            )
        return {kind: name for kind, name in pairs}
    name = backend.lower()
    if name == Backend.FAKE:
        return dict.fromkeys(["cpu", "meta", *registry.accelerators], name)
    return dict.fromkeys(Backend.backend_capability.get(name, ["cpu"]), name)


def engine_class(name: str) -> type[Engine]:
    """The class that PyTorch calls ProcessGroupGloo, and so on; an AttributeError for a library that is not there."""
    paths = {
        library: path for each in registry.accelerators.values() for library, path in each.collectives.items()
    }
    if (own := _makers.get(name)) is not None and isinstance(own, type) and issubclass(own, Engine):
        return own
    if name not in paths or not is_known(name):
        raise AttributeError(f"torch.distributed has no ProcessGroup of {name}: that library is not there")
    found: type[Engine] = import_module(f"..{paths[name]}", __package__).ENGINE
    return found


def engine(name: str, place: Place) -> Engine:
    """An engine of a group."""
    if name not in _makers:
        known = ", ".join(sorted(_makers))
        raise AssertionError(
            f"Unknown backend type {name}; known are {known} and what Backend.register_backend adds"
        )
    return _makers[name](place)

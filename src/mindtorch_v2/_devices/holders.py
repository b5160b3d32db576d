"""Who holds a tensor: the way from a name of the program to it.

Note [Looking for holders]
One walk from the names of the program (locals of running functions, globals of modules, its own before libraries')
along everything that Python's collector knows, with two kinds of edges that it does not know: a tensor's history,
gradient and hooks, and what the nodes of a history saved. The first way that reaches memory is the shortest. What no
name reaches and is alive all the same is held by a reference cycle that the collector has not come to.
"""

from __future__ import annotations

import functools
import gc
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _C
from . import memory as _memory

_MOST_OBJECTS = 5_000_000  # a walk over more is given up: it would take minutes
_LEAVES = (str, bytes, bytearray, int, float, complex, bool, type(None), types.CodeType, range, slice)
_Edge = tuple[str, Any]  # how the child is reached, and the child


def _place(code: types.CodeType, line: int) -> str:
    return f"{code.co_filename}:{line}"


def _shown_key(key: Any) -> str:
    text = repr(key) if type(key) in (str, int, float, bool, bytes) else type(key).__name__
    return text if len(text) <= 40 else text[:37] + "…"


def _function_edges(function: types.FunctionType) -> Iterator[_Edge]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield f" → its closure's '{name}'", cell.cell_contents
        except ValueError:  # the variable has no value yet
            continue
    for number, value in enumerate(function.__defaults__ or ()):
        yield f" → its default {number}", value
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f" → its default '{name}'", value
    for name, value in function.__dict__.items():
        yield f".{name}", value


def _frame_edges(frame: types.FrameType) -> Iterator[_Edge]:
    where = f"{frame.f_code.co_name} ({_place(frame.f_code, frame.f_lineno)})"
    for name, value in list(frame.f_locals.items()):
        yield f" → local '{name}' of {where}", value


def _dict_edges(found: dict[Any, Any]) -> Iterator[_Edge]:
    for key, value in list(dict.items(found)):
        yield f"[{_shown_key(key)}]", value
        if not _is(key, _LEAVES):
            yield " → a key of it", key


def _tensor_edges(tensor: Any) -> Iterator[_Edge]:
    if tensor.grad_fn is not None:
        yield " → its graph: ", tensor.grad_fn
    if tensor.is_leaf and tensor.requires_grad and tensor.grad is not None:
        yield ".grad", tensor.grad
    if hooks := getattr(tensor, "_backward_hooks", None):
        yield " → its hooks", hooks
    yield from _attributes(tensor)


def _node_edges(node: Any) -> Iterator[_Edge]:
    name = type(node).__name__
    for following, _ in node.next_functions:
        if following is not None:
            yield f"{name} → ", following
    for attribute in dir(node):
        if attribute.startswith("_saved_"):
            try:
                saved = getattr(node, attribute)
            except RuntimeError:  # backward has given it back
                continue
            for value in saved if isinstance(saved, (tuple, list)) else (saved,):
                if isinstance(value, _C.Tensor):
                    yield f"{name} saved '{attribute.removeprefix('_saved_')}'", value
    for edge, value in _attributes(node):
        yield f"{name}{edge}", value
    if isinstance(getattr(node, "variable", None), _C.Tensor):
        yield f"{name}.variable", node.variable


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """isinstance, without asking the object: one that stands for another may answer with code of its own."""
    return issubclass(type(value), kinds)


def _edges(parent: Any) -> Iterable[_Edge]:
    """Named where a name is known. Nothing of the program's own is called."""
    if _is(parent, _C.Tensor):
        return _tensor_edges(parent)
    if _is(parent, _C.Node):
        return _node_edges(parent)
    if _is(parent, dict):
        return _dict_edges(parent)
    for kind in (list, tuple, deque):
        if _is(parent, kind):
            return [(f"[{index}]", value) for index, value in enumerate(list(kind.__iter__(parent)))]
    if _is(parent, types.FunctionType):
        return _function_edges(parent)
    if _is(parent, types.FrameType):
        return _frame_edges(parent)
    if _is(parent, BaseException):
        return [(".__traceback__", parent.__traceback__), (".__context__", parent.__context__),
                (".__cause__", parent.__cause__), (".args", parent.args), *_attributes(parent)]  # fmt: skip
    if _is(parent, types.TracebackType):
        return [("", parent.tb_frame), ("", parent.tb_next)]
    if _is(parent, types.GeneratorType):
        return [(" → the generator's frame", parent.gi_frame)]
    if _is(parent, types.CoroutineType):
        return [(" → the coroutine's frame", parent.cr_frame)]
    if _is(parent, types.AsyncGeneratorType):
        return [(" → the generator's frame", parent.ag_frame)]
    if _is(parent, types.MethodType):
        return [(" → the method's object", parent.__self__), ("", parent.__func__)]
    if _is(parent, functools.partial):
        return [(" → its arguments", parent.args), (" → its arguments", parent.keywords), ("", parent.func)]
    if type(parent) is functools._lru_cache_wrapper:
        name = getattr(parent, "__name__", "a function")
        return [(f" → the cache of {name}", value) for value in gc.get_referents(parent)]
    if _is(parent, type):
        return [
            (f".{name}", value) for name, value in list(type.__dict__["__dict__"].__get__(parent).items())
        ]
    if (numpy := sys.modules.get("numpy")) is not None and type(parent) is numpy.ndarray:
        # The collector does not know arrays of objects.
        objects = parent.ravel().tolist() if parent.dtype.kind == "O" else []
        return [(f" → element {index}", value) for index, value in enumerate(objects)]
    named = _attributes(parent) + _slots(parent)
    known = {id(value) for _, value in named}
    kind = type(parent)
    others = [value for value in gc.get_referents(parent) if id(value) not in known]
    return named + [
        (" → its class" if value is kind else f" → in the {kind.__name__}", value) for value in others
    ]


def _own_dict(parent: Any) -> Any:
    try:
        return object.__getattribute__(parent, "__dict__")
    except AttributeError:  # it has slots, or is native
        return None


def _attributes(parent: Any) -> list[_Edge]:
    found = _own_dict(parent)
    return [(f".{name}", value) for name, value in list(dict.items(found))] if _is(found, dict) else []


def _slots(parent: Any) -> list[_Edge]:
    found: list[_Edge] = []
    for kind in type(parent).__mro__:
        for name, member in list(vars(kind).items()):
            if type(member) is types.MemberDescriptorType:
                try:
                    found.append((f".{name}", member.__get__(parent)))
                except AttributeError:  # nothing was put there
                    continue
    return found


def _is_own(file: str | None) -> bool:
    """A file of the program, not of a library."""
    return (
        file is not None
        and "site-packages" not in file
        and not file.startswith((_memory.PACKAGE, sys.base_prefix))
    )


def _roots(skip: set[int]) -> Iterator[_Edge]:
    """The program's names first, then those of libraries."""
    for frame in sys._current_frames().values():
        now: types.FrameType | None = frame
        while now is not None:
            if id(now) not in skip and now.f_locals is not now.f_globals and _is_own(now.f_code.co_filename):
                where = f"{now.f_code.co_name} ({_place(now.f_code, now.f_lineno)})"
                for name, value in list(now.f_locals.items()):
                    yield f"local '{name}' of {where}", value
            now = now.f_back
    modules = [
        (name, found) for name, found in list(sys.modules.items()) if isinstance(found, types.ModuleType)
    ]
    for own in (True, False):
        for name, module in modules:
            if (name == "__main__" or _is_own(getattr(module, "__file__", None))) is own:
                for key, value in list(vars(module).items()):
                    if not _is(value, types.ModuleType):
                        yield f"global '{key}' of {name}", value


class Holders:
    """The ways to tensors, found by one walk. ``wanted``: the addresses of memory that is looked for; ``skip``: objects
    that are the searcher's own."""

    def __init__(self, device_type: str, wanted: Iterable[int], skip: Iterable[Any] = ()) -> None:
        self._type, self._wanted = device_type, set(wanted)
        self.ways: dict[int, str] = {}  # by address
        self._kept: list[Any] = []  # what the walk made, so that ids stay names
        self._seen: dict[int, tuple[int, str]] = {}  # id of an object: id of its parent, and the edge
        mine = {id(self), id(self._kept), id(self._seen), id(self._wanted), id(self.ways), *map(id, skip)}
        frames = set()
        frame: types.FrameType | None = sys._getframe()
        while frame is not None and not _is_own(frame.f_code.co_filename):
            frames.add(id(frame))
            frame = frame.f_back
        self._ignored = mine | frames
        self._walk(_roots(frames))
        if self._wanted - self.ways.keys():
            self._cycles()

    def _name(self, identity: int) -> str:
        parts: list[str] = []
        while identity:
            identity, edge = self._seen[identity]
            parts.append(edge)
        return _shortened("".join(reversed(parts)))

    def _walk(self, roots: Iterable[_Edge]) -> None:
        queue: deque[Any] = deque()

        def visit(parent: int, edge: str, child: Any) -> None:
            if _is(child, _LEAVES) or id(child) in self._seen or id(child) in self._ignored:
                return
            if _is(child, types.ModuleType):
                return
            self._seen[id(child)] = (parent, edge)
            if _is(child, (_C.Tensor, _C.Node)):
                self._kept.append(child)
            if _is(child, _C.Tensor):
                self._reached(child)
            queue.append(child)

        for edge, child in roots:
            visit(0, edge, child)
            while queue and len(self._seen) < _MOST_OBJECTS:
                parent = queue.popleft()
                identity = id(parent)
                self._kept.append(parent)
                for name, value in _edges(parent):
                    visit(identity, name, value)
            if not self._wanted - self.ways.keys():
                return

    def _reached(self, tensor: Any) -> None:
        for address in _addresses(tensor, self._type):
            if address in self._wanted and address not in self.ways:
                self.ways[address] = self._name(id(tensor))

    def _cycles(self) -> None:
        """What is alive and was not reached."""
        for found in gc.get_objects():
            if id(found) in self._seen or id(found) in self._ignored or _is(found, types.FrameType):
                continue
            for name, value in _edges(found):
                if not _is(value, _C.Tensor) or id(value) in self._seen:
                    continue
                for address in _addresses(value, self._type):
                    if address in self._wanted and address not in self.ways:
                        self.ways[address] = (
                            f"a reference cycle that Python's collector has not come to: {_cycle_name(found, name)}"
                        )


def _cycle_name(found: Any, edge: str) -> str:
    if _is(found, dict):  # of an object, or a plain one
        for owner in gc.get_referrers(found):
            if _own_dict(owner) is found:
                key = edge[1:-1].strip("'\"")
                return f"{type(owner).__module__}.{type(owner).__qualname__}.{key}"
    return f"{type(found).__module__}.{type(found).__qualname__}{edge}"


def _addresses(tensor: Any, device_type: str) -> list[int]:
    if tensor.device.type != device_type:
        return []
    try:
        return [tensor.untyped_storage().data_ptr()]
    except (RuntimeError, NotImplementedError):  # without memory of its own: sparse, a wrapper, a batch
        return []


def _shortened(way: str) -> str:
    """Long histories say how long they are, not all of their nodes."""
    parts = way.split(" → ")
    if len(parts) <= 8:
        return way
    return " → ".join([*parts[:3], f"… {len(parts) - 6} more …", *parts[-3:]])

"""Unpickling for ``weights_only=True``: a machine that knows tensors and plain containers, and calls nothing else.

Note [What a restricted pickle may do]
Each opcode is a method here; one that is not here is refused. A global is looked up in two tables, the fixed one
below and what the user declared safe, and never imported. Only functions and classes of these tables are called.
Builtin types that can be asked for any amount of memory (bytearray) take data only. All else that goes wrong in a
damaged pickle (an empty stack, a wrong type, a missing memo) is an UnpicklingError too.
"""

from __future__ import annotations

import _codecs
import _compat_pickle
import pickle
import sys
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import cache
from pickle import UnpicklingError
from typing import Any

import mindtorch_v2 as torch

from .. import _tensor, _utils
from .._devices import registry
from .._storage_typed import STORAGE_NAMES
from .._types.dtypes import LEGACY_NAMES, dtype_of
from .._types.formats import _get_layout
from .names import StorageType, device_modules, read_exactly, storage_type, unpack_from

_BLOCKED_MODULES = ("sys", "os", "posix", "nt")

# By the name in the file.
user_globals: set[Any] = set()


def user_allowed() -> dict[str, Any]:
    """What add_safe_globals() declared safe, by the name that a file has for it."""
    allowed: dict[str, Any] = {}
    for item in user_globals:
        if isinstance(item, tuple):
            if len(item) != 2:
                raise ValueError(
                    "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                    f"{len(item)}"
                )
            if type(item[1]) is not str:
                raise TypeError(
                    f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
                )
            allowed[item[1]] = item[0]
            continue
        module, name = item.__module__, item.__qualname__
        allowed[f"{module}.{name}"] = item
        if module.split(".", 1)[0] == "mindtorch_v2":
            allowed[f"torch{module.removeprefix('mindtorch_v2')}.{name}"] = item
    return allowed


def _bytearray(*args: Any) -> bytearray:
    if args and not isinstance(args[0], (bytes, bytearray, str)):
        raise UnpicklingError(f"bytearray takes bytes here, got {type(args[0])}")
    return bytearray(*args)


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1", "ascii", "utf-8"):
        raise UnpicklingError(f"bytes are encoded as latin1 in a pickle, got {encoding!r}")
    return _codecs.encode(text, encoding)


_REBUILDERS = (
    "_rebuild_parameter",
    "_rebuild_parameter_with_state",
    "_rebuild_tensor",
    "_rebuild_tensor_v2",
    "_rebuild_tensor_v3",
    "_rebuild_meta_tensor_no_storage",
    "_rebuild_device_tensor_from_numpy",
    "_rebuild_device_tensor_from_cpu_tensor",
    "_rebuild_sparse_tensor",
    "_rebuild_nested_tensor",
    "_rebuild_wrapper_subclass",
)


@cache
def allowed_by_default() -> dict[str, Any]:
    allowed: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.serialization._get_layout": _get_layout,
        "torch.Size": torch.Size,
        "torch.Tensor": torch.Tensor,
        "torch.device": torch.device,
        "_codecs.encode": _encode,
        "builtins.bytearray": _bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch.storage.UntypedStorage": storage_type("UntypedStorage"),
        "torch.storage.TypedStorage": torch.TypedStorage,
        "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
    }
    for dtype, legacy in LEGACY_NAMES.items():
        allowed[f"torch.{dtype}"] = dtype_of(dtype)
        allowed[f"torch.{legacy}Tensor"] = torch.Tensor
    for name in STORAGE_NAMES.values():
        for place in ("torch", *device_modules()):
            allowed[f"{place}.{name}"] = storage_type(name)
    for name in _REBUILDERS:
        allowed[f"torch._utils.{name}"] = getattr(_utils, name)
    for found in registry.accelerators.values():
        allowed.update(found.file_functions)
    return allowed


registry.for_each_accelerator(lambda found: allowed_by_default.cache_clear())

# What PyTorch allows as well, and we do not have: by name, and what to do about it.
_MISSING = {
    "torch._utils._rebuild_qtensor": "quantized tensors; save tensor.dequantize()",
} | {
    f"torch.{name}": "this dtype; save tensor.float()"
    for name in (
        "float4_e2m1fn_x2 qint8 quint8 qint32 quint4x2 "
        "quint2x4 QInt8Storage QUInt8Storage QInt32Storage QUInt4x2Storage QUInt2x4Storage"
    ).split()
}


# What nested tensors in the jagged layout need, once the program has imported torch._dynamo, as PyTorch wants it.
_OF_NESTED = (
    "torch.nested._internal.nested_tensor.NestedTensor",
    "torch.nested._internal.nested_tensor._rebuild_njt",
    "torch._dynamo.decorators._DimRange",
)
of_nested: dict[str, Any] = {}  # torch.nested puts them here


def _of_nested(full_name: str) -> Any:
    if f"{torch.__name__}._dynamo" not in sys.modules:
        raise UnpicklingError(
            "``torch.nested`` and ``torch._dynamo`` must be imported to load nested jagged tensors (NJTs)"
        )
    package: Any = sys.modules[torch.__name__]
    assert package.nested  # it is loaded when it is asked for
    return of_nested[full_name]


def _global_name(readline: Callable[[], bytes]) -> tuple[str, str]:
    """The module and name after a GLOBAL opcode, with Python 2's names translated."""
    lines = []
    for _ in range(2):
        line = readline()
        if not line.endswith(b"\n"):
            raise UnpicklingError("pickle data was truncated")
        lines.append(line[:-1].decode("utf-8"))
    module, name = lines
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name


def _unsupported(full_name: str) -> UnpicklingError:
    shown = full_name.removeprefix("builtins.")
    return UnpicklingError(
        f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
        f"`torch.serialization.add_safe_globals([{shown}])` or the "
        f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global if you trust "
        "this class/function."
    )


# What a damaged pickle can make the machine or a rebuilding function raise.
_DAMAGE = (
    IndexError, KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError, RecursionError,
    NotImplementedError,
)  # fmt: skip


class Unpickler:
    """One pickle from a file. ``persistent_load`` is set by whoever knows the storages.

    ``allowed``: the names that mean something, instead of those of tensors; such a pickle may have any protocol.
    """

    def __init__(self, file: Any, *, encoding: str = "ASCII", allowed: dict[str, Any] | None = None) -> None:
        self._read = file.read
        self._readline = file.readline
        self._encoding = encoding
        self._memo: dict[int, Any] = {}
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []
        self._allowed = allowed_by_default() if allowed is None else allowed
        self._steps = _STEPS if allowed is None else _STEPS | _STEPS_OF_LATER_PROTOCOLS
        self._by_user = user_allowed()
        self._callable = {id(f) for table in (self._allowed, self._by_user) for f in table.values()}

    def persistent_load(self, saved: Any) -> Any:
        raise UnpicklingError("unsupported persistent id encountered")

    def load(self) -> Any:
        read, steps = self._read, self._steps
        while True:
            key = read(1)
            if not key:
                raise EOFError("Ran out of input")
            if key == pickle.STOP:
                if not self._stack:
                    raise UnpicklingError("the pickle ends without a value")
                return self._stack.pop()
            step = steps.get(key)
            if step is None:
                raise UnpicklingError(f"Unsupported operand {key[0]}")
            try:
                step(self)
            except ArchiveError as error:
                raise error.reason from None
            except _DAMAGE as error:
                raise UnpicklingError(
                    f"{type(error).__name__} at opcode {key!r}: {error}; the file is corrupted or hostile"
                ) from error

    # --- what calls

    def _global(self) -> None:
        self._find(*_global_name(self._readline))

    def _stack_global(self) -> None:
        module, name = self._last(2)
        if type(module) is not str or type(name) is not str:
            raise UnpicklingError(f"a global is named by two texts, got {type(module)} and {type(name)}")
        self._find(module, name)

    def _find(self, module: str, name: str) -> None:
        full_name = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {full_name} whose module {module} is blocked."
            )
        if full_name in self._allowed:
            self._stack.append(self._allowed[full_name])
        elif full_name in self._by_user:
            self._stack.append(self._by_user[full_name])
        elif full_name in _OF_NESTED:
            found = _of_nested(full_name)
            self._callable.add(id(found))
            self._stack.append(found)
        elif full_name in _MISSING:
            reason = f"the file has {full_name}: mindtorch_v2 does not have {_MISSING[full_name]} instead"
            raise ArchiveError(NotImplementedError(reason))
        else:
            raise _unsupported(full_name)

    def _new_object(self) -> None:
        args, kind = self._stack.pop(), self._stack.pop()
        if kind is torch.nn.Parameter:
            self._stack.append(torch.nn.Parameter(*args))
        elif isinstance(kind, type) and id(kind) in self._callable:
            if kind is torch.Tensor and args:
                raise UnpicklingError("a Tensor is rebuilt from a storage, not made with arguments")
            self._stack.append(kind.__new__(kind, *args))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {kind}"
            )

    def _reduce(self) -> None:
        args, function = self._stack.pop(), self._stack[-1]
        if id(function) not in self._callable or isinstance(function, StorageType):
            message = f"Trying to call reduce for unrecognized function {function}"
            owner = getattr(function, "__self__", None)
            raise UnpicklingError(message if owner is None else f"{message} which belongs to {owner}")
        if type(args) is not tuple:
            raise UnpicklingError(f"the arguments of a call must be a tuple, got {type(args)}")
        if function is torch.Tensor and args:
            raise UnpicklingError("a Tensor is rebuilt from a storage, not made with arguments")
        if function is _tensor._rebuild_from_type_v2 and not (
            len(args) == 4 and id(args[0]) in self._callable and id(args[1]) in self._callable
        ):
            raise UnpicklingError(
                "a tensor subclass is rebuilt with functions and classes declared safe only"
            )
        try:
            self._stack[-1] = function(*args)
        except RuntimeError as error:
            # The pickle is sound, but the tensor that it describes is not: indices outside its size, for example.
            if function is not _utils._rebuild_sparse_tensor:
                raise
            raise ArchiveError(error) from None

    def _build(self) -> None:
        state, instance = self._stack.pop(), self._stack[-1]
        kind = type(instance)
        if kind is torch.Tensor:
            instance.set_(*state)
        elif kind is OrderedDict:
            instance.__dict__.update(state)
        elif id(kind) in self._callable:
            if hasattr(instance, "__setstate__"):
                instance.__setstate__(state)
                return
            state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if state:
                instance.__dict__.update(state)
            for name, value in (slots or {}).items():
                setattr(instance, name, value)
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind}"
            )

    def _persistent(self) -> None:
        saved = self._stack.pop()
        if type(saved) is not tuple and type(saved) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved)}")
        if type(saved) is tuple and saved and saved[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(saved[0])}")
        try:
            self._stack.append(self.persistent_load(saved))
        except RuntimeError as error:
            raise ArchiveError(error) from None

    # --- containers

    def _mark(self) -> None:
        self._outer.append(self._stack)
        self._stack = []

    def _since_mark(self) -> list[Any]:
        items, self._stack = self._stack, self._outer.pop()
        return items

    def _extend(self, items: list[Any], verb: str) -> None:
        target = self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only {verb} lists, but got {type(target)}")
        target.extend(items)

    def _set(self, items: list[Any], opcode: str) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def _last(self, count: int) -> list[Any]:
        if len(self._stack) < count:
            raise UnpicklingError("the pickle takes more from the stack than it has put there")
        items = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return items

    def _push_tuple(self, count: int) -> None:
        self._stack.append(tuple(self._last(count)))

    # --- values

    def _string(self, size: int) -> str | bytes:
        data = read_exactly(self._read, size)
        return data if self._encoding == "bytes" else data.decode(self._encoding)

    def _unicode(self) -> str:
        return str(read_exactly(self._read, unpack_from(self._read, "<I")), "utf-8", "surrogatepass")

    def _long(self) -> int:
        data = read_exactly(self._read, unpack_from(self._read, "<B"))
        return int.from_bytes(data, "little", signed=True)

    def _get(self, form: str) -> None:
        self._stack.append(self._memo[unpack_from(self._read, form)])

    def _put(self, form: str) -> None:
        self._memo[unpack_from(self._read, form)] = self._stack[-1]

    def _protocol(self) -> None:
        protocol = unpack_from(self._read, "<B")
        if protocol != 2:
            warnings.warn(
                f"Detected pickle protocol {protocol} in the checkpoint, which was not the default pickle "
                "protocol used by `torch.load` (2). The weights_only Unpickler might not support all "
                "instructions implemented by this protocol, please file an issue for adding support if you "
                "encounter this.",
                stacklevel=2,
            )


class ArchiveError(Exception):
    """Carries an error that is not about the pickle (a missing record, a bad checksum) out of the machine unchanged."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _push(value: Callable[[Unpickler], Any]) -> Callable[[Unpickler], None]:
    def step(machine: Unpickler) -> None:
        made = value(machine)  # first, because it may change which stack is the current one
        machine._stack.append(made)

    return step


_STEPS: dict[bytes, Callable[[Unpickler], None]] = {
    pickle.GLOBAL: Unpickler._global,
    pickle.NEWOBJ: Unpickler._new_object,
    pickle.REDUCE: Unpickler._reduce,
    pickle.BUILD: Unpickler._build,
    pickle.BINPERSID: Unpickler._persistent,
    pickle.MARK: Unpickler._mark,
    pickle.APPEND: lambda m: m._extend(m._last(1), "append to"),
    pickle.APPENDS: lambda m: m._extend(m._since_mark(), "extend"),
    pickle.SETITEM: lambda m: m._set(m._last(2), "SETITEM"),
    pickle.SETITEMS: lambda m: m._set(m._since_mark(), "SETITEMS"),
    pickle.TUPLE: _push(lambda m: tuple(m._since_mark())),
    pickle.TUPLE1: lambda m: m._push_tuple(1),
    pickle.TUPLE2: lambda m: m._push_tuple(2),
    pickle.TUPLE3: lambda m: m._push_tuple(3),
    pickle.NONE: _push(lambda m: None),
    pickle.NEWFALSE: _push(lambda m: False),
    pickle.NEWTRUE: _push(lambda m: True),
    pickle.EMPTY_TUPLE: _push(lambda m: ()),
    pickle.EMPTY_LIST: _push(lambda m: []),
    pickle.EMPTY_DICT: _push(lambda m: {}),
    pickle.EMPTY_SET: _push(lambda m: set()),
    pickle.BININT: _push(lambda m: unpack_from(m._read, "<i")),
    pickle.BININT1: _push(lambda m: unpack_from(m._read, "<B")),
    pickle.BININT2: _push(lambda m: unpack_from(m._read, "<H")),
    pickle.BINFLOAT: _push(lambda m: unpack_from(m._read, ">d")),
    pickle.LONG1: _push(Unpickler._long),
    pickle.BINUNICODE: _push(Unpickler._unicode),
    pickle.SHORT_BINSTRING: _push(lambda m: m._string(unpack_from(m._read, "<B"))),
    pickle.BINGET: lambda m: m._get("<B"),
    pickle.LONG_BINGET: lambda m: m._get("<I"),
    pickle.BINPUT: lambda m: m._put("<B"),
    pickle.LONG_BINPUT: lambda m: m._put("<I"),
    pickle.PROTO: Unpickler._protocol,
}

_STEPS_OF_LATER_PROTOCOLS: dict[bytes, Callable[[Unpickler], None]] = {
    pickle.PROTO: lambda m: unpack_from(m._read, "<B"),
    pickle.FRAME: lambda m: unpack_from(m._read, "<Q"),
    pickle.MEMOIZE: lambda m: m._memo.__setitem__(len(m._memo), m._stack[-1]),
    pickle.STACK_GLOBAL: Unpickler._stack_global,
    pickle.SHORT_BINUNICODE: _push(
        lambda m: str(read_exactly(m._read, unpack_from(m._read, "<B")), "utf-8", "surrogatepass")
    ),
    pickle.SHORT_BINBYTES: _push(lambda m: read_exactly(m._read, unpack_from(m._read, "<B"))),
    pickle.BINBYTES: _push(lambda m: read_exactly(m._read, unpack_from(m._read, "<I"))),
}

# Bytes to skip after an opcode when only the globals are wanted; -1 and -4: a length of so many bytes comes first.
_OPERANDS = {
    pickle.BININT: 4, pickle.BININT1: 1, pickle.BININT2: 2, pickle.BINFLOAT: 8, pickle.BINGET: 1,
    pickle.LONG_BINGET: 4, pickle.BINPUT: 1, pickle.LONG_BINPUT: 4, pickle.PROTO: 1, pickle.LONG1: -1,
    pickle.SHORT_BINSTRING: -1, pickle.BINUNICODE: -4,
}  # fmt: skip


def globals_in(file: Any) -> set[str]:
    """The names of all globals in a pickle, which is not run."""
    found: set[str] = set()
    while True:
        key = file.read(1)
        if not key:
            raise EOFError("Ran out of input")
        if key == pickle.STOP:
            return found
        if key == pickle.GLOBAL:
            found.add(".".join(_global_name(file.readline)))
        elif key in _STEPS:
            size = _OPERANDS.get(key, 0)
            if size < 0:
                size = unpack_from(file.read, "<B" if size == -1 else "<I")
            read_exactly(file.read, size)
        else:
            raise UnpicklingError(f"Unsupported operand {key[0]}")


def load(file: Any, *, encoding: str = "ASCII", allowed: dict[str, Any] | None = None) -> Any:
    """One pickle without persistent ids."""
    return Unpickler(file, encoding=encoding, allowed=allowed).load()

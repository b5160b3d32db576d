"""One rank: HCCL and the runtime through ctypes, with signatures from the ABI tables, and numpy arrays as data."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
# Of the package that is installed, which under a sanitizer is a copy.
SOFTNPU = Path(importlib.util.find_spec("mindtorch_v2").origin).parent / "softnpu"
sys.path.insert(0, str(SOFTNPU / "python"))

from acl import _signatures  # noqa: E402

HCCL = json.loads((ROOT / "abi" / "hccl.json").read_text())
CODES = HCCL["enums"]["HcclResult"]
TYPES = {
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8",
    "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "float16": "FP16", "float32": "FP32",
    "float64": "FP64",
}  # fmt: skip
TO_DEVICE, TO_HOST = 1, 2


class HcclError(RuntimeError):
    def __init__(self, function: str, code: int, message: str) -> None:
        super().__init__(f"{function} returned {code}: {message}")
        self.code, self.message = code, message

    def __reduce__(self) -> Any:  # so that it can travel between processes
        return _raised, (str(self), self.code, self.message)


def _raised(text: str, code: int, message: str) -> HcclError:
    error = HcclError("", code, message)
    error.args = (text,)
    return error


def hccl_type(name: str) -> int:
    return int(HCCL["enums"]["HcclDataType"][f"HCCL_DATA_TYPE_{TYPES.get(name, name)}"])


def reduction(name: str) -> int:
    return int(HCCL["enums"]["HcclReduceOp"][f"HCCL_REDUCE_{name.upper()}"])


class Libraries:
    """``call.HcclAllReduce(...)`` or ``call.aclrtMalloc(...)``: raises unless the function returns 0."""

    def __init__(self) -> None:
        folder = SOFTNPU / "lib"
        self.acl = ctypes.CDLL(str(folder / "libascendcl.so"), mode=ctypes.RTLD_GLOBAL)
        self.hccl = ctypes.CDLL(str(folder / "libhccl.so"))
        self.acl.aclGetRecentErrMsg.restype = ctypes.c_char_p

    def raw(self, name: str) -> Any:
        if not name.startswith("Hccl"):
            result, *parameters = _signatures.table("runtime")["functions"][name]
            return _signatures.bind(self.acl, name, result, parameters)
        function = getattr(self.hccl, name)
        function.argtypes = [self._hccl_type(declared) for declared in HCCL["functions"][name][1:]]
        return function

    @staticmethod
    def _hccl_type(declaration: str) -> Any:
        kind = _signatures.split(declaration)[0]
        if kind in HCCL["enums"] or kind == "HcclConfigValue":
            return ctypes.c_int
        return ctypes.c_void_p if kind in HCCL["typedefs"] else _signatures.ctype(kind)

    def __getattr__(self, name: str) -> Any:
        function = self.raw(name)

        def checked(*arguments: Any) -> None:
            code = function(*arguments)
            if code != 0:
                raise HcclError(name, code, self.recent_message())

        setattr(self, name, checked)
        return checked

    def recent_message(self) -> str:
        return (self.acl.aclGetRecentErrMsg() or b"").decode()


class Buffer:
    """Device memory that holds an array."""

    def __init__(self, call: Libraries, array: np.ndarray) -> None:
        self.call, self.dtype, self.shape = call, array.dtype, array.shape
        self.bytes = max(array.nbytes, 1)
        address = ctypes.c_void_p()
        call.aclrtMalloc(ctypes.byref(address), self.bytes, 0)
        self.address = address.value
        array = np.ascontiguousarray(array)
        call.aclrtMemcpy(self.address, array.nbytes, array.ctypes.data, array.nbytes, TO_DEVICE)

    def read(self) -> np.ndarray:
        array = np.empty(self.shape, self.dtype)
        self.call.aclrtMemcpy(array.ctypes.data, array.nbytes, self.address, array.nbytes, TO_HOST)
        return array

    def free(self) -> None:
        self.call.aclrtFree(self.address)


class SendRecvItem(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int), ("buf", ctypes.c_void_p), ("count", ctypes.c_uint64),
        ("dtype", ctypes.c_int), ("remote", ctypes.c_uint32),
    ]  # fmt: skip


def configuration(name: str = "", exec_timeout: int = -1) -> Any:
    """What HcclCommConfigInit, an inline function of the header, would make; of the newest version."""
    layout = HCCL["structs"]["HcclCommConfig"]
    offsets = {field["name"]: field["offset"] for field in layout["fields"]}
    config = ctypes.create_string_buffer(layout["size"])
    np_view = np.frombuffer(config, dtype=np.uint8)

    def put(offset: int, value: Any) -> None:
        data = np.asarray(value).tobytes()
        np_view[offset : offset + len(data)] = np.frombuffer(data, dtype=np.uint8)

    put(0, np.uint64(layout["size"]))
    put(8, np.uint32(HCCL["constants"]["HCCL_COMM_CONFIG_MAGIC_WORD"]))
    put(12, np.uint32(HCCL["constants"]["HCCL_COMM_CONFIG_VERSION"]))
    put(offsets["hcclBufferSize"], np.uint32(200))
    put(offsets["hcclCommName"], np.frombuffer(name.encode().ljust(1, b"\0"), dtype=np.uint8))
    put(offsets["hcclExecTimeOut"], np.int32(exec_timeout))
    return config


def counts(values: Any) -> Any:
    return (ctypes.c_uint64 * len(values))(*values)


class Rank:
    """A communicator, its device and a stream."""

    def __init__(self, rank: int, ranks: int, device: int = 0) -> None:
        self.rank, self.ranks, self.call = rank, ranks, Libraries()
        self.call.aclrtSetDevice(device)
        self.comm = ctypes.c_void_p()
        self.stream = self.new_stream()
        self.buffers: list[Buffer] = []

    def new_stream(self) -> int:
        stream = ctypes.c_void_p()
        self.call.aclrtCreateStream(ctypes.byref(stream))
        assert stream.value is not None
        return stream.value

    def root_info(self) -> bytes:
        info = ctypes.create_string_buffer(HCCL["structs"]["HcclRootInfo"]["size"])
        self.call.HcclGetRootInfo(info)
        return info.raw

    def join(self, info: bytes, **config: Any) -> None:
        self.call.HcclCommInitRootInfoConfig(
            self.ranks, info, self.rank, configuration(**config), ctypes.byref(self.comm)
        )

    def buffer(self, array: Any) -> Buffer:
        self.buffers.append(Buffer(self.call, np.asarray(array)))
        return self.buffers[-1]

    def free_buffers(self) -> None:
        """Frees all of them, once nothing on the device can use them any more."""
        self.call.raw("aclrtSynchronizeDevice")()
        for buffer in self.buffers:
            buffer.free()
        self.buffers.clear()

    def synchronize(self) -> None:
        self.call.aclrtSynchronizeStream(self.stream)

    def async_error(self) -> tuple[int, str]:
        code = ctypes.c_int()
        self.call.HcclGetCommAsyncError(self.comm, ctypes.byref(code))
        return code.value, self.call.recent_message()

    def destroy(self) -> None:
        self.call.HcclCommDestroy(self.comm)

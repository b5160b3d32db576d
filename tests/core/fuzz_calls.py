"""Numbered arbitrary calls of every row of the table: number N is always the same call.

As a program (`python tests/core/fuzz_calls.py LOG FIRST LAST`) it makes the calls FIRST to LAST-1, writing each
number to LOG before the call, so that whoever started it knows which one ended the process, and a line to
standard output for each exception that is none of PyTorch's kinds.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("MINDTORCH_NPU", "soft")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from opcases import CALLABLE, VALUELESS, ours, ours_in_place

import mindtorch_v2 as torch

# Whatever PyTorch raises for a bad argument.
ALLOWED = (
    RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, MemoryError,
    ZeroDivisionError, AssertionError,
)  # fmt: skip
_DTYPES = (
    "float32", "float32", "float32", "float64", "float16", "bfloat16", "int64", "int64", "int32", "int8", "uint8",
    "bool", "complex64", "uint16", "int16", "complex128", "uint64", "complex32", "float8_e4m3fnuz", "float8_e8m0fnu",
)  # fmt: skip
_HUGE = (2**31, -(2**31) - 1, 2**62, 2**63 - 1, -(2**63), 2**70, -(2**64))
_STRINGS = (
    "mean", "sum", "none", "constant", "reflect", "replicate", "circular", "valid", "same", "fro", "nuc", "linear",
    "nearest", "bilinear", "floor", "trunc", "prod", "amax", "ij", "reduced", "complete", "r", "", "rubbish", "ortho",
    "forward", "tanh", "left", "right", "U", "L",
)  # fmt: skip
_VALUES = ("zero", "one", "small", "positive", "wild")
_FORMATS = ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format")


class Plan:
    """A call as plain data: it prints as itself and makes its tensors when it runs."""

    def __init__(self, number: int) -> None:
        self.draw = random.Random(number)
        self.row = CALLABLE[number % len(CALLABLE)]
        self.tensors: list[tuple[Any, ...]] = []
        # Calls that go far have operands alike; calls that do not find what is not checked.
        self.common = self._shape() if self.draw.random() < 0.6 else None
        self.dtype = self.draw.choice(_DTYPES) if self.draw.random() < 0.6 else None
        self.device = self.draw.choice(("cpu", "cpu", "cpu", "npu", "meta"))
        sane = self.draw.random() < 0.85
        self.args: list[Any] = []
        self.kwargs: dict[str, Any] = {}
        for a in self.row.schema.arguments:
            if a.default is not None and self.draw.random() < 0.4:
                if a.keyword_only:
                    continue
                break
            value = self._value(a.type.name if sane or not self.args else self._any_type())
            if a.keyword_only:
                self.kwargs[a.name] = value
            else:
                self.args.append(value)
        self.variant = self.draw.choice(("function", "function", "inplace", "out"))
        self.out = self.draw.choice(self.tensors) if self.tensors and self.draw.random() < 0.3 else None

    def __repr__(self) -> str:
        return f"{self.row.name} ({self.variant}, out={self.out}): {self.args} {self.kwargs}"

    # ---- drawing ---------------------------------------------------------------------------------

    def _shape(self) -> tuple[int, ...]:
        return tuple(
            self.draw.choice((0, 1, 1, 2, 3, 4)) for _ in range(self.draw.choice((0, 1, 2, 2, 3, 4, 5)))
        )

    def _any_type(self) -> str:
        types = (
            "Tensor",
            "Scalar",
            "int",
            "int[]",
            "str",
            "Tensor[]",
            "none",
            "float[]",
            "ScalarType",
            "Device?",
        )
        return self.draw.choice(types)

    def _int(self) -> int:
        if self.draw.random() < 0.1 and "polynomial" not in self.row.name:
            # A legal size of billions is not an error but hours, and so is a polynomial of that degree.
            return self.draw.choice(_HUGE[2:] if self.row.factory else _HUGE)
        return self.draw.choice((-5, -2, -1, 0, 0, 1, 1, 2, 2, 3, 4, 7))

    def _float(self) -> float:
        return self.draw.choice(
            (0.0, -0.0, 0.5, 1.0, -1.0, 2.5, 1e30, -1e30, 1e-30, float("inf"), float("nan"))
        )

    def _tensor(self) -> tuple[Any, ...]:
        if self.tensors and self.draw.random() < 0.15:
            return self.draw.choice(self.tensors)  # the same tensor twice
        shape = self.common if self.common is not None and self.draw.random() < 0.7 else self._shape()
        made = (
            "tensor",
            shape,
            self.dtype if self.dtype and self.draw.random() < 0.8 else self.draw.choice(_DTYPES),
            self.device if self.draw.random() < 0.95 else "cpu",
            self.draw.choice(_VALUES[:4] if "polynomial" in self.row.name else _VALUES),
            self.draw.choice(("plain", "plain", "transpose", "slice", "expand")),
            self.draw.random() < 0.4,
            self.draw.randrange(1000),
        )
        self.tensors.append(made)
        return made

    def _value(self, kind: str) -> Any:
        if kind.endswith("?") and not kind.startswith("Device"):
            return None if self.draw.random() < 0.5 else self._value(kind[:-1])
        if kind == "Tensor?[]":
            return [self._value("Tensor?") for _ in range(self.draw.choice((0, 1, 2, 3)))]
        if kind.endswith("[]") or kind.endswith("]"):
            item, size = kind[:-1].split("[")
            if size and self.draw.random() < 0.4:
                return self._value(item)
            wanted = int(size or 2) if self.draw.random() < 0.6 else self.draw.choice((0, 1, 2, 3, 4, 6))
            return [self._value(item) for _ in range(wanted)]
        if kind == "Tensor":
            return self._tensor()
        if kind == "Scalar":
            number = self.draw.choice((self._int, self._float, lambda: True, lambda: 1 + 2j))
            return number()
        draws = {
            "int": self._int,
            "SymInt": self._int,
            "float": self._float,
            "bool": lambda: self.draw.random() < 0.5,
            "str": lambda: self.draw.choice(_STRINGS),
            "ScalarType": lambda: ("attribute", self.draw.choice(_DTYPES)),
            "MemoryFormat": lambda: ("attribute", self.draw.choice(_FORMATS)),
            "Layout": lambda: ("attribute", "strided"),
            "Device?": lambda: self.draw.choice((None, "cpu", "npu", "meta", "npu:9")),
            "DeviceName?": lambda: self.draw.choice((None, "cpu", "npu", "cuda", "xpu:1")),
            "Any": lambda: self._value(self.draw.choice(("none", "str", "ScalarType", "int", "Tensor"))),
            "Generator": lambda: None,
            "none": lambda: None,
        }
        return draws[kind]()

    # ---- running ---------------------------------------------------------------------------------

    def run(self) -> None:
        made: dict[tuple[Any, ...], Any] = {}
        args = [_build(v, made) for v in self.args]
        kwargs = {k: _build(v, made) for k, v in self.kwargs.items()}
        if self.variant == "inplace" and "inplace" in self.row.variants:
            result = ours_in_place(self.row)(*args, **kwargs)
        else:
            if self.variant == "out" and "out" in self.row.variants:
                kwargs["out"] = _build(self.out, made).detach() if self.out else torch.zeros(1)
            result = ours(self.row)(*args, **kwargs)
        use(result, self.row.name not in VALUELESS)


def _build(value: Any, made: dict[tuple[Any, ...], Any]) -> Any:
    if isinstance(value, list):
        return [_build(v, made) for v in value]
    if not isinstance(value, tuple):
        return value
    if value[0] == "attribute":
        return getattr(torch, value[1])
    if value not in made:
        made[value] = _make(*value[1:])
    return made[value]


def _make(
    shape: tuple[int, ...], dtype: str, device: str, values: str, layout: str, grad: bool, seed: int
) -> Any:
    rng = np.random.default_rng(seed)
    if values in ("zero", "one"):
        drawn = np.full(shape, float(values == "one"))
    elif values == "wild":
        drawn = rng.choice([0.0, -1.0, np.nan, np.inf, -np.inf, 1e30, -1e18, 2.0**62, 0.5, 300.0], shape)
    else:
        drawn = np.round(rng.uniform(0 if values == "positive" else -4, 4, shape), 1)
    x = torch.from_numpy(np.asarray(drawn)).to(getattr(torch, dtype)).to(device)
    if grad and (x.is_floating_point() or x.is_complex()):
        x.requires_grad_()
    if layout == "transpose" and x.dim() > 1:
        return x.transpose(0, -1)
    if layout == "slice" and x.dim() > 0 and shape[0] > 0:
        return x[1:]
    if layout == "expand" and x.dim() < 5:
        return x.unsqueeze(0).expand([2, *x.shape])
    return x


def use(result: Any, differentiate: bool) -> None:
    """Reads the result, so that what the NPU still has to say is said here, and goes back through it."""
    results = [
        r for r in (result if isinstance(result, tuple | list) else [result]) if isinstance(r, torch.Tensor)
    ]
    for r in results:
        if not r.is_meta and r.numel() < 10_000:
            r.tolist()
    for r in results[:1]:
        if differentiate and r.requires_grad and r.numel() < 1_000_000:
            torch.autograd.backward(r, torch.ones_like(r))


def main(log: str, first: int, last: int) -> None:
    # What asks for more than the machine has is refused like any other bad size, not killed. The software NPU
    # takes its memory first.
    torch.zeros(1, device="npu")
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + (4 << 30),) * 2)
    warnings.simplefilter("ignore")
    place = os.open(log, os.O_WRONLY | os.O_CREAT)
    for number in range(first, last):
        os.pwrite(place, b"%20d" % number, 0)
        try:
            Plan(number).run()
        except ALLOWED:
            pass
        except Exception as error:  # noqa: BLE001 - said to whoever started this
            print(
                f"call {number} raises {type(error).__name__}: {str(error)[:200]!r}: {Plan(number)}",
                flush=True,
            )
    os.pwrite(place, b"%20d" % last, 0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

"""Records small calls of PyTorch's operator database, so that the default suite has its values without PyTorch.

`python tests/recorded/record.py` (in the environment of `make parity`) writes opinfo.npz beside this file: the
calls as JSON, in which ["tensor", dtype, shape, offset] stands for an array, and the arrays' bytes one after the
other. tests/core/test_recorded.py replays them.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "parity")]

from opinfo_bridge import OPS, choose, public_name  # noqa: E402

_MOST = 64  # elements of an array
_CALLS = 3  # per operator
# Random, uninitialised, defined up to signs, or a look at more of the storage than the tensor shows.
_VAGUE = {
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
    "resize_as_", "svd", "linalg.svd", "linalg.eig", "linalg.eigh", "svd_lowrank", "pca_lowrank", "multinomial",
    "as_strided",
}  # fmt: skip


class Unrecordable(Exception):
    """An argument with no place in the file."""


class Recorder:
    def __init__(self) -> None:
        self.blob = bytearray()

    def encode(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return ["float", repr(value)]
        if isinstance(value, complex):
            return ["complex", repr(value)]
        if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
            return ["attribute", str(value).removeprefix("torch.")]
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return [kind, *(self.encode(v) for v in value)]
        if isinstance(value, dict):
            return ["dict", {k: self.encode(v) for k, v in value.items()}]
        raise Unrecordable(type(value).__name__)

    def _tensor(self, x: torch.Tensor) -> list[Any]:
        if x.numel() > _MOST or x.layout is not torch.strided or x.dtype is torch.bfloat16:
            raise Unrecordable("too large or of another kind")
        array = np.ascontiguousarray(x.detach().resolve_conj().resolve_neg().numpy(force=True))
        place = len(self.blob)
        self.blob += array.tobytes()
        return ["tensor", str(x.dtype).removeprefix("torch."), list(x.shape), place]


def _calls(recorder: Recorder, name: str) -> list[Any]:
    op, out = OPS[name], []
    path = public_name(op)
    if (
        path is None
        or path.startswith("ops.")
        or op.name in _VAGUE
        or torch.float32 not in op.supported_dtypes("cpu")
    ):
        return []
    found = []
    for sample in choose(op, torch.float32, 60):
        arguments = (sample.input, list(sample.args), dict(sample.kwargs))
        trial = Recorder()
        try:
            trial.encode(arguments)
            results = [op.op(sample.input, *sample.args, **sample.kwargs) for _ in range(2)]
            if _values(results[0]) != _values(results[1]):
                continue  # random, or it writes to its input
            trial.encode(_plain(results[0]))
        except Unrecordable:
            continue
        found.append((len(trial.blob), arguments, _plain(results[0])))
    # The first is the plainest; the largest have the most to compare.
    for _, arguments, result in found[:1] + sorted(found[1:], key=lambda f: -f[0])[: _CALLS - 1]:
        out.append([path, *map(recorder.encode, arguments), recorder.encode(result)])
    return out


def _plain(result: Any) -> Any:
    return tuple(map(_plain, result)) if isinstance(result, tuple | list) else result


def _values(result: Any) -> bytes:
    if isinstance(result, tuple | list):
        return b"".join(map(_values, result))
    return result.detach().numpy(force=True).tobytes() if isinstance(result, torch.Tensor) else b""


def main() -> None:
    warnings.simplefilter("ignore")
    recorder = Recorder()
    calls = {name: made for name in sorted(OPS) if (made := _calls(recorder, name))}
    text = np.frombuffer(json.dumps(calls, separators=(",", ":")).encode(), np.uint8)
    np.savez_compressed(HERE / "opinfo.npz", calls=text, data=np.frombuffer(bytes(recorder.blob), np.uint8))
    print(
        f"{len(calls)} operators, {sum(map(len, calls.values()))} calls, {len(recorder.blob)} bytes of arrays"
    )


if __name__ == "__main__":
    main()

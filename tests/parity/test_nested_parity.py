"""Expressions over nested tensors: the same results and kinds of error as PyTorch."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch_v2 as mt

LENGTHS = (2, 3, 1)

JAGGED = """
nt + 1
1 - nt
1 / nt
2**nt
nt > 2
nt + same
nt + other
nt + lib.ones(3)
lib.ones(1, 3) + nt
nt * lib.ones(3, 1, 3)
nt * lib.ones(3, 1, 1)
nt + lib.ones(3, 3, 3)
nt + lib.ones(3, 4, 3)
nt + lib.ones(5, 3)
nt.sum()
nt.sum(0)
nt.sum(1)
nt.sum(1, keepdim=True)
nt.sum(-1)
nt.sum((0, 1))
nt.sum((0, 1), keepdim=True)
nt.sum((1, 2))
nt.mean(1)
nt.max(1)
nt.max(2)
nt.argmax(1)
(nt > 2).any(1)
(nt > 2).all(2)
nt.prod(1)
nt.softmax(1)
nt.softmax(2)
nt.softmax(0)
nt.log_softmax(-1)
holes + 1
holes.sum(1)
holes.softmax(1)
holes.contiguous()
holes.unbind()
holes.to_padded_tensor(0.0)
nt.transpose(1, 2)
nt.transpose(0, 1)
nt.permute(0, 2, 1)
nt.mT
nt.unsqueeze(-1)
nt.unsqueeze(1)
nt.unsqueeze(0)
nt.unsqueeze(-1).squeeze(-1)
nt.view(3, -1, 1, 3)
nt.view(3, nt.size(1), 3, 1)
nt.reshape(-1, 3)
nt.flatten(1, 2)
nt.unflatten(-1, (3, 1))
nt.unflatten(2, (1, 3)).transpose(1, 2)
nt.unsqueeze(-1).expand(-1, -1, -1, 4)
nt.chunk(3, -1)
nt.chunk(2, 0)
nt.chunk(2, 1)
nt.split([1, 2], -1)
nt.split(1, 0)
nt.narrow(-1, 0, 2)
nt.narrow(1, 0, 2)
nt.select(2, 0)
nt.select(1, 0)
nt[0]
nt[-1]
nt[0, 1]
nt[..., 0]
nt[..., None]
nt[7]
nt.unbind()
nt.unbind(1)
lib.cat([nt, same], -1)
lib.cat([nt, same])
lib.stack([nt, same], -1)
lib.stack([nt, same], 1)
lib.where(nt > 2, nt, same)
lib.where(nt > 2, nt, 0.0)
nt.masked_fill(nt > 2, 0.0)
lib.clamp(nt, 0, 2)
lib.lerp(nt, same, 0.5)
nt @ lib.ones(3, 4)
nt @ lib.ones(3, 3, 4)
nt @ lib.ones(3)
nt.transpose(1, 2) @ nt
nt @ nt.transpose(1, 2)
lib.ones(4, 3) @ nt.transpose(1, 2)
lib.bmm(nt, lib.ones(3, 3, 4))
F.linear(nt, lib.ones(4, 3), lib.ones(4))
F.linear(nt.transpose(1, 2), lib.ones(4, 3))
F.layer_norm(nt, (3,), lib.ones(3), lib.ones(3))
F.layer_norm(nt, nt.shape[1:])
F.rms_norm(nt, (3,))
F.silu(nt)
F.embedding(lib.nested.nested_tensor([[0, 1], [2]], layout=lib.jagged), lib.ones(3, 2))
lib.ones_like(nt, dtype=lib.int32)
nt.to(lib.float64)
nt.long()
nt.to_padded_tensor(-1.0)
nt.to_padded_tensor(0, output_size=(3, 5, 3))
nt.to_dense()
nt.tolist()
nt.item()
nt.is_same_size(other)
nt.data
nt.index_put((lib.tensor([0]), lib.tensor([0])), lib.tensor(0.0))
nt.copy_(same)
nt.fill_(1.0)
F.scaled_dot_product_attention(*[nt.unflatten(-1, (1, 3)).transpose(1, 2)] * 3)
lib.nested.narrow(lib.ones(2, 5, 3), 1, 0, lib.tensor([2, 3]), layout=lib.jagged)
lib.nested.as_nested_tensor(lib.ones(2, 3), layout=lib.jagged)
lib.nested.as_nested_tensor(nt)
lib.nested.nested_tensor([], layout=lib.jagged)
lib.nested.nested_tensor([1.0, 2.0], layout=lib.jagged)
lib.nested.nested_tensor([lib.ones(2, 3), lib.ones(2, 4)], layout=lib.jagged)
lib.nested.nested_tensor([lib.ones(2, 3), lib.ones(2)], layout=lib.jagged)
lib.nested.nested_tensor([lib.ones(2, 3), lib.ones(3, 4)], layout=lib.jagged)
lib.nested.nested_tensor([lib.ones(2)], layout=lib.sparse_coo)
lib.nested.nested_tensor_from_jagged(lib.ones(5, 2))
lib.nested.nested_tensor_from_jagged(lib.ones(5, 2), None, lib.tensor([2, 3]))
lib.nested.nested_tensor_from_jagged(lib.ones(3, 5, 2), lib.tensor([0, 2, 5]), jagged_dim=2)
""".strip().splitlines()

STRIDED = """
nt.size(0)
nt.size(1)
nt.size(-1)
nt.size()
nt.numel()
nt._nested_tensor_size()
nt.unbind()
nt.unbind(1)
nt[0]
nt[9]
nt.select(2, 0)
nt + nt
nt * 2
nt / nt
nt + lib.ones(3)
nt + lib.nested.nested_tensor([lib.ones(1), lib.ones(1), lib.ones(1)])
F.relu(nt)
nt.abs()
nt > 2
nt.masked_fill(nt > 2, 0.0)
nt.softmax(1)
nt.softmax(0)
nt.sum(-1, keepdim=True)
nt.sum(-1)
nt.sum(1)
nt.transpose(1, 2)
nt.transpose(1, 2).contiguous()
nt.transpose(0, 1)
nt.view(3, -1, 3, 1)
nt.reshape(3, -1)
nt.reshape(-1)
nt.unsqueeze(-1)
nt.unsqueeze(0)
nt.squeeze()
nt.chunk(3, -1)
nt.chunk(2, 0)
nt.narrow(0, 0, 1)
lib.cat([nt, nt])
nt @ nt.transpose(1, 2)
nt @ lib.ones(3, 4)
lib.bmm(nt, lib.ones(3, 3, 4))
F.linear(nt, lib.ones(4, 3), lib.ones(4))
F.layer_norm(nt, (3,), lib.ones(3), lib.ones(3))
lib.zeros_like(nt)
nt.double()
nt.to_padded_tensor(0)
nt.to_padded_tensor(0, (3, 4, 5))
nt.to_padded_tensor(0, (3, 1, 5))
nt.fill_(3.0)
nt.is_same_size(nt)
nt.is_same_size(lib.ones(2))
str(nt)
lib.nested.nested_tensor([lib.ones(2), lib.ones(2, 3)])
lib.nested.nested_tensor(5)
""".strip().splitlines()


def _names(lib: Any, layout: str) -> dict[str, Any]:
    sequences = [lib.arange(1.0, 3 * n + 1).view(n, 3) for n in LENGTHS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nt, other = (lib.nested.nested_tensor(sequences, layout=getattr(lib, layout)) for _ in range(2))
    found = {"lib": lib, "F": lib.nn.functional, "nt": nt, "other": other}
    if layout == "jagged":
        found["same"] = lib.nested.nested_tensor_from_jagged(nt.values() * 2, nt.offsets())
        values, offsets = lib.arange(24.0).view(8, 3), lib.tensor([0, 4, 8])
        found["holes"] = lib.nested.nested_tensor_from_jagged(values, offsets, lib.tensor([2, 3]))
    return found


def _described(value: Any) -> Any:
    """A result as what both libraries can say of it."""
    if isinstance(value, (list, tuple)):
        return [_described(v) for v in value]
    if not hasattr(value, "is_nested"):
        return value
    if value.is_nested:
        jagged = str(value.layout) == "torch.jagged"
        said = (value._ragged_idx, value.is_contiguous(), value._lengths is None) if jagged else ()
        return ["nested", value.dim(), *said, [_described(p) for p in value.unbind()]]
    return [str(value.dtype), tuple(value.shape), value.detach().double().flatten().tolist()]


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, float):
        return bool(np.isclose(a, b, rtol=1e-5, atol=1e-6))
    return bool(a == b)


def _run(lib: Any, layout: str, expression: str) -> tuple[Any, Any]:
    try:
        return _described(eval(expression, _names(lib, layout))), None
    except Exception as error:  # noqa: BLE001 - it is compared
        return None, error


@pytest.mark.parametrize(
    ("layout", "expression"), [("jagged", e) for e in JAGGED] + [("strided", e) for e in STRIDED]
)
def test_an_expression_means_what_it_means_in_pytorch(layout: str, expression: str) -> None:
    expected, refusal = _run(torch, layout, expression)
    found, error = _run(mt, layout, expression)
    if refusal is not None:
        assert type(error).__name__ == type(refusal).__name__, f"{refusal!r}, here {error or found!r}"
    else:
        assert error is None and _equal(expected, found), f"{expected}, here {error or found}"


def test_pytorch_reads_our_files_and_we_read_its() -> None:
    import torch._dynamo

    import mindtorch_v2._dynamo  # noqa: F401 - which weights_only wants

    for writer, reader in ((torch, mt), (mt, torch)):
        for layout in ("jagged", "strided"):
            file = io.BytesIO()
            writer.save({"x": _names(writer, layout)["nt"]}, file)
            file.seek(0)
            found = reader.load(file, weights_only=True)["x"]
            assert _equal(_described(found), _described(_names(reader, layout)["nt"]))
            assert str(found.layout) == f"torch.{layout}"

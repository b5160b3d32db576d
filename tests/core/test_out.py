"""Results that go into tensors of the caller's: out= and in-place writes."""

import numpy as np
import pytest
from opcases import INTEGER_ONLY, ROWS, VALUELESS, has_cell, ours, sampled, samples, tensors_of

import mindtorch_v2 as torch

DEVICES = ["cpu", "npu"]
_ALLOWED = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
_NARROWER_AND_WIDER = (
    torch.uint8, torch.int16, torch.float16, torch.float64, torch.complex64, torch.int64,
)  # fmt: skip
_WITH_OUT = [r.name for r in sampled() if "out" in r.variants and not r.factory]


def _guarded(shape, dtype, device):
    """A tensor in the middle of memory of its own, and that memory."""
    count = int(np.prod(shape))
    memory = torch.full((count + 128,), 7, dtype=dtype, device=device)
    return memory[64 : 64 + count].view(shape), memory


def _edges(memory):
    return memory[:64].tolist() + memory[-64:].tolist()


def _check_other_dtypes(call, wanted, compared):
    """Calls with each result in turn as a tensor of another dtype."""
    for at in range(len(wanted)):
        for dtype in _NARROWER_AND_WIDER:
            if dtype == wanted[at].dtype:
                continue
            outs = [torch.empty_like(w) for w in wanted]
            outs[at], memory = _guarded(wanted[at].shape, dtype, wanted[at].device)
            before = _edges(memory)
            try:
                call(out=tuple(outs) if len(outs) > 1 else outs[0])
            except _ALLOWED:
                continue
            finally:
                assert _edges(memory) == before, f"written beside an out= of {dtype}"
            if compared:
                assert outs[at].tolist() == wanted[at].to(dtype).tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", _WITH_OUT)
def test_an_out_of_another_dtype_gets_the_result_cast_and_nothing_beside_it_is_written(name, device):
    row, tried = ROWS[name], 0
    for sample in samples(name):
        if sample.refused or tried == 2:
            continue
        args, kwargs = sample.build(torch, device, "int64" if row.cpp_name in INTEGER_ONLY else "float32")
        try:
            wanted = tensors_of(ours(row)(*args, **kwargs))
        except _ALLOWED:
            continue
        known = name not in VALUELESS and not any(w.isnan().any() for w in wanted)
        in_result = row.schema.argument("dtype") is None  # others compute in the dtype of out=
        _check_other_dtypes(
            lambda args=args, kwargs=kwargs, **out: ours(row)(*args, **kwargs, **out),
            wanted,
            known and in_result,
        )
        tried += 1
    assert tried or not has_cell(row, device)


_KERNELS = {
    "hash_tensor": lambda x, **out: torch.hash_tensor(x, [0], **out),
    "sort": lambda x, **out: torch.sort(x, 0, **out),
    "topk": lambda x, **out: torch.topk(x, 2, 0, **out),
    "kthvalue": lambda x, **out: torch.kthvalue(x, 2, 0, **out),
    "mode": lambda x, **out: torch.mode(x, 0, **out),
    "cummax": lambda x, **out: torch.cummax(x, 0, **out),
    "max": lambda x, **out: torch.max(x, 0, **out),
    "argmax": lambda x, **out: torch.argmax(x, 0, **out),
    "tril": lambda x, **out: torch.tril(x, **out),
    "take": lambda x, **out: torch.take(x, torch.tensor([3, 1], device=x.device), **out),
    "gather": lambda x, **out: torch.gather(
        x, 0, torch.zeros(1, 4, dtype=torch.int64, device=x.device), **out
    ),
    "index_select": lambda x, **out: torch.index_select(x, 0, torch.tensor([1], device=x.device), **out),
    "index_add": lambda x, **out: torch.index_add(x, 0, torch.tensor([1], device=x.device), x[:1], **out),
    "scatter": lambda x, **out: torch.scatter(
        x, 0, torch.ones(1, 4, dtype=torch.int64, device=x.device), 2.0, **out
    ),
    "nonzero": lambda x, **out: torch.nonzero(x, **out),
    "mm": lambda x, **out: torch.mm(x, x, **out),
    "baddbmm": lambda x, **out: torch.baddbmm(x[None], x[None], x[None], **out),
    "cat": lambda x, **out: torch.cat([x, x], **out),
    "where": lambda x, **out: torch.where(x > 1, x, 0.5, **out),
    "searchsorted": lambda x, **out: torch.searchsorted(x[0], x, **out),
    "vector_norm": lambda x, **out: torch.linalg.vector_norm(x, dim=0, **out),
    "logcumsumexp": lambda x, **out: torch.logcumsumexp(x, 0, **out),
    "frexp": lambda x, **out: torch.frexp(x, **out),
}


_PLACES = [(name, device) for name in _KERNELS for device in DEVICES]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "device"), _PLACES)
def test_a_kernel_never_meets_an_out_that_is_not_of_the_dtype_of_its_result(name, device):
    x = torch.arange(16.0, device=device).view(4, 4)
    wanted = tensors_of(_KERNELS[name](x))
    _check_other_dtypes(lambda **out: _KERNELS[name](x, **out), wanted, name != "vector_norm")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "call",
    [
        lambda a, b, **kw: torch.add(a, b, **kw),
        lambda a, b, **kw: torch.mul(a, b, **kw),
        lambda a, b, **kw: torch.sigmoid(b, **kw),
        lambda a, b, **kw: torch.lerp(a, b, 0.3, **kw),
        lambda a, b, **kw: torch.addcmul(a, b, b, **kw),
    ],
)
def test_half_precision_is_computed_in_half_precision_whatever_the_out_is(call, dtype, device):
    a = torch.tensor([1.0, 1 / 3, 1000.0], dtype=dtype, device=device)
    b = torch.tensor([1e-4, 1 / 7, 0.3], dtype=dtype, device=device)
    wide = torch.empty(3, dtype=torch.float32, device=device)
    call(a, b, out=wide)
    assert wide.tolist() == call(a, b).float().tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_sums_are_computed_in_the_dtype_of_out(device):
    x = torch.tensor([[100, 100], [100, 1]], dtype=torch.int8, device=device)
    assert torch.sum(x, 0, out=torch.empty(2, dtype=torch.int16, device=device)).tolist() == [200, 101]
    halves = torch.full((4096,), 1.0, dtype=torch.float16, device=device) / 3
    wide = torch.sum(halves, 0, out=torch.empty((), device=device))
    assert wide.item() == halves.float().sum().item()
    assert torch.cumsum(x[0], 0, out=torch.empty(2, dtype=torch.int32, device=device)).tolist() == [100, 200]
    floats = torch.tensor([1.5, 2.5], device=device)
    assert torch.sum(floats, 0, out=torch.empty((), dtype=torch.int64, device=device)).item() == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", DEVICES)
def test_an_out_that_is_an_operand_and_too_small_is_read_before_it_is_resized(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    torch.sum(x, 0, out=x)
    assert x.tolist() == [3.0, 5.0, 7.0]
    y = torch.arange(6.0, device=device).view(2, 3)
    torch.sum(y, 1, keepdim=True, out=y)
    assert y.tolist() == [[3.0], [12.0]]
    z = torch.arange(6.0, device=device).view(2, 3)
    torch.amax(z, 1, out=z)
    assert z.tolist() == [2.0, 5.0]


@pytest.mark.filterwarnings("ignore:torch.range")
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "fill",
    [
        lambda out: torch.arange(6, out=out),
        lambda out: torch.linspace(0, 5, 6, out=out),
        lambda out: torch.range(0, 5, out=out),
    ],
)
def test_numbers_in_order_fill_a_view_with_as_many_elements_and_nothing_beside_it(fill, device):
    base = torch.full((3, 4), -1.0, device=device)
    window = base[:, 1:3]
    assert fill(window) is window
    assert base.tolist() == [[-1, 0, 1, -1], [-1, 2, 3, -1], [-1, 4, 5, -1]]
    assert window.shape == (3, 2) and window.stride() == (4, 1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "draw",
    [
        lambda x: x.bernoulli_(0.5),
        lambda x: x.bernoulli_(torch.full((3, 4), 0.5, device=x.device)),
        lambda x: x.uniform_(),
        lambda x: x.normal_(),
        lambda x: x.random_(),
        lambda x: x.random_(3),
        lambda x: x.exponential_(),
        lambda x: x.geometric_(0.5),
        lambda x: x.log_normal_(),
        lambda x: x.cauchy_(),
    ],
)
def test_nothing_is_drawn_into_elements_that_share_memory(draw, device):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        draw(torch.zeros(3, 1, device=device).expand(3, 4))


def test_a_tensor_beyond_the_end_of_a_storage_that_shrank_is_refused():
    x = torch.ones(10)
    tail = x[5:]
    x.untyped_storage().resize_(8)
    uses = [
        lambda: x + 1, lambda: tail.sum(), lambda: x.tolist(), lambda: x.numpy(), lambda: repr(x), lambda: x.clone(),
        lambda: x.fill_(2), lambda: tail[0].item(), lambda: x.view(2, 5) @ torch.ones(5),
        lambda: x.copy_(torch.ones(10)),
        lambda: torch.ones(10).copy_(x), lambda: x.__dlpack__(), lambda: torch.add(x, 1, out=x), lambda: x.uniform_(),
        lambda: torch.sum(torch.ones(10, 2), 1, out=x),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
            use()
    assert x[:2].tolist() == [1.0, 1.0]
    x.untyped_storage().resize_(40)
    assert x.fill_(3).tolist() == [3.0] * 10


def test_an_npu_tensor_beyond_the_end_of_a_storage_that_shrank_is_refused():
    x = torch.ones(10, device="npu")
    x.untyped_storage().resize_(8)
    for use in (lambda: x + 1, lambda: x.sum(), lambda: x.fill_(2)):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 8"):
            use()
    assert (x[:2] + 1).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_writes_into_out_of_its_dtype_and_refuses_another(name):
    x, out = torch.arange(6.0).view(2, 3), torch.empty(0)
    operator = getattr(torch, name)
    assert operator(x, 1, out=out) is out
    assert torch.equal(out, operator(x, 1))
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float, but got double instead"):
        operator(x, 1, out=torch.empty(2, 3, dtype=torch.float64))


def test_slice_scatter_writes_into_out():
    x, out = torch.zeros(2, 3), torch.empty(2, 3)
    assert torch.slice_scatter(x, torch.ones(1, 3), 0, 1, out=out) is out
    assert out.tolist() == [[0.0] * 3, [1.0] * 3]

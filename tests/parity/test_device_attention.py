"""CUDA's kernels of attention, run by threads of the host: scores, results and gradients of PyTorch in float64."""

import math

import pytest
import torch
from device_kernels_on_host import call_of, library, places, run, with_gradient
from torch.testing import assert_close

DTYPES = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16}
BITS = ("query", "key", "value", "out", "gradient", "grad_query", "grad_key", "grad_value")


def kernels():
    return library("attention_on_host")


def whole(tensor):
    """Whether rows may be moved 16 bytes at a time."""
    size = tensor.element_size()
    moved = (tensor.data_ptr(), tensor.shape[3] * size, *(s * size for s in tensor.stride()[:3]))
    return tensor.stride(3) == 1 and all(m % 16 == 0 for m in moved)


def attention(query, key, value, mask=None, causal=False, scale=None):
    """From the words of its documentation; rows that see nothing are zero."""
    shared = query.shape[1] // key.shape[1]
    key, value = (t.repeat_interleave(shared, 1) for t in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[3]) if scale is None else scale)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[2:], dtype=torch.bool).tril(), -math.inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
    hidden = (scores == -math.inf).all(3, keepdim=True)
    probabilities = scores.masked_fill(hidden, 0).softmax(3).masked_fill(hidden, 0)
    return probabilities @ value, scores.detach().logsumexp(3)


def run_kernels(kind, given, gradient, mask, causal, scale, form):
    query, key, value = given
    batch, heads, queries, dim = query.shape
    out = torch.full_like(gradient, math.nan)
    logsumexp, rows = torch.full((batch, heads, queries), math.nan), torch.empty(2, batch, heads, queries)
    made = dict(zip(BITS, (query, key, value, out, gradient, *map(torch.empty_like, given)), strict=True))
    if mask is not None:
        made["mask"] = mask.expand(batch, heads, queries, key.shape[2])
    call = call_of(
        "AttentionCall", **{name: places(tensor) for name, tensor in made.items()}, logsumexp=logsumexp, rows=rows,
        batch=batch, heads=heads, shared=heads // key.shape[1], queries=queries, keys=key.shape[2], dim=dim,
        value_dim=value.shape[3], causal=causal, mask_hides=mask is not None and mask.dtype == torch.bool,
        scale=1 / math.sqrt(dim) if scale is None else scale,
        whole=sum(whole(made[name]) << bit for bit, name in enumerate(BITS)),
    )  # fmt: skip

    def launch(family, outer, rows):
        name = f"{family}_{kind}_{form}"
        of_block, threads = (getattr(kernels(), f"{what}_of_{name}")() for what in ("rows", "threads"))
        run(name, call, (outer * -(-rows // of_block), 1), (threads, 1), kernels)

    launch("forward", batch * heads, queries)
    run(f"prepared_{kind}", call, (2, 1), (32, 4), kernels)
    launch("keys", batch * key.shape[1], key.shape[2])
    launch("queries", batch * heads, queries)
    return out, logsumexp, [made[name] for name in BITS[5:]]


def check(kind, form, sizes, mask=None, causal=False, scale=None, packed=False):
    batch, heads, key_heads, queries, keys, dim, value_dim = sizes
    torch.manual_seed(0)
    dtype = DTYPES[kind]
    if packed:  # as a layer's projection makes them
        both = torch.randn(batch, queries, heads + 2 * key_heads, dim).to(dtype)
        given = [t.transpose(1, 2) for t in both.split((heads, key_heads, key_heads), 2)]
        gradient = torch.randn(batch, queries, heads, dim).to(dtype).transpose(1, 2)
    else:
        shapes = (heads, queries, dim), (key_heads, keys, dim), (key_heads, keys, value_dim)
        given = [torch.randn(batch, *shape).to(dtype) for shape in shapes]
        gradient = torch.randn(batch, heads, queries, value_dim).to(dtype)
    made, logarithms, slopes = run_kernels(kind, given, gradient, mask, causal, scale, form)
    wide = mask.double() if mask is not None and mask.dtype != torch.bool else mask
    kept = []

    def exact(*leaves):
        result, logarithm = attention(*leaves, wide, causal, scale)
        kept.append(logarithm)
        return result

    expected, wanted = with_gradient(exact, gradient.double(), *(t.double() for t in given))
    near = {"float": 2e-6, "half": 3e-3, "bfloat16": 2e-2}[kind]
    assert_close(made.double(), expected, rtol=near, atol=near)
    assert_close(logarithms.double(), kept[0], rtol=2e-6, atol=2e-6 if kind == "float" else 1e-5)
    for slope, want in zip(slopes, wanted, strict=True):
        assert_close(
            slope.double(), want, rtol=near, atol=near * want.abs().max().item() if want.numel() else 0
        )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [(64, 64), (70, 33), (5, 130)])
def test_results_and_gradients_of_floats_for_any_lengths(lengths, causal):
    check("float", "64_false", (1, 1, 1, *lengths, 64, 64), causal=causal)


def test_heads_that_share_keys_and_other_widths_of_values():
    check("float", "64_false", (2, 4, 2, 20, 24, 40, 56), causal=True, scale=-0.3)


def test_rows_that_do_not_lie_in_groups():
    check("float", "64_false", (1, 1, 1, 9, 11, 33, 35))


def test_views_of_a_packed_projection_are_read_in_place():
    check("float", "64_false", (2, 2, 1, 17, 17, 64, 64), packed=True, causal=True)
    check("half", "64_true", (1, 2, 2, 17, 17, 64, 64), mask=torch.ones(1, dtype=torch.bool), packed=True)


def test_the_widest_heads():
    check("float", "128_false", (1, 1, 1, 66, 40, 128, 100), causal=True)


@pytest.mark.parametrize("shape", [(2, 2, 21, 35), (2, 1, 1, 35), (21, 35), (1, 2, 21, 1)])
@pytest.mark.parametrize("hides", [False, True])
def test_masks_broadcast_and_rows_that_see_nothing_are_zero(shape, hides):
    torch.manual_seed(1)
    mask = torch.randn(shape)
    if hides:
        mask = mask > 0
        mask[..., :3, :] = False
    else:
        mask[..., :3, :] = -math.inf
    check("float", "32_true", (2, 2, 1, 21, 35, 30, 32), mask=mask)


@pytest.mark.parametrize("causal", [False, True])
def test_halves(causal):
    check("bfloat16", "128_false", (1, 2, 1, 140, 135, 120, 128), causal=causal)  # two blocks of queries
    check("half", "64_true", (1, 1, 1, 65, 70, 64, 60), mask=torch.randn(65, 70).half(), causal=causal)


def test_nothing_to_see_gives_zeros():
    check("float", "64_false", (1, 1, 1, 3, 0, 16, 16))
    check("float", "64_false", (1, 1, 1, 0, 3, 16, 16))


@pytest.mark.parametrize("scale", [None, -0.3, 0.0])
def test_halves_that_come_while_others_are_used(scale):
    check("bfloat16", "64_false", (1, 2, 1, 140, 200, 64, 64), causal=scale != 0, scale=scale)


def test_halves_that_may_not_be_moved_at_once():
    check("bfloat16", "64_false", (1, 1, 1, 70, 90, 33, 35), causal=True)
    check("bfloat16", "64_false", (1, 4, 2, 20, 20, 64, 64), packed=True, causal=True)

"""``torch_npu``'s fused operators give what their parts give, forward and backward."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import torch_npu


def leaf(*shape):
    return torch.randn(*shape).npu().requires_grad_()


def same(actual, expected, inputs):
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)
    weight = torch.randn(actual.shape).npu()
    ours = torch.autograd.grad(actual, inputs, weight)
    torch.testing.assert_close(ours, torch.autograd.grad(expected, inputs, weight), rtol=1e-5, atol=1e-5)


def rotated(x):
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)


@pytest.mark.parametrize("masked", [False, True])
def test_fusion_attention_is_attention(masked):
    q, k, v = leaf(2, 4, 5, 8), leaf(2, 4, 6, 8), leaf(2, 4, 6, 8)
    hidden = torch.ones(5, 6, dtype=torch.bool).triu(1).npu() if masked else None
    out = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD", scale=0.3, atten_mask=hidden)[0]
    same(
        out,
        F.scaled_dot_product_attention(q, k, v, None if hidden is None else ~hidden, scale=0.3),
        [q, k, v],
    )


def test_layouts_of_fusion_attention_are_the_same_attention():
    q, k, v = leaf(2, 4, 5, 8), leaf(2, 4, 5, 8), leaf(2, 4, 5, 8)
    wanted = torch_npu.npu_fusion_attention(q, k, v, 4, "BNSD")[0]
    moved = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    found = torch_npu.npu_fusion_attention(*moved, 4, "BSND")[0].transpose(1, 2)
    same(found, wanted, [q, k, v])
    with pytest.raises(ValueError, match="wanted BSH, SBH, BSND or BNSD"):
        torch_npu.npu_fusion_attention(q, k, v, 4, "XYZ")
    with pytest.raises(NotImplementedError, match="pad them and give an atten_mask"):
        torch_npu.npu_fusion_attention(q, k, v, 4, "TND")


def test_dropped_probabilities_leave_the_mean_where_it_was():
    torch.manual_seed(0)
    q, k, v = leaf(1, 1, 64, 8), leaf(1, 1, 64, 8), torch.ones(1, 1, 64, 8).npu()
    out = torch_npu.npu_fusion_attention(q, k, v, 1, "BNSD", scale=0.1, keep_prob=0.5)[0]
    assert abs(out.mean().item() - 1) < 0.1 and out.std().item() > 0.01


def test_norms_gates_and_rotations():
    x, w = leaf(3, 8), leaf(8)
    same(torch_npu.npu_rms_norm(x, w)[0], F.rms_norm(x, (8,), w, 1e-6), [x, w])
    same(torch_npu.npu_add_rms_norm(x, x, w)[0], F.rms_norm(x + x, (8,), w, 1e-6), [x, w])
    first, second = x.chunk(2, -1)
    same(torch_npu.npu_swiglu(x), F.silu(first) * second, [x])
    same(torch_npu.npu_geglu(x)[0], first * F.gelu(second, approximate="tanh"), [x])
    same(torch_npu.npu_geglu(x, approximate=0, activate_left=True)[0], F.gelu(first) * second, [x])
    x, cos, sin = leaf(2, 3, 4, 8), leaf(1, 1, 4, 8), leaf(1, 1, 4, 8)
    same(torch_npu.npu_rotary_mul(x, cos, sin), x * cos + rotated(x) * sin, [x, cos, sin])
    quick = x / (1 + torch.exp(-1.702 * x.abs())) * torch.exp(0.851 * (x - x.abs()))
    same(torch_npu.npu_fast_gelu(x), quick, [x])


def test_fused_operators_give_the_same_for_tensors_that_are_on_no_npu():
    x, w, mask = torch.randn(2, 3, 4, 8), torch.randn(8), torch.rand(2, 1, 4, 8) > 0.5
    cos, sin = torch.randn(1, 1, 4, 8), torch.randn(1, 1, 4, 8)
    calls = [
        lambda x: torch_npu.npu_rms_norm(x, w.to(x.device))[0],
        lambda x: torch_npu.npu_rms_norm(x, w.to(x.device))[1] + 0 * x,
        lambda x: torch_npu.npu_swiglu(x, 1 - 2),
        lambda x: torch_npu.npu_geglu(x, 2)[0],
        lambda x: torch_npu.npu_geglu(x, -1, 0, True)[1] + 0 * x[..., :4],
        lambda x: torch_npu.npu_rotary_mul(x, cos.to(x.device), sin.to(x.device)),
        lambda x: torch_npu.npu_rotary_mul(x, cos.to(x.device), sin.to(x.device), "interleave"),
        torch_npu.npu_fast_gelu,
        lambda x: torch_npu.npu_scaled_masked_softmax(x, mask.to(x.device), 0.5),
    ]
    for call in calls:
        here, there = x.clone().requires_grad_(), x.npu().requires_grad_()
        results = [call(here), call(there)]
        gradients = [
            torch.autograd.grad(y.square().sum(), leaf)[0]
            for y, leaf in zip(results, (here, there), strict=True)
        ]
        for ours, wanted in (results, gradients):
            torch.testing.assert_close(ours, wanted.cpu(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_gates_say_what_cannot_be_halved(device):
    with pytest.raises(RuntimeError, match="npu_geglu: size 3 of dimension -1 cannot be halved"):
        torch_npu.npu_geglu(torch.ones(2, 3, device=device))
    with pytest.raises(ValueError, match="npu_geglu: approximate is 2; wanted 0 or 1"):
        torch_npu.npu_geglu(torch.ones(2, 4, device=device), approximate=2)


def test_what_is_missing_is_named():
    with pytest.raises(AttributeError, match="module 'torch_npu' has no attribute 'npu_unheard_of'"):
        torch_npu.npu_unheard_of  # noqa: B018 - asking is what is tested

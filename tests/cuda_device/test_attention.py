"""The fused kernels of attention beside products and a softmax in float64, which has no kernel of its own."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.functional import scaled_dot_product_attention as attention

NEAR = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
SHAPES = [  # batch, heads, heads of keys, queries, keys, width, width of values
    (2, 3, 3, 128, 128, 64, 64),
    (1, 2, 2, 1000, 777, 64, 64),
    (2, 8, 2, 130, 66, 32, 32),
    (1, 2, 1, 70, 300, 128, 128),
    (1, 1, 1, 33, 65, 40, 24),
    (1, 1, 1, 5, 7, 33, 35),
]


def with_gradients(query, key, value, gradient, dtype, **options):
    leaves = [t.detach().to(dtype).requires_grad_() for t in (query, key, value)]
    made = attention(*leaves, **options)
    made.backward(gradient.to(dtype))
    return [t.double() for t in (made.detach(), *(leaf.grad for leaf in leaves))]


def check(sizes, dtype, mask=None, **options):
    batch, heads, key_heads, queries, keys, width, value_width = sizes
    torch.manual_seed(3)
    shapes = (heads, queries, width), (key_heads, keys, width), (key_heads, keys, value_width)
    given = [torch.randn(batch, *shape, device="cuda").to(dtype) for shape in shapes]
    gradient = torch.randn(batch, heads, queries, value_width, device="cuda").to(dtype)
    options |= {"enable_gqa": heads != key_heads}
    made = with_gradients(*given, gradient, dtype, attn_mask=mask, **options)
    wide = mask.double() if mask is not None and mask.dtype != torch.bool else mask
    exact = with_gradients(*given, gradient, torch.float64, attn_mask=wide, **options)
    for mine, wanted in zip(made, exact, strict=True):
        torch.testing.assert_close(
            mine, wanted, rtol=NEAR[dtype], atol=NEAR[dtype] * wanted.abs().max().item()
        )


@pytest.mark.parametrize("dtype", NEAR, ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_results_and_gradients(sizes, causal, dtype):
    check(sizes, dtype, is_causal=causal)


@pytest.mark.parametrize("dtype", NEAR, ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 70, 90), (2, 1, 1, 90), (70, 90), (1, 3, 70, 1)], ids=str)
def test_masks(shape, dtype):
    torch.manual_seed(4)
    mask = torch.randn(shape, device="cuda")
    check((2, 3, 3, 70, 90, 64, 64), dtype, mask.to(dtype))
    hiding = mask > 0
    hiding[..., :3, :] = False
    check((2, 3, 3, 70, 90, 64, 64), dtype, hiding, scale=0.3)


def test_views_of_a_projection_are_read_in_place_and_twice_is_the_same():
    packed = torch.randn(2, 300, 3 * 4 * 64, device="cuda", requires_grad=True)

    def once():
        parts = [t.view(2, 300, 4, 64).transpose(1, 2) for t in packed.split(4 * 64, 2)]
        made = attention(*parts, is_causal=True)
        (slope,) = torch.autograd.grad(made.square().sum(), packed)
        return made.detach(), slope

    first, second = once(), once()
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)
    wide = packed.detach().double()
    parts = [t.view(2, 300, 4, 64).transpose(1, 2) for t in wide.split(4 * 64, 2)]
    torch.testing.assert_close(first[0].double(), attention(*parts, is_causal=True), rtol=1e-5, atol=1e-5)


def test_no_matrix_of_all_scores_is_made():
    before = torch.cuda.memory_allocated()  # what libraries keep
    given = [torch.randn(1, 1, 16384, 64, device="cuda", requires_grad=True) for _ in range(3)]
    attention(*given, is_causal=True).sum().backward()
    assert torch.cuda.max_memory_allocated() - before < 200 << 20  # the scores would be 1 GiB

"""nn.attention against PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.attention.flex_attention as theirs

import mindtorch_v2
import mindtorch_v2.nn.attention.flex_attention as ours


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return (q - kv).abs() <= 3


def distance_bias(score, b, h, q, kv):
    return score - (q - kv).abs() * (h + 1) * 0.1


def same(value, other, tolerance=2e-5):
    np.testing.assert_allclose(value.detach().numpy(), other.detach().numpy(), tolerance, tolerance)


@pytest.mark.parametrize("shape", [(300, 300), (200, 130)])
@pytest.mark.parametrize("mask", [causal, near])
@pytest.mark.parametrize("block", [64, (64, 128)])
def test_the_same_blocks_are_hidden(shape, mask, block):
    mine = ours.create_block_mask(mask, 2, None, *shape, device="cpu", BLOCK_SIZE=block)
    wanted = theirs.create_block_mask(mask, 2, None, *shape, device="cpu", BLOCK_SIZE=block)
    for name in ours.BlockMask._TENSORS:
        np.testing.assert_array_equal(getattr(mine, name).numpy(), getattr(wanted, name).numpy(), name)
    assert (mine.shape, mine.numel(), mine.sparsity()) == (wanted.shape, wanted.numel(), wanted.sparsity())
    assert repr(mine).splitlines()[:9] == repr(wanted).splitlines()[:9]


def inputs_of(library, groups, requires_grad):
    torch.manual_seed(0)
    given = [torch.randn(2, heads, 9, 16) for heads in (4, 4 // groups, 4 // groups)]
    return [library.tensor(t.tolist(), requires_grad=requires_grad) for t in given]


@pytest.mark.parametrize("change", [None, distance_bias])
@pytest.mark.parametrize("mask", [None, causal, near])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.filterwarnings("ignore")
def test_flex_attention_gives_the_same(change, mask, groups):
    results = []
    for library, flex in ((mindtorch_v2, ours), (torch, theirs)):
        blocks = None if mask is None else flex.create_block_mask(mask, None, None, 9, 9, device="cpu")
        options = {"score_mod": change, "block_mask": blocks, "enable_gqa": groups > 1}
        results.append(flex.flex_attention(*inputs_of(library, groups, False), **options, return_lse=True))
    for value, other in zip(*results, strict=True):
        same(value, other)


@pytest.mark.parametrize("mask", [causal, near])
def test_the_gradients_of_flex_attention_are_those_of_attention_with_the_same_bias(mask):
    """PyTorch's own has none on the cpu."""
    mine = inputs_of(mindtorch_v2, 1, True)
    blocks = ours.create_block_mask(mask, None, None, 9, 9, device="cpu")
    (ours.flex_attention(*mine, distance_bias, blocks) ** 2).sum().backward()
    wanted = inputs_of(torch, 1, True)
    head = torch.arange(4).reshape(4, 1, 1)
    q, kv = torch.arange(9).reshape(9, 1), torch.arange(9)
    bias = distance_bias(torch.zeros(4, 9, 9), 0, head, q, kv).masked_fill(~mask(0, 0, q, kv), -torch.inf)
    (torch.nn.functional.scaled_dot_product_attention(*wanted, bias) ** 2).sum().backward()
    for value, other in zip(mine, wanted, strict=True):
        same(value.grad, other.grad)


def test_flex_attention_refuses_what_pytorch_refuses():
    def messages(library, flex):
        x = library.zeros(1, 2, 8, 16)
        found = []
        for action in (
            lambda: flex.flex_attention(x, x[:, :1], x[:, :1]),
            lambda: flex.flex_attention(x[0], x[0], x[0]),
            lambda: flex.flex_attention(x, x[..., :8], x),
            lambda: flex.create_block_mask(3, None, None, 8, 8, device="cpu"),
            lambda: flex.and_masks(3),
        ):
            with pytest.raises((ValueError, NotImplementedError, TypeError, RuntimeError)) as error:
                action()
            found.append((error.type, str(error.value)))
        return found

    assert messages(mindtorch_v2, ours) == messages(torch, theirs)


def test_sdpa_kernel_notes_what_is_allowed():
    from torch.nn import attention as wanted

    from mindtorch_v2.nn import attention as mine

    for names in (["MATH"], ["MATH", "FLASH_ATTENTION"], []):
        found = []
        for library in (mine, wanted):
            with library.sdpa_kernel([getattr(library.SDPBackend, name) for name in names]):
                found.append([repr(backend) for backend in library._cur_sdpa_kernel_backends()])
        assert found[0] == found[1]
    with (
        pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"),
        mine.sdpa_kernel(3),
    ):
        pass


@pytest.mark.parametrize("name", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("lengths", [(4, 4), (3, 5), (5, 3)])
def test_causal_biases_hide_the_same_keys(name, lengths):
    from importlib import import_module

    results = []
    for library in (mindtorch_v2, torch):
        bias = getattr(import_module(f"{library.__name__}.nn.attention.bias"), name)(*lengths)
        library.manual_seed(0)
        query, key = library.rand(1, 2, lengths[0], 8), library.rand(1, 2, lengths[1], 8)
        attend = library.nn.functional.scaled_dot_product_attention
        results.append((bias._materialize(), attend(query, key, key, attn_mask=bias)))
    (mask, output), (their_mask, their_output) = results
    assert mask.tolist() == their_mask.tolist()
    # A query that sees nothing: PyTorch's kernels differ in what it gets.
    seeing = their_mask.any(1)
    np.testing.assert_allclose(output.numpy()[:, :, seeing], their_output.numpy()[:, :, seeing], 2e-5, 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    "queries, keys, width", [(1, 1024, 64), (3, 150, 64), (4, 65, 24), (2, 64, 16), (4, 130, 8)]
)
@pytest.mark.parametrize("layout", ["rows", "heads inside", "masked"])
def test_few_queries_go_through_all_keys(dtype, queries, keys, width, layout):
    torch.manual_seed(1)
    given = [torch.randn(2, 3, rows, width).to(getattr(torch, dtype)) for rows in (queries, keys, keys)]
    if layout == "heads inside":  # as a projection leaves them
        given = [t.transpose(1, 2).contiguous().transpose(1, 2) for t in given]
    mask = (torch.arange(keys) % 5 != 0)[None] if layout == "masked" else None
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = attention(*(t.double() for t in given), attn_mask=mask)
    mine = [mindtorch_v2.from_dlpack(t) for t in given]
    seen = None if mask is None else mindtorch_v2.from_dlpack(mask)
    found = mindtorch_v2.nn.functional.scaled_dot_product_attention(*mine, attn_mask=seen)
    tolerance = {"float32": 1e-6, "bfloat16": 4e-3, "float16": 5e-4}[dtype]
    same(found.double(), wanted, tolerance)


@pytest.mark.parametrize("layout", ["heads first", "rows first", "packed"])
def test_results_and_gradients_lie_as_pytorchs(layout):
    """A result as the query does, gradients by rows: into a projection they go back without a copy."""

    def strides(library):
        if layout == "packed":
            projected = library.zeros(2, 5, 3 * 24)
            parts = [part.view(2, 5, 3, 8).transpose(1, 2) for part in projected.split(24, dim=2)]
        elif layout == "rows first":
            parts = [library.zeros(2, 5, 3, 8).transpose(1, 2) for _ in range(3)]
        else:
            parts = [library.zeros(2, 3, 5, 8) for _ in range(3)]
        parts = [part.requires_grad_() for part in parts]
        made = library.nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        gradients = library.autograd.grad(made.sum(), parts)
        return [made.stride(), *(gradient.stride() for gradient in gradients)]

    assert strides(mindtorch_v2) == strides(torch)

"""Pooling, interpolation, sampling and attention: errors and corners."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_a_maximum_of_nan_is_nan_and_its_place_is_found():
    x = torch.tensor([[[1.0, math.nan, 3.0, 2.0]]])
    values, places = F.max_pool1d(x, 2, return_indices=True)
    assert math.isnan(values[0, 0, 0].item()) and values[0, 0, 1].item() == 3
    assert places.tolist() == [[[1, 2]]]


def test_a_window_of_minus_infinity_points_into_itself():
    _, places = F.max_pool2d(torch.full((1, 1, 4, 4), -math.inf), 2, return_indices=True)
    assert places.tolist() == [[[[0, 2], [8, 10]]]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize(("height", "width", "out"), [(16, 56, 7), (11, 29, 6), (5, 700, 3), (3, 600, 50)])
def test_windows_far_apart_or_uneven_find_the_first_largest(dtype, height, width, out):
    rng = np.random.default_rng(width)
    x = torch.tensor(rng.integers(0, 4, (3, height, width))).to(dtype)  # many are equal
    x[1].fill_(-math.inf)
    x[2].reshape(-1)[rng.integers(0, height * width, 20).tolist()] = math.nan
    values, places = F.adaptive_max_pool2d(x, (2, out), return_indices=True)
    numbers = x.double().numpy()
    for plane, i, k in np.ndindex(3, 2, out):
        best, place = -math.inf, None
        for row in range(i * height // 2, -(-(i + 1) * height // 2)):
            for column in range(k * width // out, -(-(k + 1) * width // out)):
                value = numbers[plane, row, column]
                if place is None or value > best or math.isnan(value):
                    best, place = value, row * width + column
        assert places[plane, i, k].item() == place
        assert np.array_equal(values[plane, i, k].item(), best, equal_nan=True)


def test_unpooling_puts_maxima_back():
    x = _random(2, 3, 6, 8)
    values, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(values, places, 2)
    assert back.shape == x.shape and torch.equal(F.max_pool2d(back.abs(), 2), values.abs())


def test_unpooling_to_a_place_outside_is_an_error():
    with pytest.raises(RuntimeError, match="Found an invalid max index: 1000"):
        F.max_unpool2d(torch.zeros(1, 1, 2, 2), torch.full((1, 1, 2, 2), 1000, dtype=torch.int64), 2)
    with pytest.raises(RuntimeError, match="Found an invalid max index: -1"):
        F.max_unpool2d(torch.zeros(1, 1, 2, 2), torch.full((1, 1, 2, 2), -1, dtype=torch.int64), 2)
    with pytest.raises(RuntimeError, match="should be type int64"):
        F.max_unpool2d(torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2), 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: F.max_pool2d(x, 3, padding=2), "pad should be at most half of effective kernel size"),
        (lambda x: F.max_pool2d(x, 6), r"Calculated output size: \(4x0x0\). Output size is too small"),
        (lambda x: F.max_pool2d(x, 2, stride=0), "stride should not be zero"),
        (lambda x: F.max_pool2d(x, 2, dilation=0), "dilation should be greater than zero"),
        (lambda x: F.max_pool2d(x[0, 0], 2), "non-empty 3D or 4D"),
        (lambda x: F.max_pool1d(x, 2), "max_pool1d: Expected 2D or 3D"),
        (lambda x: F.avg_pool2d(x, 2, divisor_override=0), "divisor must be not zero"),
        (lambda x: F.adaptive_avg_pool2d(x, (2, -1)), "must be greater than or equal to 0"),
        (lambda x: F.adaptive_avg_pool2d(x[:, :, :0], 2), "non-zero size for non-batch dimensions"),
        (lambda x: F.fractional_max_pool2d(x, 2, output_size=9), "pool height 2 too large"),
        (lambda x: F.interpolate(x, size=0), "Input and output sizes should be greater than 0"),
        (lambda x: F.grid_sample(x, torch.zeros(1, 3, 3, 2), align_corners=False), "same batch size"),
        (lambda x: F.grid_sample(x, torch.zeros(2, 3, 3, 1), align_corners=False), "size 2 in last dim"),
    ],
)
def test_bad_arguments_are_refused_in_pytorchs_words(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(_random(2, 4, 5, 5))


def test_averages_of_integers_are_cut_off():
    x = torch.tensor([[[5, 6, -5, -6, 9, 3]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[5, -5, 6]]]


def test_an_adaptive_size_of_none_keeps_the_inputs():
    assert F.adaptive_avg_pool2d(_random(1, 2, 5, 7), (None, 3)).shape == (1, 2, 5, 3)
    assert nn.AdaptiveMaxPool2d((2, None))(_random(1, 2, 5, 7)).shape == (1, 2, 2, 7)


def test_linear_interpolation_with_aligned_corners_passes_through_the_ends():
    line = torch.tensor([[[0.0, 10.0]]])
    assert F.interpolate(line, 5, mode="linear", align_corners=True).flatten().tolist() == [
        0,
        2.5,
        5,
        7.5,
        10,
    ]


def test_interpolation_to_the_same_size_changes_nothing():
    x = _random(1, 2, 4, 5)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        np.testing.assert_allclose(F.interpolate(x, (4, 5), mode=mode).numpy(), x.numpy(), rtol=1e-6)


def test_bytes_are_rounded_when_interpolated():
    x = torch.tensor([[[[0, 255], [255, 0]]]], dtype=torch.uint8)
    out = F.interpolate(x, scale_factor=2, mode="bilinear")
    assert out.dtype == torch.uint8 and out.max().item() == 255


@pytest.mark.parametrize("kwargs", [{}, {"size": 3, "scale_factor": 2}, {"size": (3, 3, 3)}])
def test_sizes_and_factors_are_checked(kwargs):
    with pytest.raises(ValueError):
        F.interpolate(_random(1, 1, 4, 4), **kwargs)


def test_sampling_an_identity_grid_gives_the_image():
    x = _random(2, 3, 4, 5)
    theta = torch.tensor([[1.0, 0, 0], [0, 1, 0]]).expand(2, 2, 3)
    for aligned in (False, True):
        grid = F.affine_grid(theta, x.shape, aligned)
        np.testing.assert_allclose(
            F.grid_sample(x, grid, align_corners=aligned).numpy(), x.numpy(), atol=1e-5
        )


def test_sampling_far_away_gives_zeros_and_at_nan_a_weight_that_is_nan():
    grid = torch.tensor([1e30, 0.0, -1e30, 5.0, math.nan, 0.0, 0.0, math.inf]).reshape(1, 1, 4, 2)
    nearest = F.grid_sample(_random(1, 2, 4, 4), grid, "nearest", align_corners=False)
    assert nearest.abs().sum().item() == 0
    linear = F.grid_sample(_random(1, 2, 4, 4), grid, "bilinear", align_corners=False)
    assert linear[..., :2].abs().sum().item() == 0
    assert linear[..., 2:].isnan().all()


# ---- attention ----


def _by_formula(q, k, v, mask=None, scale=None):
    scores = q.astype(np.float64) @ np.swapaxes(k, -1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    return (e / np.where(total == 0, 1, total)) @ v


@pytest.mark.parametrize(("length", "source"), [(1, 1), (7, 130), (130, 7), (65, 65)])
def test_attention_is_a_softmax_of_products(length, source):
    q, k, v = _random(2, 3, length, 20), _random(2, 3, source, 20, seed=1), _random(2, 3, source, 9, seed=2)
    got = F.scaled_dot_product_attention(q, k, v).numpy()
    np.testing.assert_allclose(got, _by_formula(q.numpy(), k.numpy(), v.numpy()), rtol=1e-4, atol=1e-5)
    causal = F.scaled_dot_product_attention(q, k, v, is_causal=True).numpy()
    lower = np.tril(np.ones((length, source), dtype=bool))
    np.testing.assert_allclose(
        causal, _by_formula(q.numpy(), k.numpy(), v.numpy(), lower), rtol=1e-4, atol=1e-5
    )


def test_the_fused_and_the_composed_attention_agree_in_their_gradients():
    shapes = [(2, 2, 40, 16), (2, 2, 70, 16), (2, 2, 70, 24)]
    inputs = [_random(*s, seed=i).requires_grad_() for i, s in enumerate(shapes)]
    mask = _random(40, 70, seed=5)
    direction = _random(2, 2, 40, 24, seed=6)
    fused = F.scaled_dot_product_attention(*inputs, mask)
    composed = F.scaled_dot_product_attention(*inputs, mask.clone().requires_grad_())
    left = torch.autograd.grad(fused, inputs, direction)
    right = torch.autograd.grad(composed, inputs, direction)
    np.testing.assert_allclose(fused.detach().numpy(), composed.detach().numpy(), rtol=1e-4, atol=1e-5)
    for a, b in zip(left, right, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-4)


def test_a_query_that_sees_nothing_gets_zeros_and_gives_no_gradient():
    q, k, v = (_random(1, 1, 3, 4, seed=i).requires_grad_() for i in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, True, True]])
    out = F.scaled_dot_product_attention(q, k, v, mask)
    assert out[0, 0, 1].abs().sum().item() == 0
    out.sum().backward()
    assert q.grad[0, 0, 1].abs().sum().item() == 0 and not bool(torch.isnan(k.grad).any().item())


def test_heads_of_keys_may_be_shared():
    q, k, v = _random(2, 6, 5, 8), _random(2, 2, 7, 8, seed=1), _random(2, 2, 7, 8, seed=2)
    got = F.scaled_dot_product_attention(q, k, v, enable_gqa=True).numpy()
    repeated = [np.repeat(t.numpy(), 3, 1) for t in (k, v)]
    np.testing.assert_allclose(got, _by_formula(q.numpy(), *repeated), rtol=1e-4, atol=1e-5)


def test_attention_refuses_what_does_not_belong_together():
    q = _random(2, 3, 4, 8)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(q, q.double(), q)
    with pytest.raises(RuntimeError, match="at least 2 dimensional"):
        F.scaled_dot_product_attention(q[0, 0, 0], q, q)
    with pytest.raises(RuntimeError, match="dropout probability"):
        F.scaled_dot_product_attention(q, q, q, dropout_p=2.0)
    with pytest.raises(RuntimeError):
        F.scaled_dot_product_attention(q, q[..., :4], q)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("batch", "spatial"), [((2, 3), 2), ((3,), 2), ((2, 3), 3), ((0, 3), 3)])
def test_fractional_pooling_on_the_npu_chooses_the_elements_that_the_cpu_does(batch, spatial, dtype):
    x = _random(*batch, *(9, 8, 7)[:spatial]).to(dtype)
    x.view(-1)[:1] = math.nan
    samples = torch.tensor(np.random.default_rng(3).random((*(1, *batch)[-2:], spatial))).to(dtype)
    pool = F.fractional_max_pool2d if spatial == 2 else F.fractional_max_pool3d
    for layout in (x, x.transpose(-1, -2).contiguous().transpose(-1, -2)):
        results = []
        for device in ("cpu", "npu"):
            inputs = layout.to(device).detach().requires_grad_()
            options = {"return_indices": True, "_random_samples": samples.to(device)}
            values, places = pool(inputs, (3, 2, 2)[:spatial], (4, 3, 5)[:spatial], **options)
            slope = torch.ones_like(values)
            results.append([values, places, torch.autograd.grad(values, inputs, slope)[0]])
        for wanted, got in zip(*results, strict=True):
            np.testing.assert_array_equal(got.detach().cpu().double(), wanted.detach().double())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int16, torch.int64])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(2, 1, 0, 1), (2, 2, 0, 1), (3, 2, 1, 1), (3, 3, 1, 2), (4, 4, 0, 1), (5, 5, 2, 1), (3, 7, 1, 1)],
)
def test_largest_of_windows_at_every_spacing(dtype, kernel, stride, padding, dilation):
    numbers = np.random.default_rng(kernel * stride).permutation(3 * 4 * 601).reshape(3, 4, 601) % 251
    x = torch.from_numpy(numbers.astype(np.float64)).to(dtype)
    values, places = F.max_pool1d(x, kernel, stride, padding, dilation, return_indices=True)
    padded = np.pad(numbers.astype(float), ((0, 0), (0, 0), (padding, padding)), constant_values=-np.inf)
    count = (padded.shape[-1] - dilation * (kernel - 1) - 1) // stride + 1
    taps = np.arange(count)[:, None] * stride + np.arange(kernel) * dilation
    wanted = padded[..., taps]
    assert np.array_equal(values.double().numpy(), wanted.max(-1))
    assert np.array_equal(places.numpy(), np.take_along_axis(
        np.broadcast_to(taps - padding, wanted.shape), wanted.argmax(-1)[..., None], -1)[..., 0])  # fmt: skip
    assert np.array_equal(F.max_pool1d(x.mT.contiguous().mT, kernel, stride, padding, dilation).double().numpy(),
                          values.double().numpy())  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("queries", [1, 20])
def test_masks_of_any_layout_hide_what_they_hide(dtype, queries):
    heads, keys, width = 2, 33, 24
    q, k, v = (_random(1, heads, n, width, seed=s).to(dtype) for s, n in enumerate((queries, keys, keys)))
    seen = _random(heads, queries, keys, seed=5) > -0.5
    for mask in (seen, seen[:1], seen[:, :1], seen.transpose(1, 2).contiguous().transpose(1, 2)):
        scores = q.float() @ k.float().transpose(-2, -1) / math.sqrt(width)
        hidden = scores.masked_fill(~mask, -math.inf)
        wanted = hidden.softmax(-1).nan_to_num(0.0) @ v.float()
        added = torch.zeros(mask.shape).masked_fill(~mask, -math.inf).to(dtype)
        for given in (mask, added):
            got = F.scaled_dot_product_attention(q, k, v, attn_mask=given.unsqueeze(0))
            tolerance = 1e-5 if dtype == torch.float32 else 2e-2
            np.testing.assert_allclose(got.float(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("size", [9, 31, 40])
def test_the_nearest_of_narrow_types_is_taken_as_it_is(size, layout, dtype):
    x = (_random(2, 3, 31, 32) * 40 + 100).to(dtype)
    made = F.interpolate(x.contiguous(memory_format=layout), (size, size + 1), mode="nearest").double()
    rows, columns = np.arange(size) * 31 // size, np.arange(size + 1) * 32 // (size + 1)
    assert np.array_equal(made.numpy(), x.double().numpy()[:, :, rows][..., columns])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lines", [3, 16, 50])
def test_softmax_of_lines_that_lie_across_memory(lines, dtype):
    x = _random(33, lines).to(dtype)
    for made, plain in ((x.t().softmax(-1), x.t().contiguous().softmax(-1)),
                        (x.t().log_softmax(-1), x.t().contiguous().log_softmax(-1))):  # fmt: skip
        torch.testing.assert_close(made, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [9, 16, 23, 40])
def test_the_gradient_of_the_nearest_goes_where_it_was_read(size):
    x = _random(2, 3, 31, 32).requires_grad_()
    y = F.interpolate(x, (size, size), mode="nearest")
    grad = _random(2, 3, size, size, seed=1)
    grad[0, 0, 0, 0], grad[0, 0, 1, 1] = math.inf, math.nan  # of no concern to other places
    y.backward(grad)
    expected = np.zeros((2, 3, 31, 32))
    for i, j in np.ndindex(size, size):
        expected[:, :, i * 31 // size, j * 32 // size] += grad.numpy()[:, :, i, j]
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
@pytest.mark.parametrize("layout", ["rows", "channels_last", "half"])
@pytest.mark.parametrize(("batch", "channels"), [(1, 13), (2, 3), (3, 8)])
def test_gradients_of_samples_are_those_of_one_thread_on_many(batch, channels, layout, mode):
    def gradients(threads):
        x, grid = _random(batch, channels, 9, 11), _random(batch, 6, 15, 2, seed=1)
        if layout == "channels_last":
            x = x.to(memory_format=torch.channels_last)
        elif layout == "half":
            x, grid = x.bfloat16(), grid.bfloat16()
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            leaves = [x.requires_grad_(), grid.requires_grad_()]
            y = F.grid_sample(*leaves, mode=mode, align_corners=False)
            return torch.autograd.grad(y, leaves, _random(*y.shape, seed=2).to(y.dtype))
        finally:
            torch.set_num_threads(before)

    alone = gradients(1)
    for threads in (2, 7, 16):
        for got, wanted in zip(gradients(threads), alone, strict=True):
            tolerance = 0.05 if layout == "half" else 1e-4
            np.testing.assert_allclose(
                got.float().numpy(), wanted.float().numpy(), rtol=tolerance, atol=tolerance
            )

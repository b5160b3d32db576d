"""Convolutions: what they refuse, and the corners that samples of values do not reach."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import nn


def _random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def _by_loops(x, w, stride, padding, dilation, groups):
    """A convolution of two dimensions, written down."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    n, _, height, width = x.shape
    out_channels, in_channels, kh, kw = w.shape
    oh = (height - dilation * (kh - 1) - 1) // stride + 1
    ow = (width - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, out_channels, oh, ow))
    per_group = out_channels // groups
    for m, i, j in itertools.product(range(out_channels), range(oh), range(ow)):
        first = m // per_group * in_channels
        patch = x[
            :,
            first : first + in_channels,
            i * stride : i * stride + dilation * (kh - 1) + 1 : dilation,
            j * stride : j * stride + dilation * (kw - 1) + 1 : dilation,
        ]
        out[:, m, i, j] = (patch * w[m]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_every_option_gives_what_loops_give(stride, padding, dilation, groups):
    x, w = _random(2, 4, 9, 11), _random(12, 4 // groups, 3, 2, seed=1)
    got = F.conv2d(x, w, None, stride, padding, dilation, groups).numpy()
    wanted = _by_loops(x.numpy(), w.numpy(), stride, padding, dilation, groups)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [1, 3, 17, 70])
def test_channel_counts_that_fill_no_tile_are_right(channels):
    x, w = _random(1, channels, 6, 50), _random(channels, channels, 3, 3, seed=1)
    np.testing.assert_allclose(
        F.conv2d(x, w, padding=1).numpy(), _by_loops(x.numpy(), w.numpy(), 1, 1, 1, 1), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("stride", [1, 2])
def test_the_gradients_are_transposes_of_the_convolution(stride):
    x, w = _random(2, 6, 8, 7).requires_grad_(), _random(4, 3, 3, 3, seed=1).requires_grad_()
    out = F.conv2d(x, w, None, stride, 1, 1, 2)
    direction = _random(*out.shape, seed=2)
    dx, dw = torch.autograd.grad(out, [x, w], direction)
    # A bilinear map: <conv(a, w), d> = <a, dx> for every a, and likewise for the weight.
    a, b = _random(*x.shape, seed=3), _random(*w.shape, seed=4)
    left = (F.conv2d(a, w.detach(), None, stride, 1, 1, 2) * direction).sum().item()
    assert left == pytest.approx((a * dx).sum().item(), rel=1e-3, abs=1e-3)
    left = (F.conv2d(x.detach(), b, None, stride, 1, 1, 2) * direction).sum().item()
    assert left == pytest.approx((b * dw).sum().item(), rel=1e-3, abs=1e-3)


def test_the_gradient_can_be_differentiated_again():
    x, w = _random(1, 2, 5, 5).double().requires_grad_(), _random(3, 2, 3, 3).double().requires_grad_()
    (dx,) = torch.autograd.grad(F.conv2d(x, w).square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(dx.square().sum(), w)
    step = 1e-6
    shifted = w.detach().clone()
    shifted[1, 0, 2, 1] += step

    def value(weight: torch.Tensor) -> float:
        inner = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(F.conv2d(inner, weight).square().sum(), inner)
        return g.square().sum().item()

    assert second[1, 0, 2, 1].item() == pytest.approx((value(shifted) - value(w.detach())) / step, rel=1e-3)


def test_same_padding_keeps_the_size_also_of_even_kernels():
    for kernel, dilation in [(2, 1), (3, 1), (4, 3), (5, 2)]:
        out = F.conv1d(_random(1, 1, 13), _random(1, 1, kernel), padding="same", dilation=dilation)
        assert out.shape == (1, 1, 13)
    line = torch.arange(5.0).reshape(1, 1, 5)
    assert F.conv1d(line, torch.ones(1, 1, 2), padding="same").flatten().tolist() == [1, 3, 5, 7, 4]


def test_a_transposed_convolution_undoes_the_shape():
    for stride, dilation, extra in [(1, 1, 0), (2, 1, 1), (3, 2, 2)]:
        x = _random(2, 4, 5, 6)
        out = F.conv_transpose2d(x, _random(4, 3, 3, 3), None, stride, 1, extra, 1, dilation)
        assert F.conv2d(out, _random(1, 3, 3, 3), None, stride, 1, dilation).shape[2:] == x.shape[2:]


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_patches_that_are_pieces_of_an_image_are_multiplied_as_they_are(layout, groups):
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.integers(-3, 4, s) for s in ((3, 6, 19, 24), (9, 6 // groups, 4, 5), (9,)))
    pieces = np.lib.stride_tricks.sliding_window_view(x, (4, 5), (2, 3))[:, :, ::5, ::6]
    pieces = pieces.reshape(3, groups, 6 // groups, *pieces.shape[2:])
    kernels = weight.reshape(groups, 9 // groups, *weight.shape[1:])
    wanted = np.einsum("ngcijab,gkcab->ngkij", pieces, kernels).reshape(3, 9, *pieces.shape[3:5])
    image = torch.from_numpy(x).float().contiguous(memory_format=layout)
    made = F.conv2d(
        image, torch.from_numpy(weight).float(), torch.from_numpy(bias).float(), (5, 6), 0, 1, groups
    )
    assert np.array_equal(made.numpy(), wanted + bias[:, None, None])


def test_an_image_without_batch_gives_one_without_batch():
    x, w = _random(3, 6, 6), _random(2, 3, 3, 3)
    assert torch.equal(F.conv2d(x, w), F.conv2d(x.unsqueeze(0), w)[0])


def test_an_empty_batch_gives_an_empty_result_and_a_zero_gradient():
    w = _random(2, 3, 3, 3).requires_grad_()
    out = F.conv2d(torch.zeros(0, 3, 5, 5), w)
    assert out.shape == (0, 2, 3, 3)
    out.sum().backward()
    assert w.grad.abs().sum().item() == 0


def test_strided_inputs_need_no_copy_by_the_caller():
    x = _random(4, 10, 12, 3)
    w = _random(5, 3, 3, 3)
    view = x.permute(0, 3, 2, 1)
    assert torch.equal(F.conv2d(view, w), F.conv2d(view.contiguous(), w))


def test_half_types_convolve_in_float():
    x, w = _random(1, 64, 6, 6), _random(8, 64, 3, 3)
    wanted = F.conv2d(x.bfloat16().float(), w.bfloat16().float()).bfloat16()
    assert torch.equal(F.conv2d(x.bfloat16(), w.bfloat16()), wanted)


def test_integers_convolve_exactly():
    x = torch.arange(16).reshape(1, 1, 4, 4)
    assert F.conv2d(x, torch.ones(1, 1, 2, 2, dtype=torch.int64)).tolist()[0][0][0] == [10, 14, 18]


def test_meta_tensors_get_shapes_only():
    out = F.conv2d(torch.empty(2, 3, 8, 8, device="meta"), torch.empty(4, 3, 3, 3, device="meta"), stride=2)
    assert out.shape == (2, 4, 3, 3) and out.device.type == "meta"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: F.conv2d(x, w.double()), r"Input type \(torch.FloatTensor\) and weight type"),
        (lambda x, w: F.conv2d(x, w[:, :3]), "to have 3 channels, but got 4 channels instead"),
        (lambda x, w: F.conv2d(x, w, torch.zeros(5)), "expected bias to be 1-dimensional with 6 elements"),
        (lambda x, w: F.conv2d(x, w, padding=-1), "negative padding is not supported"),
        (lambda x, w: F.conv2d(x, w, stride=0), "non-positive stride is not supported"),
        (lambda x, w: F.conv2d(x, w, dilation=0), "dilation should be greater than zero"),
        (lambda x, w: F.conv2d(x, w, groups=0), "non-positive groups is not supported"),
        (lambda x, w: F.conv2d(x, w, dilation=9), "Kernel size can't be greater than actual input size"),
        (lambda x, w: F.conv2d(x[0, 0], w), "Expected 3D .unbatched. or 4D .batched. input to conv2d"),
        (lambda x, w: F.conv2d(x, w, padding="same", stride=2), "not supported for strided convolutions"),
        (lambda x, w: F.conv2d(x, w, padding="most"), "Invalid padding string"),
        (lambda x, w: F.conv_transpose2d(x, w[:4], output_padding=2), "output padding must be smaller"),
        (lambda x, w: F.conv_transpose2d(x, w), "to have 6 channels, but got 4 channels instead"),
    ],
)
def test_bad_arguments_are_refused_in_pytorchs_words(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(_random(2, 4, 5, 5), _random(6, 4, 3, 3))


def test_modules_have_pytorchs_shapes_and_text():
    conv = nn.Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2, bias=False)
    assert conv.weight.shape == (6, 2, 3, 2) and conv.bias is None
    assert (
        repr(conv) == "Conv2d(4, 6, kernel_size=(3, 2), stride=(2, 2), padding=(1, 1), groups=2, bias=False)"
    )
    back = nn.ConvTranspose2d(4, 6, 3, stride=2)
    assert back.weight.shape == (4, 6, 3, 3)
    assert back(_random(1, 4, 4, 4), output_size=(10, 10)).shape == (1, 6, 10, 10)
    with pytest.raises(ValueError, match="valid sizes range from"):
        back(_random(1, 4, 4, 4), output_size=(20, 20))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.Conv1d(3, 4, 3, groups=2)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_kernel_of_one_element_multiplies_channels(layout, groups, dtype):
    rng = np.random.default_rng(0)
    x, w, b, pull = (
        torch.tensor(rng.standard_normal(shape)).to(dtype)
        for shape in ((3, 32, 20, 21), (48, 32 // groups, 1, 1), (48,), (3, 48, 20, 21))
    )
    x = x.contiguous(memory_format=layout)
    for t in (x, w, b):
        t.requires_grad_()
    y = F.conv2d(x, w, b, groups=groups)
    dx, dw, db = torch.autograd.grad(y, [x, w, b], pull)
    exact = [t.detach().double().numpy() for t in (x, w, b, pull)]
    a = exact[0].reshape(3, groups, 32 // groups, -1)
    k, g = exact[1].reshape(groups, 48 // groups, -1), exact[3].reshape(3, groups, 48 // groups, -1)
    wanted = (
        (np.einsum("goi,ngip->ngop", k, a) + exact[2].reshape(groups, -1, 1)).reshape(y.shape),
        np.einsum("goi,ngop->ngip", k, g).reshape(x.shape),
        np.einsum("ngop,ngip->goi", g, a).reshape(w.shape),
        exact[3].sum((0, 2, 3)),
    )
    tolerance = {torch.float64: 1e-10, torch.float32: 1e-4, torch.bfloat16: 2e-2}[dtype]
    for found, expected in zip((y, dx, dw, db), wanted, strict=True):
        error = np.abs(found.detach().double().numpy() - expected).max() / np.abs(expected).max()
        assert error < tolerance


def test_a_kernel_of_one_element_takes_windows_of_images():
    whole = _random(2, 16, 40, 30).double()
    w = _random(16, 16, 1, 1, seed=1).double()
    for x in (
        whole[:, :, 3:, 5:],
        whole[:, :, ::2, ::3],
        whole.transpose(2, 3),
        whole[:, :, :1],
        whole[..., :1],
    ):
        expected = np.einsum("oi,nihw->nohw", w.numpy()[:, :, 0, 0], x.numpy())
        assert np.allclose(F.conv2d(x, w).numpy(), expected)
        assert np.allclose(F.conv_transpose2d(x, w.transpose(0, 1)).numpy(), expected)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3])
def test_gradients_may_be_one_number_for_all_places(layout, groups, kernel):
    x = _random(3, 32, 20, 21).double().contiguous(memory_format=layout).requires_grad_()
    w = _random(48, 32 // groups, kernel, kernel, seed=1).double().requires_grad_()
    y = F.conv2d(x, w, groups=groups)
    for shape in ((1, 1, 1, 1), (1, 48, 1, 1), (3, 48, 1, 1), (1, 1, 1, y.shape[3]), (1, 1, *y.shape[2:])):
        pull = _random(*shape, seed=2)
        repeated = pull.double().expand(y.shape)
        found = torch.autograd.grad(y, [x, w], repeated, retain_graph=True)
        wanted = torch.autograd.grad(y, [x, w], repeated.contiguous(), retain_graph=True)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-9)


def _image_of(shape, w, by, stride, padding, dilation, groups):
    """The gradient of a convolution's input, element by element of its definition."""
    per_group, (_, in_channels, kh, kw) = w.shape[0] // groups, w.shape
    n, c, height, width = shape
    out = np.zeros((n, c, height + 2 * padding, width + 2 * padding))
    for m, i, j in itertools.product(range(w.shape[0]), range(by.shape[2]), range(by.shape[3])):
        first = m // per_group * in_channels
        out[
            :,
            first : first + in_channels,
            i * stride : i * stride + dilation * (kh - 1) + 1 : dilation,
            j * stride : j * stride + dilation * (kw - 1) + 1 : dilation,
        ] += by[:, m, i, j, None, None, None] * w[m]
    return out[:, :, padding : padding + height, padding : padding + width]


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "groups"),
    [
        (2, 3, 1, 1, 1, 1),
        (3, 2, 1, 0, 1, 2),
        (7, 3, 2, 1, 1, 1),
        (6, 3, 1, 2, 2, 1),
        (1, 3, 1, 1, 1, 1),
        (5, 3, 3, 2, 1, 2),
    ],
)
def test_small_pictures_of_many_channels(size, kernel, stride, padding, dilation, groups):
    x = _random(5, 96, size, size, seed=1).requires_grad_()
    w = _random(64, 96 // groups, kernel, kernel, seed=2).requires_grad_()
    b = _random(64, seed=3)
    y = F.conv2d(x, w, b, stride, padding, dilation, groups)
    arrays = x.detach().numpy().astype(np.float64), w.detach().numpy().astype(np.float64)
    wanted = _by_loops(*arrays, stride, padding, dilation, groups)
    np.testing.assert_allclose(y.detach().numpy(), wanted + b.numpy()[:, None, None], rtol=1e-4, atol=2e-4)
    by = _random(*y.shape, seed=4)
    of_x, of_w = torch.autograd.grad(y, [x, w], by)
    wanted = _image_of(x.shape, arrays[1], by.numpy().astype(np.float64), stride, padding, dilation, groups)
    np.testing.assert_allclose(of_x.numpy(), wanted, rtol=1e-4, atol=2e-4)
    # The weights enter once each: their gradient is how the sum of products moves along them.
    step = _random(*w.shape, seed=5)
    moved = _by_loops(arrays[0], step.numpy().astype(np.float64), stride, padding, dilation, groups)
    along = (of_w.double() * step.double()).sum().item()
    assert along == pytest.approx((moved * by.numpy()).sum(), rel=1e-4, abs=1e-2)


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("channels", "out", "groups", "kernel", "padding", "dilation"),
    [
        (45, 45, 45, 3, 1, 1),
        (45, 45, 45, 5, 2, 1),
        (3, 3, 3, 4, 3, 2),
        (10, 20, 10, 3, 1, 1),
        (12, 9, 3, 3, 0, 1),
        (7, 13, 1, 3, 1, 2),
        (6, 1, 1, 3, 1, 1),
        (12, 10, 1, 1, 0, 1),
        (12, 12, 12, 1, 2, 1),
    ],
)
def test_memory_order_changes_no_sum(channels, out, groups, kernel, padding, dilation, stride, dtype):
    arrays = _random(3, channels, 18, 23), _random(out, channels // groups, kernel, kernel, seed=1)
    x, w, b = (t.to(dtype) for t in (*arrays, _random(out, seed=2)))
    options = stride, padding, dilation, groups
    found = []
    for layout in (torch.contiguous_format, torch.channels_last):
        leaves = [t.clone(memory_format=layout).requires_grad_() for t in (x, w)]
        y = F.conv2d(*leaves, b, *options)
        pull = _random(*y.shape, seed=3).to(dtype).contiguous(memory_format=layout)
        assert y.is_contiguous(memory_format=layout)
        found.append([t.detach().numpy() for t in (y, *torch.autograd.grad(y, leaves, pull))])
    wanted = _by_loops(x.numpy(), w.numpy(), *options) + b.numpy()[:, None, None]
    for result in found:
        np.testing.assert_allclose(result[0], wanted, rtol=1e-4, atol=2e-4)
    for rows, places in zip(*found, strict=True):
        np.testing.assert_allclose(places, rows, rtol=1e-4, atol=5e-4)


def test_small_volumes_in_any_memory_order_are_those_of_one_by_one():
    x = _random(4, 64, 4, 4, 4, seed=1)
    w = _random(64, 64, 3, 3, 3, seed=2)
    together = F.conv3d(x, w, None, 1, 1)
    alone = torch.cat([F.conv3d(x[i : i + 1].double(), w.double(), None, 1, 1) for i in range(4)])
    np.testing.assert_allclose(together.numpy(), alone.numpy(), rtol=1e-4, atol=2e-4)
    turned = x.to(memory_format=torch.channels_last_3d)
    np.testing.assert_allclose(F.conv3d(turned, w.transpose(0, 1).contiguous().transpose(0, 1), None, 1, 1).numpy(),
                               together.numpy(), rtol=1e-5, atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("size", [2, 40])
def test_no_pictures_give_weights_a_gradient_of_zeros(size):
    w = _random(64, 64, 3, 3, seed=2).requires_grad_()
    used = torch.ones(64, 64, 3, 3)  # memory that is not zeros
    del used
    F.conv2d(torch.zeros(0, 64, size, size), w, None, 1, 1).sum().backward()
    assert not w.grad.any()


@pytest.mark.parametrize("threads", [1, 3, 16])
@pytest.mark.parametrize(
    ("batch", "channels", "out", "groups", "stride"),
    [(1, 40, 33, 1, 1), (2, 40, 32, 1, 2), (5, 16, 24, 1, 1), (1, 12, 3, 3, 1), (3, 8, 8, 8, 1)],
)
def test_any_number_of_threads_shares_out_few_pictures(batch, channels, out, groups, stride, threads):
    x, w = _random(batch, channels, 19, 23), _random(out, channels // groups, 3, 3, seed=1)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        leaves = [x.clone().requires_grad_(), w.clone().requires_grad_()]
        y = F.conv2d(*leaves, None, stride, 1, 1, groups)
        grad = _random(*y.shape, seed=2)
        y.backward(grad)
        turned = F.conv_transpose2d(grad, w, None, stride, 1, 1 if stride == 2 else 0, groups)
    finally:
        torch.set_num_threads(before)
    expected = _by_loops(x.numpy(), w.numpy(), stride, 1, 1, groups)
    np.testing.assert_allclose(y.detach().numpy(), expected, atol=1e-3)
    # The inner product with the result's gradient is one with the argument's, along any direction.
    along = _random(*x.shape, seed=3)
    moved = _by_loops(along.numpy(), w.numpy(), stride, 1, 1, groups)
    np.testing.assert_allclose((moved * grad.numpy()).sum(), (leaves[0].grad * along).sum().item(), rtol=1e-3)
    along = _random(*w.shape, seed=4)
    moved = _by_loops(x.numpy(), along.numpy(), stride, 1, 1, groups)
    np.testing.assert_allclose((moved * grad.numpy()).sum(), (leaves[1].grad * along).sum().item(), rtol=1e-3)
    height, width = x.shape[2:]
    np.testing.assert_allclose(turned.numpy()[:, :, :height, :width], leaves[0].grad.numpy(), atol=1e-3)

"""Channels that come last in memory stay last."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

_OPERATORS = {
    "conv2d": lambda x: F.conv2d(x, _weight(8, 4, 3)),
    "conv2d with a stride": lambda x: F.conv2d(x, _weight(8, 4, 3), stride=2, padding=1),
    "conv2d in groups": lambda x: F.conv2d(x, _weight(8, 1, 3), groups=4),
    "conv2d of one place": lambda x: F.conv2d(x, _weight(8, 4, 1)),
    "conv_transpose2d": lambda x: F.conv_transpose2d(x, _weight(4, 8, 3)),
    "max_pool2d": lambda x: F.max_pool2d(x, 2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 2),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, 2),
    "lp_pool2d": lambda x: F.lp_pool2d(x, 2.0, 2),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "pixel_shuffle": lambda x: F.pixel_shuffle(torch.cat([x, x], 1), 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "group_norm": lambda x: F.group_norm(x, 2, torch.full((4,), 2.0), torch.ones(4)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "area": lambda x: F.interpolate(x, scale_factor=0.5, mode="area"),
    "constant pad": lambda x: F.pad(x, (1, 1, 2, 2)),
    "reflect pad": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replicate pad": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
    "where": lambda x: torch.where(x > 0.5, x, x * 2),
    "relu": F.relu,
    "add": lambda x: x + torch.ones(4, 1, 1),
}
_IN_SPACE = {
    "conv3d": lambda x: F.conv3d(x, torch.linspace(-1, 1, 8 * 4 * 27).view(8, 4, 3, 3, 3)),
    "max_pool3d": lambda x: F.max_pool3d(x, 2),
    "avg_pool3d": lambda x: F.avg_pool3d(x, 2),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, 2),
    "trilinear": lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    "pad": lambda x: F.pad(x, (1, 1)),
}


def _weight(out, channels, size):
    return torch.linspace(-1, 1, out * channels * size * size).view(out, channels, size, size)


def _check(operator, shape, memory_format):
    plain = torch.rand(shape).requires_grad_()
    turned = plain.detach().to(memory_format=memory_format).requires_grad_()
    wanted, made = operator(plain), operator(turned)
    assert made.is_contiguous(memory_format=memory_format)
    torch.testing.assert_close(made, wanted, rtol=1e-5, atol=1e-5)
    seed = torch.rand(wanted.shape)
    (expected,) = torch.autograd.grad(wanted, plain, seed)
    (grad,) = torch.autograd.grad(made, turned, seed.to(memory_format=memory_format))
    torch.testing.assert_close(grad, expected, rtol=1e-5, atol=1e-5)
    assert grad.is_contiguous(memory_format=memory_format)
    operator(turned).sum().backward()
    assert turned.grad.is_contiguous(memory_format=memory_format)


@pytest.mark.parametrize("name", _OPERATORS)
def test_images_with_channels_last_give_images_with_channels_last(name):
    _check(_OPERATORS[name], (2, 4, 6, 6), torch.channels_last)


@pytest.mark.parametrize("name", _IN_SPACE)
def test_volumes_with_channels_last_give_volumes_with_channels_last(name):
    _check(_IN_SPACE[name], (2, 4, 6, 6, 6), torch.channels_last_3d)


def test_a_weight_with_channels_last_is_enough():
    weight = _weight(8, 4, 3).to(memory_format=torch.channels_last)
    assert F.conv2d(torch.rand(2, 4, 6, 6), weight).is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("channels", "kernel", "options"),
    [
        (33, (3, 3), {"padding": 1}),
        (70, (5, 7), {"padding": (2, 3), "stride": 2}),
        (9, (1, 2), {"dilation": (1, 3)}),
        (16, (3, 3), {"padding": 4}),  # taps that see nothing but padding
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_of_single_channels_have_the_same_gradient_in_every_format(channels, kernel, options, dtype):
    x = torch.rand(3, channels, 9, 11, dtype=dtype)
    weight = torch.rand(channels, 1, *kernel, dtype=dtype).requires_grad_()
    made = F.conv2d(x, weight, groups=channels, **options)
    seed = torch.rand(made.shape, dtype=dtype)
    (wanted,) = torch.autograd.grad(made, weight, seed)
    turned = x.contiguous(memory_format=torch.channels_last)
    made = F.conv2d(turned, weight, groups=channels, **options)
    (grad,) = torch.autograd.grad(made, weight, seed.contiguous(memory_format=torch.channels_last))
    torch.testing.assert_close(grad, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [2, 70])
def test_windows_that_share_their_largest_add_up_in_every_format(channels):
    x = torch.rand(2, channels, 13, 10).requires_grad_()
    turned = x.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    seed = torch.rand(2, channels, 7, 5)
    (wanted,) = torch.autograd.grad(F.max_pool2d(x, 3, 2, 1), x, seed)
    made = F.max_pool2d(turned, 3, 2, 1)
    (grad,) = torch.autograd.grad(made, turned, seed.contiguous(memory_format=torch.channels_last))
    assert torch.equal(grad, wanted)


def test_a_model_with_channels_last_has_gradients_with_channels_last():
    model = torch.nn.Sequential(
        torch.nn.Conv2d(4, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2)
    )
    model = model.to(memory_format=torch.channels_last)
    out = model(torch.rand(2, 4, 6, 6).to(memory_format=torch.channels_last))
    out.sum().backward()
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert model[0].weight.grad.is_contiguous(memory_format=torch.channels_last)


def test_contiguous_images_give_contiguous_images():
    for operator in _OPERATORS.values():
        assert operator(torch.rand(2, 4, 6, 6)).is_contiguous()

"""Padding beside numpy's, with several threads."""

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional

MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@pytest.fixture(params=[1, 2, 16], autouse=True)
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield
    torch.set_num_threads(before)


def padded_places(shape, pad, mode):
    """For each place of the result, the number of the element it is a copy of; -1 for none."""
    widths = [(0, 0)] * (len(shape) - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    extra = {"constant_values": -1} if mode == "constant" else {}
    return np.pad(np.arange(np.prod(shape)).reshape(shape), widths, MODES[mode], **extra)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", ["dense", "channels last", "transposed"])
@pytest.mark.parametrize(
    "shape, pad",
    [((2, 3, 5, 6), (1, 2, 2, 1)), ((4, 16, 40, 50), (2, 2, 3, 0)), ((1, 1, 90000), (300, 200))],
    ids=str,
)
def test_edges_and_their_gradients(shape, pad, layout, mode):
    x = torch.from_numpy(np.random.default_rng(0).random(shape, dtype=np.float32))
    if layout == "channels last" and x.dim() == 4:
        x = x.to(memory_format=torch.channels_last)
    elif layout == "transposed":
        x = x.transpose(0, -1).contiguous().transpose(0, -1)
    x.requires_grad_()
    places = padded_places(shape, pad, mode)
    out = functional.pad(x, pad, mode)
    flat = x.detach().numpy().reshape(-1)
    np.testing.assert_array_equal(out.detach().numpy(), np.where(places < 0, 0, flat[places]))
    grad = torch.from_numpy(np.random.default_rng(1).integers(-9, 9, places.shape).astype(np.float32))
    out.backward(grad)
    wanted = np.zeros(np.prod(shape) + 1, np.float32)
    np.add.at(wanted, places.reshape(-1), grad.numpy().reshape(-1))
    np.testing.assert_array_equal(x.grad.numpy().reshape(-1), wanted[:-1])


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.bfloat16, torch.complex128], ids=str)
def test_constants_of_any_width(dtype):
    x = torch.ones(3, 40000, dtype=dtype)
    out = functional.pad(x, (2, -3, 1, 0), value=1)
    assert out.dtype == dtype and torch.equal(out, torch.ones(4, 39999, dtype=dtype))
    out = functional.pad(x, (-1, 4))
    assert torch.equal(out[:, :39999], x[:, 1:]) and not out[:, 39999:].any()


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_nothing_is_padded(mode):
    x = torch.zeros(0, 3, 4, requires_grad=True)
    y = functional.pad(x, (1, 2), mode=mode)
    assert y.shape == (0, 3, 7)
    y.sum().backward()
    assert x.grad.shape == x.shape
    # Also where the part that stays together is what has no elements.
    assert functional.pad(torch.zeros(2, 5, 0), (0, 0, 1, 1)).shape == (2, 7, 0)
    if mode == "circular":
        assert functional.pad(torch.zeros(1, 3, 0), (0, 0), mode=mode).shape == (1, 3, 0)

"""Convolutions of complex numbers on a GPU, which real ones of the parts make: forward, gradients, second gradients."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

CASES = [
    ("conv1d", (2, 4, 11), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    ("conv2d", (2, 3, 8, 9), (4, 3, 3, 2), {"padding": (1, 0), "dilation": (2, 1)}),
    ("conv2d", (3, 8, 9), (4, 3, 1, 1), {}),
    ("conv3d", (1, 2, 5, 6, 4), (3, 2, 2, 3, 1), {"stride": (1, 2, 1)}),
    ("conv_transpose1d", (2, 4, 7), (4, 3, 3), {"stride": 2, "output_padding": 1, "groups": 2}),
    ("conv_transpose2d", (2, 3, 5, 4), (3, 2, 3, 3), {"stride": 2, "padding": 1}),
    ("conv_transpose3d", (1, 2, 3, 4, 3), (2, 3, 2, 2, 2), {"padding": 1}),
]


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("name", "shape", "weight", "options"), CASES)
def test_results_and_gradients_are_those_of_the_host(name, shape, weight, options, bias, dtype):
    torch.manual_seed(0)
    outputs = weight[1] * options.get("groups", 1) if "transpose" in name else weight[0]
    given = [torch.randn(*shape, dtype=dtype), torch.randn(*weight, dtype=dtype)]
    given += [torch.randn(outputs, dtype=dtype)] if bias else []
    torch.backends.cudnn.allow_tf32 = False
    sides = []
    for device in ("cpu", "cuda"):
        leaves = [t.to(device).requires_grad_() for t in given]
        made = getattr(F, name)(*leaves, **options)
        first = torch.autograd.grad(made.abs().square().sum(), leaves, create_graph=True)
        second = torch.autograd.grad(sum(g.abs().square().sum() for g in first), leaves)
        sides.append([t.detach().cpu() for t in (made, *first, *second)])
    near = 1e-4 if dtype == torch.complex64 else 1e-10
    for wanted, got in zip(*sides, strict=True):
        far = near * max(1.0, float(wanted.abs().max()))
        torch.testing.assert_close(got, wanted, rtol=near, atol=far)


def test_channels_may_come_last_and_modules_have_complex_weights():
    torch.backends.cudnn.allow_tf32 = False
    layer = torch.nn.Conv2d(3, 4, 3, padding=1, dtype=torch.complex64)
    x = torch.randn(2, 3, 6, 6, dtype=torch.complex64)
    wanted = layer(x).detach()
    layer.cuda()
    for given in (x.cuda(), x.cuda().contiguous(memory_format=torch.channels_last)):
        torch.testing.assert_close(layer(given).detach().cpu(), wanted, rtol=1e-4, atol=1e-4)

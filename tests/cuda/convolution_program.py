"""Convolutions on the made-up GPU of test_convolution_launches.py: real and complex, with their gradients."""

import programs_on_host

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

programs_on_host.install()
torch.manual_seed(0)


def check(name, dtype, shape, weight, bias, **options):
    given = [torch.randn(*sizes, dtype=dtype) for sizes in (shape, weight, bias) if sizes]
    sides = []
    for device in ("cpu", "cuda"):
        leaves = [t.to(device).requires_grad_() for t in given]
        made = getattr(F, name)(*leaves, **options)
        gradient = torch.linspace(-1, 1, made.numel()).view(made.shape).to(dtype).to(device)
        sides.append([t.detach().cpu() for t in (made, *torch.autograd.grad(made, leaves[:2], gradient))])
    for wanted, got in zip(*sides, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


for dtype in (torch.float32, torch.complex64):
    check("conv1d", dtype, (2, 4, 11), (6, 2, 3), None, stride=2, padding=1, groups=2)
    check("conv2d", dtype, (2, 3, 6, 5), (4, 3, 3, 2), (4,), padding=(1, 0), dilation=(2, 1))
    check("conv3d", dtype, (1, 2, 5, 4, 4), (3, 2, 2, 3, 1), None, stride=(1, 2, 1))
    check("conv_transpose1d", dtype, (2, 4, 5), (4, 3, 3), (6,), stride=2, output_padding=1, groups=2)
    check("conv_transpose2d", dtype, (2, 3, 4, 3), (3, 2, 3, 3), None, stride=2, padding=1)

"""Attention on the made-up GPU of test_attention_launches.py: prints the kernels that were launched."""

import ctypes
import json
import re
import sys

import mindtorch_v2 as torch

folder = sys.argv[1]
kernels, driver = ctypes.CDLL(folder + "/attention.so"), ctypes.CDLL("libcuda.so.1")
launched = []


@ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_uint] * 5, ctypes.c_void_p)
def run(body, gx, gy, bx, by, shared, argument):
    name = body.decode().replace("::mt::", "")
    launched.append(name)
    if not name.startswith("attention_"):
        return
    family, dtype, *form = re.match(r"attention_(\w+)<(.*)>", name).expand(r"\1, \2").split(", ")
    if family == "backward":
        family = "keys" if form.pop() == "true" else "queries"
    symbol = "_".join([family, dtype.lower(), *form])
    getattr(kernels, symbol)(ctypes.c_void_p(argument), gx, gy, bx, by)


driver.fake_kernels(run)


def both(*sizes, dtype=torch.float32, view=lambda t: t):
    """The same view of the same numbers on the host, in float64, and on the device."""
    numbers = torch.randn(*sizes).to(dtype)
    return view(numbers.double()), view(numbers.cuda())


def fetched(t):
    """On the host. A copy in another order would be a kernel, and only those of attention do anything here."""
    return t.cpu() if t.is_contiguous() else t.transpose(1, 2).cpu().transpose(1, 2)


def check(given, gradient, mask=None, **options):
    if mask is not None:
        options["attn_mask"] = mask if mask.dtype == torch.bool else mask.double()
    exact, leaves = ([t.detach().requires_grad_() for t in side] for side in zip(*given, strict=True))
    wanted = torch.nn.functional.scaled_dot_product_attention(*exact, **options)
    wanted = [wanted, *torch.autograd.grad(wanted, exact, gradient[0])]
    if mask is not None:
        options["attn_mask"] = mask.cuda()
    made = torch.nn.functional.scaled_dot_product_attention(*leaves, **options)
    made = [made, *torch.autograd.grad(made, leaves, gradient[1])]
    near = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}[leaves[0].dtype]
    for mine, want in zip(made, wanted, strict=True):
        far = near * float(want.detach().abs().max())
        torch.testing.assert_close(fetched(mine.detach()).double(), want.detach(), rtol=near, atol=far)


torch.manual_seed(0)
# Views of a packed projection.
packed = both(2, 21, 6 * 64)
parts = zip(
    *([part.view(2, 21, 2, 64).transpose(1, 2) for part in side.split(2 * 64, 2)] for side in packed),
    strict=True,
)
check(list(parts), both(2, 21, 2, 64, view=lambda t: t.transpose(1, 2)), is_causal=True)
check(
    [both(1, 4, 9, 50), both(1, 2, 70, 50), both(1, 2, 70, 37)], both(1, 4, 9, 37), enable_gqa=True, scale=0.2
)
check([both(2, 2, n, 32) for n in (9, 13, 13)], both(2, 2, 9, 32), torch.randn(2, 1, 9, 13))
check([both(2, 2, n, 20) for n in (9, 13, 13)], both(2, 2, 9, 20), torch.rand(9, 13) > 0.4)
half = [both(1, 1, 9, 64, dtype=torch.float16) for _ in range(4)]
check(half[:3], half[3], torch.randn(9, 9).half())
half = [both(1, 1, 9, 100, dtype=torch.bfloat16) for _ in range(4)]
check(half[:3], half[3])
print(json.dumps(launched))

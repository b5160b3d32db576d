"""Products of float32 on the made-up GPU of test_float_product_launches.py: prints the kernels that were launched."""

import ctypes
import json
import re
import sys

import mindtorch_v2 as torch

kernels, driver = ctypes.CDLL(sys.argv[1] + "/products.so"), ctypes.CDLL("libcuda.so.1")
launched, forms = [], []


@ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[ctypes.c_uint] * 5, ctypes.c_void_p)
def run(body, gx, gy, bx, by, shared, argument):
    name = body.decode()
    if "float_product_added" in name or name.startswith("FloatProduct<"):
        form = re.findall(r"FloatProduct(?!<)\w+|true|false", name)
        launched.append(form)
        getattr(kernels, "_".join(form) or "added")(ctypes.c_void_p(argument), gx, gy, bx, by)
    else:
        launched.append(name)


driver.fake_kernels(run)


def check(wanted, product, *given):
    """`product` of the same numbers on the device is `wanted` in float64, and the same bits a second time."""
    leaves = [t.cuda() if t.is_contiguous() else t.t().contiguous().cuda().t() for t in given]
    del launched[:]
    made = product(*leaves)
    torch.cuda.synchronize()
    forms.append(list(launched))
    wanted = wanted.cpu().double()
    far = 1e-6 * float(wanted[wanted.isfinite()].abs().max())
    torch.testing.assert_close(made.cpu().double(), wanted, rtol=0, atol=far, equal_nan=True)
    assert torch.equal(made.cpu().nan_to_num(), product(*leaves).cpu().nan_to_num())


def normal(*sizes):
    return torch.randn(*sizes)


torch.manual_seed(0)
x, y = normal(252, 516), normal(516, 236)
check(x.double() @ y.double(), torch.mm, x, y)
w, bias = normal(260, 520), normal(260)
x = normal(256, 520)
check(bias.double() + x.double() @ w.double().t(), lambda b, x, w: torch.addmm(b, x, w.t()), bias, x, w)
# The gradient of a weight, into columns; and of what is unaligned on one side and on both.
g, x = normal(520, 256), normal(520, 252)
out = torch.empty(252, 256, device="cuda").t()
check((g.double().t() @ x.double()).t(), lambda g, x: torch.mm(g.t(), x, out=out).t(), g, x)
check(
    g.double().t()[:, 1:] @ x.double()[1:, :251],
    lambda g, x: torch.mm(g.t()[:, 1:], x[1:, :251]),
    g, x,
)  # fmt: skip
x, y = normal(255, 511), normal(230, 511)
check(x.double() @ y.double().t(), lambda x, y: x @ y.t(), x, y)
x, y = normal(512, 200), normal(240, 512)
check((y.double() @ x.double()).t(), lambda x, y: x.t() @ y.t(), x, y)
# Batches, with numbers that are added.
x, y, z = normal(2, 120, 600), normal(2, 600, 240), normal(2, 120, 240)
check(
    0.5 * z.double() - 2 * x.double() @ y.double(),
    lambda x, y, z: torch.baddbmm(z, x, y, beta=0.5, alpha=-2),
    x, y, z,
)  # fmt: skip
# Split over the inner dimension.
x, y, z = normal(124, 2052), normal(2052, 92), normal(92)
check(z.double() + 3 * x.double() @ y.double(), lambda x, y, z: torch.addmm(z, x, y, alpha=3), x, y, z)
# What is not finite, and what is so only as a whole.
x, y = normal(256, 512), normal(512, 256)
x[3, 5], x[70, 7], y[11, 9], x[9, 1] = torch.inf, torch.nan, -torch.inf, 3.4028234e38
y[1] = 0.5
check(x.double() @ y.double(), torch.mm, x, y)
print(json.dumps(forms))

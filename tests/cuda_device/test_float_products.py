"""Products of float32 by tensor cores, beside float64: as near as float32's own, whatever way the matrices lie."""

import numpy
import pytest

import mindtorch_v2 as torch

try:
    import torch as pytorch

    HAS = pytorch.cuda.is_available()
except ImportError:
    HAS = False

pytestmark = pytest.mark.skipif(
    torch.cuda.get_device_capability() != (9, 0), reason="cuBLASLt has all products on this chip"
)

SHAPES = [(4096, 384, 1152), (1000, 516, 777), (384, 4096, 384), (257, 2049, 1027)]  # rows, inner, columns


def laid_out(rows, columns, by_columns, dtype=torch.float32):
    made = torch.randn(columns, rows, device="cuda", dtype=dtype).t() if by_columns else None
    return torch.randn(rows, columns, device="cuda", dtype=dtype) if made is None else made


def rms(t):
    return t.double().square().mean().sqrt().item()


def check(made, wanted, inner):
    # What chains of that many float32 additions are off by.
    assert rms(made - wanted) < 1.5e-8 * (20 + inner**0.5) * rms(wanted)


@pytest.mark.parametrize("columns_of_right", [False, True])
@pytest.mark.parametrize("columns_of_left", [False, True])
@pytest.mark.parametrize("sizes", SHAPES, ids=str)
def test_every_way_that_matrices_lie(sizes, columns_of_left, columns_of_right):
    torch.manual_seed(1)
    rows, inner, columns = sizes
    x, y = laid_out(rows, inner, columns_of_left), laid_out(inner, columns, columns_of_right)
    wanted = x.double() @ y.double()
    made = x @ y
    check(made, wanted, inner)
    assert torch.equal(made, x @ y)  # the same bits every time
    turned = torch.empty(columns, rows, device="cuda").t()
    check(torch.mm(x, y, out=turned), wanted, inner)
    bias, added = torch.randn(columns, device="cuda"), torch.randn(rows, columns, device="cuda")
    check(torch.addmm(bias, x, y), wanted + bias.double(), inner)
    check(torch.addmm(added, x, y, alpha=-2, beta=0.5), 0.5 * added.double() - 2 * wanted, inner)
    check(x[1:, 3:] @ y[3:, 1:], x[1:, 3:].double() @ y[3:, 1:].double(), inner)


def test_batches():
    torch.manual_seed(2)
    x, y = torch.randn(9, 300, 400, device="cuda"), torch.randn(9, 400, 500, device="cuda")
    z = torch.randn(9, 300, 500, device="cuda")
    check(x @ y, x.double() @ y.double(), 400)
    made = torch.baddbmm(z, x, y, beta=2, alpha=0.5)
    check(made, 2 * z.double() + 0.5 * (x.double() @ y.double()), 400)


def test_what_is_not_finite():
    torch.manual_seed(3)
    x, y = torch.randn(1024, 1024, device="cuda"), torch.randn(1024, 1024, device="cuda")
    x[3, 5], x[70, 7], y[11, 9], x[9, 1] = torch.inf, torch.nan, -torch.inf, 3.4028234e38
    y[1] = 0.5
    made, wanted = x @ y, (x.double() @ y.double()).float()
    assert torch.equal(made.isnan(), wanted.isnan())
    assert torch.equal(made.isinf(), wanted.isinf())
    assert torch.equal(made[made.isinf()], wanted[wanted.isinf()])
    finite = wanted.isfinite()
    torch.testing.assert_close(made[finite], wanted[finite], rtol=1e-4, atol=1e-3)


def test_a_graph_records_them():
    torch.manual_seed(4)
    x, y = torch.randn(384, 4096, device="cuda"), torch.randn(4096, 384, device="cuda")
    wanted = x @ y
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = x @ y
    graph.replay()
    assert torch.equal(made, wanted)


if HAS:  # without it there is nothing to compare with, and no test

    @pytest.mark.parametrize("sizes", SHAPES, ids=str)
    def test_no_further_from_float64_than_pytorch(sizes):
        pytorch.backends.cuda.matmul.allow_tf32 = False
        rows, inner, columns = sizes
        random = numpy.random.default_rng(5)
        left, right = random.standard_normal((rows, inner)), random.standard_normal((inner, columns))
        left, right = left.astype(numpy.float32), right.astype(numpy.float32)
        wanted = left.astype(numpy.float64) @ right.astype(numpy.float64)
        off = []
        for module in (torch, pytorch):
            made = module.tensor(left, device="cuda") @ module.tensor(right, device="cuda")
            off.append(numpy.sqrt(numpy.square(made.cpu().numpy() - wanted).mean()))
        assert off[0] < 1.1 * off[1]

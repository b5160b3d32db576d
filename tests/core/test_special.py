"""Special functions: known values, edges and errors."""

import math

import numpy as np
import pytest

import mindtorch_v2 as torch

inf, nan = math.inf, math.nan


both_devices = pytest.mark.parametrize("device", ["cpu", "npu"])


def values(function, *arguments, device="cpu"):
    return function(*[torch.tensor(a, dtype=torch.float64, device=device) for a in arguments]).tolist()


# From tables with 15 digits.
_KNOWN = [
    ("i0e", [1.0], 0.465759607593640),
    ("i1", [1.0], 0.565159103992485),
    ("bessel_j0", [10.0], -0.245935764451348),
    ("bessel_j1", [10.0], 0.0434727461688614),
    ("bessel_y0", [1.0], 0.0882569642156769),
    ("bessel_y1", [10.0], 0.249015424206954),
    ("modified_bessel_k0", [1.0], 0.421024438240708),
    ("modified_bessel_k1", [3.0], 0.0401564311281942),
    ("airy_ai", [-5.0], 0.350761009024114),
    ("airy_ai", [3.0], 0.00659113935746072),
    ("erfcx", [2.0], 0.255395676310506),
    ("ndtri", [0.975], 1.95996398454005),
    ("log_ndtr", [-40.0], -804.608442013754),
    ("zeta", [3.0, 1.0], 1.20205690315959),
    ("zeta", [2.0, -0.5], 8.93480220054468),
    ("zeta", [3.0, -2.5], 0.054102025820864),
    ("zeta", [60.0, 20.0], 9.09996593836766e-79),
    ("gammainc", [2.0, 3.0], 0.800851726528544),
    ("gammaincc", [100.0, 120.0], 0.0278637398905207),
    ("legendre_polynomial_p", [0.5, 5.0], 0.08984375),
    ("hermite_polynomial_he", [2.0, 4.0], -5.0),
]


@both_devices
@pytest.mark.parametrize(("name", "arguments", "wanted"), _KNOWN, ids=lambda v: str(v))
def test_the_value_is_the_tables(name, arguments, wanted, device):
    got = values(getattr(torch.special, name), *arguments, device=device)
    assert got == pytest.approx(wanted, rel=2e-12 if device == "npu" and "gamma" in name else 2e-13)


_ONE_OPERAND = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx i0 i0e i1 i1e log_ndtr modified_bessel_i0 "
    "modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 scaled_modified_bessel_k0 "
    "scaled_modified_bessel_k1 spherical_bessel_j0"
).split()


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"), [(torch.float32, 4e-6, 1e-5), (torch.float64, 1e-12, 1e-13)]
)
@pytest.mark.parametrize("name", _ONE_OPERAND)
def test_the_npu_has_the_values_of_the_cpu_over_the_whole_range(name, dtype, rtol, atol):
    numbers = [*np.linspace(-50, 50, 1001), *np.linspace(-9, 9, 901), inf, -inf, nan, 0.0, -0.0, 1e-20, 1e12]
    x = torch.tensor(numbers, dtype=dtype)
    function = getattr(torch.special, name)
    wanted, got = function(x).numpy(), function(x.npu()).cpu().numpy()
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


_POLYNOMIALS = [
    *(f"{shift}chebyshev_polynomial_{kind}" for shift in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip


@pytest.mark.parametrize("name", _POLYNOMIALS)
def test_polynomials_on_the_npu_are_those_of_the_cpu_whatever_the_degrees(name):
    x = torch.tensor([-2.5, -1.0, -0.75, 0.0, 0.25, 0.5, 0.999, 1.0, 3.0, nan], dtype=torch.float64)
    n = torch.tensor([-3.0, -0.5, 0.0, 1.0, 2.9, 8.0, 9.0, 10.0, 33.0, 600.0, nan, inf], dtype=torch.float64)
    function = getattr(torch.special, name)
    wanted = function(x.unsqueeze(1), n)
    np.testing.assert_allclose(function(x.npu().unsqueeze(1), n.npu()).cpu(), wanted, rtol=1e-9, atol=1e-12)
    for column, degree in enumerate(n.tolist()):
        np.testing.assert_allclose(function(x.npu(), degree).cpu(), wanted[:, column], rtol=1e-9, atol=1e-12)
    assert function(x.npu()[:0], n.npu()[:0]).shape == (0,)


def test_zeta_and_polygamma_on_the_npu_are_those_of_the_cpu():
    x = torch.tensor(
        [-1.0, 1.0, 1.0001, 1.5, 2.0, 3.0, 4.5, 7.0, 30.0, 61.0, 1e30, inf, nan], dtype=torch.float64
    )
    q = torch.tensor(
        [-20.25, -3.0, -2.5, -0.1, 0.0, 1e-3, 0.5, 1.0, 2.0, 12.5, 1e3, 1e9, inf, nan], dtype=x.dtype
    )
    wanted = torch.special.zeta(x.unsqueeze(1), q)
    np.testing.assert_allclose(torch.special.zeta(x.npu().unsqueeze(1), q.npu()).cpu(), wanted, rtol=1e-11)
    for order in (1, 2, 5):
        np.testing.assert_allclose(
            torch.polygamma(order, q.npu()).cpu(), torch.polygamma(order, q), rtol=1e-11
        )
        half = torch.polygamma(order, q.npu().half()[1:9])
        assert half.dtype is torch.float16
        np.testing.assert_allclose(half.cpu(), torch.polygamma(order, q.half()[1:9]), rtol=2e-3)


@both_devices
def test_edges_of_the_domain_are_pytorchs(device):
    x = [inf, -inf, nan, 0.0, -1.0]
    wanted = {
        "i0e": [0, 0, nan, 1, 0.46575960759364043],
        "bessel_y0": [nan, nan, nan, -inf, nan],
        "modified_bessel_k1": [0, nan, nan, inf, nan],
        "spherical_bessel_j0": [0, 0, nan, 1, math.sin(1)],
        "entr": [-inf, -inf, nan, 0, -inf],
        "erfcx": [0, inf, nan, 1, 5.00898008076228],
        "ndtri": [nan, nan, nan, -inf, nan],
        "airy_ai": [nan, nan, nan, 0.355028053887817, 0.535560883292352],
    }
    for name, numbers in wanted.items():
        got = values(getattr(torch.special, name), x, device=device)
        np.testing.assert_allclose(got, numbers, rtol=1e-13, err_msg=name)


def test_incomplete_gamma_functions_have_their_edges():
    a, x = [0.0, 0.0, 1.0, -1.0, 1.0, inf, 1.0, inf], [0.0, 1.0, 0.0, 1.0, -1.0, 1.0, inf, inf]
    np.testing.assert_array_equal(values(torch.igamma, a, x), [nan, 1, 0, nan, nan, 0, 1, nan])
    np.testing.assert_array_equal(values(torch.igammac, a, x), [nan, 0, 1, nan, nan, 1, 0, nan])


def test_incomplete_gamma_functions_add_up_to_one_for_huge_arguments():
    a = [1e5, 1e7, 1e10, 1e15]
    lower, upper = values(torch.igamma, a, a), values(torch.igammac, a, a)
    np.testing.assert_allclose(np.add(lower, upper), 1, rtol=1e-12)
    assert all(0.5 < p < 0.501 for p in lower)


def test_incomplete_gamma_functions_of_whole_and_half_orders_are_sums():
    x = np.concatenate([np.linspace(0.01, 30, 200), [1e-8, 100.0, 700.0, 1e7, 1e200]])
    sums = {0.5: np.array([math.erfc(math.sqrt(v)) for v in x]), 1.0: np.exp(-x)}
    for a in (*np.arange(1, 10) + 0.0, *np.arange(0, 12) + 0.5):  # each from the one before
        last = np.array([math.exp(max(a * math.log(v) - v - math.lgamma(a + 1), -745.2)) for v in x])
        sums[a + 1] = sums[a] + np.where(last < 1e-322, 0, last)
    for a, upper in sums.items():
        np.testing.assert_allclose(values(torch.igammac, [a] * len(x), x), upper, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(values(torch.igamma, [a] * len(x), x), 1 - upper, rtol=1e-12, atol=1e-14)


def test_bessel_functions_of_many_numbers_are_those_of_each():
    for dtype, tolerance in ((torch.float32, 3e-7), (torch.float64, 2e-15)):
        x = torch.linspace(0.01, 8, 600, dtype=dtype)
        both = {}
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"):
            function = getattr(torch.special, name)
            both[name] = function(x).double()
            # A larger number beside them takes the way of every number.
            each = torch.stack([function(torch.stack([v, v + 10]))[0] for v in x]).double()
            assert ((both[name] - each).abs() <= tolerance * each.abs().clamp(min=1)).all()
        wronskian = both["bessel_j1"] * both["bessel_y0"] - both["bessel_j0"] * both["bessel_y1"]
        np.testing.assert_allclose(wronskian * x.double() * math.pi / 2, np.ones(600), rtol=30 * tolerance)


def test_polynomials_take_a_number_on_either_side():
    x = torch.tensor([0.5, 2.0])
    assert torch.special.chebyshev_polynomial_t(x, 3).tolist() == [-1.0, 26.0]
    assert torch.special.chebyshev_polynomial_t(2, torch.tensor([0.0, 1.0, 2.0])).tolist() == [1.0, 2.0, 7.0]
    assert torch.special.zeta(2, torch.tensor([1.0])).item() == pytest.approx(math.pi**2 / 6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", _POLYNOMIALS)
def test_polynomials_of_many_numbers_are_those_of_each(name, dtype):
    function = getattr(torch.special, name)
    x = torch.linspace(-1.5, 1.5, 301, dtype=dtype)
    x[0], x[1], x[2] = 1.0, -1.0, 0.0
    for n in (0, 0.5, 1, 2, 2.9, 5, 8, 8.5, -0.5):
        degree = torch.full_like(x, n)
        many = function(x, degree)
        degree[-1] = 9  # all of a block take another way
        each = function(x, degree)
        tolerance = 1e-4 if dtype == torch.float32 else 1e-11
        torch.testing.assert_close(many[:-1], each[:-1], rtol=tolerance, atol=tolerance)


def test_spherical_bessel_function_of_many_numbers_is_that_of_each():
    x = torch.linspace(-3000, 3000, 4001, dtype=torch.float64)[1:-1]
    x[0], x[1], x[2] = 0.0, 1e-5, -1e-300
    wanted = [math.sin(v) / v if v else 1.0 for v in x.tolist()]
    torch.testing.assert_close(
        torch.special.spherical_bessel_j0(x), torch.tensor(wanted, dtype=x.dtype), rtol=1e-12, atol=1e-15
    )
    near = torch.special.spherical_bessel_j0(x.float())
    torch.testing.assert_close(
        near.double(), torch.special.spherical_bessel_j0(x.float().double()), rtol=1e-4, atol=1e-7
    )


def test_polynomials_of_negative_or_no_degree_are_zero():
    for degree in (-1.0, nan, -inf):
        assert torch.special.laguerre_polynomial_l(torch.tensor([0.3]), degree).tolist() == [0.0]
    assert math.isnan(torch.special.hermite_polynomial_h(torch.tensor([0.5]), 1000).item())


def test_integers_become_floats_except_where_pytorch_refuses():
    assert torch.i0(torch.tensor([0])).dtype is torch.float32
    with pytest.raises(NotImplementedError):
        torch.igamma(torch.tensor([1]), torch.tensor([1]))
    for device in ("cpu", "npu"):
        with pytest.raises(NotImplementedError, match="\"bessel_j0\" not implemented for 'Half'"):
            torch.special.bessel_j0(torch.ones(1, dtype=torch.float16, device=device))
        assert torch.special.airy_ai(torch.ones(1, dtype=torch.int32, device=device)).dtype is torch.float32


def test_out_and_meta_work():
    out = torch.empty(0)
    assert torch.special.i1e(torch.zeros(2), out=out) is out and out.tolist() == [0, 0]
    assert torch.special.erfcx(torch.ones(3, device="meta")).shape == (3,)


def test_what_cannot_be_differentiated_says_so():
    for name, function in (("igamma: input", torch.igamma), ("zeta", torch.special.zeta)):
        a = torch.full((2,), 2.0, requires_grad=True)
        with pytest.raises(NotImplementedError, match=f"the derivative for '{name}' is not implemented."):
            function(a, torch.ones(2)).sum().backward()
    assert not torch.special.bessel_j0(torch.ones(2, requires_grad=True)).requires_grad


def test_slopes_at_zero_are_finite():
    for name, slope in (("i1", 0.5), ("i1e", 0.5)):
        x = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        getattr(torch.special, name)(x).backward()
        assert x.grad.item() == slope
    x = torch.zeros(1, requires_grad=True)
    torch.special.xlog1py(x, torch.tensor([-2.0])).backward()
    assert x.grad.item() == 0


def test_polygamma_refuses_negative_orders():
    with pytest.raises(RuntimeError, match=r"polygamma\(n, x\) does not support negative n."):
        torch.polygamma(-1, torch.ones(2))
    assert torch.polygamma(1, torch.ones(1, dtype=torch.float64)).item() == pytest.approx(
        math.pi**2 / 6, rel=1e-14
    )
    assert torch.ones(1).polygamma(2).item() == pytest.approx(-2.4041138)

"""Reductions, running reductions and norms: what the comparison with PyTorch's samples does not show."""

import math

import numpy as np
import pytest

import mindtorch_v2 as torch

INF, NAN = math.inf, math.nan
vector_norm = torch._C._linalg.vector_norm


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
def test_an_extremum_of_nothing_names_the_operator_called(name):
    with pytest.raises(RuntimeError, match=rf"^{name}\(\): Expected reduction dim to be specified"):
        getattr(torch, name)(torch.empty(0))
    with pytest.raises(IndexError, match=rf"^{name}\(\): Expected reduction dim 0 to have non-zero size"):
        getattr(torch, name)(torch.empty(0, 2), 0)


def test_an_extremum_over_another_dimension_of_an_empty_tensor_is_empty():
    assert torch.amax(torch.empty(0, 2), 1).shape == (0,)
    assert torch.max(torch.empty(0, 2), 1).indices.shape == (0,)


def test_argmax_refuses_booleans_and_finds_the_first_nan():
    with pytest.raises(RuntimeError, match=r"argmax\(\): does not support bool input"):
        torch.argmax(torch.tensor([True, False]))
    assert torch.argmax(torch.tensor([1.0, NAN, 3.0, NAN])).item() == 1


def test_variance_takes_any_correction_and_never_divides_by_less_than_nothing():
    x = numbers(3, 4)
    expected = ((x.numpy() - x.numpy().mean(0)) ** 2).sum(0) / 2.5
    np.testing.assert_allclose(torch.var(x, 0, correction=0.5).numpy(), expected, rtol=1e-5)
    assert torch.var(x, 0, correction=5).isnan().logical_not().all()
    assert torch.var(torch.ones(())).isnan()


def test_variance_of_numbers_far_from_zero_keeps_its_digits():
    x = torch.tensor([1e8 + i for i in range(1000)], dtype=torch.float64)
    assert torch.var(x).item() == pytest.approx(np.arange(1000).var(ddof=1), rel=1e-12)
    assert torch.var(x.reshape(500, 2).t(), 1)[0].item() == pytest.approx(np.arange(0, 1000, 2).var(ddof=1))


def test_variance_of_many_elements_in_any_layout_agrees():
    x = np.random.default_rng(1).standard_normal((40, 50, 60))
    t = torch.from_numpy(x)
    for dims in [(0,), (1,), (2,), (0, 2), (0, 1, 2)]:
        np.testing.assert_allclose(torch.var(t, dims).numpy(), x.var(dims, ddof=1), rtol=1e-12)
        turned = t.permute(2, 0, 1)
        np.testing.assert_allclose(
            torch.var(turned, dims).numpy(), x.transpose(2, 0, 1).var(dims, ddof=1), rtol=1e-12
        )


def test_variance_and_mean_come_as_a_plain_tuple():
    result = torch.var_mean(numbers(3, 4), 1)
    assert type(result) is tuple and len(result) == 2


def test_variance_refuses_integers():
    with pytest.raises(RuntimeError, match="std and var only support floating point and complex dtypes"):
        torch.var(torch.ones(3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="std_mean only support"):
        torch.std_mean(torch.ones(3, dtype=torch.int64))


def test_the_slope_of_a_deviation_at_zero_is_zero():
    x = torch.ones(3, requires_grad=True)
    torch.std(x).backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_only_the_gradient_of_the_mean_flows_when_only_the_mean_is_used():
    x = torch.ones(4, requires_grad=True)
    torch.std_mean(x)[1].backward()
    assert x.grad.tolist() == [0.25] * 4


def test_running_sums_run_in_place_along_any_stride_and_keep_the_dtype():
    x = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    assert x.t().cumsum_(1).tolist() == [[0, 3], [1, 5], [2, 7]]
    assert x.tolist() == [[0, 1, 2], [3, 5, 7]]
    assert torch.cumsum(x, 0).dtype == torch.int64


def test_running_sums_of_a_number_are_the_number_and_check_their_dimension():
    assert torch.cumsum(torch.tensor(3.0), 0).item() == 3
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.cumsum(torch.ones(2, 3), 2)


def test_running_sums_over_many_lines_agree_with_numpy():
    x = np.random.default_rng(2).standard_normal((300, 200)).astype(np.float32)
    for dim in (0, 1):
        np.testing.assert_allclose(
            torch.cumsum(torch.from_numpy(x), dim).numpy(),
            x.astype(np.float64).cumsum(dim),
            rtol=1e-4,
            atol=1e-4,
        )


def test_running_products_with_zeros_have_the_gradient_of_their_factors():
    x = torch.tensor([2.0, 0.0, 3.0, 0.0, 4.0], requires_grad=True)
    torch.cumprod(x, 0).backward(torch.ones(5))
    # 1 + x1 + x1 x2 + …, and x0 + x0 x2 at the first zero; behind it nothing moves.
    assert x.grad.tolist() == [1, 8, 0, 0, 0]


def test_logcumsumexp_starts_at_minus_infinity_and_can_be_differentiated_twice():
    assert torch.logcumsumexp(torch.tensor([-INF, 1.0, INF]), 0).tolist() == [-INF, 1.0, INF]
    x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)

    def slope(values):
        total = torch.logcumsumexp(values, 0).sum()
        return torch.autograd.grad(total, values, create_graph=True)[0].square().sum()

    second = torch.autograd.grad(slope(x), x)[0]
    for i in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[i] = 1e-6
        up = slope((x.detach() + step).requires_grad_())
        down = slope((x.detach() - step).requires_grad_())
        assert second[i].item() == pytest.approx(((up - down) / 2e-6).item(), abs=1e-6)


def test_logsumexp_is_finite_for_large_numbers_and_follows_infinities():
    assert torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0).item() == pytest.approx(1000 + math.log(2))
    assert torch.logsumexp(torch.tensor([-INF, -INF]), 0).item() == -INF
    assert torch.logsumexp(torch.empty(0, 3), 0).tolist() == [-INF] * 3


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, -1, INF, -INF])
def test_vector_norms_agree_with_numpy(order):
    x = numbers(5, 7)
    expected = np.linalg.norm(x.numpy().astype(np.float64), order, axis=1)
    np.testing.assert_allclose(vector_norm(x, order, 1).numpy(), expected, rtol=1e-5)


def test_a_norm_without_an_identity_refuses_to_reduce_nothing():
    with pytest.raises(RuntimeError, match="cannot compute the inf norm on an empty tensor"):
        vector_norm(torch.ones(2, 0), INF)
    assert vector_norm(torch.ones(2, 0)).item() == 0


def test_norm_takes_names_numbers_and_none():
    x = numbers(3, 4)
    assert torch.norm(x).item() == pytest.approx(np.linalg.norm(x.numpy()))
    assert x.norm(None).item() == x.norm(2).item()
    with pytest.raises(RuntimeError, match="Order foo not supported"):
        torch.norm(x, "foo")


def test_the_norm_of_zeros_has_a_gradient_of_zeros():
    for order in (1, 2, 3, INF):
        x = torch.zeros(2, requires_grad=True)
        vector_norm(x, order).backward()
        assert x.grad.tolist() == [0, 0]


def test_sums_that_skip_nan_have_no_gradient_there():
    x = torch.tensor([1.0, NAN, 2.0], requires_grad=True)
    y = torch.nansum(x)
    y.backward()
    assert y.item() == 3 and x.grad.tolist() == [1, 0, 1]
    assert torch.nanmean(x).item() == 1.5


def test_softmax_gives_exact_zeros_and_nan_where_they_belong():
    assert torch.softmax(torch.tensor([-INF, 0.0]), 0).tolist() == [0, 1]
    assert torch.softmax(torch.tensor([NAN, 0.0]), 0).isnan().all()
    assert torch.softmax(torch.tensor([-INF, -INF]), 0).isnan().all()
    assert torch._safe_softmax(torch.tensor([-INF, -INF]), 0).tolist() == [0, 0]


def test_softmax_in_long_rows_sums_to_one():
    x = numbers(3, 5000) * 20
    np.testing.assert_allclose(torch.softmax(x, 1).sum(1).numpy(), 1, rtol=1e-5)


def test_results_on_meta_have_shape_and_dtype_only():
    x = torch.empty(3, 4, device="meta")
    assert torch.var(x, 1).shape == (3,) and torch.cumsum(x, 0).shape == (3, 4)
    assert torch.aminmax(x, dim=0, keepdim=True).max.shape == (1, 4)
    assert torch.hash_tensor(x).dtype == torch.uint64


def test_differences_of_booleans_are_exclusive_or():
    assert torch.diff(torch.tensor([True, False, False])).tolist() == [True, False]
    with pytest.raises(RuntimeError, match="order must be non-negative but got -1"):
        torch.diff(torch.ones(3), n=-1)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int32", "uint8", "bool"])
def test_a_hash_on_the_npu_is_the_cpus_for_every_dtype_and_layout(dtype):
    x = (numbers(5, 4, 7) * 10).to(getattr(torch, dtype))
    for options in ({}, {"dim": 1}, {"dim": (0, 2)}, {"dim": 1, "keepdim": True}):
        wanted = torch.hash_tensor(x, **options)
        got = torch.hash_tensor(x.npu().transpose(0, 2).contiguous().transpose(0, 2), **options)
        assert got.dtype is torch.uint64 and got.shape == wanted.shape
        assert got.tolist() == wanted.tolist()
    assert torch.hash_tensor(torch.zeros(0, 3, device="npu"), dim=1).shape == (0,)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130, 257])
def test_extremes_of_rows_are_found_wherever_they_are_and_nan_wins(dtype, length):
    rows = np.zeros((length, length), dtype)
    np.fill_diagonal(rows, 3.0)
    ours = torch.tensor(rows)
    assert ours.amax(1).tolist() == [3.0] * length
    assert (-ours).amin(1).tolist() == [-3.0] * length
    np.fill_diagonal(rows, math.nan)
    ours = torch.tensor(rows)
    assert all(map(math.isnan, ours.amax(1).tolist() + ours.amin(1).tolist()))
    assert math.isnan(ours.amax().item())


@pytest.mark.parametrize("length", [1, 5, 15, 16, 17, 40, 127, 128, 129, 160, 1000])
def test_sums_and_products_of_short_rows_are_those_of_double_precision(length):
    rows = np.random.default_rng(length).uniform(0.9, 1.1, (301, length)).astype("float32")
    exact = rows.astype("float64")
    ours = torch.tensor(rows)
    for found, wanted in ((ours.sum(1), exact.sum(1)), (ours.mean(1), exact.mean(1))):
        assert np.abs(found.numpy() / wanted - 1).max() < 3e-7
    assert np.abs(ours.prod(1).numpy() / exact.prod(1) - 1).max() < 6e-8 * length
    assert np.abs(ours[:, ::2].sum(1).numpy() / exact[:, ::2].sum(1) - 1).max() < 3e-7
    assert np.abs(ours.norm(dim=1).numpy() / np.sqrt((exact**2).sum(1)) - 1).max() < 3e-7


@pytest.mark.parametrize("order", [0.5, 1, 1.5, 2, 3, 4.5, math.inf])
def test_the_gradient_of_a_norm_is_that_of_differences_and_zero_at_nothing(order):
    rng = np.random.default_rng(7)
    x = torch.tensor(rng.normal(size=(3, 4)), requires_grad=True)
    for dim in (None, 0, 1):
        assert torch.autograd.gradcheck(lambda x, dim=dim: torch.linalg.vector_norm(x, order, dim), [x])
    nothing = torch.zeros(3, requires_grad=True)
    torch.linalg.vector_norm(nothing, order).backward()
    assert nothing.grad.tolist() == [0, 0, 0]


@pytest.mark.parametrize("shape", [(7,), (3, 300), (9, 257), (2, 3, 5)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_running_sums_and_products_of_lines_side_by_side_are_those_of_each(shape, dtype):
    values = np.random.default_rng(0).integers(-2, 3, shape).astype(dtype)
    for dim in range(-1, -len(shape) - 1, -1):
        assert torch.tensor(values).cumsum(dim).tolist() == values.cumsum(dim).tolist()
        assert torch.tensor(values).cumprod(dim).tolist() == values.cumprod(dim).tolist()
        turned = torch.tensor(values).flip(dim).cumsum(dim).flip(dim)
        assert turned.tolist() == np.flip(np.flip(values, dim).cumsum(dim), dim).tolist()


@pytest.mark.parametrize("scale", [1e-30, 1e-22, 1e-10, 1.0, 1e18, 1e30])
@pytest.mark.parametrize("length", [3, 16, 40, 1000])
def test_norms_of_floats_neither_overflow_nor_vanish(scale, length):
    rows = (np.random.default_rng(0).uniform(0.5, 1.0, (5, length)) * scale).astype("float32")
    exact = rows.astype("float64")
    ours = torch.tensor(rows)
    assert np.abs(ours.norm(dim=1).numpy() / np.sqrt((exact**2).sum(1)) - 1).max() < 3e-7
    assert np.abs(ours.norm(p=1, dim=1).numpy() / exact.sum(1) - 1).max() < 3e-7


def test_the_gradient_of_an_extreme_goes_to_the_element_that_was_chosen():
    x = torch.tensor([[1.0, 5.0, 5.0], [7.0, 2.0, 7.0]], requires_grad=True)
    for keepdim in (False, True):
        values, places = x.max(1, keepdim)
        (gradient,) = torch.autograd.grad(values, x, torch.ones_like(values) * 3)
        wanted = np.zeros((2, 3))
        np.put_along_axis(wanted, places.numpy().reshape(2, 1), 3, 1)
        assert gradient.tolist() == wanted.tolist()
    columns = torch.vmap(lambda row: torch.func.grad(lambda r: r.min(0)[0])(row))(x.detach())
    assert columns.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float32]
)
def test_rows_of_every_length_are_added_up_whole(dtype):
    for length in range(1, 150):
        row = ((torch.arange(length) * 5 + 3) % 7).to(dtype)
        values = [int(value) for value in row.tolist()]
        rows = row.repeat(3, 1)
        assert int(row.sum()) == sum(values)
        assert [int(value) for value in rows.sum(1).tolist()] == [sum(values)] * 3
        assert [int(value) for value in rows.amax(1).tolist()] == [max(values)] * 3


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "complex64", "complex128"]
)
def test_reductions_of_every_short_length_agree_with_numpy(dtype):
    rng = np.random.default_rng(7)
    for length in range(1, 201):
        values = rng.integers(-100, 100, (3, length))
        x = values.astype(dtype) if "complex" not in dtype else (values + 1j * values[::-1]).astype(dtype)
        t = torch.from_numpy(x)
        for line, row in zip(t, x, strict=True):
            assert line.sum().item() == row.sum()
        np.testing.assert_array_equal(t.sum(1).numpy(), x.sum(1))
        np.testing.assert_array_equal(t.t().contiguous().sum(0).numpy(), x.sum(1))
        if "complex" not in dtype:
            np.testing.assert_array_equal(t.amax(1).numpy(), x.max(1))
            np.testing.assert_array_equal(t.amin(1).numpy(), x.min(1))


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "int32", "float16", "float32", "float64", "complex64"]
)
@pytest.mark.parametrize("length", [1, 7, 24, 100, 2048, 2049, 5000])
def test_any_and_all_find_a_single_element_anywhere(dtype, length):
    kind = getattr(torch, dtype)
    none, every = torch.zeros(length, dtype=kind), torch.ones(length, dtype=kind)
    assert not none.any() and every.all()
    for place in {0, length // 2, length - 1}:
        one, rest = none.clone(), every.clone()
        one[place], rest[place] = 1, 0
        assert one.any() and not rest.all()
    if kind.is_floating_point:
        assert torch.full((length,), NAN, dtype=kind).any() and torch.full((length,), NAN, dtype=kind).all()
        assert not torch.full((length,), -0.0, dtype=kind).any()


@pytest.mark.parametrize(
    "dtype", ["uint8", "int16", "int64", "float16", "bfloat16", "complex64", "complex128"]
)
def test_dot_products_of_every_short_length_agree_with_numpy(dtype):
    rng = np.random.default_rng(8)
    for length in [*range(70), 1000, 5001]:
        a, b = rng.integers(-3, 4, (2, 2, length))
        pair = (a[0] + 1j * a[1], b[0] + 1j * b[1]) if "complex" in dtype else (a[0], b[0])
        kind = getattr(torch, dtype)
        x, y = (torch.from_numpy(v.copy()).to(kind) for v in pair)
        wanted = torch.from_numpy(np.asarray(np.dot(*pair))).to(kind)
        assert torch.dot(x, y).item() == wanted.item()
        assert torch.dot(x.repeat_interleave(2)[::2], y).item() == wanted.item()


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.complex64]
)
@pytest.mark.parametrize("dim", [(0, 2), (1,), (0,), (2,), (0, 1)])
def test_sums_and_extremes_over_any_dimensions_of_windows(dtype, dim):
    draw = np.random.default_rng(0)
    whole = torch.from_numpy(draw.integers(-9, 9, (9, 37, 90))).to(dtype)
    for x in (whole, whole[:, :, 5:75], whole[:, ::2], whole[:, :, ::3], whole.permute(2, 0, 1)):
        values = x.to(torch.complex128 if dtype.is_complex else torch.int64).numpy()
        assert torch.equal(x.sum(dim), torch.from_numpy(values.sum(dim)).to(dtype))
        if not dtype.is_complex:
            np.testing.assert_array_equal(x.amax(dim).long(), values.max(dim))
            np.testing.assert_array_equal(x.amin(dim).long(), values.min(dim))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nan_is_found_at_every_place(dtype):
    for n in (1, 7, 8, 9, 31, 33, 64, 65, 130):
        x = torch.arange(n, dtype=dtype).expand(n, n).clone()
        x.fill_diagonal_(NAN)
        assert x.amax(1).isnan().all() and x.amin(1).isnan().all()
        assert torch.arange(n, dtype=dtype).amax().item() == n - 1


def test_the_variance_of_complex_numbers_over_all_and_over_some_dimensions():
    draw = np.random.default_rng(0)
    a = draw.standard_normal((300, 40)) + 1j * draw.standard_normal((300, 40))
    x = torch.from_numpy(a)
    np.testing.assert_allclose(x.var(), a.var(ddof=1), rtol=1e-12)
    np.testing.assert_allclose(x.std(0), a.std(0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(x.var(1), a.var(1, ddof=1), rtol=1e-12)


@pytest.mark.parametrize("zero", [None, 2])
def test_running_and_whole_products_have_complex_slopes(zero):
    draw = np.random.default_rng(1)
    x = torch.from_numpy(draw.standard_normal((3, 4)) + 1j * draw.standard_normal((3, 4)))
    if zero is not None:
        x[1, zero] = 0
    x.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: torch.cumprod(x, 1), x)
    assert torch.autograd.gradcheck(lambda x: torch.prod(x, 1), x)


@pytest.mark.parametrize("columns", [1, 2, 3, 5, 64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_few_columns_of_many_rows_are_reduced(columns, dtype):
    x = torch.from_numpy(np.random.default_rng(0).integers(0, 2, (1001, columns))).to(dtype)
    values = x.to(torch.complex128).real.numpy()
    np.testing.assert_array_equal(x.sum(0, dtype=torch.complex128).real, values.sum(0))
    np.testing.assert_array_equal(torch.cumsum(x, 0, dtype=torch.complex128).real, values.cumsum(0))
    if not dtype.is_complex:
        np.testing.assert_array_equal(x.amax(0).long(), values.max(0))
        np.testing.assert_array_equal(x.amin(0).long(), values.min(0))


@pytest.mark.parametrize("threads", [1, 2, 16])
@pytest.mark.parametrize("shape", [(60, 40, 50), (3, 100000), (100000, 3)], ids=str)
def test_logarithms_of_sums_do_not_depend_on_threads(shape, threads):
    before = torch.get_num_threads()
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    x[0] += 200
    x[0].flat[1] = -np.inf
    try:
        for dims in (0, 1, -1, (0, 1)):
            torch.set_num_threads(1)
            alone = torch.logsumexp(torch.from_numpy(x), dims).numpy()
            torch.set_num_threads(threads)
            result = torch.logsumexp(torch.from_numpy(x), dims).numpy()
            np.testing.assert_array_equal(result, alone)
            top = x.max(dims, keepdims=True).astype(np.float64)
            wanted = np.log(np.exp(x - top).sum(dims)) + top.reshape(result.shape)
            np.testing.assert_allclose(result, wanted, 1e-5, 1e-5)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "shape", [(40, 1), (33, 7), (5, 8), (19, 33), (17, 1024), (3, 1025), (50, 2100)], ids=str
)
def test_halves_are_added_up_along_rows_and_columns(dtype, shape):
    draw = np.random.default_rng(3)
    x = torch.from_numpy(draw.integers(-4, 5, shape)).to(dtype)  # sums of these are exact
    values = x.double().numpy()
    for dims in (0, 1, (0, 1)):
        as_float = {"dim": dims, "dtype": torch.float32}
        np.testing.assert_array_equal(x.sum(**as_float).numpy(), values.sum(dims))
        np.testing.assert_array_equal(x.t().sum(**as_float).numpy(), values.T.sum(dims))
        np.testing.assert_array_equal(x[:, ::2].sum(**as_float).numpy(), values[:, ::2].sum(dims))
        np.testing.assert_allclose(x.mean(**as_float).numpy(), values.mean(dims), rtol=1e-6)
        norm = torch.linalg.vector_norm(x, 2, **as_float)
        np.testing.assert_allclose(norm.numpy(), np.sqrt((values**2).sum(dims)), rtol=1e-6)
    signs = torch.from_numpy(draw.choice([-1.0, 1.0, 1.0], shape)).to(dtype)
    for dim in (0, 1):
        np.testing.assert_array_equal(signs.prod(dim).double().numpy(), signs.double().numpy().prod(dim))
    x[0, 0] = NAN
    assert x.sum().isnan() and x.prod().isnan()
    assert x.nansum(1, dtype=torch.float32)[0] == np.nansum(values[0, 1:])


@pytest.mark.parametrize("value", [3e37, 1e-30])
def test_norms_of_halves_whose_squares_are_no_floats(value):
    x = torch.full((2, 64), value, dtype=torch.bfloat16)
    norm = vector_norm(x, dim=[1], dtype=torch.float32)
    np.testing.assert_allclose(norm.numpy(), [x[0, 0].item() * 8] * 2, rtol=1e-6)
    assert vector_norm(torch.full((1500,), INF, dtype=torch.bfloat16)) == INF
    assert vector_norm(torch.full((1500,), NAN, dtype=torch.bfloat16)).isnan()


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.float32, torch.int32])
@pytest.mark.parametrize("shape", [(7, 600), (3, 40, 513), (4, 5, 1100), (30, 16)], ids=str)
def test_running_sums_across_many_neighbours(dtype, shape):
    values = np.random.default_rng(4).integers(-9, 9, shape)
    x = torch.from_numpy(values).to(dtype)
    for dim in range(len(shape)):
        np.testing.assert_array_equal(x.cumsum(dim).double().numpy(), values.cumsum(dim))
        np.testing.assert_array_equal(
            x.flip(dim).cumsum(dim).double().numpy(), np.flip(values, dim).cumsum(dim)
        )
    into = torch.empty(shape[::-1], dtype=dtype).permute(*range(len(shape))[::-1])
    torch.cumsum(x, 0, out=into)
    np.testing.assert_array_equal(into.double().numpy(), values.cumsum(0))
    np.testing.assert_array_equal(x.clone().cumsum_(0).double().numpy(), values.cumsum(0))

"""Linear algebra beyond values: what it refuses, what it writes into, empty and strided matrices."""

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._functions import contractions

RNG = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64") -> torch.Tensor:
    return torch.from_numpy(RNG.standard_normal(shape).astype(dtype))


def positive(n: int) -> torch.Tensor:
    a = RNG.standard_normal((n, n))
    return torch.from_numpy(a @ a.T + n * np.eye(n))


def close(actual: torch.Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(actual.detach().numpy(), wanted, rtol=1e-9, atol=1e-9)


def slope(function, x: torch.Tensor) -> None:
    """The gradient of function(x).sum() along a random direction against a difference quotient."""
    direction = matrix(*x.shape)
    leaf = x.clone().requires_grad_()
    function(leaf).sum().backward()
    step = 1e-6
    difference = (function(x + direction * step).sum() - function(x - direction * step).sum()).item() / (
        2 * step
    )
    assert (leaf.grad * direction).sum().item() == pytest.approx(difference, rel=1e-5, abs=1e-6)


def test_a_singular_matrix_raises_linalg_error_with_its_place_in_the_batch():
    batch = torch.stack([torch.ones(2, 2) + torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.zeros(2, 2)])
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"linalg.inv: \(Batch element 1\): The diagonal element 1"
    ):
        torch.linalg.inv(batch)


def test_linalg_error_is_a_runtime_error():
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)


def test_the_ex_functions_report_instead_of_raising():
    _, info = torch.linalg.inv_ex(torch.zeros(2, 2))
    assert info.dtype == torch.int32 and info.item() == 1
    with pytest.raises(torch.linalg.LinAlgError, match="linalg.inv_ex"):
        torch.linalg.inv_ex(torch.zeros(2, 2), check_errors=True)


def test_a_matrix_that_is_not_positive_definite_names_the_minor():
    with pytest.raises(torch.linalg.LinAlgError, match="leading minor of order 2"):
        torch.linalg.cholesky(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "eigh", "eig", "slogdet", "matrix_exp"])
def test_matrices_that_are_not_square_are_refused(name):
    with pytest.raises(
        RuntimeError, match="must be batches of square matrices, but they are 2 by 3 matrices"
    ):
        getattr(torch.linalg, name)(torch.zeros(2, 3))


@pytest.mark.parametrize("name", ["inv", "det", "qr", "svd"])
def test_integers_are_refused_by_name(name):
    with pytest.raises(RuntimeError, match=f"linalg.{name}: Expected a floating point or complex tensor"):
        getattr(torch.linalg, name)(torch.zeros(2, 2, dtype=torch.int64))


def test_pivots_out_of_range_never_reach_lapack():
    bad = torch.tensor([7, 9], dtype=torch.int32)
    with pytest.raises(RuntimeError, match="ivots given to lu_solve"):
        torch.linalg.lu_solve(torch.ones(2, 2), bad, torch.ones(2, 1))
    with pytest.raises(RuntimeError, match="pivots passed to lu_unpack"):
        torch.lu_unpack(torch.ones(2, 2), bad)
    with pytest.raises(RuntimeError, match="ivots given to ldl_solve"):
        torch.linalg.ldl_solve(torch.ones(2, 2), bad, torch.ones(2, 1))


def test_values_that_are_not_finite_raise_instead_of_looping():
    bad = torch.full((3, 3), float("nan"))
    with pytest.raises(torch.linalg.LinAlgError, match="non-finite"):
        torch.linalg.svd(bad)
    with pytest.raises(torch.linalg.LinAlgError, match="failed to converge"):
        torch.linalg.eigh(bad)
    with pytest.raises(RuntimeError, match="infs or NaNs"):
        torch.linalg.eig(bad)


def test_matrices_without_elements_work():
    assert torch.linalg.inv(torch.zeros(0, 0)).shape == (0, 0)
    assert torch.linalg.det(torch.zeros(2, 0, 0)).tolist() == [1.0, 1.0]
    u, s, vh = torch.linalg.svd(torch.zeros(3, 0))
    assert u.shape == (3, 3) and s.shape == (0,) and vh.shape == (0, 0)
    q, r = torch.linalg.qr(torch.zeros(3, 0), mode="complete")
    assert q.tolist() == np.eye(3).tolist() and r.shape == (3, 0)
    assert torch.linalg.solve(torch.zeros(0, 2, 2), torch.zeros(0, 2, 1)).shape == (0, 2, 1)
    assert torch.linalg.matrix_rank(torch.zeros(0, 3)).item() == 0
    assert torch.mm(torch.zeros(2, 0), torch.zeros(0, 3)).tolist() == [[0.0] * 3] * 2


def test_any_strides_are_taken():
    a = matrix(8, 6, 4)[::2, ::2].transpose(1, 2)  # 4 x 4 x 3
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    close((u * s.unsqueeze(-2)) @ vh, a.numpy())
    square = matrix(5, 10)[:, ::2].transpose(0, 1)
    close(torch.linalg.inv(square), np.linalg.inv(square.numpy()))


def test_a_batch_broadcasts_against_one_right_hand_side():
    a, b = matrix(3, 4, 4), matrix(4, 2)
    close(torch.linalg.solve(a, b), np.stack([np.linalg.solve(m, b.numpy()) for m in a.numpy()]))


def test_solving_from_the_right_is_solving_the_transpose():
    a, b = matrix(4, 4), matrix(2, 4)
    close(torch.linalg.solve(a, b, left=False) @ a, b.numpy())


def test_lu_puts_the_matrix_together_again():
    for shape in [(4, 4), (5, 3), (3, 5)]:
        a = matrix(2, *shape)
        p, lower, upper = torch.linalg.lu(a)
        close(p @ lower @ upper, a.numpy())


def test_ldl_solves_what_it_factored():
    a, b = positive(4) - 6 * torch.ones(4, 4), matrix(4, 2)
    close(a @ torch.linalg.ldl_solve(*torch.linalg.ldl_factor(a), b), b.numpy())


def test_eigenvectors_of_a_real_matrix_are_complex():
    values, vectors = torch.linalg.eig(torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))
    assert values.dtype == torch.complex64 and vectors.dtype == torch.complex64
    assert sorted(values.numpy().imag.tolist()) == [-1.0, 1.0]


def test_out_is_resized_and_written():
    out, a = torch.zeros(1, dtype=torch.float64), positive(3)
    assert torch.linalg.inv(a, out=out) is out
    close(out, np.linalg.inv(a.numpy()))
    q, r = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
    torch.linalg.qr(a, out=(q, r))
    close(q @ r, a.numpy())


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16])
def test_out_of_another_dtype_is_refused_and_never_overrun(dtype):
    out = torch.zeros(2, 2, dtype=dtype)
    with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float"):
        torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), out=out)
    assert not out.any()


def test_baddbmm_in_place_adds_to_self_and_beta_zero_ignores_nan():
    a, b = matrix(2, 3, 4), matrix(2, 4, 5)
    total = torch.full((2, 3, 5), float("nan"), dtype=torch.float64)
    assert total.baddbmm_(a, b, beta=0) is total
    close(total, a.numpy() @ b.numpy())
    close(
        torch.addmv(torch.full((3,), float("nan"), dtype=torch.float64), a[0], b[0, :, 0], beta=0),
        (a.numpy() @ b.numpy())[0, :, 0],
    )


def test_a_product_in_place_may_read_what_it_writes():
    x = matrix(1, 3, 3)
    wanted = x.numpy() + x.numpy() @ x.numpy()
    x.baddbmm_(x, x)
    close(x, wanted)


def test_shapes_are_known_on_meta():
    a = torch.empty(2, 5, 3, device="meta")
    u, s, vh = torch.linalg.svd(a)
    assert (u.shape, s.shape, vh.shape) == ((2, 5, 5), (2, 3), (2, 3, 3))
    assert torch.linalg.inv(torch.empty(4, 4, device="meta")).shape == (4, 4)
    assert torch.linalg.eig(torch.empty(4, 4, device="meta"))[0].dtype == torch.complex64


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ii->i", [(3, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ij,kj,lk->il", [(2, 3), (4, 3), (5, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 3)]),
        ("i,j->ji", [(2,), (3,)]),
        ("ij->", [(2, 3)]),
        ("ijk,ijk->j", [(2, 3, 4), (2, 3, 4)]),
    ],
)
def test_einsum_agrees_with_numpy(equation, shapes):
    operands = [matrix(*shape) for shape in shapes]
    close(torch.einsum(equation, *operands), np.einsum(equation, *(x.numpy() for x in operands)))


def test_einsum_takes_lists_of_numbers_and_broadcasts_ones():
    a, b = matrix(2, 3), matrix(3, 4)
    close(torch.einsum(a, [0, 1], b, [1, 2], [0, 2]), a.numpy() @ b.numpy())
    close(torch.einsum("ij,jk->ik", matrix(2, 1) * 0 + 1, b), np.tile(b.numpy().sum(0), (2, 1)))


@pytest.mark.parametrize(
    "equation, message",
    [
        (
            "ij,jk",
            "subscript j has size 2 for operand 1 which does not broadcast with previously seen size 3",
        ),
        ("ij,jk->ii", "output subscript i appears more than once in the output"),
        ("i1,jk", "invalid subscript given at index 1"),
        ("i,jk", "number of subscripts in the equation \\(1\\) does not match"),
        ("ij,jk,k", "fewer operands were provided"),
    ],
)
def test_einsum_explains_what_is_wrong(equation, message):
    with pytest.raises(RuntimeError, match=message):
        torch.einsum(equation, torch.zeros(2, 3), torch.zeros(2, 3))


def test_multi_dot_takes_vectors_at_its_ends():
    v, a, b = matrix(3), matrix(3, 4), matrix(4)
    close(torch.linalg.multi_dot([v, a, b]), v.numpy() @ a.numpy() @ b.numpy())


def test_gradients_of_decompositions_follow_difference_quotients():
    square = matrix(3, 3) + 3 * torch.from_numpy(np.eye(3))
    weight, tall = matrix(3, 3), matrix(5, 3)
    slope(torch.linalg.inv, square)
    slope(lambda a: torch.linalg.lu_factor(a)[0], square)
    slope(lambda a: torch.linalg.lu(a)[1] * 2, tall)
    slope(lambda a: torch.linalg.lu(a)[2] * 2, tall.transpose(0, 1))
    slope(lambda a: torch.linalg.qr(a)[0] * tall, tall + 1)
    slope(lambda a: torch.linalg.qr(a)[1] * 2, matrix(3, 5))
    slope(lambda a: torch.linalg.svd(a, full_matrices=False)[0].abs(), tall)
    slope(lambda a: torch.linalg.eigh(a + a.transpose(0, 1))[1].abs() * weight, square)
    slope(lambda a: torch.linalg.cholesky(a @ a.transpose(0, 1) + 1) * weight, square)
    slope(torch.linalg.pinv, tall)
    slope(torch.linalg.matrix_exp, square)
    slope(torch.linalg.det, torch.from_numpy(np.diag([1.0, 2.0, 0.0])))


def test_gradients_of_solves_follow_difference_quotients():
    square, right = matrix(3, 3) + 3 * torch.from_numpy(np.eye(3)), matrix(3, 2)
    _, pivots = torch.linalg.lu_factor(square)
    slope(lambda a: torch.linalg.solve(a, right), square)
    slope(lambda a: torch.linalg.solve(a, right.transpose(0, 1), left=False), square)
    slope(lambda a: torch.triangular_solve(right, a)[0], square)
    slope(lambda a: torch.triangular_solve(right, a, upper=False, transpose=True)[0], square)
    slope(lambda a: torch.linalg.solve_triangular(a, right, upper=False, unitriangular=True), square)
    slope(lambda a: torch.linalg.lu_solve(a, pivots, right), square)
    slope(lambda a: torch.linalg.lu_solve(a, pivots, right, adjoint=True), square)
    slope(lambda a: torch.linalg.lu_solve(a, pivots, right.transpose(0, 1), left=False), square)
    for upper in (False, True):
        slope(lambda a, u=upper: torch.cholesky_solve(right, a, upper=u), square)
        slope(lambda a, u=upper: torch.cholesky_inverse(a.triu() if u else a.tril(), upper=u), square)
    slope(lambda a: torch.linalg.lstsq(a, matrix(5, 2) * 0 + 1).solution, matrix(5, 3))


def test_gradients_can_be_differentiated_again():
    a = (matrix(3, 3) + 3 * torch.from_numpy(np.eye(3))).requires_grad_()
    (first,) = torch.autograd.grad(torch.linalg.det(a), a, create_graph=True)
    (second,) = torch.autograd.grad((first * first).sum(), a)
    step, direction = 1e-6, matrix(3, 3)

    def squared(m):
        m = m.detach().requires_grad_()
        (g,) = torch.autograd.grad(torch.linalg.det(m), m)
        return (g * g).sum().item()

    difference = (squared(a + direction * step) - squared(a - direction * step)) / (2 * step)
    assert (second * direction).sum().item() == pytest.approx(difference, rel=1e-5)


def test_complex_matrices_are_inverted_solved_and_decomposed():
    z = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3))
    a = torch.from_numpy(z)
    close(torch.linalg.inv(a), np.linalg.inv(z))
    close(torch.linalg.solve(a, a[:, :1], left=True), np.linalg.solve(z, z[:, :1]))
    values, vectors = torch.linalg.eigh(torch.from_numpy(z + z.conj().T))
    assert values.dtype == torch.float64
    close(values, np.linalg.eigvalsh(z + z.conj().T))
    u, s, vh = torch.linalg.svd(a)
    close((u * s.to(u.dtype)) @ vh, z)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex128])
@pytest.mark.parametrize("sizes", [(6, 6), (3, 2, 5, 5), (1, 1), (0, 2, 2), (2, 0, 0)])
def test_ldl_factors_of_the_npu_have_the_pivots_and_blocks_of_the_cpu(sizes, dtype, hermitian):
    numbers = np.random.default_rng(1).standard_normal((2, *sizes))
    a = torch.tensor(numbers[0] + (1j * numbers[1] if dtype.is_complex else 0)).to(dtype)
    a = a + (a.mH if hermitian else a.mT)
    a.diagonal(0, -2, -1)[..., : sizes[-1] // 2] = 0  # what only blocks of two get over
    b = torch.tensor(numbers[1]).to(dtype)[..., :3]
    loose = {"rtol": 1e-3, "atol": 1e-3} if dtype is torch.float32 else {"rtol": 1e-8, "atol": 1e-9}
    factors, pivots = torch.linalg.ldl_factor(a, hermitian=hermitian)
    assert sizes[-1] < 5 or (pivots < 0).any()
    got, places = torch.linalg.ldl_factor(a.npu(), hermitian=hermitian)
    assert places.tolist() == pivots.tolist()
    np.testing.assert_allclose(got.cpu(), factors, **loose)
    x = torch.linalg.ldl_solve(got, places, b.npu(), hermitian=hermitian)
    np.testing.assert_allclose((a.npu() @ x).cpu(), b, **loose)


def test_an_ldl_factorisation_on_the_npu_says_where_it_failed():
    with pytest.raises(torch.linalg.LinAlgError, match="The diagonal block of D at index 1 is zero"):
        torch.linalg.ldl_factor(torch.zeros(3, 3, device="npu"))


def test_einsum_of_many_operands_finds_the_order_of_products_once():
    letters = "abcdefghijklmnopqrstuvwxyz"
    equation = ",".join(letters[i : i + 2] for i in range(20)) + "->a" + letters[20]
    matrices = [torch.eye(3) * 2 for _ in range(20)]
    contractions._program.cache_clear()
    for _ in range(3):
        assert torch.einsum(equation, *matrices).tolist() == (torch.eye(3) * 2**20).tolist()
    assert contractions._program.cache_info().misses == 1


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [1, 3, 16, 40])
def test_factors_solve_the_adjoint_system_and_invert(dtype, n):
    a = RNG.standard_normal((5, n, n)) + (1j * RNG.standard_normal((5, n, n)) if dtype == "complex128" else 0)
    b = RNG.standard_normal((5, n, 2)).astype(dtype)
    lu, pivots = torch.linalg.lu_factor(torch.from_numpy(a))
    close(torch.linalg.lu_solve(lu, pivots, torch.from_numpy(b), adjoint=True),
          np.linalg.solve(np.conj(a).swapaxes(-1, -2), b))  # fmt: skip
    whole = a @ np.conj(a).swapaxes(-1, -2) + n * np.eye(n)
    for upper in (False, True):
        factor = torch.linalg.cholesky(torch.from_numpy(whole), upper=upper)
        close(torch.cholesky_inverse(factor, upper=upper), np.linalg.inv(whole))
        close(torch.cholesky_inverse(factor, upper=upper, out=factor), np.linalg.inv(whole))


@pytest.mark.parametrize("upper", [False, True])
def test_a_factor_with_a_zero_on_its_diagonal_has_no_inverse(upper):
    factor = torch.eye(3)
    factor[1, 1] = 0
    with pytest.raises(torch.linalg.LinAlgError, match=r"cholesky_inverse: The diagonal element 2 is zero"):
        torch.cholesky_inverse(factor, upper=upper)
    with pytest.raises(
        torch.linalg.LinAlgError, match=r"\(Batch element 1\): The diagonal element 2 is zero"
    ):
        torch.cholesky_inverse(torch.stack([torch.eye(3), factor]), upper=upper)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("n", [17, 33, 70, 129])
@pytest.mark.parametrize("turned", [False, True])
def test_factors_by_halves_take_any_layout(dtype, n, turned):
    a = matrix(n, n).numpy().astype(dtype) + n * np.eye(n)
    if dtype == "complex128":
        a = a + 1j * matrix(n, n).numpy()
    given = torch.from_numpy(a.T.copy()).mT if turned else torch.from_numpy(a)
    right = matrix(n, 5).numpy().astype(dtype)
    for upper in (False, True):
        triangle = np.triu(a) if upper else np.tril(a)
        for unit in (False, True):
            wanted = triangle / n if unit else triangle
            if unit:
                np.fill_diagonal(wanted, 1)
            solved = torch.linalg.solve_triangular(
                given / n if unit else given, torch.from_numpy(right), upper=upper, unitriangular=unit
            )
            close(solved, np.linalg.solve(wanted, right))
        left = torch.linalg.solve_triangular(given, torch.from_numpy(right.T.copy()), upper=upper, left=False)
        close(left, np.linalg.solve(triangle.T, right).T)
    close(torch.linalg.inv(given) * n, np.linalg.inv(a) * n)
    whole = a @ np.conj(a).T
    lower = torch.linalg.cholesky(torch.from_numpy(whole))
    close(lower, np.linalg.cholesky(whole))
    for shape in ((n, 20), (20, n), (n, n)):
        rectangle = matrix(*shape)
        p, lower_part, upper_part = torch.linalg.lu(rectangle)
        close(p @ lower_part @ upper_part, rectangle.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("columns", [1, 2, 7, 16, 33, 70])
def test_triangles_of_every_size_and_layout_are_solved(columns, dtype):
    rng = np.random.default_rng(columns)
    for n in (1, 3, 9, 17, 31, 63, 64, 65, 131):
        parts = rng.standard_normal((2, n, n + columns)) / n
        values = (parts[0] + 1j * parts[1] * dtype.startswith("complex")).astype(dtype)
        a, b = values[:, :n] + 2 * np.eye(n, dtype=dtype), values[:, n:]
        for upper, unit in ((False, False), (True, True)):
            triangle = np.triu(a) if upper else np.tril(a)
            if unit:
                np.fill_diagonal(triangle, 1)
            wanted = np.linalg.solve(triangle, b)
            for x in (torch.tensor(a), torch.tensor(a.T.copy()).t()):
                for y in (
                    torch.tensor(b),
                    torch.tensor(b.T.copy()).t(),
                    torch.tensor(np.repeat(b, 2, 1))[:, ::2],
                ):
                    found = torch.linalg.solve_triangular(x, y, upper=upper, unitriangular=unit)
                    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
                    found = torch.linalg.solve_triangular(
                        x.mT, y.mT, upper=not upper, left=False, unitriangular=unit
                    )
                    np.testing.assert_allclose(found.numpy(), wanted.T, rtol=1e-4, atol=1e-5)


def test_factors_say_where_they_fail():
    singular = np.diag(np.arange(1.0, 41))
    singular[30, 30] = 0
    assert torch.linalg.inv_ex(torch.from_numpy(singular)).info.item() == 31
    singular[30, 30] = -1
    assert torch.linalg.cholesky_ex(torch.from_numpy(singular)).info.item() == 31


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize(
    "shape",
    [
        (5, 1, 1),
        (3, 2, 2),
        (3, 3, 3),
        (2, 4, 4),
        (7, 3),
        (3, 7),
        (40, 9),
        (9, 40),
        (70, 70),
        (150, 90),
        (90, 300),
    ],
)
def test_lu_factors_choose_the_first_largest_pivot_in_any_layout(shape, dtype):
    rng = np.random.default_rng(shape[-1])
    numbers = rng.integers(-3, 4, shape).astype(np.float64)  # many pivots are equal
    numbers = numbers + 1j * rng.integers(-3, 4, shape) if dtype.is_complex else numbers
    rows, columns = shape[-2:]
    for given in (
        torch.tensor(numbers).to(dtype),
        torch.tensor(numbers.swapaxes(-1, -2).copy()).to(dtype).mT,
    ):
        factors, pivots, _ = torch.linalg.lu_factor_ex(given)
        exchanges = pivots.reshape(-1, min(rows, columns)).numpy() - 1
        packed = factors.reshape(-1, rows, columns).numpy()
        source = numbers.reshape(-1, rows, columns)
        for lu, exchanged, matrix in zip(packed, exchanges, source, strict=True):
            left = np.eye(rows, min(rows, columns), dtype=lu.dtype) + np.tril(lu, -1)[:, : min(rows, columns)]
            order = np.arange(rows)
            for k, other in enumerate(exchanged):
                order[[k, other]] = order[[other, k]]
            tolerance = 1e-9 if dtype == torch.float64 else 2e-3
            np.testing.assert_allclose(
                left @ np.triu(lu)[: min(rows, columns)], matrix[order], atol=tolerance
            )
            sizes = np.abs(matrix[:, 0].real) + np.abs(matrix[:, 0].imag)
            assert exchanged[0] == sizes.argmax()


@pytest.mark.parametrize("n", [4, 6, 80, 200])
def test_lu_factors_of_nan_end(n):
    numbers = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
    numbers[n // 2, 1] = np.nan
    factors, pivots = torch.linalg.lu_factor(torch.tensor(numbers))
    assert factors.isnan().any() and ((pivots >= 1) & (pivots <= n)).all()


def test_multi_dot_multiplies_any_number_and_refuses_what_does_not_fit():
    a, b, c, d = matrix(20, 3), matrix(3, 30), matrix(30, 2), matrix(2, 7)
    close(torch.linalg.multi_dot([a, b, c, d]), a.numpy() @ b.numpy() @ c.numpy() @ d.numpy())
    slope(lambda x: torch.linalg.multi_dot([a[:2], x, c, d]), b)
    for given, message in [
        ([a], "expected at least 2 tensors but got 1"),
        ([a, b.float()], "tensor 0 is double and tensor 1 float"),
        ([a, c], "tensors 0 and 1 with shapes .20, 3. and .30, 2. cannot be multiplied"),
        ([a, b[0], c], "tensor 1 must be 2D but got 1D"),
        ([a[None], b], "the first tensor must be 1D or 2D but got 3D"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            torch.linalg.multi_dot(given)


# ---- values of many small matrices -------------------------------------------------------------------------


def _many(kind: str, dtype: str, rows: int, columns: int, scale: float) -> np.ndarray:
    a = RNG.standard_normal((37, rows, columns))
    if kind == "dependent":
        a[:, :, -1] = a[:, :, 0]
    elif kind == "graded":
        a *= 10.0 ** (-np.arange(columns) * (6 / columns))
    elif kind == "equal values":
        a = np.linalg.qr(a)[0]
    elif kind == "zeros":
        a *= 0
    return (a * scale).astype(dtype)


@pytest.mark.parametrize("kind", ["random", "dependent", "graded", "equal values", "zeros"])
@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 1), ("float32", 1e-30), ("float32", 1e30), ("float64", 1e200)]
)
def test_singular_and_eigenvalues_of_many_small_matrices(kind, dtype, scale):
    few = 20 * np.finfo(dtype).eps
    for n in (1, 2, 3, 5, 8, 16):
        for m in (n, n + 3, 2 * n):
            a = _many(kind, dtype, m, n, scale)
            wanted = np.linalg.svd(a.astype("float64") / scale, compute_uv=False) * scale
            tall = torch.from_numpy(a)
            for given in (tall, tall.mT, tall.mT.contiguous(), tall.mT.contiguous().mT):
                found = torch.linalg.svdvals(given).numpy()
                assert np.abs(found - wanted).max() <= few * np.abs(wanted).max()
        square = _many(kind, dtype, n, n, scale)
        square = square / 2 + square.swapaxes(1, 2) / 2
        wanted = np.linalg.eigvalsh(square.astype("float64") / scale) * scale
        for read, ignored in (("L", np.triu_indices(n, 1)), ("U", np.tril_indices(n, -1))):
            given = square.copy()
            given[:, ignored[0], ignored[1]] = np.nan
            found = torch.linalg.eigvalsh(torch.from_numpy(given), UPLO=read).numpy()
            assert np.abs(found - wanted).max() <= few * np.abs(wanted).max()


def test_values_of_a_batch_are_those_of_its_matrices():
    a = matrix(3, 5, 6, 6).transpose(0, 1)
    for function in (torch.linalg.svdvals, lambda x: torch.linalg.eigvalsh(x + x.mT)):
        alone = torch.stack([torch.stack([function(x) for x in row]) for row in a])
        close(function(a), alone.numpy())
        close(function(a[:1].expand(4, 3, 6, 6)), alone[:1].expand(4, 3, 6).numpy())


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_one_matrix_of_a_batch_without_values(bad):
    a = torch.eye(3).repeat(20, 1, 1)
    a[7, 1, 1] = bad
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.svd: \(Batch element 7\)"):
        torch.linalg.svdvals(a)
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.eigh: \(Batch element 7\)"):
        torch.linalg.eigvalsh(a)

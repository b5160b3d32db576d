"""Batches of small matrices on a GPU, which go to cuBLAS and cuSOLVER at once: factors, solutions, gradients, times."""

import time

import pytest

import mindtorch_v2 as torch

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def near(dtype):
    return (
        {"rtol": 2e-3, "atol": 2e-3}
        if dtype in (torch.float32, torch.complex64)
        else {"rtol": 1e-9, "atol": 1e-9}
    )


@pytest.mark.parametrize("shape", [(5, 1, 1), (3, 2, 4, 4), (70, 33, 33), (2, 300, 300)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_factors_and_solutions_are_those_of_the_host(dtype, shape):
    torch.manual_seed(0)
    size = shape[-1]
    a = torch.randn(*shape, dtype=dtype) + size * torch.eye(size, dtype=dtype)
    b = torch.randn(*shape[:-1], 3, dtype=dtype)
    whole = a @ a.mH

    def both(function, *given):
        wanted, made = function(*given), function(*(t.cuda() for t in given))
        if isinstance(wanted, torch.Tensor):
            wanted, made = [wanted], [made]
        for want, mine in zip(wanted, made, strict=True):
            torch.testing.assert_close(mine.cpu(), want, **near(dtype))

    both(torch.linalg.inv, a)
    both(torch.linalg.solve, a, b)
    both(lambda a, b: torch.linalg.solve(a.mT, b.mT, left=False), a, b)
    both(torch.linalg.lu_factor, a)
    both(lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, adjoint=True), a, b)
    both(torch.linalg.det, a / size)
    both(lambda a: torch.linalg.cholesky(a) / size, whole)
    both(lambda a: torch.linalg.cholesky(a, upper=True) / size, whole)
    both(lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), a, b)
    both(lambda a, b: torch.linalg.solve_triangular(a, b.mT, upper=False, left=False), a, b)


def test_one_matrix_for_many_sides_and_gradients():
    torch.manual_seed(0)
    a = torch.randn(4, 4, dtype=torch.float64) + 4 * torch.eye(4, dtype=torch.float64)
    b = torch.randn(6, 4, 2, dtype=torch.float64)
    sides = []
    for device in ("cpu", "cuda"):
        leaves = [t.to(device).requires_grad_() for t in (a, b)]
        made = torch.linalg.solve(*leaves)
        gradients = torch.autograd.grad(made.square().sum(), leaves)
        sides.append([t.detach().cpu() for t in (made, *gradients)])
    for wanted, got in zip(*sides, strict=True):
        torch.testing.assert_close(got, wanted)


def test_a_matrix_of_the_batch_that_cannot_be_factored_is_told():
    a = torch.eye(3, device="cuda").repeat(4, 1, 1)
    a[2] = 0
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 2"):
        torch.linalg.inv(a)
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 2"):
        torch.linalg.cholesky(a)


def test_a_batch_takes_little_more_time_than_a_matrix():
    def milliseconds(count):
        a = torch.randn(count, 16, 16, device="cuda") + 8 * torch.eye(16, device="cuda")
        torch.linalg.inv(a)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            torch.linalg.inv(a)
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 100

    one, many = milliseconds(1), milliseconds(1000)
    assert many < 20 * one, (one, many)

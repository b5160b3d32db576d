"""Eigenvalues of general matrices on a GPU: real and complex, batches, gradients, what is refused."""

import pytest

import mindtorch_v2 as torch

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def tolerance(dtype):
    return (
        {"rtol": 1e-3, "atol": 1e-3}
        if dtype in (torch.float32, torch.complex64)
        else {"rtol": 1e-8, "atol": 1e-8}
    )


def in_order(values):
    """Eigenvalues come in any order."""
    near = values.to(torch.complex128).cpu()
    return torch.stack(
        [row[torch.argsort(row.real * 7 + row.imag)] for row in near.reshape(-1, near.shape[-1])]
    )


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (6, 6), (2, 3, 5, 5), (65, 65)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors_fulfil_their_equation_and_values_are_those_of_the_host(dtype, shape):
    torch.manual_seed(0)
    a = torch.randn(*shape, dtype=dtype)
    values, vectors = torch.linalg.eig(a.cuda())
    assert values.is_cuda
    assert vectors.is_complex()
    near = tolerance(dtype)
    torch.testing.assert_close(a.cuda().to(vectors.dtype) @ vectors, vectors * values.unsqueeze(-2), **near)
    lengths = torch.linalg.vector_norm(vectors, dim=-2)
    torch.testing.assert_close(lengths, torch.ones_like(lengths), **near)
    alone = torch.linalg.eigvals(a.cuda())
    wanted = in_order(torch.linalg.eigvals(a))
    for made in (values, alone):
        torch.testing.assert_close(in_order(made), wanted, **near)


def test_conjugate_pairs_and_real_values_of_one_matrix():
    a = torch.tensor([[0.0, -2, 0], [2, 0, 0], [0, 0, 3]], device="cuda")
    values, vectors = torch.linalg.eig(a)
    assert sorted((round(v.real, 4), round(v.imag, 4)) for v in values.tolist()) == [(0, -2), (0, 2), (3, 0)]
    torch.testing.assert_close(a.to(vectors.dtype) @ vectors, vectors * values)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_are_those_of_the_host(dtype):
    torch.manual_seed(0)
    a = torch.randn(2, 4, 4, dtype=dtype)
    gradients = []
    for device in ("cpu", "cuda"):
        leaf = a.detach().to(device).requires_grad_()
        values, vectors = torch.linalg.eig(leaf)
        # Neither the order of the values nor the phases of vectors matter to these.
        (values.abs().square().sum() + (vectors.abs() ** 4).sum()).backward()
        gradients.append(leaf.grad.cpu())
    torch.testing.assert_close(*gradients, rtol=1e-7, atol=1e-8)


def test_numbers_that_are_not_finite_and_empty_matrices():
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        torch.linalg.eig(torch.full((2, 2), float("nan"), device="cuda"))
    values, vectors = torch.linalg.eig(torch.ones(3, 0, 0, device="cuda"))
    assert values.shape == (3, 0)
    assert vectors.shape == (3, 0, 0)


def test_results_go_where_they_are_wanted():
    a = torch.randn(5, 5, device="cuda", dtype=torch.float64)
    values = torch.empty(5, device="cuda", dtype=torch.complex128)
    vectors = torch.empty(5, 5, device="cuda", dtype=torch.complex128).mT
    torch.linalg.eig(a.mT, out=(values, vectors))
    torch.testing.assert_close(a.mT.to(vectors.dtype) @ vectors, vectors * values)

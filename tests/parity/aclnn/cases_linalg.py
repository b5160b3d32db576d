"""Decompositions and solves."""

import torch

from .harness import EXACT, OUT, Check, case


def _regular(make, *batch):
    """Matrices far from singular."""
    return make(*batch, 4, 4, low=-1, high=1) + 4 * torch.eye(4, dtype=make.dtype)


@case("aclnnInverse", dtypes=EXACT, tolerance=8)
def the_inverse_of_matrices(make):
    x = _regular(make, 2)
    return [x, OUT], torch.linalg.inv(x)


@case("aclnnLinalgCholesky", dtypes=EXACT, tolerance=8)
def a_factor_of_positive_matrices(make):
    x = _regular(make, 2)
    x = x @ x.mT
    yield [x, False, OUT], torch.linalg.cholesky(x)
    yield [x, True, OUT], torch.linalg.cholesky(x, upper=True)


@case("aclnnSlogdet", dtypes=EXACT, tolerance=8)
def the_sign_and_logarithm_of_determinants(make):
    x = _regular(make, 2, 1)
    x[0, 0, 0] *= -1
    return [x, OUT, OUT], tuple(torch.linalg.slogdet(x))


@case("aclnnLogdet", dtypes=EXACT, tolerance=8)
def the_logarithm_of_determinants(make):
    x = _regular(make, 2)
    yield [x, OUT], torch.logdet(x)
    yield [x[0], OUT], torch.logdet(x[0])


@case("aclnnQr", "aclnnLinalgQr", dtypes=EXACT, tolerance=8)
def an_orthogonal_and_a_triangular_factor(make, operator):
    for rows, columns in ((5, 3), (3, 5)):
        x = make(2, rows, columns)
        modes = (
            ((True, "reduced"), (False, "complete"))
            if operator == "aclnnQr"
            else enumerate(["reduced", "complete"])
        )
        for code, mode in modes:
            yield [x, code, OUT, OUT], tuple(torch.linalg.qr(x, mode))


@case("aclnnSvd", dtypes=EXACT, tolerance=8)
def singular_values_and_vectors(make):
    for rows, columns, full in ((5, 3, False), (3, 5, True)):
        x = make(2, rows, columns)
        u, s, vh = torch.linalg.svd(x, full_matrices=full)
        left, right = _same_lines(u, s.shape[-1]), _same_lines(vh.mT, s.shape[-1])
        yield [x, full, True, OUT, left, right], (s, u, vh.mT)


def _same_lines(wanted, rank):
    """Vectors of one length are equal up to their sign; those beyond the rank are only orthogonal to the rest."""

    def check(got):
        product = (got[..., :rank] * wanted[..., :rank]).sum(-2).abs()
        torch.testing.assert_close(product, torch.ones_like(product), rtol=1e-4, atol=1e-4)
        identity = torch.eye(got.shape[-1], dtype=got.dtype).expand(2, -1, -1)
        torch.testing.assert_close(got.mT @ got, identity, rtol=1e-4, atol=1e-4)

    return Check(tuple(wanted.shape), wanted.dtype, check)


@case("aclnnTriangularSolve", dtypes=EXACT, tolerance=8)
def a_triangular_system(make):
    a, b = _regular(make, 2), make(2, 4, 3)
    for upper in (True, False):
        for transpose in (True, False):
            used = a.mT if transpose else a
            x = torch.linalg.solve_triangular(used, b, upper=upper != transpose)
            yield [b, a, upper, transpose, False, OUT, OUT], (x, a)
    x = torch.linalg.solve_triangular(a[0], b, upper=True, unitriangular=True)
    yield [b, a[0], True, False, True, OUT, OUT], (x, a[:1].expand(2, 4, 4))

"""Products, decompositions and distances."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, Check, Inplace, case

EXACT = (torch.float32, torch.float64)
PRODUCTS = (*FLOATS_AND_DOUBLE, torch.int32, torch.int64)


@case("aclnnMm", "aclnnMatmul", "aclnnMatmulWeightNz", dtypes=PRODUCTS, tolerance=8)
def a_product_of_matrices(make):
    a, b = make(3, 5), make(5, 4)
    return [a, b, OUT, 0], a @ b


@case("aclnnMatmul", dtypes=PRODUCTS, tolerance=8)
def products_broadcast_and_take_vectors(make):
    a, b, row = make(2, 1, 3, 5), make(4, 5, 2), make(5)
    yield [a, b, OUT, 1], a @ b
    yield [a, row, OUT, 0], a @ row
    yield [row, b, OUT, 0], row @ b
    yield [row, row, OUT, 0], row @ row


@case("aclnnBatchMatMul", "aclnnBatchMatMulWeightNz", dtypes=PRODUCTS, tolerance=8)
def products_of_batches(make):
    a, b = make(4, 3, 5), make(4, 5, 2)
    return [a, b, OUT, 0], torch.bmm(a, b)


@case("aclnnAddmmWeightNz", "aclnnInplaceAddmm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_scaled_product_added(make, operator):
    self, a, b = make(3, 4), make(3, 5), make(5, 4)
    wanted = torch.addmm(self, a, b, beta=0.5, alpha=2.0)
    if operator == "aclnnInplaceAddmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnBaddbmm", "aclnnInplaceBaddbmm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def scaled_products_of_batches_added(make, operator):
    self, a, b = make(2, 3, 4), make(2, 3, 5), make(2, 5, 4)
    wanted = torch.baddbmm(self, a, b, beta=0.5, alpha=2.0)
    if operator == "aclnnInplaceBaddbmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnAddbmm", "aclnnInplaceAddbmm", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def all_products_of_a_batch_added(make, operator):
    self, a, b = make(3, 4), make(2, 3, 5), make(2, 5, 4)
    wanted = torch.addbmm(self.double(), a.double(), b.double(), beta=0.5, alpha=2.0).to(self)
    if operator == "aclnnInplaceAddbmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnMv", dtypes=PRODUCTS, tolerance=8)
def a_matrix_with_a_vector(make):
    a, x = make(3, 5), make(5)
    return [a, x, OUT, 0], torch.mv(a, x)


@case("aclnnAddmv", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_matrix_with_a_vector_added(make):
    self, a, x = make(3), make(3, 5), make(5)
    return [self, a, x, 2.0, 0.5, OUT, 0], torch.addmv(self, a, x, alpha=2.0, beta=0.5)


@case("aclnnDot", dtypes=PRODUCTS, tolerance=8)
def two_vectors_to_a_number(make):
    a, b = make(7), make(7)
    return [a, b, OUT], torch.dot(a, b)


@case("aclnnGer", dtypes=PRODUCTS)
def two_vectors_to_a_matrix(make):
    a, b = make(3), make(4)
    return [a, b, OUT], torch.outer(a, b)


@case("aclnnAddr", "aclnnAddrV2", "aclnnInplaceAddr", "aclnnInplaceAddrV2", dtypes=PRODUCTS, tolerance=4)
def an_outer_product_added(make, operator):
    self, a, b = make(3, 4), make(3), make(4)
    wanted = torch.addr(self, a, b, beta=3, alpha=2)
    if "Inplace" in operator:
        yield [Inplace(self), a, b, 3, 2], wanted
        yield [Inplace(self), a, b, None, None], torch.addr(self, a, b)
    else:
        yield [self, a, b, 3, 2, OUT], wanted


@case("aclnnGemm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_product_of_transposed_matrices(make):
    a, b, c = make(5, 3), make(4, 5), make(3, 4)
    return [a, b, c, 2.0, 0.5, 1, 1, OUT, 0], torch.addmm(c, a.t(), b.t(), beta=0.5, alpha=2.0)


@case("aclnnTransposeBatchMatMul", "aclnnTransposeBatchMatMulWeightNz", dtypes=FLOATS, tolerance=8)
def a_product_whose_rows_come_first(make):
    a, b = make(3, 4, 5), make(4, 5, 2)
    product = torch.bmm(a.permute(1, 0, 2), b)
    yield [a, b, None, None, [1, 0, 2], [0, 1, 2], [1, 0, 2], 0, 1, OUT], product.permute(1, 0, 2)
    split = product.view(2, 2, 3, 2).permute(0, 2, 1, 3).reshape(2, 3, 4)
    yield [a, b, None, None, [1, 0, 2], [0, 1, 2], [1, 0, 2], 0, 2, OUT], split


@case("aclnnFusedMatmul", dtypes=FLOATS, tolerance=8)
def a_product_and_what_comes_after(make):
    a, b, c, bias = make(3, 5), make(5, 4), make(3, 4), make(4)
    yield [a, b, None, None, "", 0, OUT], a @ b
    yield [a, b, bias, None, "relu", 0, OUT], torch.addmm(bias, a, b).relu()
    yield [a, b, None, c, "add", 0, OUT], a @ b + c
    yield [a, b, None, c, "mul", 0, OUT], (a @ b) * c


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


@case("aclnnLinalgCross", dtypes=(*FLOATS_AND_DOUBLE, torch.int32), tolerance=4)
def cross_products(make):
    a, b = make(2, 3, 4), make(2, 3, 1)
    return [a, b, 1, OUT], torch.linalg.cross(a, b.expand(2, 3, 4), dim=1)


@case("aclnnCdist", dtypes=EXACT, tolerance=8)
def distances_between_rows(make):
    a, b = make(2, 5, 3), make(2, 4, 3)
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        yield [a, b, p, 2, OUT], torch.cdist(a, b, p, compute_mode="donot_use_mm_for_euclid_dist")


@case("aclnnCdistBackward", dtypes=EXACT, tolerance=8)
def the_gradient_of_distances(make):
    a, b, grad = make(2, 5, 3), make(2, 4, 3), make(2, 5, 4)
    for p in (1.0, 2.0, 3.0):
        x = a.clone().requires_grad_()
        distances = torch.cdist(x, b, p)
        distances.backward(grad)
        yield [grad, a, b, distances.detach(), p, OUT], x.grad


@case("aclnnPdist", "aclnnPdistForward", dtypes=EXACT, tolerance=8)
def distances_within_a_set_of_rows(make):
    x = make(5, 3)
    for p in (1.0, 2.0, float("inf")):
        yield [x, p, OUT], torch.pdist(x, p)


@case("aclnnEinsum", dtypes=PRODUCTS, tolerance=16)
def sums_of_products_by_letters(make):
    a, b, c, square = make(3, 4), make(4, 5), make(5, 2), make(2, 3, 3)
    batch, other = make(2, 3, 4), make(2, 4, 5)
    yield _einsum("ij,jk->ik", a, b)
    yield _einsum("ij,jk->ki", a, b)
    yield _einsum("ij->j", a)
    yield _einsum("ij->ji", a)
    yield _einsum("bij,bjk->bik", batch, other)
    yield _einsum("bij,bjk->ki", batch, other)
    yield _einsum("ij,kl->ikl", a, c)
    yield _einsum("bii->bi", square)
    yield _einsum("bii->", square)
    yield _einsum("ij,jk,kl->il", a, b, c)
    yield _einsum("ij,ij->i", a, a)


def _einsum(equation, *tensors):
    exact = [t.double() if t.is_floating_point() else t for t in tensors]
    return [list(tensors), equation, OUT], torch.einsum(equation, *exact).to(tensors[0])

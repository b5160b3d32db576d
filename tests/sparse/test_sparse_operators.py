"""Arithmetic, shapes, reductions and products of sparse tensors, against the same of dense ones."""

import pytest

import mindtorch_v2 as torch

A = [[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, -4.0, 5.0]]
LAYOUTS = ["coo", "uncoalesced", "csr", "csc", "bsr"]


def sparse(layout, device, rows=A):
    dense = torch.tensor(rows).to(device)
    if layout == "coo":
        return dense.to_sparse()
    if layout == "uncoalesced":
        half = (dense / 2).to_sparse()
        at = torch.cat([half.indices(), half.indices().flip(1)], 1)
        return torch.sparse_coo_tensor(at, torch.cat([half.values(), half.values().flip(0)]), dense.shape)
    return getattr(dense, f"to_sparse_{layout}")(*([(1, 2)] if layout == "bsr" else []))


def same(found, wanted):
    torch.testing.assert_close(found.to_dense().cpu(), wanted.cpu())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_with_dense_matrices(layout, device):
    a, b = sparse(layout, device), torch.arange(8.0).reshape(4, 2).to(device)
    dense = torch.tensor(A).to(device)
    same(a @ b, dense @ b)
    same(torch.mm(b.t(), a.t()), b.t() @ dense.t())
    same(torch.mv(a, b[:, 1]), dense @ b[:, 1])
    same(torch.addmm(torch.ones(3, 2, device=device), a, b, beta=0.5, alpha=2), 0.5 + 2 * (dense @ b))
    same(torch.sparse.mm(a, b), dense @ b)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.complex64, torch.int64])
def test_products_of_other_dtypes(dtype):
    a, b = sparse("coo", "cpu").to(dtype), torch.arange(8).reshape(4, 2).to(dtype)
    found = a @ b
    assert found.dtype == dtype
    torch.testing.assert_close(found, torch.tensor(A).to(dtype) @ b)


def test_sparse_times_sparse(device):
    a, b = sparse("coo", device), sparse("coo", device).t()
    found = a @ b
    assert found.layout is torch.sparse_coo and found.is_coalesced()
    same(found, torch.tensor(A) @ torch.tensor(A).t())
    same(sparse("csr", device) @ sparse("csr", device).t(), torch.tensor(A) @ torch.tensor(A).t())


def test_batches_of_products(device):
    dense = torch.stack([torch.tensor(A), -torch.tensor(A)]).to(device)
    b = torch.arange(16.0).reshape(2, 4, 2).to(device)
    same(torch.bmm(dense.to_sparse(), b), torch.bmm(dense, b))


def test_sampled_products(device):
    a, left, right = (
        sparse("csr", device),
        torch.ones(3, 2).to(device),
        torch.arange(8.0).reshape(2, 4).to(device),
    )
    found = torch.sparse.sampled_addmm(a, left, right, beta=2, alpha=3)
    where = torch.tensor(A) != 0
    same(found, torch.where(where, 2 * torch.tensor(A) + 3 * (left @ right).cpu(), 0.0))


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_products_with_another_reduction(reduce):
    a, b = sparse("csr", "cpu"), torch.arange(8.0).reshape(4, 2)
    rows = []
    for row in A:
        products = torch.stack([value * b[i] for i, value in enumerate(row) if value])
        reduced = getattr(products, reduce)(0)
        rows.append(reduced)
    same(torch.sparse.mm(a, b, reduce), torch.stack(rows))


@pytest.mark.parametrize("layout", ["coo", "uncoalesced", "csr"])
def test_sums_and_products_of_elements(layout, device):
    a, dense = sparse(layout, device), torch.tensor(A).to(device)
    other = torch.arange(12.0).reshape(3, 4).to(device)
    same(a + a, 2 * dense)
    same(other + a, other + dense)
    same(other.clone().add_(a, alpha=-3), other - 3 * dense)
    same(a * other, dense * other)
    same(a * a, dense * dense)
    same(a * 2.5, dense * 2.5)
    same(-a, -dense)


def test_tensors_with_other_places_are_added_and_multiplied(device):
    a, b = sparse("coo", device), torch.tensor(A).flip(0).to(device).to_sparse()
    same(a + b, torch.tensor(A) + torch.tensor(A).flip(0))
    same(a - b, torch.tensor(A) - torch.tensor(A).flip(0))
    same(a * b, torch.tensor(A) * torch.tensor(A).flip(0))


def test_writes_in_place(device):
    a = sparse("coo", device)
    a.mul_(2).add_(sparse("coo", device)).neg_().abs_()
    same(a, 3 * torch.tensor(A).abs())
    a.zero_()
    assert a._nnz() == 0
    a.copy_(sparse("coo", device))
    same(a, torch.tensor(A))
    with pytest.raises(RuntimeError, match="can't be cast"):
        sparse("coo", device).long().mul_(0.5)


@pytest.mark.parametrize("dim", [0, 1, (0, 1), None])
def test_sums_over_dimensions(dim, device):
    dense = torch.tensor(A)
    wanted = dense.sum() if dim is None else dense.sum(dim)
    same(torch.sparse.sum(sparse("uncoalesced", device), dim), wanted)
    same(sparse("coo", device).sum(dim), wanted)
    same(
        sparse("csr", device)
        .sum(dim if dim is not None else (0, 1), keepdim=True)
        .to_dense()
        .reshape(wanted.shape),
        wanted,
    )


def test_softmax_is_over_the_elements_that_there_are(device):
    filled = torch.where(torch.tensor(A) == 0, -torch.inf, torch.tensor(A))
    found = torch.sparse.softmax(sparse("uncoalesced", device), 1)
    same(found, filled.softmax(1))
    logarithm = torch.sparse.log_softmax(sparse("coo", device), 1)
    same(logarithm, torch.where(torch.tensor(A) == 0, 0.0, filled.log_softmax(1)))


def test_shapes(device):
    a, dense = sparse("uncoalesced", device), torch.tensor(A)
    same(a.t(), dense.t())
    same(a.transpose(0, 1).unsqueeze(1), dense.t().unsqueeze(1))
    same(a[1], dense[1])
    same(a[:, 3], dense[:, 3])
    same(a[1:3], dense[1:3])
    same(a.narrow_copy(1, 1, 2), dense[:, 1:3])
    same(a.index_select(0, torch.tensor([2, 0, 2]).to(device)), dense[[2, 0, 2]])
    same(torch.cat([a, a], 1), torch.cat([dense, dense], 1))
    same(torch.stack([a, a]), torch.stack([dense, dense]))
    assert a[2, 3].item() == 5.0
    for found, wanted in zip(a.unbind(0), dense.unbind(0), strict=True):
        same(found, wanted)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
def test_masks_take_the_elements_that_they_have(layout, device):
    whole = torch.arange(12.0).reshape(3, 4).to(device)
    mask = sparse(layout, device)
    found = whole.sparse_mask(mask)
    assert found.layout is mask.layout
    filled = torch.ones_like(mask.detach().to_dense()) if layout == "bsr" else None
    pattern = (torch.tensor(A) != 0) if filled is None else mask_of_blocks()
    same(found, torch.where(pattern, whole.cpu(), 0.0))


def mask_of_blocks():
    blocks = (torch.tensor(A) != 0).reshape(3, 2, 2).any(-1)
    return blocks.repeat_interleave(2, 1)


def test_diagonals():
    found = torch.sparse.spdiags(torch.arange(1.0, 7).reshape(2, 3), torch.tensor([0, -1]), (3, 3))
    assert found.to_dense().tolist() == [[1.0, 0.0, 0.0], [4.0, 2.0, 0.0], [0.0, 5.0, 3.0]]


def test_what_sparse_tensors_have_not_is_refused_by_name(device):
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp' .* use to_dense"):
        sparse("coo", device).exp()
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        sparse("coo", device) + torch.ones(3, 4, device=device)
    with pytest.raises(RuntimeError, match="between dense and sparse"):
        torch.ones(3, 4, device=device).copy_(sparse("coo", device))
    with pytest.raises(NotImplementedError, match="torch.linalg.solve"):
        torch.sparse.spsolve(sparse("csr", device), torch.ones(3, device=device))

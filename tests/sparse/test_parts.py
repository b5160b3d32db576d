"""Making sparse tensors, and what they say of themselves."""

import pytest

import mindtorch_v2 as torch

I = [[0, 1, 1, 0], [2, 0, 2, 2]]
V = [3.0, 4.0, 5.0, 1.0]


def matrix(device="cpu", **options):
    return torch.sparse_coo_tensor(I, V, (2, 3), device=device, **options)


def test_coalescing_sorts_places_and_adds_values_of_one_place(device):
    made = matrix(device)
    assert not made.is_coalesced() and made._nnz() == 4
    kept = made.coalesce()
    assert kept.is_coalesced() and kept.coalesce() is kept
    assert kept.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and kept.values().tolist() == [4.0, 4.0, 5.0]


def test_values_of_whole_numbers_and_truths_are_added_too(device):
    for dtype, wanted in ((torch.int64, [4, 4, 5]), (torch.bool, [True, True, True])):
        made = torch.sparse_coo_tensor(I, torch.tensor(V).to(dtype), (2, 3), device=device)
        assert made.coalesce().values().tolist() == wanted and made.to_dense().dtype == dtype


def test_dense_dimensions_are_added_as_rows(device):
    made = torch.sparse_coo_tensor([[1, 0, 1]], torch.arange(6.0).reshape(3, 2), (3, 2), device=device)
    assert (made.sparse_dim(), made.dense_dim()) == (1, 1)
    assert made.to_dense().tolist() == [[2.0, 3.0], [4.0, 6.0], [0.0, 0.0]]


def test_a_tensor_says_its_layout_and_device(device):
    made = matrix(device)
    assert made.layout is torch.sparse_coo and made.is_sparse and not made.is_sparse_csr
    assert made.device.type == device and made._values().device.type == device
    rows = made.to_sparse_csr()
    assert rows.layout is torch.sparse_csr and rows.is_sparse_csr and not rows.is_sparse
    assert torch.ones(2).layout is torch.strided


def test_the_smallest_size_has_room_for_all_places():
    assert torch.sparse_coo_tensor(I, V).shape == (2, 3)
    assert torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], V[:3]).shape == (2, 3)
    assert torch.sparse_bsc_tensor([0, 1, 2], [0, 1], torch.ones(2, 2, 3)).shape == (4, 6)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_compressed_parts_have_their_names(layout, device):
    dense = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]).to(device)
    made = getattr(dense, f"to_sparse_{layout}")()
    if layout == "csr":
        assert made.crow_indices().tolist() == [0, 2, 3] and made.col_indices().tolist() == [1, 2, 0]
    else:
        assert made.ccol_indices().tolist() == [0, 1, 2, 3] and made.row_indices().tolist() == [1, 0, 0]
    assert made.to_dense().tolist() == dense.tolist()


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
def test_batches_of_compressed_tensors_become_dense_again(layout, device):
    dense = torch.tensor([[[1.0, 0, 2, 0], [0, 3, 0, 4]], [[5.0, 6, 0, 0], [0, 0, 7, 8]]]).to(device)
    block = ((2, 2),) if layout.startswith("b") else ()
    made = getattr(dense, f"to_sparse_{layout}")(*block)
    assert made.shape == dense.shape and made.to_dense().tolist() == dense.tolist()


def test_invariants_are_checked_where_it_is_asked_for():
    torch.sparse_coo_tensor(I, V, (2, 2))
    with pytest.raises(RuntimeError, match="for dim 1, size is 2 but found index 2"):
        torch.sparse_coo_tensor(I, V, (2, 2), check_invariants=True)
    with (
        torch.sparse.check_sparse_tensor_invariants(),
        pytest.raises(RuntimeError, match="nnz` is not satisfied"),
    ):
        torch.sparse_csr_tensor([0, 1, 2], [2, 0, 2], V[:3], (2, 3))
    assert not torch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_a_place_beyond_the_matrix_is_an_error_of_the_product_not_a_crash():
    with pytest.raises(IndexError, match="out of bounds"):
        torch.sparse_coo_tensor([[0], [9]], [1.0], (2, 3)) @ torch.ones(3, 2)
    with pytest.raises(IndexError, match="segment from"):
        torch.sparse_csr_tensor([0, 1, 9], [0, 1], [1.0, 2.0], (2, 3)) @ torch.ones(3, 2)


def test_tensors_on_meta_have_parts_on_meta():
    made = matrix("meta")
    assert made.is_meta and made.coalesce()._values().is_meta
    assert (made @ torch.ones(3, 4, device="meta")).shape == (2, 4)
    assert "device='meta'" in repr(made)


def test_tensors_move_between_devices_and_dtypes():
    there = matrix().to("npu")
    assert there.device.type == "npu" and there._indices().device.type == "npu"
    assert (
        there.double().dtype == torch.float64
        and there.cpu().to_dense().tolist() == matrix().to_dense().tolist()
    )


def test_memory_that_is_not_there_is_not_handed_out():
    made = matrix()
    for ask, error in (
        (made.data_ptr, RuntimeError),
        (made.storage, NotImplementedError),
        (made.untyped_storage, NotImplementedError),
        (made.numpy, TypeError),
        (made.tolist, RuntimeError),
        (made.__dlpack__, BufferError),
        (made.share_memory_, NotImplementedError),
    ):
        with pytest.raises(error):
            ask()
    with pytest.raises(RuntimeError, match="nbytes is not defined"):
        made.nbytes  # noqa: B018 - asking is what fails
    assert torch.sparse_coo_tensor([[0], [0]], [3.0], (1, 1)).item() == 3.0


def test_a_storage_that_shrank_elsewhere_does_not_matter_to_tensors_without_one():
    other = torch.ones(4)
    other.untyped_storage().resize_(4)
    assert torch.sparse_coo_tensor([[0], [0]], [3.0], (1, 1)).item() == 3.0


def test_data_of_another_layout_is_refused_and_of_the_same_replaced():
    made = matrix()
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        made.data = torch.ones(2, 3)
    made.data = matrix() * 2
    assert made.to_dense().tolist() == (matrix() * 2).to_dense().tolist()


def test_factories_make_tensors_without_elements(device):
    for made in (
        torch.zeros(2, 3, layout=torch.sparse_coo, device=device),
        torch.empty((2, 3), layout=torch.sparse_csr, device=device),
        torch.zeros_like(matrix(device)),
        matrix(device).new_zeros(2, 3),
        torch.zeros_like(torch.ones(2, 3, device=device), layout=torch.sparse_csc),
    ):
        assert made.layout is not torch.strided and made._nnz() == 0 and made.device.type == device
        assert made.to_dense().tolist() == [[0.0] * 3] * 2
    with pytest.raises(RuntimeError, match="not implemented for sparse layout"):
        torch.ones(2, layout=torch.sparse_coo)


def test_parts_are_shared_by_detach_and_copied_by_clone():
    made = matrix().coalesce()
    made.detach().values().zero_()
    assert made.values().tolist() == [0.0, 0.0, 0.0]
    copied = made.clone()
    copied.values().fill_(7)
    assert made.values().tolist() == [0.0, 0.0, 0.0]

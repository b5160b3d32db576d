"""Shapes beyond what PyTorch's samples show: errors, windows changed in place, out=, memory formats, meta."""

import numpy as np
import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def counted(*shape, **options):
    return torch.arange(int(np.prod(shape)), **options).reshape(shape)


# ---- windows -------------------------------------------------------------------------------------


def test_a_view_as_another_dtype_shows_the_same_bytes():
    x = torch.tensor([1.0, 2.0], dtype=torch.float32)
    assert x.view(torch.int32).tolist() == np.array([1.0, 2.0], np.float32).view(np.int32).tolist()
    assert x.view(torch.float64).shape == (1,)
    assert x.view(torch.uint8).shape == (8,)
    assert x.view(torch.int32).data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "x, dtype, message",
    [
        (torch.ones(()), torch.float64, "self.dim\\(\\) cannot be 0"),
        (torch.ones(3), torch.float64, "self.size\\(-1\\) must be divisible by 2"),
        (torch.ones(4, 4).t(), torch.float64, "self.stride\\(-1\\) must be 1"),
        (torch.ones(9)[1:], torch.float64, "self.storage_offset\\(\\) must be divisible by 2"),
    ],
)
def test_a_view_as_a_wider_dtype_must_fit(x, dtype, message):
    with pytest.raises(RuntimeError, match=message):
        x.view(dtype)


def test_unfold_shares_memory_and_its_gradient_counts_every_piece():
    x = counted(6, dtype=torch.float32).requires_grad_()
    pieces = x.unfold(0, 3, 1)
    assert pieces.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    assert pieces.data_ptr() == x.data_ptr()
    pieces.sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 3, 2, 1]


def test_the_gradient_of_overlapping_windows_is_their_sum():
    x = counted(4, dtype=torch.float32).requires_grad_()
    x.as_strided((3, 2), (1, 1)).sum().backward()
    assert x.grad.tolist() == [1, 2, 2, 1]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: x.unfold(0, 9, 1), "maximum size for tensor at dimension 0 is 2 but size is 9"),
        (lambda x: x.unfold(0, 1, 0), "step is 0 but must be > 0"),
        (lambda x: x.squeeze((0, 0)), "dim 0 appears multiple times"),
        (lambda x: x.movedim((0, 0), (0, 1)), "repeated dim in `source`"),
        (lambda x: x.unflatten(1, (2, 2)), "don't multiply up to the size of dim 1 \\(3\\)"),
        (lambda x: x.repeat(2), "can not be smaller than number of dimensions"),
        (lambda x: x.roll((1, 2), (0,)), "shifts and dimensions must align"),
        (lambda x: x.flip(0, 0), "dim 0 appears multiple times"),
        (lambda x: x[0].tril(), "at least 2 dimensions"),
        (lambda x: x[0].trace(), "trace: expected a matrix"),
        (lambda x: x.diag_embed(0, 1, 1), "diagonal dimensions cannot be identical"),
        (lambda x: x.diagonal_scatter(x), "expected src to have a size equal to the slice of self"),
        (lambda x: torch.tensor_split(x, 0), "number of sections must be larger than 0"),
        (lambda x: torch.vsplit(x, 3), "is not divisible by the split_size 3"),
        (lambda x: torch.hstack([]), "hstack expects a non-empty TensorList"),
        (lambda x: x.sum_to_size(2, 4), "is not expandable to size"),
        (lambda x: torch.cat([x, torch.tensor(1)]), "zero-dimensional tensor \\(at position 1\\)"),
        (lambda x: torch.pixel_shuffle(x, 2), "at least 3 dimensions"),
        (lambda x: x.rot90(1, (0, 0)), "rotation dims to be different"),
    ],
)
def test_impossible_shapes_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(counted(2, 3))


# ---- the window changed in place -----------------------------------------------------------------


def test_squeeze_and_friends_change_the_tensor_itself():
    x = counted(1, 2, 3)
    address = x.data_ptr()
    assert x.squeeze_(0) is x and x.shape == (2, 3)
    assert x.t_().shape == (3, 2) and x.stride() == (1, 3)
    assert x.unsqueeze_(-1).shape == (3, 2, 1)
    assert x.transpose_(0, 2).shape == (1, 2, 3)
    assert x.data_ptr() == address


def test_a_gradient_passes_through_a_window_changed_in_place():
    x = torch.ones(1, 3, requires_grad=True)
    y = (x * 2).squeeze_(0)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2]]


def test_resize_grows_the_storage_and_keeps_what_was_there():
    x = counted(4)
    x.resize_(2, 3)
    assert x.shape == (2, 3) and x.flatten()[:4].tolist() == [0, 1, 2, 3]
    x.resize_(2)
    assert x.tolist() == [0, 1]
    assert counted(2).resize_as_(counted(3, 3)).shape == (3, 3)
    with pytest.raises(RuntimeError):
        x.resize_(2, -1)


def test_resize_of_what_needs_a_gradient_is_refused():
    with pytest.raises(RuntimeError):
        torch.ones(2, requires_grad=True).resize_(3)


def test_set_makes_a_tensor_look_at_another_storage():
    source, x = counted(2, 3), torch.empty(0, dtype=torch.int64)
    assert x.set_(source) is x
    assert x.data_ptr() == source.data_ptr() and x.shape == (2, 3)
    x.set_(source.untyped_storage(), 1, (2, 2), (2, 1))
    assert x.tolist() == [[1, 2], [3, 4]]
    assert x.set_().numel() == 0
    with pytest.raises(RuntimeError):
        x.set_(torch.ones(2))
    with pytest.raises(RuntimeError):
        x.set_(source.untyped_storage(), 0, (100,), (1,))


# ---- results -------------------------------------------------------------------------------------


def test_triangles_work_in_place_and_on_strided_memory():
    values = np.arange(24.0).reshape(2, 3, 4)
    x = torch.tensor(values)
    assert np.array_equal(x.transpose(1, 2).tril(1).numpy(), np.tril(values.swapaxes(1, 2), 1))
    y = x.clone()
    assert y.triu_(1) is y and np.array_equal(y.numpy(), np.triu(values, 1))
    out = torch.empty(0, dtype=torch.float64)
    torch.tril(x, -1, out=out)
    assert np.array_equal(out.numpy(), np.tril(values, -1))


def test_a_copy_of_a_window_owns_its_memory():
    x = counted(2, 3)
    y = torch.transpose_copy(x, 0, 1)
    assert y.is_contiguous() and y.data_ptr() != x.data_ptr()
    out = torch.empty(0, dtype=torch.int64)
    assert torch.permute_copy(x, (1, 0), out=out) is out and out.tolist() == y.tolist()


def test_padding_of_empty_and_cropped_tensors():
    x = counted(2, 3)
    assert torch.constant_pad_nd(x, (-1, -1), 9).tolist() == [[1], [4]]
    assert torch.constant_pad_nd(x, (-3, 1), 9).tolist() == [[9], [9]]
    assert torch.constant_pad_nd(torch.empty(0, 2), (0, 0, 1, 0), 5).tolist() == [[5, 5]]
    assert F.pad(torch.ones(0, 3, 4), (1, 1), "replicate").shape == (0, 3, 6)


@pytest.mark.parametrize("mode, name", [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
def test_continued_edges_are_numpys(mode, name):
    values = np.arange(60.0).reshape(1, 3, 4, 5)
    padded = F.pad(torch.tensor(values), (2, 1, 3, 2), mode)
    assert np.array_equal(padded.numpy(), np.pad(values, ((0, 0), (0, 0), (3, 2), (2, 1)), name))


@pytest.mark.parametrize(
    "pad, mode, error, message",
    [
        ((4, 0), "reflect", RuntimeError, "Padding size should be less than"),
        ((5, 0), "circular", RuntimeError, "wrapping around more than once"),
        ((-5, 0), "replicate", RuntimeError, "is too small"),
        ((-5, 7), "constant", RuntimeError, "negative output size"),
        ((1,), "constant", RuntimeError, "Padding length must be divisible by 2"),
        ((1, 1), "mirror", NotImplementedError, "Unrecognised padding mode mirror"),
        ((1,) * 6, "reflect", NotImplementedError, "Padding size 6 is not supported for 3D"),
    ],
)
def test_impossible_padding_is_refused(pad, mode, error, message):
    with pytest.raises(error, match=message):
        F.pad(torch.ones(2, 3, 4), pad, mode)


def test_fold_puts_together_what_unfold_took_apart():
    x = counted(1, 2, 4, 5, dtype=torch.float32)
    columns = F.unfold(x, (2, 3), padding=1, stride=(2, 1))
    counts = F.fold(
        F.unfold(torch.ones_like(x), (2, 3), padding=1, stride=(2, 1)),
        (4, 5),
        (2, 3),
        padding=1,
        stride=(2, 1),
    )
    again = F.fold(columns, (4, 5), (2, 3), padding=1, stride=(2, 1))
    assert torch.equal(again, x * counts)


# ---- memory formats ------------------------------------------------------------------------------


def test_copies_keep_the_order_of_dimensions_but_not_the_holes():
    x = torch.ones(4, 6)[:, ::2].t()
    assert x.stride() == (2, 6) and x.clone().stride() == (1, 3)
    assert torch.empty_like(x).stride() == (1, 3)
    spread = torch.ones(3, 1).expand(3, 4)
    assert spread.clone().stride() == (4, 1)


def test_channels_last_is_kept():
    x = torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    assert x.stride() == (60, 1, 15, 3) and x.is_contiguous(memory_format=torch.channels_last)
    assert x.clone().stride() == x.double().stride() == (x + 1).stride() == x.stride()
    assert torch.cat([x, x], 1).is_contiguous(memory_format=torch.channels_last)
    assert torch.cat([x, x.contiguous()]).is_contiguous() and x.contiguous().is_contiguous()
    with pytest.raises(RuntimeError, match="required rank 4"):
        x[0].contiguous(memory_format=torch.channels_last)


# ---- without values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, shape",
    [
        (lambda x: x.flip(0), (2, 3)),
        (lambda x: x.roll(1, 1), (2, 3)),
        (lambda x: x.repeat(2, 2), (4, 6)),
        (lambda x: x.tril(), (2, 3)),
        (lambda x: x.diag_embed(1), (2, 4, 4)),
        (lambda x: torch.kron(x, x), (4, 9)),
        (lambda x: F.pad(x, (1, 2)), (2, 6)),
        (lambda x: torch.cdist(x, x), (2, 2)),
        (lambda x: torch.block_diag(x, x), (4, 6)),
        (lambda x: F.pdist(x), (1,)),
    ],
)
def test_meta_tensors_have_shapes(call, shape):
    result = call(torch.empty(2, 3, device="meta"))
    assert result.is_meta and result.shape == shape


# ---- questions -----------------------------------------------------------------------------------


def test_a_tensor_answers_questions_about_itself():
    x = counted(2, 3)
    assert x.is_signed() and not x.to(torch.uint8).is_signed()
    assert x.t().dim_order() == (1, 0) and x.get_device() == -1
    assert x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.t())
    assert not x.is_inference() and not x.is_mkldnn and x.to_dense() is x
    assert [t.item() for t in reversed(counted(3))] == [2, 1, 0]
    assert torch.is_nonzero(torch.tensor(2)) and torch.is_same_size(x, x)
    with pytest.raises(RuntimeError, match="more than one value is ambiguous"):
        torch.is_nonzero(x)


def test_values_changed_from_python():
    x = torch.zeros(5, 2)
    assert x.fill_diagonal_(1, wrap=True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    assert counted(3).apply_(lambda v: v * v).tolist() == [0, 1, 4]
    assert counted(3).map_(counted(3), lambda a, b: a + b).tolist() == [0, 2, 4]


# ---- functions of several tensors ----------------------------------------------------------------


def test_functions_of_several_tensors_take_them_one_by_one_or_as_a_list():
    x, y = counted(2), counted(3)
    for grids in (torch.meshgrid(x, y, indexing="xy"), torch.meshgrid([x, y], indexing="xy")):
        expected = np.meshgrid(x.numpy(), y.numpy(), indexing="xy")
        assert all(np.array_equal(a.numpy(), b) for a, b in zip(grids, expected, strict=True))
    assert torch.broadcast_shapes((2, 1), 3) == (2, 3)
    assert [t.shape for t in torch.broadcast_tensors([x.reshape(2, 1), y])] == [(2, 3), (2, 3)]
    assert torch.cartesian_prod(x, y).shape == (6, 2)
    assert torch.atleast_2d(x, y)[1].shape == (1, 3)
    assert torch.block_diag().shape == (1, 0)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((), (2,)),
        ((3,), (4,)),
        ((2, 3), (4,)),
        ((2, 3), (4, 5)),
        ((1, 3), (1, 5)),
        ((2, 1, 3), (2, 2)),
        ((0, 2), (3, 2)),
    ],
)
def test_kron_is_every_product_of_elements(left, right):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=left), rng.normal(size=right)
    expected = np.kron(a, b)
    assert torch.kron(torch.tensor(a), torch.tensor(b)).shape == expected.shape
    np.testing.assert_allclose(torch.kron(torch.tensor(a), torch.tensor(b)).numpy(), expected)
    turned = torch.kron(torch.tensor(a.T), torch.tensor(b.T))
    np.testing.assert_allclose(turned.numpy(), np.kron(a.T, b.T))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64, np.complex128])
@pytest.mark.parametrize("shape", [(4, 4), (31, 33), (32, 64), (65, 100), (3, 70, 37)])
def test_a_copy_in_another_order_has_every_bit(shape, dtype):
    drawn = np.random.default_rng(0).integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    values = drawn.view(dtype)[..., 0]
    turned = torch.from_numpy(values).transpose(-1, -2)
    for x, wanted in (
        (turned.contiguous(), values.swapaxes(-1, -2)),
        (turned[..., 1:, 2:].contiguous(), values.swapaxes(-1, -2)[..., 1:, 2:]),
        (turned.flip(-1).contiguous(), values.swapaxes(-1, -2)[..., ::-1]),
    ):
        assert x.numpy().tobytes() == wanted.tobytes()

"""Views and indexing without PyTorch beside them: geometry, shared storage, errors, limits."""

import numpy as np
import pytest

import mindtorch_v2 as torch


def counted(*shape, **options):
    return torch.arange(int(np.prod(shape)), **options).reshape(shape)


# ---- views ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "view, sizes, strides, offset",
    [
        (lambda x: x.t(), (4, 3), (1, 4), 0),
        (lambda x: x[1], (4,), (1,), 4),
        (lambda x: x[:, 1], (3,), (4,), 1),
        (lambda x: x[1:, ::2], (2, 2), (4, 2), 4),
        (lambda x: x.view(2, 6), (2, 6), (6, 1), 0),
        (lambda x: x.unsqueeze(1), (3, 1, 4), (4, 4, 1), 0),
        (lambda x: x.narrow(1, 1, 2), (3, 2), (4, 1), 1),
        (lambda x: x.diagonal(1), (3,), (5,), 1),
        (lambda x: x.as_strided((2, 2), (3, 5), 2), (2, 2), (3, 5), 2),
        (lambda x: x.unsqueeze(0).expand(5, 3, 4), (5, 3, 4), (0, 4, 1), 0),
        (lambda x: x.permute(1, 0), (4, 3), (1, 4), 0),
        (lambda x: x.flatten(), (12,), (1,), 0),
        (lambda x: x.detach(), (3, 4), (4, 1), 0),
        (lambda x: x.chunk(2, 1)[1], (3, 2), (4, 1), 2),
    ],
)
def test_a_view_shares_storage_and_version(view, sizes, strides, offset):
    x = counted(3, 4, dtype=torch.float32)
    y = view(x)
    assert (tuple(y.shape), y.stride(), y.storage_offset()) == (sizes, strides, offset)
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    expected = np.lib.stride_tricks.as_strided(np.arange(12.0)[offset:], sizes, [s * 8 for s in strides])
    assert y.tolist() == expected.tolist()
    before = x._version
    if 0 not in strides:
        y.fill_(-1)
        assert x._version == y._version == before + 1
        assert (x == -1).sum().item() == y.numel()


def test_reshape_copies_only_when_it_must():
    x = counted(3, 4)
    assert x.reshape(4, 3).data_ptr() == x.data_ptr()
    copied = x.t().reshape(12)
    assert copied.data_ptr() != x.data_ptr()
    assert copied.tolist() == np.arange(12).reshape(3, 4).T.ravel().tolist()


def test_contiguous_returns_the_same_tensor_when_it_already_is():
    x = counted(3, 4)
    assert x.contiguous() is x
    assert x.t().contiguous().is_contiguous()


def test_a_view_keeps_its_storage_alive():
    y = counted(1000)[10:12]
    for _ in range(4):
        torch.zeros(1000, dtype=torch.int64)
    assert y.tolist() == [10, 11]


# ---- indexing ------------------------------------------------------------------------------------

_INDICES = [
    0,
    -1,
    (1, 2),
    (-1, -1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, 2),
    slice(5, 2),
    slice(-2, None),
    slice(0, 100),
    Ellipsis,
    (Ellipsis, 0),
    (0, Ellipsis),
    (slice(1), Ellipsis, slice(None, None, 3)),
    None,
    (None, 0, None),
    (slice(None), None, 1),
    (0, slice(None), 1),
    (1, 2, 3),
    (Ellipsis, None),
    (),
    np.int64(1),
]


@pytest.mark.parametrize("index", _INDICES, ids=str)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_reading_agrees_with_numpy(index, device):
    values = np.arange(24).reshape(2, 3, 4)
    got = torch.from_numpy(values).to(device)[index]
    assert got.tolist() == values[index].tolist()
    assert tuple(got.shape) == values[index].shape


@pytest.mark.parametrize("index", _INDICES, ids=str)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_assigning_a_number_agrees_with_numpy(index, device):
    values = np.arange(24).reshape(2, 3, 4)
    x = torch.tensor(values, device=device)
    x[index] = -7
    values = values.copy()
    values[index] = -7
    assert x.tolist() == values.tolist()


def test_assigning_a_tensor_broadcasts_and_casts():
    x = torch.zeros(2, 3, dtype=torch.int32)
    x[:, 1:] = torch.tensor([1.9, -2.9])
    assert x.tolist() == [[0, 1, -2], [0, 1, -2]]
    x[0] = torch.ones(1, 1, 3)
    assert x[0].tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "index, error",
    [
        (3, IndexError),
        (-3, IndexError),
        ((0, 0, 0), IndexError),
        ((Ellipsis, Ellipsis), IndexError),
        (slice(None, None, -1), ValueError),
        (slice(None, None, 0), ValueError),
        ("a", TypeError),
        (1.5, IndexError),
        (slice("a", None), TypeError),
    ],
    ids=str,
)
def test_a_bad_index_is_an_error_for_reading_and_writing(index, error):
    x = torch.zeros(2, 3)
    with pytest.raises(error):
        x[index]
    with pytest.raises(error):
        x[index] = 0


def test_a_0_dim_tensor_has_no_items():
    x = torch.tensor(1.0)
    with pytest.raises(IndexError):
        x[0]
    with pytest.raises(TypeError):
        len(x)
    with pytest.raises(TypeError):
        iter(x)
    assert x[...].item() == 1.0


def test_a_value_that_does_not_fit_is_refused_and_nothing_is_written():
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError):
        x[0] = torch.ones(4)
    assert x.tolist() == [[0] * 3] * 2
    with pytest.raises(TypeError):
        del x[0]


# ---- limits --------------------------------------------------------------------------------------

_HUGE = 2**63 - 1


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: x[::_HUGE], [0]),
        (lambda x: x[1:4:_HUGE], [1]),
        (lambda x: x[-_HUGE:_HUGE], [0, 1, 2, 3, 4]),
        (lambda x: x.split(_HUGE)[0], [0, 1, 2, 3, 4]),
        (lambda x: x.reshape(5, 1).diagonal(_HUGE), []),
        (lambda x: x.reshape(5, 1).diagonal(-_HUGE - 1), []),
    ],
)
def test_huge_numbers_in_views_do_not_wrap_around(call, wanted):
    assert call(torch.arange(5)).tolist() == wanted


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.narrow(0, 1, _HUGE),
        lambda x: x.split([_HUGE, _HUGE]),
        lambda x: x.split([_HUGE, _HUGE, 7]),  # wraps around to 5
        lambda x: x[:1].expand(2**62, 4),
        lambda x: x.reshape(5, 1).expand(5, 2**62),
        lambda x: x.as_strided((2,), (_HUGE,)),
        lambda x: x.as_strided((2**62, 4), (0, 0)),
        lambda x: x.view(2**62, 4, 5),
    ],
)
def test_views_that_reach_beyond_every_memory_are_refused(call):
    with pytest.raises(RuntimeError):
        call(torch.arange(5))


def test_views_that_only_torch_ops_names_are_views_with_a_gradient():
    x = torch.arange(10.0, requires_grad=True)
    window = torch.ops.aten.slice(x, 0, 1, -1, 3)
    assert window.tolist() == [1, 4, 7] and window._base is x
    assert torch.ops.aten.slice.Tensor(x, start=8).tolist() == [8, 9]
    assert torch.ops.aten.alias(x).data_ptr() == x.data_ptr()
    assert torch.ops.aten.index(x, [torch.tensor([2, 3])]).tolist() == [2, 3]
    window.sum().backward()
    assert x.grad.tolist() == [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
    assert not hasattr(torch, "slice") and not hasattr(torch, "alias")

"""Sizes, dimensions and counts that programs compute as tensors."""

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

COUNT = torch.tensor([3])  # as torch.randint(1, 4, (1,)) gives it
ZERO = torch.tensor([[0]])


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_a_size_may_be_a_tensor_of_one_element(name):
    make = getattr(torch, name)
    assert make(COUNT).shape == (3,)
    assert make(COUNT, 2).shape == (3, 2)
    assert make(2, COUNT).shape == (2, 3)
    assert make([COUNT, 2]).shape == make((COUNT, 2)).shape == (3, 2)
    with pytest.raises(TypeError, match="must be tuple of ints, not Tensor"):
        make(torch.tensor([2, 3]))
    with pytest.raises(TypeError, match="must be tuple of ints, not Tensor"):
        make(torch.tensor([2.0]))


def test_lists_of_integers_take_such_tensors():
    x = torch.arange(6.0)
    assert x.view(COUNT, 2).shape == x.reshape([COUNT, -1]).shape == (3, 2)
    assert x[:1].expand(2, COUNT).shape == (2, 3)
    assert x.repeat(COUNT).shape == (18,)
    assert x.new_zeros(COUNT).shape == (3,) and x.new_full((COUNT, 2), 1.0).shape == (3, 2)
    assert x.roll(COUNT).tolist() == [3, 4, 5, 0, 1, 2]
    assert F.pad(x, [0, COUNT]).tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0]
    assert F.interpolate(x.view(1, 1, 6), COUNT).flatten().tolist() == [0, 2, 4]
    assert x.sum(ZERO).item() == x.sum(dim=ZERO).item() == 15
    assert x.flip(ZERO).tolist() == [5, 4, 3, 2, 1, 0]
    assert x[None].squeeze(ZERO).shape == (6,)


def test_counts_and_offsets_take_such_tensors_too():
    x = torch.arange(12.0).view(3, 4)
    assert torch.eye(COUNT).shape == (3, 3) and torch.randperm(COUNT).sort().values.tolist() == [0, 1, 2]
    assert x.topk(COUNT).values.tolist() == [[3, 2, 1], [7, 6, 5], [11, 10, 9]]
    assert x.narrow(1, 0, COUNT).shape == (3, 3) and x.select(1, COUNT).tolist() == [3, 7, 11]
    assert [part.shape for part in x.split(COUNT, 1)] == [(3, 3), (3, 1)]
    assert x.triu(COUNT).sum().item() == 3 and torch.fft.rfft(x, COUNT).shape == (3, 2)
    assert torch.bincount(torch.tensor([0]), minlength=COUNT).tolist() == [1, 0, 0]
    assert F.conv1d(x[None], torch.ones(3, 1, 1), groups=COUNT).shape == (1, 3, 4)
    assert torch.tensordot(x, x.T, torch.tensor([1])).shape == (3, 3)


def test_dimensions_take_only_tensors_without_dimensions():
    x = torch.arange(6.0)
    assert x.softmax(torch.tensor(0)).shape == (6,)
    for wrong in (lambda: x.softmax(COUNT), lambda: x.unsqueeze(ZERO), lambda: x.chunk(COUNT)):
        with pytest.raises(TypeError, match="must be int, not Tensor"):
            wrong()


def test_masks_and_bools_are_no_integers():
    x, mask = torch.arange(6.0), torch.tensor([True])
    for wrong in (
        lambda value: x.cumsum(value),
        lambda value: x.topk(value),
        lambda value: torch.zeros(value),
        lambda value: torch.zeros([value, 2]),
    ):
        for value in (True, mask, mask[0]):
            with pytest.raises(TypeError, match="int"):
                wrong(value)
    with pytest.raises(TypeError, match="must be tuple of ints, not bool"):
        x.sum(True)
    # As in PyTorch: masks are elements of lists of dimensions, bools behind the first of every list.
    assert x[None].sum(mask).item() == x[None].sum((0, True)).item() == 15
    assert torch.zeros(3, True).shape == (3, 1)


def test_a_list_is_spread_only_where_nothing_follows_it():
    x = torch.arange(12.0).view(3, 4)
    assert [part.shape for part in x.tensor_split(torch.tensor([2]), 1)] == [(3, 2), (3, 2)]
    assert [part.shape for part in x.tensor_split(torch.tensor([1]), 1)] == [(3, 1), (3, 3)]
    assert [part.shape for part in x.tensor_split(torch.tensor(2), 1)] == [(3, 2), (3, 2)]
    with pytest.raises(RuntimeError, match="0-dim"):
        x.narrow(0, torch.tensor([0]), 1)
    with pytest.raises(TypeError, match="full.*argument 'size' .position 1. must be tuple of ints, not"):
        torch.full(torch.tensor(3), 1.0)

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


def test_one_integer_takes_only_tensors_without_dimensions():
    x = torch.arange(6.0)
    assert x.softmax(torch.tensor(0)).shape == (6,)
    for wrong in (lambda: x.softmax(COUNT), lambda: x.unsqueeze(ZERO), lambda: x.chunk(COUNT)):
        with pytest.raises(TypeError, match="must be int, not Tensor"):
            wrong()


def test_a_list_is_spread_only_where_nothing_follows_it():
    x = torch.arange(12.0).view(3, 4)
    assert [part.shape for part in x.tensor_split(torch.tensor([2]), 1)] == [(3, 2), (3, 2)]
    assert [part.shape for part in x.tensor_split(torch.tensor(2), 1)] == [(3, 2), (3, 2)]
    with pytest.raises(TypeError, match="full.*argument 'size' .position 1. must be tuple of ints, not"):
        torch.full(torch.tensor(3), 1.0)

"""On meta an operator whose shape does not depend on values reads none."""

import mindtorch_v2 as torch


def number(value, **known):
    return torch.tensor(value, device="meta", **known)


def test_numbers_between_tensors_have_the_shape_that_is_asked_for():
    for function in (torch.linspace, torch.logspace):
        for start, end in ((number(0.0), number(1.0)), (number(0.0), 1), (0, number(1.0))):
            made = function(start, end, 5, dtype=torch.float64)
            assert (made.device.type, made.shape, made.dtype) == ("meta", (5,), torch.float64)
    assert torch.linspace(number(1j), number(2.0), 3).dtype is torch.complex64


def test_masked_fill_takes_a_value_without_reading_it():
    own = torch.ones(3, device="meta")
    mask = torch.ones(2, 3, dtype=torch.bool, device="meta")
    made = own.masked_fill(mask, number(1.0, requires_grad=True))
    assert (made.shape, made.requires_grad) == ((2, 3), True)
    assert own.masked_fill(mask, number(1)).dtype is torch.float32
    assert own.masked_fill_(mask[0], number(1.0)) is own


def test_masked_fill_casts_a_value_as_it_does_a_number():
    own, mask = torch.zeros(2, dtype=torch.int64), torch.tensor([True, False])
    assert own.masked_fill(mask, torch.tensor(1.5)).tolist() == own.masked_fill(mask, 1.5).tolist() == [1, 0]
    assert own.float().masked_fill(mask, torch.tensor(3)).tolist() == [3.0, 0.0]


def test_masked_scatter_has_the_shape_of_tensor_and_mask():
    own = torch.ones(3, device="meta")
    mask = torch.ones(2, 3, dtype=torch.bool, device="meta")
    made = own.masked_scatter(mask, torch.ones(10, device="meta", requires_grad=True))
    assert (made.shape, made.stride(), made.requires_grad) == ((2, 3), (3, 1), True)
    assert own.masked_scatter(mask, torch.ones(0, device="meta")).shape == (2, 3)
    assert own[0].masked_scatter(mask[0, 0], own).shape == ()

"""Eight-bit floating point: stored, copied, cast and printed, but not computed with."""

import math

import pytest

import mindtorch_v2 as torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


@pytest.mark.parametrize("dtype", [E4M3, E5M2])
def test_every_byte_survives_the_way_to_float_and_back(dtype):
    bytes_ = torch.arange(256, dtype=torch.uint8)
    floats = bytes_.view(dtype).float()
    again = floats.to(dtype).view(torch.uint8)
    for byte, value, back in zip(bytes_.tolist(), floats.tolist(), again.tolist(), strict=True):
        assert back == byte or math.isnan(value)


def test_e4m3fn_rounds_to_nearest_even_and_ends_at_448():
    values = torch.tensor([0.0, 1.0, 1.0625, 1.1875, -2.5, 448.0, 463.9, 500.0, 2**-9, 2**-10, math.inf])
    assert values.to(E4M3).float().tolist() == [0, 1, 1, 1.25, -2.5, 448, 448, 448, 2**-9, 0, 448]
    assert math.isnan(torch.tensor(math.nan).to(E4M3).float().item())


def test_e5m2_has_infinities_and_subnormals():
    values = torch.tensor([57344.0, 65536.0, math.inf, -math.inf, 2**-16, 1.125, 1.375])
    assert values.to(E5M2).float().tolist() == [57344, math.inf, math.inf, -math.inf, 2**-16, 1, 1.5]


def test_they_are_made_filled_and_printed():
    x = torch.zeros(2, dtype=E4M3)
    x.fill_(1.5)
    assert x.tolist() == [1.5, 1.5] and x.itemsize == 1
    assert repr(x) == "tensor([1.5000, 1.5000], dtype=torch.float8_e4m3fn)"
    assert torch.tensor([0.5], dtype=E5M2).item() == 0.5
    assert torch.finfo(E4M3).max == 448


def test_arithmetic_and_promotion_are_refused():
    x = torch.ones(2, dtype=E4M3)
    with pytest.raises((RuntimeError, NotImplementedError), match="not implemented for 'Float8_e4m3fn'"):
        x + x
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        x + torch.ones(2)

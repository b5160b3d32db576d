"""Dtypes for storage and casts: complex numbers of halves, and floating point of eight bits."""

import io

import pytest

import mindtorch_v2 as torch

NARROW = [torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]


@pytest.mark.parametrize("dtype", NARROW)
def test_every_pattern_survives_the_way_over_float(dtype):
    patterns = torch.arange(256, dtype=torch.uint8)
    again = patterns.view(dtype).float().to(dtype).view(torch.uint8)
    assert torch.equal(again, patterns)


@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        (torch.float8_e4m3fnuz, 240.0, 240.0),
        (torch.float8_e4m3fnuz, 247.0, 240.0),
        (torch.float8_e4m3fnuz, -0.1, -0.1015625),
        (torch.float8_e5m2fnuz, 57344.0, 57344.0),
        (torch.float8_e5m2fnuz, 2.0**-17, 2.0**-17),
        (torch.float8_e8m0fnu, 0.75, 1.0),
        (torch.float8_e8m0fnu, -448.0, 512.0),
    ],
)
def test_a_value_is_rounded_to_the_nearest(dtype, value, stored):
    assert torch.tensor(value).to(dtype).float().item() == stored


@pytest.mark.parametrize("dtype", NARROW)
def test_what_is_too_large_becomes_nan(dtype):
    assert torch.tensor([1e39, float("inf"), float("nan")]).to(dtype).float().isnan().all()


def test_negative_zero_has_no_pattern_of_its_own():
    zero = torch.tensor([-0.0, -1e-30]).to(torch.float8_e4m3fnuz)
    assert zero.view(torch.uint8).tolist() == [0, 0]


def test_complex_halves_are_two_halves():
    pair = torch.tensor([[1.0, 2.0], [0.5, -1.0]], dtype=torch.float16)
    z = torch.view_as_complex(pair)
    assert z.dtype is torch.complex32 is torch.float16.to_complex()
    assert z.real.dtype is torch.float16 is torch.complex32.to_real()
    assert z.tolist() == [1 + 2j, 0.5 - 1j]
    assert torch.view_as_real(z).tolist() == pair.tolist()


def test_arithmetic_of_complex_halves_is_rounded_to_halves():
    z = torch.tensor([1 + 2j, 0.5 - 1j]).chalf()
    assert (z * z).tolist() == [-3 + 4j, -0.75 - 1j]
    assert (z + 1j).dtype is torch.complex32
    assert z.abs().dtype is torch.float16
    assert z.abs()[0].item() == pytest.approx(5**0.5, rel=1e-3)
    assert (z == z.clone()).all()


@pytest.mark.parametrize(
    ("other", "wanted"),
    [
        (torch.float16, torch.complex32),
        (torch.bfloat16, torch.complex64),
        (torch.float32, torch.complex64),
        (torch.float64, torch.complex128),
        (torch.int64, torch.complex32),
        (torch.complex64, torch.complex64),
    ],
)
def test_complex_halves_meet_other_types(other, wanted):
    assert torch.promote_types(torch.complex32, other) is wanted
    assert torch.promote_types(other, torch.complex32) is wanted


def test_a_half_and_a_complex_number_meet_in_complex_halves():
    assert (torch.ones(2, dtype=torch.float16) * 1j).dtype is torch.complex32
    assert (torch.ones(2, dtype=torch.bfloat16) * 1j).dtype is torch.complex64


@pytest.mark.parametrize("dtype", [*NARROW, torch.complex32])
def test_they_are_saved_printed_and_shared(dtype):
    t = torch.ones(3).to(dtype)
    file = io.BytesIO()
    torch.save(t, file)
    file.seek(0)
    again = torch.load(file)
    assert again.dtype is dtype
    assert again.tolist() == t.tolist()
    assert str(dtype) in repr(t)


def test_limits():
    assert torch.finfo(torch.float8_e4m3fnuz).max == 240
    assert torch.finfo(torch.float8_e8m0fnu).min == 2.0**-127
    assert torch.finfo(torch.complex32).dtype == "float16"


@pytest.mark.parametrize("fill", ["uniform_", "normal_"])
def test_random_complex_halves_stay_inside_their_memory(fill):
    whole = torch.zeros(64, dtype=torch.complex32)
    getattr(whole[:16], fill)()
    assert (whole[:16].abs() > 0).any()
    assert not whole[16:].abs().any()


def test_logsumexp_of_complex_halves_is_that_of_complex_floats():
    z = torch.randn(5, 3, dtype=torch.complex64)
    assert torch.allclose(z.chalf().logsumexp(0).cfloat(), z.logsumexp(0), atol=1e-2)

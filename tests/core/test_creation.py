"""Factories: dtypes, out=, layout, and what they refuse."""

import numpy as np
import pytest

import mindtorch_v2 as torch


def test_out_is_resized_filled_and_returned():
    out = torch.empty(0)
    assert torch.linspace(0, 1, 3, out=out) is out
    assert out.tolist() == [0.0, 0.5, 1.0]


def test_out_decides_the_dtype():
    out = torch.empty(4, dtype=torch.int32)
    assert torch.arange(0, 2.5, out=out).tolist() == [0, 1, 2]
    assert torch.zeros(2, out=out).dtype is torch.int32


def test_out_and_dtype_must_agree():
    with pytest.raises(RuntimeError, match=r"dtype Int does not match dtype of out parameter \(Float\)"):
        torch.zeros(2, out=torch.empty(2), dtype=torch.int32)
    with pytest.raises(
        RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"
    ):
        torch.zeros(2, out=torch.empty(2), device="meta")


def test_only_strided_is_a_layout():
    assert torch.zeros(2, layout=torch.strided).tolist() == [0, 0]
    assert torch.zeros_like(torch.ones(2), layout=None).tolist() == [0, 0]
    for wrong in ("strided", 3, torch.float32):
        with pytest.raises(TypeError, match="argument 'layout' must be torch.layout, not"):
            torch.zeros(2, layout=wrong)


def test_new_factories_take_dtype_and_device_of_the_tensor():
    base = torch.ones(2, dtype=torch.float64, device="meta")
    for made in (
        base.new_zeros(2, 3),
        base.new_ones((2, 3)),
        base.new_full((2, 3), 7),
        base.new_empty([2, 3]),
    ):
        assert made.shape == (2, 3) and made.dtype is torch.float64 and made.is_meta
    assert base.new_empty_strided((2, 3), (1, 2), dtype=torch.int8, device="cpu").stride() == (1, 2)
    assert torch.ones(1).new_zeros(2, requires_grad=True).requires_grad


def test_eye_is_rectangular_if_asked():
    assert np.array_equal(torch.eye(2, 3).numpy(), np.eye(2, 3, dtype=np.float32))
    assert torch.eye(0).shape == (0, 0)
    with pytest.raises(RuntimeError, match="m must be greater or equal to 0, got -1"):
        torch.eye(2, -1)


def test_linspace_reaches_both_ends_exactly():
    values = torch.linspace(0.1, 0.7, 1001)
    assert values[0].item() == np.float32(0.1) and values[-1].item() == np.float32(0.7)
    assert torch.linspace(3, 7, 1).tolist() == [3.0]
    assert torch.linspace(3, 7, 0).tolist() == []
    assert torch.linspace(0, 10, 4, dtype=torch.int64).tolist() == [0, 3, 6, 10]


def test_linspace_takes_tensors_without_dimensions():
    assert torch.linspace(torch.tensor(1.0), 3, 3).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(
        RuntimeError, match="only supports 0-dimensional start and end tensors, but got end with 1"
    ):
        torch.linspace(0, torch.ones(2), 3)


def test_steps_cannot_be_negative():
    for factory in (torch.linspace, torch.logspace):
        with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
            factory(0, 1, -1)


def test_complex_ends_need_a_complex_dtype():
    assert torch.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    with pytest.raises(RuntimeError, match="can't be safely cast to passed dtype Float"):
        torch.linspace(0, 1j, 3, dtype=torch.float32)


def test_logspace_of_integers_is_exact():
    assert torch.logspace(0, 3, 4, dtype=torch.int32).tolist() == [1, 10, 100, 1000]
    assert torch.logspace(0, 4, 5, base=2).tolist() == [1, 2, 4, 8, 16]


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (0, 3), (3, 0), (1, 1)])
@pytest.mark.parametrize("offset", [-(2**63), -4, -1, 0, 1, 4, 2**63 - 1])
def test_triangles_are_numpys(shape, offset):
    near = max(-10, min(10, offset))
    assert np.array_equal(
        torch.tril_indices(*shape, offset).numpy(), np.tril_indices(shape[0], near, shape[1])
    )
    assert np.array_equal(
        torch.triu_indices(*shape, offset).numpy(), np.triu_indices(shape[0], near, shape[1])
    )


def test_triangles_refuse_what_does_not_fit():
    with pytest.raises(RuntimeError, match="row must be non-negative, got-1"):
        torch.tril_indices(-1, 2)
    with pytest.raises(RuntimeError, match="do not fit into memory"):
        torch.tril_indices(2**40, 2**40)
    with pytest.raises(NotImplementedError, match="\"triu_indices\" not implemented for 'Float'"):
        torch.triu_indices(2, 2, dtype=torch.float32)


def test_empty_permuted_lays_dimensions_out_in_order():
    assert torch.empty_permuted((2, 3, 4), (2, 0, 1)).stride() == (3, 1, 6)
    for layout, message in (
        ((2, 0), "length of the physical_layout"),
        ((2, 0, 0), "Duplicate"),
        ((2, 0, 5), "range"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.empty_permuted((2, 3, 4), layout)


def test_arange_refuses_what_has_no_order():
    with pytest.raises(RuntimeError, match="value cannot be converted to type double without overflow"):
        torch.arange(1 + 2j)
    with pytest.raises(RuntimeError, match="step must be nonzero"):
        torch.arange(0, 1, 0)
    with pytest.raises(NotImplementedError):
        torch.arange(2, dtype=torch.bool)


def test_factories_work_on_meta():
    made_on_meta = [
        torch.linspace(0, 1, 5, device="meta"),
        torch.eye(5, device="meta")[0],
        torch.tril_indices(5, 1, device="meta")[0],
        torch.hann_window(5, device="meta"),
    ]
    for made in made_on_meta:
        assert made.is_meta and made.shape == (5,)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hann", "kaiser"])
def test_symmetric_windows_are_the_periodic_ones_without_the_last_place(name):
    old, new = getattr(torch, f"{name}_window"), getattr(torch.signal.windows, name)
    periodic, symmetric = old(6).numpy(), old(7, periodic=False).numpy()
    np.testing.assert_allclose(periodic, symmetric[:-1], atol=1e-6)
    np.testing.assert_allclose(symmetric, new(7).numpy(), atol=1e-6)
    np.testing.assert_allclose(periodic, new(6, sym=False).numpy(), atol=1e-6)


def test_windows_refuse_bad_parameters():
    with pytest.raises(RuntimeError, match="hann_window requires non-negative window_length"):
        torch.hann_window(-1)
    with pytest.raises(ValueError, match="Standard deviation must be positive"):
        torch.signal.windows.gaussian(3, std=-1)
    with pytest.raises(ValueError, match="expects float32 or float64 dtypes"):
        torch.signal.windows.hann(3, dtype=torch.float16)


def test_frombuffer_shares_memory():
    buffer = bytearray(b"abcdefghij")
    made = torch.frombuffer(buffer, dtype=torch.int16, count=2, offset=2)
    buffer[2] = 0
    assert made.tolist() == [0x6400, 0x6665]
    assert torch.frombuffer(buffer, dtype=torch.bfloat16).shape == (5,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": torch.int32}, r"buffer length \(10 bytes\) after offset \(0 bytes\) must be a multiple"),
        ({"dtype": torch.int16, "count": 0}, r"both buffer length \(10\) and count \(0\) must not be 0"),
        ({"dtype": torch.int16, "offset": 10}, "must be non-negative and no greater than buffer length"),
        ({"dtype": torch.int16, "offset": -1}, "must be non-negative and no greater than buffer length"),
        ({"dtype": torch.int16, "count": 9}, "must not be greater than actual buffer length"),
    ],
)
def test_frombuffer_stays_inside_the_buffer(options, message):
    with pytest.raises(ValueError, match=message):
        torch.frombuffer(bytearray(10), **options)


def test_frombuffer_refuses_what_is_no_buffer():
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol."):
        torch.frombuffer(3, dtype=torch.int16)


def test_asarray_shares_where_it_can():
    array, ours = np.arange(3), torch.ones(2)
    assert torch.asarray(array).data_ptr() == array.ctypes.data
    assert torch.asarray(ours) is ours and torch.asarray(ours, copy=True).data_ptr() != ours.data_ptr()
    assert torch.asarray([1, 2.0]).tolist() == [1.0, 2.0] and torch.asarray(5).tolist() == 5
    with pytest.raises(ValueError, match="can't alias tensor with dtype 'Float' into dtype 'Double'."):
        torch.asarray(ours, dtype=torch.float64, copy=False)
    with pytest.raises(ValueError, match="can't alias arbitrary sequence into a tensor."):
        torch.asarray([1], copy=False)


def test_a_file_is_mapped(tmp_path):
    path = tmp_path / "numbers.bin"
    np.arange(5, dtype=np.float32).tofile(path)
    assert torch.from_file(str(path), size=5).tolist() == [0, 1, 2, 3, 4]
    torch.from_file(str(path), shared=True, size=5).fill_(7)
    assert np.fromfile(path, dtype=np.float32).tolist() == [7] * 5

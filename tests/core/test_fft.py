"""torch.fft: lengths of every kind, layouts, errors; numpy is the reference."""

import numpy as np
import pytest

import mindtorch_v2 as torch

LENGTHS = [
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    15,
    16,
    30,
    47,
    49,
    53,
    60,
    64,
    97,
    100,
    106,
    128,
    243,
    251,
    512,
    1000,
    1009,
]


def signal(*shape, real=False, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    return values if real else values + 1j * rng.standard_normal(shape)


def assert_close(got, wanted, tolerance=1e-12):
    scale = max(np.abs(wanted).max(), 1e-30)
    assert np.abs(got.numpy() - wanted).max() <= tolerance * scale


@pytest.mark.parametrize("n", LENGTHS)
def test_every_length_is_transformed(n):
    z, x = signal(3, n), signal(3, n, real=True)
    assert_close(torch.fft.fft(torch.from_numpy(z)), np.fft.fft(z))
    assert_close(torch.fft.ifft(torch.from_numpy(z)), np.fft.ifft(z))
    assert_close(torch.fft.fft(torch.from_numpy(x)), np.fft.fft(x))
    assert_close(torch.fft.rfft(torch.from_numpy(x)), np.fft.rfft(x))
    assert_close(torch.fft.irfft(torch.from_numpy(np.fft.rfft(x)), n=n), x)


@pytest.mark.parametrize("n", [64, 97, 1000])
def test_single_precision_keeps_its_digits(n):
    z = signal(4, n)
    got = torch.fft.fft(torch.from_numpy(z.astype(np.complex64)))
    assert got.dtype == torch.complex64
    assert_close(got, np.fft.fft(z), 1e-6)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_any_layout_is_read_and_any_dimension_transformed(dim, order):
    z = signal(5, 70, 18)
    turned = torch.from_numpy(z).permute(order)[:, 1::2]
    assert_close(torch.fft.fft(turned, dim=dim), np.fft.fft(z.transpose(order)[:, 1::2], axis=dim))
    real = torch.from_numpy(z.real.copy()).permute(order)[:, 1::2]
    assert_close(torch.fft.rfft(real, dim=dim), np.fft.rfft(z.real.transpose(order)[:, 1::2], axis=dim))


def test_an_expanded_signal_is_transformed_once_for_each_copy():
    x = signal(12, real=True)
    got = torch.fft.rfft(torch.from_numpy(x).expand(3, 12))
    assert_close(got, np.broadcast_to(np.fft.rfft(x), (3, 7)))


@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_several_dimensions_with_every_normalization(name, norm):
    x = signal(4, 6, 5, real=name == "rfftn")
    for s, dim in ((None, None), ((3, 8), (0, 2)), ((8, 4), (2, 1))):
        got = getattr(torch.fft, name)(torch.from_numpy(x), s=s, dim=dim, norm=norm)
        axes = None if dim is None else list(dim)
        assert_close(got, getattr(np.fft, name)(x, s=s, axes=axes, norm=norm))


def test_hermitian_transforms_agree_with_numpy():
    z, x = signal(4, 9), signal(4, 9, real=True)
    assert_close(torch.fft.hfft(torch.from_numpy(z)), np.fft.hfft(z))
    assert_close(torch.fft.hfft(torch.from_numpy(z), n=7, norm="ortho"), np.fft.hfft(z, n=7, norm="ortho"))
    assert_close(torch.fft.ihfft(torch.from_numpy(x)), np.fft.ihfft(x))


def test_hfftn_undoes_ihfftn():
    x = signal(4, 6, real=True)
    back = torch.fft.hfftn(torch.fft.ihfftn(torch.from_numpy(x)), s=(4, 6))
    assert_close(back, x)


def test_integers_become_floats_and_half_types_are_refused():
    assert torch.fft.fft(torch.arange(4)).dtype == torch.complex64
    assert torch.fft.rfft(torch.tensor([True, False])).dtype == torch.complex64
    for dtype, name in ((torch.float16, "Half"), (torch.bfloat16, "BFloat16")):
        with pytest.raises(RuntimeError, match=f"Unsupported dtype {name}"):
            torch.fft.fft(torch.ones(4, dtype=dtype))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: torch.fft.fft(torch.ones(4), n=0), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda: torch.fft.irfft(torch.ones(1)), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda: torch.fft.fft(torch.ones(0)), RuntimeError, r"Invalid number of data points \(0\)"),
        (lambda: torch.fft.fft(torch.ones(4), dim=3), IndexError, "Dimension out of range"),
        (lambda: torch.fft.fft(torch.tensor(1.0)), IndexError, "tensor has no dimensions"),
        (lambda: torch.fft.fft(torch.ones(4), norm="no"), RuntimeError, 'Invalid normalization mode: "no"'),
        (lambda: torch.fft.rfft(torch.ones(4) * 1j), RuntimeError, "rfft expects a real input tensor"),
        (lambda: torch.fft.fftn(torch.ones(2, 2), dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
        (lambda: torch.fft.fftn(torch.ones(2), s=(1, 2)), RuntimeError, "Got shape with 2 values"),
        (lambda: torch.fft.fftn(torch.ones(2, 2), s=(1,), dim=(0, 1)), RuntimeError, "have the same length"),
        (lambda: torch.fft.rfftn(torch.ones(2), dim=()), RuntimeError, "must transform at least one axis"),
        (lambda: torch.fft.fft2(torch.ones(4)), IndexError, "Dimension out of range"),
        (lambda: torch._fft_c2r(torch.ones(3) * 1j, [0], 0, 9), RuntimeError, "has 5 frequencies"),
        (lambda: torch._fft_c2c(torch.ones(3) * 1j, [0], 7, True), RuntimeError, "normalization must be"),
        (lambda: torch._fft_r2c(torch.ones(3).long(), [0], 0, True), RuntimeError, "float or double"),
    ],
)  # fmt: skip
def test_bad_arguments_are_errors_with_pytorchs_words(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_no_dimensions_means_the_complex_signal_itself():
    x = torch.arange(4).float()
    assert torch.fft.fftn(x, dim=()).tolist() == [0, 1, 2, 3]


def test_an_empty_batch_has_an_empty_spectrum():
    assert torch.fft.fft(torch.ones(0, 3)).shape == (0, 3)
    assert torch.fft.rfft(torch.ones(3, 0, 4)).shape == (3, 0, 3)


def test_shapes_and_types_are_known_without_data():
    x = torch.empty(3, 8, device="meta")
    assert torch.fft.rfft(x).shape == (3, 5)
    assert torch.fft.rfft(x).dtype == torch.complex64
    assert torch.fft.irfft(torch.fft.rfft(x)).shape == (3, 8)


def test_results_are_written_into_out():
    out = torch.empty(0, dtype=torch.complex128)
    x = signal(6)
    assert torch.fft.fft(torch.from_numpy(x), out=out) is out
    assert_close(out, np.fft.fft(x))


def test_frequencies_and_shifts_agree_with_numpy():
    for n in (1, 4, 5):
        np.testing.assert_allclose(torch.fft.fftfreq(n, d=0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(torch.fft.rfftfreq(n, d=0.5).numpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
    x = np.arange(35.0).reshape(5, 7)
    np.testing.assert_array_equal(torch.fft.fftshift(torch.from_numpy(x)).numpy(), np.fft.fftshift(x))
    np.testing.assert_array_equal(
        torch.fft.ifftshift(torch.from_numpy(x), dim=1).numpy(), np.fft.ifftshift(x, 1)
    )


def test_threads_give_the_same_spectrum():
    z = torch.from_numpy(signal(64, 600))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    alone = torch.fft.fft(z)
    torch.set_num_threads(4)
    together = torch.fft.fft(z)
    torch.set_num_threads(before)
    assert torch.equal(alone, together)


def test_spectra_of_real_signals_pass_gradients_back():
    x = torch.from_numpy(signal(3, 8, real=True)).requires_grad_()
    weight = torch.from_numpy(signal(3, 5))
    (torch.fft.rfft(x) * weight).real.sum().backward()
    matrix = np.exp(-2j * np.pi * np.outer(np.arange(5), np.arange(8)) / 8)
    np.testing.assert_allclose(x.grad.numpy(), (weight.numpy() @ matrix).real, atol=1e-12)


# ---- short-time transforms ---------------------------------------------------------------------------


def hann(n):
    return torch.from_numpy(np.hanning(n + 1)[:-1].copy())


def test_stft_transforms_windowed_pieces():
    x = signal(2, 40, real=True)
    got = torch.stft(torch.from_numpy(x), 8, hop_length=3, window=hann(8), center=False, return_complex=True)
    pieces = np.stack([x[:, at : at + 8] for at in range(0, 33, 3)], 1) * hann(8).numpy()
    assert_close(got, np.fft.rfft(pieces).transpose(0, 2, 1))


def test_a_short_window_stands_in_the_middle_of_the_transform():
    x = signal(40, real=True)
    got = torch.stft(torch.from_numpy(x), 8, win_length=4, window=hann(4), center=False, return_complex=True)
    window = np.concatenate([np.zeros(2), hann(4).numpy(), np.zeros(2)])
    pieces = np.stack([x[at : at + 8] for at in range(0, 33, 2)]) * window
    assert_close(got, np.fft.rfft(pieces).T)


def test_a_centred_signal_is_reflected_at_its_ends():
    x = signal(40, real=True)
    got = torch.stft(torch.from_numpy(x), 8, window=hann(8), return_complex=True)
    wide = torch.from_numpy(np.pad(x, 4, mode="reflect"))
    assert_close(got, torch.stft(wide, 8, window=hann(8), center=False, return_complex=True).numpy())


@pytest.mark.parametrize("normalized", [False, True])
def test_istft_gives_the_signal_back(normalized):
    x = torch.from_numpy(signal(2, 50, real=True))
    spectrum = torch.stft(x, 10, hop_length=5, window=hann(10), normalized=normalized, return_complex=True)
    back = torch.istft(spectrum, 10, hop_length=5, window=hann(10), normalized=normalized, length=50)
    assert_close(back, x.numpy())
    z = torch.from_numpy(signal(50))
    both_sides = torch.stft(z, 10, hop_length=5, window=hann(10))
    assert_close(torch.istft(both_sides, 10, hop_length=5, window=hann(10), return_complex=True), z.numpy())


def test_stft_asks_how_real_signals_shall_come_back():
    with pytest.raises(RuntimeError, match="stft requires the return_complex parameter be given"):
        torch.stft(torch.ones(40), 8)
    with pytest.warns(UserWarning, match="return_complex=False is deprecated"):
        assert torch.stft(torch.ones(40), 8, return_complex=False).shape == (5, 21, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_fft": 50}, "expected 0 < n_fft < 40, but got n_fft=50"),
        ({"n_fft": 8, "hop_length": 0}, "expected hop_length > 0, but got hop_length=0"),
        ({"n_fft": 8, "win_length": 9}, "expected 0 < win_length <= n_fft, but got win_length=9"),
        ({"n_fft": 8, "window": torch.ones(4)}, "expected a 1D window tensor of size equal to win_length=8"),
    ],
)
def test_stft_names_the_option_that_is_wrong(options, message):
    with pytest.raises(RuntimeError, match=message):
        torch.stft(torch.ones(40), center=False, return_complex=True, **options)


def test_istft_refuses_windows_that_leave_gaps():
    spectrum = torch.stft(torch.ones(40), 8, return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min: 1"):
        torch.istft(spectrum, 8, window=torch.zeros(8))


@pytest.mark.parametrize("length", [49, 121, 169, 77, 1001, 509, 512, 1024, 272, 1040, 304, 72, 1500])
@pytest.mark.parametrize("lines", [1, 3, 4, 7, 21])
def test_lines_of_any_number_and_length_go_together(length, lines):
    parts = np.random.default_rng(0).standard_normal((2, lines, length))
    x = parts[0] + 1j * parts[1]
    for dtype, tolerance in (("complex64", 1e-3), ("complex128", 1e-9)):
        given = torch.from_numpy(x.astype(dtype))
        np.testing.assert_allclose(torch.fft.fft(given).numpy(), np.fft.fft(x), atol=tolerance)
        np.testing.assert_allclose(torch.fft.ifft(given).numpy(), np.fft.ifft(x), atol=tolerance)
        real = torch.from_numpy(x.astype(dtype).real.copy())
        np.testing.assert_allclose(torch.fft.fft(real).numpy(), np.fft.fft(x.real), atol=tolerance)
        np.testing.assert_allclose(torch.fft.rfft(real).numpy(), np.fft.rfft(x.real), atol=tolerance)
        back = torch.fft.irfft(torch.fft.rfft(real), n=length)
        np.testing.assert_allclose(back.numpy(), x.real, atol=tolerance)

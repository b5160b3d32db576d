"""Fourier transforms of real signals."""

import torch

from .harness import OUT, case

SIGNALS = (torch.float32, torch.float64)


@case("aclRfft1D", dtypes=SIGNALS, layouts=("dense",), tolerance=8)
def the_spectrum_of_a_signal(make):
    x = make(3, 10)
    for n in (10, 7, 16):
        for code, norm in ((1, "backward"), (2, "forward"), (3, "ortho")):
            spectrum = torch.fft.rfft(x, n, norm=norm)
            yield [x, n, -1, code, OUT], torch.view_as_real(spectrum)
            yield [x, n, -1, code, OUT], torch.view_as_real(spectrum).flatten(-2)
            yield [x, n, -1, code, OUT], spectrum


@case("aclStft", dtypes=SIGNALS, layouts=("dense",), tolerance=8)
def spectra_of_windows_of_a_signal(make):
    x, window = make(2, 20), make(6)
    for onesided in (True, False):
        for normalized in (True, False):
            spectra = torch.stft(
                x,
                8,
                3,
                6,
                window,
                center=False,
                normalized=normalized,
                onesided=onesided,
                return_complex=True,
            )
            yield [x, window, OUT, 8, 3, 6, normalized, onesided, True], spectra
            yield [x, window, OUT, 8, 3, 6, normalized, onesided, False], torch.view_as_real(spectra)
    plain = torch.stft(x[0], 8, 4, 8, torch.ones(8, dtype=x.dtype), center=False, return_complex=True)
    yield [x[0], None, OUT, 8, 4, 8, False, True, True], plain

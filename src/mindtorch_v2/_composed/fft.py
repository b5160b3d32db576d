"""Short-time Fourier transforms."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor
from mindtorch_v2._C import _functions as _native

_NONE, _BY_ROOT_N, _BY_N = 0, 1, 2  # normalizations of the transforms


def _text(value: object) -> str:
    """An option as PyTorch's messages show it: flags are 0 or 1, windows their type and size."""
    if isinstance(value, Tensor):
        return f"{value.type()}{{[{', '.join(map(str, value.shape))}]}}"
    return str(int(value)) if isinstance(value, bool) else str(value)


def _call(name: str, self: Tensor, kind: str, **options: object) -> str:
    sizes = ", ".join(map(str, self.shape))
    return f"{name}({kind}[{sizes}], " + ", ".join(f"{k}={_text(v)}" for k, v in options.items()) + ")"


def _centred(window: Tensor, length: int) -> Tensor:
    """The window with zeros on both sides, so that it has the length of the transform."""
    missing = length - window.shape[0]
    left = missing // 2
    parts = [window.new_zeros(left), window, window.new_zeros(missing - left)]
    return torch.cat(parts) if missing else window


def _padded(self: Tensor, left: int, right: int, mode: str) -> Tensor:
    flat = self.reshape([1] * (3 - self.dim()) + list(self.shape))
    padded = torch.nn.functional.pad(flat, [left, right], mode)
    return padded.reshape([*self.shape[:-1], padded.shape[-1]])


def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping, windowed pieces of a signal: [batch, frequency, frame]."""
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    signal = _padded(self, n_fft // 2, n_fft // 2, pad_mode) if center and self.dim() in (1, 2, 3) else self
    call = _call(
        "stft", signal, signal.type(), n_fft=n_fft, hop_length=hop, win_length=length, window=window,
        normalized=normalized, onesided=onesided, return_complex=return_complex,
        align_to_window=align_to_window,
    )  # fmt: skip
    is_complex = self.is_complex() or (window is not None and window.is_complex())
    if return_complex is None and not is_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require "
            "that return_complex=True in a future PyTorch release."
        )
    if not (signal.is_floating_point() or signal.is_complex()):
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if signal.dim() not in (1, 2):
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    if align_to_window:
        left = (n_fft - length) // 2
        signal = _padded(signal, left, n_fft - length - left, "constant")
    points = signal.shape[-1]
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {points}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={length}, "
            f"but got window with size {list(window.shape)}"
        )
    if onesided is None:
        onesided = not is_complex
    if onesided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if return_complex is False and not is_complex:
        warnings.warn(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return "
            "complex tensors for all inputs, and return_complex=False will raise an error.\n"
            "Note: you can still call torch.view_as_real on the complex output to recover the old return "
            "format.",
            UserWarning,
            stacklevel=2,
        )

    pieces = signal.unfold(-1, n_fft, hop)
    if window is not None:
        pieces = pieces * _centred(window, n_fft)
    elif length < n_fft:
        pieces = pieces * _centred(signal.new_ones(length), n_fft)
    mode = _BY_ROOT_N if normalized else _NONE
    if is_complex:
        spectrum = _native._fft_c2c(pieces, [pieces.dim() - 1], mode, True)
    else:
        spectrum = _native._fft_r2c(pieces, [pieces.dim() - 1], mode, onesided)
    spectrum = spectrum.transpose(-2, -1)
    return torch.view_as_real(spectrum) if return_complex is False else spectrum


def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose stft comes nearest to the given one."""
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        warnings.warn(
            "A window was not provided. A rectangular window will be applied."
            "Please provide the same window used by stft to make the inversion lossless."
            "To suppress this warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.",
            UserWarning,
            stacklevel=2,
        )
    kind = ("CPU" if self.device.type == "cpu" else "") + self.type().split(".")[-1].removesuffix("Tensor")
    call = _call(
        "istft", self, kind + "Type", n_fft=n_fft, hop_length=hop, win_length=width, window=window,
        center=center, normalized=normalized, onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if self.numel() == 0:
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if self.dim() not in (2, 3):
        raise RuntimeError(f"{call} : expected a tensor with 3 or 4 dimensions, but got {self.dim() + 1}")
    if not 0 < width <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if not 0 < hop <= width:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    frequencies, frames = self.shape[-2], self.shape[-1]
    if onesided is None:
        onesided = frequencies != n_fft
    wanted, rule = (n_fft // 2 + 1, "n_fft / 2 + 1") if onesided else (n_fft, "n_fft")
    if frequencies != wanted:
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{rule} when onesided={onesided}, but got {frequencies}"
        )
    if window is not None and tuple(window.shape) != (width,):
        raise RuntimeError(f"{call} : Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if not return_complex and window is not None and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")

    shape = _centred(self.real.new_ones(width) if window is None else window, n_fft)
    spectrum = (self if self.dim() == 3 else self.unsqueeze(0)).transpose(1, 2)
    mode = _BY_ROOT_N if normalized else _BY_N
    if return_complex:
        pieces = _native._fft_c2c(spectrum, [2], mode, False)
    else:
        half = spectrum if onesided else spectrum.narrow(2, 0, n_fft // 2 + 1)
        pieces = _native._fft_c2r(half, [2], mode, n_fft)
    covered = n_fft + hop * (frames - 1)
    signal = torch.unfold_backward(pieces * shape, [pieces.shape[0], covered], 1, n_fft, hop)
    squares = (shape * shape).expand(1, frames, n_fft)
    weight = torch.unfold_backward(squares.contiguous(), [1, covered], 1, n_fft, hop)

    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = covered - n_fft // 2 if center else covered
    signal, weight = signal[:, start:end], weight[:, start:end]
    least = torch._C._functorch._of_all_slices(weight).detach().abs().min()
    if not bool((least > 1e-11).item()):
        raise RuntimeError(f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]")
    signal = signal / weight
    if end > covered:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in "
            "the tail. Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=2,
        )
        tail = signal.new_zeros(signal.shape[0], end - covered)
        signal = torch.cat([signal, tail], 1)
    return signal if self.dim() == 3 else signal.squeeze(0)

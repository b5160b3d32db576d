"""torchaudio's operators that are made of others, and what it asks of its compiled part besides tensors."""

from __future__ import annotations

import mindtorch_v2 as torch


def toolkit_version() -> None:
    """Of the accelerator that torchaudio was compiled for: none."""


def is_align_available() -> bool:
    """Whether there is forced_align."""
    return True


def overdrive_core_loop(
    waveform: torch.Tensor,
    temp: torch.Tensor,
    last_in: torch.Tensor,
    last_out: torch.Tensor,
    output_waveform: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Adds the changes of ``temp`` to the waveform through a recursive filter; writes the last three arguments."""
    if waveform.dim() != 2 or temp.shape != waveform.shape or output_waveform.shape != waveform.shape:
        raise RuntimeError(
            "_overdrive_core_loop: expected waveforms [channels, time] of one shape, got "
            f"{list(waveform.shape)}, {list(temp.shape)} and {list(output_waveform.shape)}"
        )
    channels = waveform.shape[0]
    if last_in.shape != (channels,) or last_out.shape != (channels,):
        raise RuntimeError(
            f"_overdrive_core_loop: expected {channels} values before the first, got {list(last_in.shape)} and "
            f"{list(last_out.shape)}"
        )
    if waveform.shape[1] == 0:
        return last_in, last_out, output_waveform
    changes = temp - torch.cat([last_in.unsqueeze(1), temp[:, :-1]], 1)
    filtered = torch.cat([last_out.unsqueeze(1), torch.zeros_like(changes)], 1).unsqueeze(0)
    coefficients = torch.tensor([-0.995, 1.0], dtype=temp.dtype, device=temp.device).expand(channels, 2)
    torch._C._torchaudio._lfilter_core_loop(changes.unsqueeze(0), coefficients, filtered)
    last_in.copy_(temp[:, -1])
    last_out.copy_(filtered[0, :, -1])
    output_waveform.copy_(waveform * 0.5 + filtered[0, :, 1:] * 0.75)
    return last_in, last_out, output_waveform

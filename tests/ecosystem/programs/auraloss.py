"""Losses of audio in time and in frequency, with their gradients; a filter fitted with one of them."""

import auraloss
import torch
from torch import nn

LOSSES = {
    "multi": auraloss.freq.MultiResolutionSTFTLoss(
        fft_sizes=[512, 256], hop_sizes=[128, 64], win_lengths=[512, 256]
    ),
    "stft": auraloss.freq.STFTLoss(fft_size=512, hop_size=128, win_length=512),
    "mel": auraloss.freq.MelSTFTLoss(
        sample_rate=16000, fft_size=512, hop_size=128, win_length=512, n_mels=16
    ),
    "si_sdr": auraloss.time.SISDRLoss(),
    "sd_sdr": auraloss.time.SDSDRLoss(),
    "snr": auraloss.time.SNRLoss(),
    "esr": auraloss.time.ESRLoss(),
    "dc": auraloss.time.DCLoss(),
    "log_cosh": auraloss.time.LogCoshLoss(),
}


def run(device):
    out = {}
    torch.manual_seed(0)
    sound = torch.randn(2, 1, 4096).to(device).requires_grad_()
    wanted = torch.randn(2, 1, 4096).to(device)
    for name, loss in LOSSES.items():
        value = loss.to(device)(sound, wanted)
        out[name], (out[f"{name}_grad"],) = value, torch.autograd.grad(value, sound)
    torch.manual_seed(1)
    filters = nn.Conv1d(1, 1, 33, padding=16).to(device)
    optimizer = torch.optim.Adam(filters.parameters(), lr=1e-2)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = LOSSES["stft"](filters(wanted), sound.detach())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    out["fitted"] = losses
    return out

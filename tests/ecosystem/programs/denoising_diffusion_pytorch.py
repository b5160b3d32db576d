"""Diffusion of pictures and of sequences: losses of three objectives, training with averaged weights, steps back"""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, GaussianDiffusion1D, Unet, Unet1D
from ema_pytorch import EMA


def run(device):
    out = {}
    torch.manual_seed(0)
    pictures, noise = torch.rand(2, 3, 16, 16).to(device) * 2 - 1, torch.randn(2, 3, 16, 16).to(device)
    steps = torch.tensor([3, 40]).to(device)
    for objective in ("pred_noise", "pred_x0", "pred_v"):
        torch.manual_seed(1)
        unet = Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
        diffusion = GaussianDiffusion(
            unet,
            image_size=16,
            timesteps=50,
            sampling_timesteps=4,
            objective=objective,
            ddim_sampling_eta=0.0,
        ).to(device)
        optimizer = torch.optim.Adam(unet.parameters(), lr=1e-3)
        average = EMA(diffusion, beta=0.9, update_after_step=0, update_every=1)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = diffusion.p_losses(pictures, steps, noise=noise)
            loss.backward()
            optimizer.step()
            average.update()
            losses.append(loss.item())
        out[objective] = losses
        with torch.no_grad():
            out[f"{objective}_predicted"] = average.ema_model.model_predictions(noise, steps).pred_x_start
            out[f"{objective}_posterior"] = diffusion.p_mean_variance(noise, steps)[0]

    torch.manual_seed(2)
    line = GaussianDiffusion1D(Unet1D(dim=16, dim_mults=(1, 2), channels=4), seq_length=16, timesteps=20).to(
        device
    )
    sequences, noise = torch.rand(2, 4, 16).to(device), torch.randn(2, 4, 16).to(device)
    loss = line.p_losses(sequences, torch.tensor([2, 11]).to(device), noise=noise)
    loss.backward()
    out["sequences"] = loss
    out["sequences_grad"] = line.model.init_conv.weight.grad
    return out

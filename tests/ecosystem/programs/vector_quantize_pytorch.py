"""Codebooks in an autoencoder: vector, residual, scalar, lookup-free and projected quantizers."""

import torch
from torch import nn
from vector_quantize_pytorch import (
    FSQ,
    LFQ,
    LatentQuantize,
    RandomProjectionQuantizer,
    ResidualFSQ,
    ResidualVQ,
    SimVQ,
    VectorQuantize,
)


class Autoencoder(nn.Module):
    def __init__(self, quantizer):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.GELU(), nn.Conv2d(8, 8, 3, 1, 1))
        self.quantizer = quantizer
        self.decoder = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1), nn.GELU(), nn.ConvTranspose2d(8, 1, 4, 2, 1))

    def forward(self, image):
        x = self.encoder(image)
        if isinstance(self.quantizer, (ResidualVQ, ResidualFSQ)):
            shape = x.shape
            x = x.flatten(2).transpose(1, 2)
            x, indices, *rest = self.quantizer(x)
            x = x.transpose(1, 2).reshape(shape)
        else:
            x, indices, *rest = self.quantizer(x)
        loss = rest[0].sum() if rest else image.new_zeros(())
        return self.decoder(x), indices, loss


def run(device):
    result = {}
    torch.manual_seed(0)
    images = torch.rand(4, 1, 8, 8).to(device)
    kinds = {
        "vector": lambda: VectorQuantize(8, 16, accept_image_fmap=True, decay=0.8, threshold_ema_dead_code=0),
        "cosine": lambda: VectorQuantize(
            8, 16, accept_image_fmap=True, use_cosine_sim=True, codebook_dim=4, rotation_trick=True
        ),
        "learned": lambda: VectorQuantize(
            8,
            16,
            accept_image_fmap=True,
            learnable_codebook=True,
            ema_update=False,
            heads=2,
            separate_codebook_per_head=True,
        ),
        "residual": lambda: ResidualVQ(dim=8, num_quantizers=3, codebook_size=12, shared_codebook=True),
        "scalar": lambda: FSQ([4, 4, 3], dim=8),
        "residual scalar": lambda: ResidualFSQ(dim=8, levels=[4, 3], num_quantizers=2),
        "lookup-free": lambda: LFQ(dim=8, codebook_size=2**4, entropy_loss_weight=0.1, diversity_gamma=1.0),
        "latent": lambda: LatentQuantize(levels=[4, 4], dim=8),
        "simple": lambda: SimVQ(dim=8, codebook_size=16, channel_first=True),
    }
    for number, (name, make) in enumerate(kinds.items()):
        torch.manual_seed(number)
        model = Autoencoder(make()).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
        losses = []
        for _ in range(3):
            out, indices, extra = model(images)
            loss = (out - images).abs().mean() + extra
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        result[name] = losses
        result[name + " indices"] = indices.float()
    torch.manual_seed(20)
    projected = RandomProjectionQuantizer(dim=8, num_codebooks=2, codebook_dim=4, codebook_size=16).to(device)
    result["projected"] = projected(torch.linspace(-1, 1, 80, device=device).view(1, 10, 8)).float()
    return result

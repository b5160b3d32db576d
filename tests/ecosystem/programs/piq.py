"""Quality of images: similarities with their gradients, distances of features."""

import piq
import torch

SIMILARITIES = (
    "psnr", "ssim", "gmsd", "multi_scale_gmsd", "vif_p", "fsim", "vsi", "mdsi", "haarpsi", "dss", "srsim",
)  # fmt: skip


def run(device):
    out = {}
    torch.manual_seed(0)
    image, wanted = torch.rand(2, 3, 96, 96).to(device).requires_grad_(), torch.rand(2, 3, 96, 96).to(device)
    for name in SIMILARITIES:
        value = getattr(piq, name)(image, wanted)
        out[name], (out[f"{name}_grad"],) = value, torch.autograd.grad(value, image)
    large = [torch.rand(1, 3, 192, 192).to(device) for _ in range(2)]
    out["ms_ssim"] = piq.multi_scale_ssim(*large)
    out["variation"] = piq.total_variation(large[0])
    features = [torch.rand(30, 8).to(device) for _ in range(2)]
    for measure in (piq.KID(), piq.IS(), piq.FID()):
        out[type(measure).__name__] = measure(*features)
    return out

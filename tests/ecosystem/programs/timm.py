"""Six kinds of image models; a ViT trained with mixup, schedule and averaged weights; features, transforms."""

import numpy as np
import timm
import torch
from PIL import Image
from timm.data import Mixup, create_transform, resolve_data_config
from timm.loss import LabelSmoothingCrossEntropy, SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler
from timm.utils import ModelEmaV3, accuracy

SMALL = {
    "resnet10t": {},
    "vit_tiny_patch16_224": dict(img_size=32, patch_size=8, embed_dim=32, depth=2, num_heads=2),
    "convnext_atto": dict(depths=(1, 1, 2, 1), dims=(8, 16, 24, 32)),
    "efficientnet_lite0": {},
    "swin_tiny_patch4_window7_224": dict(
        img_size=32, window_size=4, embed_dim=16, depths=(1, 1), num_heads=(2, 2)
    ),
    "mobilenetv4_conv_small_035": {},
}


def run(device: str):
    found = {}
    torch.manual_seed(0)
    images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 3, 1, 2])
    for name, options in SMALL.items():
        torch.manual_seed(0)
        model = timm.create_model(name, num_classes=4, **options).to(device)
        found[name] = model.eval()(images.to(device))
        found[f"{name}_features"] = model.forward_features(images.to(device)).flatten(1)[:, :50]

    torch.manual_seed(1)
    np.random.seed(1)
    model = timm.create_model("vit_tiny_patch16_224", num_classes=4, **SMALL["vit_tiny_patch16_224"]).to(
        device
    )
    optimizer = create_optimizer_v2(model, "adamw", lr=2e-3, weight_decay=0.05, layer_decay=0.8)
    schedule = CosineLRScheduler(optimizer, t_initial=6, warmup_t=2, warmup_lr_init=1e-4)
    average = ModelEmaV3(model, decay=0.9)
    mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=4)
    losses = []
    for step in range(4):
        x, y = mix(images.to(device).clone(), labels.to(device))  # it writes into them
        loss = SoftTargetCrossEntropy()(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        average.update(model)
        schedule.step(step + 1)
        losses.append(loss.item())
    found["losses"], found["rates"] = losses, [group["lr"] for group in optimizer.param_groups]
    found["average"] = average.module.eval()(images.to(device))
    found["smoothed"] = LabelSmoothingCrossEntropy(0.1)(found["average"], labels.to(device))
    found["top"] = torch.stack(accuracy(found["average"], labels.to(device), topk=(1, 2)))

    torch.manual_seed(2)
    pyramid = timm.create_model("resnet10t", features_only=True, out_indices=(1, 2, 3)).to(device).eval()
    for level, features in enumerate(pyramid(images.to(device))):
        found[f"level_{level}"] = features.mean((2, 3))
    picture = Image.fromarray(
        (np.indices((40, 48)).sum(0)[..., None] * np.array([2, 1, 3]) % 255).astype(np.uint8)
    )
    settings = resolve_data_config({"input_size": (3, 32, 32)}, model=model)
    found["transformed"] = create_transform(**settings)(picture)
    return found

"""A small CLIP trained with the contrastive loss, then zero-shot classes; one with a tower of timm's, text locked."""

import numpy as np
import open_clip
import torch
from open_clip.loss import ClipLoss, SigLipLoss
from open_clip.model import CLIP
from open_clip.transform import image_transform
from PIL import Image

VISION = dict(image_size=32, layers=2, width=32, head_width=16, patch_size=8)
TEXT = dict(context_length=16, vocab_size=49408, width=32, heads=2, layers=2)


def pictures(count: int) -> torch.Tensor:
    prepare = image_transform(32, is_train=False)
    made = []
    for index in range(count):
        grid = np.indices((40, 36)).sum(0)[..., None] * np.array([index + 1, 2, 3 - index])
        made.append(prepare(Image.fromarray((grid % 255).astype(np.uint8))))
    return torch.stack(made)


def run(device: str):
    tokens = open_clip.tokenizer.SimpleTokenizer(context_length=16)(
        ["a diagram", "a dog on a red sofa", "two cats, sleeping", "the sea at night"]
    )
    images = pictures(4)
    torch.manual_seed(0)
    model = CLIP(embed_dim=24, vision_cfg=VISION, text_cfg=TEXT).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    contrast, losses = ClipLoss(), []
    for _ in range(4):
        image, text, scale = model(images.to(device), tokens.to(device))
        loss = contrast(image, text, scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(0, 4.6052)
        losses.append(loss.item())

    found = {"tokens": tokens, "images": images, "losses": losses, "scale": model.logit_scale}
    model.eval()
    with torch.no_grad():
        image = model.encode_image(images.to(device), normalize=True)
        text = model.encode_text(tokens.to(device), normalize=True)
    found["image"], found["text"] = image, text
    found["zero_shot"] = (100 * image @ text.T).softmax(-1)
    found["sigmoid"] = SigLipLoss()(
        image, text, torch.tensor(10.0).to(device), torch.tensor(-10.0).to(device)
    )
    classifier = open_clip.build_zero_shot_classifier(
        model, open_clip.tokenizer.SimpleTokenizer(context_length=16), ["dog", "cat"],
        ["a photo of a {}.".format, "a {}.".format], device=device,
    )  # fmt: skip
    found["classifier"] = classifier

    torch.manual_seed(1)
    tower = dict(image_size=32, timm_model_name="resnet10t", timm_pool="avg", timm_proj="linear")
    other = open_clip.CustomTextCLIP(
        embed_dim=24, vision_cfg=tower, text_cfg=TEXT | dict(pool_type="last")
    ).to(device)
    other.lock_text_tower(unlocked_layers=1)
    image, text, scale = other(images.to(device), tokens.to(device))
    contrast(image, text, scale).backward()
    found["other"] = image
    found["other_gradient"] = other.visual.head.proj.weight.grad
    return found

"""Vision transformers of seven kinds, trained two steps each, one for pictures of many sizes, a distilled one"""

import torch
from torch import nn
from vit_pytorch import SimpleViT, ViT
from vit_pytorch.cait import CaiT
from vit_pytorch.cct import CCT
from vit_pytorch.deepvit import DeepViT
from vit_pytorch.distill import DistillableViT, DistillWrapper
from vit_pytorch.levit import LeViT
from vit_pytorch.na_vit import NaViT
from vit_pytorch.t2t import T2TViT

SHAPE = {"image_size": 32, "num_classes": 5, "dim": 32, "heads": 2, "mlp_dim": 64}


def models():
    yield "vit", lambda: ViT(**SHAPE, patch_size=8, depth=2)
    yield "simple", lambda: SimpleViT(**SHAPE, patch_size=8, depth=2)
    yield "deep", lambda: DeepViT(**SHAPE, patch_size=8, depth=2)
    yield "class_attention", lambda: CaiT(**SHAPE, patch_size=8, depth=2, cls_depth=1)
    yield "tokens_to_tokens", lambda: T2TViT(**SHAPE, depth=2, t2t_layers=((7, 4), (3, 2)))
    yield (
        "compact",
        lambda: CCT(
            img_size=32, embedding_dim=32, n_conv_layers=1, num_layers=2, num_heads=2, mlp_ratio=2, num_classes=5,
            dropout_rate=0.0, attention_dropout=0.0, stochastic_depth_rate=0.0, positional_embedding="learnable",
        ),
    )  # fmt: skip
    yield (
        "levit",
        lambda: LeViT(
            image_size=64, num_classes=5, stages=2, dim=(16, 32), depth=1, heads=2, mlp_mult=2
        ).eval(),
    )


def run(device):
    out = {}
    torch.manual_seed(0)
    pictures, labels = torch.randn(4, 3, 32, 32).to(device), torch.randint(0, 5, (4,)).to(device)
    large = torch.randn(4, 3, 64, 64).to(device)
    for name, make in models():
        torch.manual_seed(1)
        model = make().to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        losses = []
        for _ in range(2):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(large if name == "levit" else pictures), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out[name] = losses

    torch.manual_seed(2)
    model = NaViT(**SHAPE, patch_size=8, depth=1, token_dropout_prob=None).to(device)
    out["of_many_sizes"] = model([[pictures[0], pictures[1][:, :16]], [pictures[2][:, :, :24]]])

    torch.manual_seed(3)
    teacher = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 5)).to(device)
    student = DistillableViT(**SHAPE, patch_size=8, depth=1).to(device)
    distiller = DistillWrapper(student=student, teacher=teacher, temperature=3, alpha=0.5).to(device)
    loss = distiller(pictures, labels)
    loss.backward()
    out["distilled"], out["distilled_grad"] = loss, next(student.parameters()).grad
    return out

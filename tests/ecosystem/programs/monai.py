"""Volumes segmented: transforms, a 3D UNet trained on Dice, sliding windows, metrics; other networks."""

import numpy as np
import torch
from monai.data import CacheDataset, DataLoader, MetaTensor, decollate_batch
from monai.inferers import sliding_window_inference
from monai.losses import DiceCELoss, FocalLoss, SSIMLoss, TverskyLoss
from monai.metrics import DiceMetric, HausdorffDistanceMetric
from monai.networks.nets import UNETR, DenseNet121, DynUNet, UNet
from monai.transforms import (
    AsDiscrete,
    Compose,
    EnsureChannelFirstd,
    EnsureTyped,
    RandCropByPosNegLabeld,
    RandFlipd,
    RandGaussianNoised,
    ScaleIntensityd,
    Spacingd,
)
from monai.utils import set_determinism


def volumes(count: int) -> list[dict[str, np.ndarray]]:
    grid = np.stack(np.meshgrid(*[np.arange(20)] * 3, indexing="ij"))
    found = []
    for index in range(count):
        centre = np.array([8 + index, 10, 9 + index / 2]).reshape(3, 1, 1, 1)
        inside = ((grid - centre) ** 2).sum(0) < 25
        found.append(
            {"image": (inside * 2.0 + np.sin(grid.sum(0) / 3)).astype(np.float32), "label": inside * 1.0}
        )
    return found


def run(device: str):
    set_determinism(seed=0)
    keys = ["image", "label"]
    prepare = Compose(
        [
            EnsureChannelFirstd(keys, channel_dim="no_channel"),
            EnsureTyped(keys),
            Spacingd(keys, pixdim=(1.25, 1.25, 1.0), mode=("bilinear", "nearest")),
            ScaleIntensityd("image"),
            RandCropByPosNegLabeld(keys, "label", (16, 16, 16), num_samples=2),
            RandFlipd(keys, prob=0.5, spatial_axis=0),
            RandGaussianNoised("image", prob=0.5, std=0.05),
        ]
    )
    loader = DataLoader(CacheDataset(volumes(2), prepare, progress=False), batch_size=2)
    net = UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1, norm="instance").to(device)
    criterion = DiceCELoss(to_onehot_y=True, softmax=True)
    # Not Adam: the gradients of biases in front of a norm are rounding errors, which it would make as large as others.
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
    losses = []
    for _ in range(3):
        for batch in loader:
            image, label = batch["image"].to(device), batch["label"].to(device)
            assert isinstance(image, MetaTensor)
            loss = criterion(net(image), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())

    found = {"losses": losses, "affine": batch["image"].affine}
    net.eval()
    whole = torch.stack([torch.from_numpy(v["image"])[None] for v in volumes(2)]).to(device)
    truth = torch.stack([torch.from_numpy(v["label"])[None] for v in volumes(2)]).to(device)
    with torch.no_grad():
        logits = sliding_window_inference(whole, (16, 16, 16), 2, net, overlap=0.5, mode="gaussian")
    found["logits"] = logits
    to_labels, to_truth = AsDiscrete(argmax=True, to_onehot=2), AsDiscrete(to_onehot=2)
    predicted = [to_labels(one) for one in decollate_batch(logits)]
    wanted = [to_truth(one) for one in decollate_batch(truth)]
    dice = DiceMetric(include_background=False)
    dice(predicted, wanted)
    found["dice"] = dice.aggregate()
    distance = HausdorffDistanceMetric(include_background=False, percentile=95)
    moved = [one.roll(1, 1) for one in wanted]
    distance(moved, wanted)
    found["distance"] = distance.aggregate()
    found["focal"] = FocalLoss(to_onehot_y=True)(logits, truth)
    found["tversky"] = TverskyLoss(to_onehot_y=True, softmax=True)(logits, truth)
    found["ssim"] = SSIMLoss(3, win_size=5)(whole, whole.flip(-1))

    torch.manual_seed(1)
    slices = torch.randn(2, 1, 32, 32).to(device)
    found["densenet"] = DenseNet121(2, 1, 3).to(device).eval()(slices)
    unetr = (
        UNETR(1, 2, (16, 16, 16), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2).to(device).eval()
    )
    found["unetr"] = unetr(whole[..., :16, :16, :16])
    dynamic = DynUNet(2, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[4, 8, 16]).to(device).eval()
    found["dynamic"] = dynamic(slices)
    return found

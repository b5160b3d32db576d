"""YOLO: losses of a detector and a segmenter, fused layers, suppression, masks; a fit on made-up pictures."""

import csv
import os
from pathlib import Path

os.environ.update(YOLO_OFFLINE="1", YOLO_CONFIG_DIR=str(Path.cwd()), YOLO_VERBOSE="0")

import numpy as np
import torch
from PIL import Image
from ultralytics import YOLO
from ultralytics.nn.tasks import DetectionModel, SegmentationModel
from ultralytics.utils import DEFAULT_CFG, ops
from ultralytics.utils.metrics import bbox_iou
from ultralytics.utils.nms import non_max_suppression


def losses(kind, file, device):
    torch.manual_seed(1)
    model = kind(file, ch=3, nc=3, verbose=False).to(device)
    model.args = DEFAULT_CFG
    torch.manual_seed(2)
    image = torch.rand(2, 3, 64, 64).to(device)
    batch = {
        "img": image,
        "cls": torch.tensor([[0.0], [1.0], [2.0]]).to(device),
        "bboxes": torch.tensor([[0.5, 0.5, 0.4, 0.3], [0.3, 0.3, 0.2, 0.2], [0.6, 0.6, 0.5, 0.5]]).to(device),
        "batch_idx": torch.tensor([0.0, 0.0, 1.0]).to(device),
        "masks": (torch.rand(2, 16, 16) > 0.5).float().to(device),
    }
    loss, parts = model.train().loss(batch)
    loss.sum().backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    with torch.no_grad():
        found = model.eval()(image)[0]
        fused = model.fuse(verbose=False)(image)[0]
    first = [f[0] if isinstance(f, tuple) else f for f in (found, fused)]
    parts = torch.stack([part.detach() for part in parts.values()]) if isinstance(parts, dict) else parts
    return {"loss": loss.detach(), "parts": parts, "norm": norm, "found": first[0], "fused": first[1]}


def fit(folder):
    pixels = np.random.default_rng(0)
    for part in ("train", "val"):
        for name in ("images", "labels"):
            (folder / name / part).mkdir(parents=True)
        for i in range(4):
            picture = pixels.integers(0, 80, (64, 64, 3)).astype(np.uint8)
            picture[16:40, 20:50] = 200
            Image.fromarray(picture).save(folder / "images" / part / f"{i}.png")
            (folder / "labels" / part / f"{i}.txt").write_text("0 0.547 0.4375 0.469 0.375\n")
    data = folder / "data.yaml"
    data.write_text(f"path: {folder}\ntrain: images/train\nval: images/val\nnames: ['a', 'b']\n")
    still = dict.fromkeys(
        ("mosaic", "hsv_h", "hsv_s", "hsv_v", "translate", "scale", "fliplr", "erasing"), 0.0
    )
    torch.manual_seed(0)
    YOLO("yolo11n.yaml").train(
        data=str(data), epochs=2, imgsz=64, batch=2, workers=0, device="cpu", verbose=False, plots=False, seed=0,
        project=str(folder), name="fit", amp=False, auto_augment=None, optimizer="SGD", lr0=0.01, **still,
    )  # fmt: skip
    with (folder / "fit" / "results.csv").open() as file:
        rows = [[float(v) for k, v in row.items() if k != "time"] for row in csv.DictReader(file)]
    again = YOLO(str(folder / "fit" / "weights" / "last.pt"))
    found = again.predict(str(folder / "images/val/0.png"), imgsz=64, conf=0.001, verbose=False, device="cpu")
    return [rows, found[0].boxes.data[:5]]


def run(device):
    out = {}
    for file, kind in {"yolo11n": DetectionModel, "yolov8n-seg": SegmentationModel}.items():
        out |= {f"{file}_{name}": value for name, value in losses(kind, f"{file}.yaml", device).items()}
    torch.manual_seed(3)
    boxes = torch.rand(2, 7, 50)
    boxes[:, :2] *= 64
    boxes[:, 2:4] *= 20
    for i, kept in enumerate(non_max_suppression(boxes.to(device), 0.3, 0.5)):
        out[f"kept_{i}"] = kept
    a, b = torch.rand(5, 4).to(device), torch.rand(5, 4).to(device)
    out["overlap"] = bbox_iou(a, b, CIoU=True)
    out["masks"] = ops.process_mask(torch.rand(4, 16, 16).to(device), a[:3], b[:3] * 40, (64, 64)).float()
    rows, found = fit(Path.cwd() / "yolo")  # on the cpu: its trainer knows that and cuda
    out["fit"], out["found"] = rows, found
    return out

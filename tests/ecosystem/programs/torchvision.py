"""Detection operators with gradients, transforms of both kinds, image files, classifiers, detectors and a segmenter."""

from pathlib import Path

import numpy
import torch
import torchvision
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torchvision import datasets, models, ops, tv_tensors
from torchvision.io import ImageReadMode, decode_jpeg, encode_jpeg, read_image, write_png
from torchvision.models._utils import IntermediateLayerGetter
from torchvision.transforms import functional as F1
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F2


def pictures(count: int, size: int) -> torch.Tensor:
    """Smooth, with colours that differ."""
    y, x = torch.meshgrid(torch.linspace(0, 6, size), torch.linspace(0, 6, size), indexing="ij")
    planes = [torch.sin(x * (1 + k / 5) + k) * torch.cos(y - k / 3) for k in range(count * 3)]
    return torch.stack(planes).reshape(count, 3, size, size).mul(0.45).add(0.5)


def operators(device: str) -> dict:
    random = numpy.random.default_rng(0)
    corners = random.uniform(0, 20, (60, 2))
    boxes = torch.tensor(numpy.hstack([corners, corners + random.uniform(2, 12, (60, 2))])).float().to(device)
    scores = torch.tensor(random.uniform(size=60)).float().to(device)
    groups = torch.tensor(random.integers(0, 3, 60)).to(device)
    images = torch.tensor(random.standard_normal((2, 8, 20, 24))).float().to(device).requires_grad_()
    lists = [boxes[:5] * 0.6, boxes[5:12] * 0.6]
    found = {
        "nms": ops.nms(boxes, scores, 0.4),
        "batched_nms": ops.batched_nms(boxes, scores, groups, 0.4),
        "iou": ops.box_iou(boxes[:8], boxes[8:20]),
        "giou": ops.generalized_box_iou(boxes[:8], boxes[8:20]),
        "ciou": ops.complete_box_iou_loss(boxes[:8], boxes[8:16]),
        "focal": ops.sigmoid_focal_loss(scores, scores.round(), reduction="mean"),
    }
    pooled = {
        "roi_align": ops.roi_align(images, lists, (3, 3), 0.8, 2, True),
        "roi_pool": ops.roi_pool(images, lists, (3, 3), 0.8),
        "ps_roi_align": ops.ps_roi_align(images, lists, (2, 2), 0.8, 2),
        "ps_roi_pool": ops.ps_roi_pool(images, lists, (2, 2), 0.8),
    }
    for name, value in pooled.items():
        (slope,) = torch.autograd.grad(value.square().sum(), images)
        found |= {name: value, f"{name}.grad": slope}
    torch.manual_seed(1)
    layer = ops.DeformConv2d(8, 6, 3, padding=1, groups=2).to(device)
    offset = torch.tensor(random.standard_normal((2, 18, 20, 24))).float().to(device).requires_grad_()
    mask = torch.tensor(random.uniform(size=(2, 9, 20, 24))).float().to(device).requires_grad_()
    made = layer(images, offset, mask)
    made.square().mean().backward()
    slopes = {"images": images.grad, "offset": offset.grad, "mask": mask.grad, "weight": layer.weight.grad}
    return found | {"deform": made} | {f"deform.{name}": value for name, value in slopes.items()}


def transforms(device: str) -> dict:
    images = pictures(2, 40).to(device)
    whole = (images * 255).round().to(torch.uint8)
    found = {
        "resize": F1.resize(images, [24, 30], antialias=True),
        "crop": F1.resized_crop(images, 3, 4, 20, 25, [16, 16]),
        "rotate": F1.rotate(images, 25.0, interpolation=F1.InterpolationMode.BILINEAR),
        "affine": F1.affine(images, 10.0, [3, 2], 1.1, [5.0, 0.0]),
        "perspective": F1.perspective(
            images, [[0, 0], [39, 0], [39, 39], [0, 39]], [[2, 1], [36, 3], [38, 37], [1, 35]]
        ),
        "blur": F1.gaussian_blur(images, [5, 5], [1.2, 1.2]),
        "brightness": F1.adjust_brightness(whole, 1.3),
        "contrast": F1.adjust_contrast(images, 1.3),
        "saturation": F1.adjust_saturation(images, 0.6),
        "hue": F1.adjust_hue(images, 0.1),
        "gamma": F1.adjust_gamma(images, 1.4),
        "sharp": F1.adjust_sharpness(images, 2.0),
        "posterized": F1.posterize(whole, 3),
        "equalized": F1.equalize(whole),
        "autocontrast": F1.autocontrast(images),
        "normal": F1.normalize(images, [0.4, 0.5, 0.6], [0.2, 0.3, 0.2]),
        "gray": F1.rgb_to_grayscale(images),
        "padded": F1.pad(images, [3, 1], padding_mode="reflect"),
        "elastic": F2.elastic(images, pictures(1, 40)[:1, :2].permute(0, 2, 3, 1).to(device) * 0.05),
    }
    boxes = tv_tensors.BoundingBoxes(
        torch.tensor([[2.0, 3, 20, 30], [10, 5, 38, 25]]).to(device), format="XYXY", canvas_size=(40, 40)
    )
    sample = {
        "image": tv_tensors.Image(images[0]),
        "boxes": boxes,
        "mask": tv_tensors.Mask(whole[0, :1] > 128),
    }
    fixed = v2.Compose([
        v2.RandomHorizontalFlip(1.0),
        v2.Resize((30, 50)),
        v2.Pad(2),
        v2.CenterCrop((28, 44)),
        v2.ConvertBoundingBoxFormat("CXCYWH"),
        v2.ToDtype({tv_tensors.Image: torch.float32, "others": None}, scale=True),
    ])  # fmt: skip
    made = fixed(sample)
    assert type(made["boxes"]) is tv_tensors.BoundingBoxes and made["boxes"].canvas_size == (28, 44)
    found |= {f"v2.{name}": value.as_subclass(torch.Tensor) for name, value in made.items()}
    torch.manual_seed(2)
    chance = v2.Compose([
        v2.RandomResizedCrop(24, antialias=True),
        v2.ColorJitter(0.3, 0.3, 0.3, 0.1),
        v2.RandomRotation(20),
        v2.RandAugment(),
    ])  # fmt: skip
    return found | {"chance": chance(whole.cpu()).float().mean((1, 2, 3))}


def files(folder: Path) -> dict:
    """A folder of images, read by a dataset and by torchvision.io."""
    for number, image in enumerate((pictures(4, 16) * 255).round().to(torch.uint8)):
        (folder / f"class{number % 2}").mkdir(parents=True, exist_ok=True)
        write_png(image, str(folder / f"class{number % 2}" / f"{number}.png"))
    dataset = datasets.ImageFolder(
        str(folder), transform=v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])
    )
    images, labels = next(iter(DataLoader(dataset, batch_size=4)))
    fake = datasets.FakeData(4, (3, 8, 8), 3, transform=torchvision.transforms.ToTensor())
    name = str(folder / "class0" / "0.png")
    return {
        "folder": images,
        "labels": labels,
        "fake": torch.stack([image for image, _ in fake]),
        "gray": read_image(name, ImageReadMode.GRAY).float().mean(),
        "jpeg": decode_jpeg(encode_jpeg(read_image(name), quality=90)).float().mean((1, 2)),
        "grid": torchvision.utils.make_grid(images, nrow=2),
        "drawn": torchvision.utils.draw_bounding_boxes(read_image(name), torch.tensor([[2, 2, 9, 12]])),
    }


def classifier(device: str) -> dict:
    torch.manual_seed(3)
    model = models.resnet18(num_classes=3).to(device)
    images, labels = pictures(6, 64).to(device), torch.tensor([0, 1, 2, 0, 1, 2]).to(device)
    inner = IntermediateLayerGetter(model, {"layer1": "low", "layer3": "high"})
    found = {name: value.mean((2, 3)) for name, value in inner(images).items()}
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, **found}


def inference(device: str) -> dict:
    found = {}
    for name in ("mobilenet_v3_small", "efficientnet_b0", "swin_t", "vision_transformer"):
        torch.manual_seed(4)
        if name == "vision_transformer":
            model = models.VisionTransformer(32, 16, 2, 4, 64, 128, num_classes=5)
            torch.nn.init.normal_(model.heads[0].weight)
        else:
            model = models.get_model(name, num_classes=5)
        with torch.no_grad():
            found[name] = model.eval().to(device)(pictures(2, 32).to(device))
    return found


def detectors(device: str) -> dict:
    images = [image.to(device) for image in pictures(2, 64)]
    boxes = torch.tensor([[4.0, 6, 40, 50], [20, 10, 60, 36]])
    targets = [{"boxes": boxes.to(device), "labels": torch.tensor([1, 2]).to(device)} for _ in images]
    sizes = {"num_classes": 3, "weights": None, "weights_backbone": None, "min_size": 64, "max_size": 64}
    # All anchors and proposals take part, so that no sample of them is drawn on the device.
    every = {"rpn_batch_size_per_image": 10**6, "box_batch_size_per_image": 10**6}
    found = {}
    for name, builder in {
        "faster": lambda: models.detection.fasterrcnn_mobilenet_v3_large_320_fpn(**sizes, **every),
        "retina": lambda: models.detection.retinanet_resnet50_fpn(**sizes),
    }.items():
        torch.manual_seed(5)
        model = builder().to(device).train()
        losses = model(images, targets)
        sum(losses.values()).backward()
        found |= {f"{name}.{key}": value for key, value in losses.items()}
        found[f"{name}.norms"] = torch.stack(
            [p.grad.double().norm() for p in model.parameters() if p.grad is not None][-8:]
        )
        with torch.no_grad():
            features = model.eval().backbone(torch.stack(images))
            entries = model(images)
        found[f"{name}.features"] = torch.cat([value.mean((2, 3)) for value in features.values()])
        found[f"{name}.scores"] = torch.stack([entry["scores"].sum() for entry in entries])
    torch.manual_seed(6)
    model = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=4)
    with torch.no_grad():
        found["segments"] = model.eval().to(device)(pictures(2, 64).to(device))["out"]
    return found


def run(device: str):
    parts = {
        "ops": operators(device),
        "transforms": transforms(device),
        "files": files(Path("images")),
        "classifier": classifier(device),
        "models": inference(device),
        "detectors": detectors(device),
    }
    return {f"{part}.{name}": value for part, values in parts.items() for name, value in values.items()}

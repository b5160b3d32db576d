"""Differentiable image processing: filters, colours, geometry, features, losses, and a homography found by descent."""

import kornia
import kornia.augmentation as K
import torch
from torch.nn import functional as F


def pictures() -> torch.Tensor:
    """Smooth, so that corners and edges do not hang on the last digit."""
    y, x = torch.meshgrid(torch.linspace(0, 6, 32), torch.linspace(0, 6, 32), indexing="ij")
    planes = [torch.sin(x + k) * torch.cos(y * (1 + k / 3)) for k in range(6)]
    return torch.stack(planes).reshape(2, 3, 32, 32).mul(0.45).add(0.5)


def register(image: torch.Tensor, steps: int) -> tuple[list[float], torch.Tensor]:
    true = torch.tensor([[[1.0, 0.04, 0.1], [-0.03, 1.0, -0.05], [0.0, 0.0, 1.0]]]).to(image.device)
    goal = kornia.geometry.transform.homography_warp(image, true, (32, 32))
    guess = torch.eye(3)[None].to(image.device).requires_grad_()
    optimizer = torch.optim.Adam([guess], lr=5e-3)
    losses = []
    for _ in range(steps):
        loss = F.l1_loss(kornia.geometry.transform.homography_warp(image, guess, (32, 32)), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, guess


def run(device: str):
    torch.manual_seed(0)
    images = pictures().to(device)
    gray = kornia.color.rgb_to_grayscale(images)
    found = {
        "blur": kornia.filters.gaussian_blur2d(images, (5, 5), (1.2, 1.2)),
        "sobel": kornia.filters.sobel(images),
        "laplacian": kornia.filters.laplacian(images, 3),
        "median": kornia.filters.median_blur(images, (3, 3)),
        "bilateral": kornia.filters.bilateral_blur(images, (3, 3), 0.1, (1.5, 1.5)),
        "lab": kornia.color.rgb_to_lab(images),
        "hsv": kornia.color.rgb_to_hsv(images),
        "ycbcr": kornia.color.rgb_to_ycbcr(images),
        "equalized": kornia.enhance.equalize_clahe(images, clip_limit=2.0, grid_size=(4, 4)),
        "gamma": kornia.enhance.adjust_gamma(images, 1.7),
        "opened": kornia.morphology.opening(images, torch.ones(3, 3).to(device)),
        "harris": kornia.feature.harris_response(gray),
        "rotated": kornia.geometry.transform.rotate(images, torch.tensor([20.0, -35.0]).to(device)),
        "resized": kornia.geometry.transform.resize(images, (20, 24), antialias=True),
        "pyramid": kornia.geometry.transform.build_pyramid(images, 3)[-1],
        "ssim": kornia.metrics.ssim(images, images.flip(-1), 5),
        "psnr": kornia.metrics.psnr(images, images * 0.9, 1.0),
        "variation": kornia.losses.total_variation(images),
        "dsnt": kornia.geometry.subpix.spatial_soft_argmax2d(gray),
    }
    corners = torch.tensor([[[0.0, 0], [31, 0], [31, 31], [0, 31]]]).to(device)
    moved = corners + torch.tensor([[[2.0, 1], [-3, 2], [-1, -2], [2, -3]]]).to(device)
    matrix = kornia.geometry.transform.get_perspective_transform(corners, moved)
    found["matrix"] = matrix
    found["warped"] = kornia.geometry.transform.warp_perspective(images[:1], matrix, (32, 32))
    found["homography"] = kornia.geometry.homography.find_homography_dlt(corners, moved)
    turn = kornia.geometry.conversions.axis_angle_to_rotation_matrix(
        torch.tensor([[0.2, -0.4, 0.1]]).to(device)
    )
    found["quaternion"] = kornia.geometry.conversions.rotation_matrix_to_quaternion(turn)
    camera = torch.tensor([[[50.0, 0, 16], [0, 50, 16], [0, 0, 1]]]).to(device)
    points = torch.rand(1, 6, 3).to(device) + torch.tensor([0.0, 0, 2]).to(device)
    found["projected"] = kornia.geometry.camera.project_points(points, camera[:, None].expand(1, 6, 3, 3))
    patches = kornia.feature.SIFTDescriptor(16).to(device)(gray[:, :, 8:24, 8:24])
    found["sift"] = patches
    found["distances"] = kornia.feature.match_mnn(patches, patches.flip(0))[0]

    augment = K.AugmentationSequential(
        K.RandomHorizontalFlip(p=1.0), K.RandomAffine((15.0, 15.0), p=1.0), K.Normalize(0.5, 0.25),
        data_keys=["input", "mask"],
    ).to(device)  # fmt: skip
    found["augmented"], found["mask"] = augment(images, (gray > 0.5).float())
    found["registration"], found["found"] = register(images[:1], 12)
    torch.manual_seed(1)  # augmentations draw on the device
    classes = torch.randn(2, 4, 8, 8).to(device).requires_grad_()
    labels = torch.randint(0, 4, (2, 8, 8)).to(device)
    loss = kornia.losses.focal_loss(classes, labels, 0.5, reduction="mean") + kornia.losses.dice_loss(
        classes, labels
    )
    loss.backward()
    return found | {"loss": loss, "gradient": classes.grad}

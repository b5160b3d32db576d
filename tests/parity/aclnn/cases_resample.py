"""Interpolation, and sampling of images."""

import torch
import torch.nn.functional as F

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, case
from .reference import exact, gradients, rounded, wide

aten = torch.ops.aten
_SPACES = {1: ((7,), (11,)), 2: ((5, 6), (8, 4)), 3: ((4, 5, 3), (6, 3, 5))}
# ACLNN's name without its number of dimensions, PyTorch's function, whether corners can be aligned.
_MODES = [
    ("Nearest{}d", "upsample_nearest{}d", False, (1, 2, 3)),
    ("NearestExact{}d", "_upsample_nearest_exact{}d", False, (1, 2, 3)),
    ("Linear{}d", "upsample_linear{}d", True, (1,)),
    ("Bilinear{}d", "upsample_bilinear{}d", True, (2,)),
    ("Trilinear{}d", "upsample_trilinear{}d", True, (3,)),
    ("Bicubic{}d", "upsample_bicubic{}d", True, (2,)),
    ("Bilinear{}dAA", "_upsample_bilinear{}d_aa", True, (2,)),
    ("Bicubic{}dAA", "_upsample_bicubic{}d_aa", True, (2,)),
]
_WITHOUT_SCALES = ("aclnnUpsampleNearest1d", "aclnnUpsampleNearest2d")
_BACKWARD_NAMES = {"aclnnUpsampleBicubic2dAA": "aclnnUpsampleBicubic2dAAGrad"}


def _interpolations():
    for name, function, aligns, numbers in _MODES:
        for dims in numbers:
            yield f"aclnnUpsample{name.format(dims)}", function.format(dims), aligns, dims


def _register(operator, function, aligns, dims):
    space, size = _SPACES[dims]
    corners = ((False,), (True,)) if aligns else ((),)

    def interpolation(make, operator):
        x = make(2, 3, *space)
        scales = [] if operator in _WITHOUT_SCALES else [0.0] * dims
        for corner in corners:
            wanted = exact(
                lambda x, c=corner: getattr(aten, function)(x, list(size), *c), x, dtype=make.dtype
            )
            yield [x, list(size), *corner, *scales, OUT], wanted

    def gradient(make):
        x, grad = make(2, 3, *space), make(2, 3, *size)
        for corner in corners:
            (wanted,) = gradients(
                lambda x, c=corner: getattr(aten, function)(x, list(size), *c), grad, x, dtype=make.dtype
            )
            yield [grad, list(size), list(x.shape), *corner, *[0.0] * dims, OUT], wanted

    backward = _BACKWARD_NAMES.get(operator, operator + "Backward")
    operators = [operator, *([operator + "V2"] if operator in _WITHOUT_SCALES else [])]
    case(*operators, dtypes=FLOATS_AND_DOUBLE, tolerance=4)(interpolation)
    case(backward, dtypes=FLOATS_AND_DOUBLE, tolerance=4)(gradient)


for _row in _interpolations():
    _register(*_row)


@case("aclnnUpsampleBilinear2dBackwardV2", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_second_version_of_the_gradient_of_a_bilinear_interpolation(make):
    x, grad = make(2, 3, 5, 6), make(2, 3, 8, 4)
    (wanted,) = gradients(lambda x: aten.upsample_bilinear2d(x, [8, 4], False), grad, x, dtype=make.dtype)
    return [grad, [8, 4], [2, 3, 5, 6], False, 0.0, 0.0, OUT], wanted


@case("aclnnGridSampler2D", "aclnnGridSampler3D", dtypes=(torch.float32, torch.float64), tolerance=8)
def samples_at_the_positions_of_a_grid(make, operator):
    dims = 2 if "2D" in operator else 3
    x, grid = make(2, 3, *(5, 6, 4)[:dims]), make(2, *(4, 3, 2)[:dims], dims, low=-1.2, high=1.2)
    sample = aten.grid_sampler_2d if dims == 2 else aten.grid_sampler_3d
    for mode in range(3 if dims == 2 else 2):
        for padding in range(3):
            wanted = exact(
                lambda x, g, m=mode, p=padding: sample(x, g, m, p, False), x, grid, dtype=make.dtype
            )
            yield [x, grid, mode, padding, False, OUT], wanted


@case(
    "aclnnGridSampler2DBackward",
    "aclnnGridSampler3DBackward",
    dtypes=(torch.float32, torch.float64),
    tolerance=32,
)
def the_gradients_of_samples_at_the_positions_of_a_grid(make, operator):
    dims = 2 if "2D" in operator else 3
    x, grid = make(2, 3, *(5, 6, 4)[:dims]), make(2, *(4, 3, 2)[:dims], dims, low=-1.2, high=1.2)
    grad = make(2, 3, *(4, 3, 2)[:dims])
    backward = aten.grid_sampler_2d_backward if dims == 2 else aten.grid_sampler_3d_backward
    for mode in range(2):
        made = rounded(backward(*map(wide, (grad, x, grid)), mode, 0, True, [True, True]), make.dtype)
        yield [grad, x, grid, mode, 0, True, [True, True], OUT, OUT], made
        yield [grad, x, grid, mode, 0, True, [False, True], None, OUT], made[1]


@case("aclnnAffineGrid", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_grid_of_an_affine_map(make):
    for theta, size in ((make(2, 2, 3), [2, 3, 4, 5]), (make(2, 3, 4), [2, 3, 4, 5, 2])):
        for corners in (True, False):
            wanted = exact(
                lambda t, s=size, c=corners: F.affine_grid(t, s, align_corners=c), theta, dtype=make.dtype
            )
            yield [theta, size, corners, OUT], wanted


def _region_means(image, boxes, bins):
    """Means of the pixels of regions that lie on whole pixels, with one sample for each of them."""
    made = []
    for number, x1, y1, x2, y2 in boxes.tolist():
        part = image[int(number), :, int(y1) : int(y2), int(x1) : int(x2)]
        made.append(F.adaptive_avg_pool2d(part, bins))
    return torch.stack(made)


# Boxes of whole pixels whose bins are whole as well.
_BOXES = [[0, 0, 0, 4, 4], [1, 2, 1, 6, 5], [0, 1, 2, 5, 6]]


@case("aclnnRoiAlignV2", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def regions_brought_to_one_size(make):
    image, boxes = make(2, 3, 8, 8), torch.tensor(_BOXES, dtype=make.dtype)
    wanted = exact(lambda x: _region_means(x, boxes, (2, 2)), image, dtype=make.dtype)
    return [image, boxes, 2, 2, 1.0, 2, True, OUT], wanted


@case("aclnnRoiAlignV2Backward", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_of_regions_brought_to_one_size(make):
    image, boxes, grad = make(2, 3, 8, 8), torch.tensor(_BOXES, dtype=make.dtype), make(3, 3, 2, 2)
    (wanted,) = gradients(lambda x: _region_means(x, boxes, (2, 2)), grad, image, dtype=make.dtype)
    return [grad, boxes, [2, 3, 8, 8], 2, 2, 1.0, 2, True, OUT], wanted


@case("aclnnRoiAlign", dtypes=FLOATS, tolerance=2)
def regions_of_numbered_images_brought_to_one_size(make):
    # Pixels lie at their coordinates here, so the box is half a pixel off.
    image, boxes = make(2, 3, 8, 8), torch.tensor(_BOXES, dtype=make.dtype)
    wanted = exact(lambda x: _region_means(x, boxes, (2, 2)), image, dtype=make.dtype)
    return [image, boxes[:, 1:] - 0.5, boxes[:, 0].int(), "avg", 2, 2, 2, 1.0, OUT], wanted

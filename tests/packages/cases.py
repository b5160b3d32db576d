"""Calls of torchvision's and torchaudio's operators, for PyTorch (record.py) and this library (test_operators.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

_random = numpy.random.default_rng(7)


def _normal(*shape: int) -> numpy.ndarray:
    return _random.standard_normal(shape).astype("float32")


def _boxes(count: int, height: float, width: float) -> numpy.ndarray:
    corner = _random.uniform(-3, 0.8, (count, 2)) * [width, height] / 2
    size = _random.uniform(0.1, 0.9, (count, 2)) * [width, height]
    return numpy.hstack([corner, corner + size]).astype("float32")


def _regions(count: int, images: int, height: float, width: float) -> numpy.ndarray:
    image = _random.integers(0, images, (count, 1)).astype("float32")
    regions = numpy.hstack([image, _boxes(count, height, width)]).astype("float32")
    regions[0, 1:] = [2, 3, 6, 5]  # whole numbers, where ways to round differ
    regions[1, 1:] = [1.5, 0.5, 5.5, 4.5]
    regions[2, 1:] = [5, 4, 2, 1]  # ends before it starts
    return regions


@dataclass
class Case:
    operator: str  # "torchvision::nms"
    arguments: tuple[Any, ...]
    differentiated: tuple[int, ...] = ()  # arguments whose gradients are compared


_IMAGES, _REGIONS = _normal(2, 8, 9, 11), _regions(7, 2, 9, 11)


def _deform(
    groups: int, offset_groups: int, stride: int, pad: int, dilation: int, masked: bool, whole: bool = False
) -> Case:
    height, width = ((size + 2 * pad - (dilation * 2 + 1)) // stride + 1 for size in (7, 8))
    offset = _normal(2, offset_groups * 18, height, width) * (0 if whole else 1.5)
    mask = _random.uniform(0, 1, (2, offset_groups * 9, height, width)).astype("float32")
    arguments = (_normal(2, 4, 7, 8), _normal(6, 4 // groups, 3, 3), offset, mask, _normal(6))
    numbers = (stride, stride, pad, pad, dilation, dilation, groups, offset_groups, masked)
    return Case("torchvision::deform_conv2d", (*arguments, *numbers), (0, 1, 2, *([3] if masked else []), 4))


def _rotated(count: int) -> numpy.ndarray:
    centre, size = _random.uniform(-3, 3, (count, 2)), _random.uniform(0.5, 5, (count, 2))
    angle = _random.uniform(-200, 200, (count, 1))
    angle[0] = 90
    return numpy.hstack([centre, size, angle]).astype("float32")


def _suppression(count: int, threshold: float) -> Case:
    boxes = _boxes(count, 40, 60)
    boxes[-1, 2:] = boxes[-1, :2]  # of no area
    return Case("torchvision::nms", (boxes, _random.uniform(0, 1, count).astype("float32"), threshold))


def _transducer(clamp: float, fused: bool) -> Case:
    logits = _normal(3, 6, 4, 5)
    if not fused:
        logits = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
    targets = numpy.array([[1, 2, 3], [4, 4, 0], [2, 0, 0]], "int32")
    lengths = numpy.array([6, 5, 2], "int32"), numpy.array([3, 2, 0], "int32")
    return Case("torchaudio::rnnt_loss_forward", (logits, targets, *lengths, 0, clamp, fused))


def _alignment(times: int, labels: list[int]) -> Case:
    logits = _normal(1, times, 6)
    log_probs = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
    lengths = numpy.array([times]), numpy.array([len(labels)])
    return Case("torchaudio::forced_align", (log_probs, numpy.array([labels]), *lengths, 0))


def _filter(samples: int, order: int, *roots: complex) -> Case:
    """`roots`: of a filter that rings, instead of any coefficients."""
    flipped = _normal(3, order) * 0.2
    if roots:
        flipped[:] = numpy.poly(roots).real[::-1]
    flipped[:, -1] = 1
    padded = numpy.zeros((2, 3, samples + order - 1), "float32")
    padded[:, :, : order - 1] = 0.5
    return Case("torchaudio::_lfilter_core_loop", (_normal(2, 3, samples), flipped, padded))


CASES = {
    "nms few": _suppression(30, 0.3),
    "nms many": _suppression(1500, 0.5),
    "nms none": Case("torchvision::nms", (numpy.zeros((0, 4), "float32"), numpy.zeros(0, "float32"), 0.5)),
    "roi_align": Case("torchvision::roi_align", (_IMAGES, _REGIONS, 0.9, 3, 2, 2, False), (0,)),
    "roi_align aligned": Case("torchvision::roi_align", (_IMAGES, _REGIONS, 1.0, 2, 3, -1, True), (0,)),
    "roi_align adaptive": Case("torchvision::roi_align", (_IMAGES, _REGIONS, 0.5, 2, 2, 0, False), (0,)),
    "roi_pool": Case("torchvision::roi_pool", (_IMAGES, _REGIONS, 1.0, 3, 2), (0,)),
    "roi_pool scaled": Case("torchvision::roi_pool", (_IMAGES, _REGIONS, 0.6, 2, 4), (0,)),
    "ps_roi_align": Case("torchvision::ps_roi_align", (_IMAGES, _REGIONS, 1.0, 2, 2, 2), (0,)),
    "ps_roi_align adaptive": Case("torchvision::ps_roi_align", (_IMAGES, _REGIONS, 0.7, 2, 4, -1), (0,)),
    "ps_roi_pool": Case("torchvision::ps_roi_pool", (_IMAGES, _REGIONS, 1.0, 2, 2), (0,)),
    "ps_roi_pool scaled": Case("torchvision::ps_roi_pool", (_IMAGES, _REGIONS, 0.7, 4, 2), (0,)),
    "deform_conv2d": _deform(1, 1, 1, 1, 1, True),
    "deform_conv2d groups": _deform(2, 4, 2, 0, 1, True),
    "deform_conv2d without mask": _deform(1, 2, 1, 2, 2, False),
    "deform_conv2d at whole pixels": _deform(1, 1, 1, 1, 1, True, whole=True),
    "box_iou_rotated": Case("torchvision::box_iou_rotated", (_rotated(6), _rotated(9))),
    "rnnt_loss": _transducer(-1.0, True),
    "rnnt_loss clamped": _transducer(0.1, True),
    "rnnt_loss of log probabilities": _transducer(-1.0, False),
    "forced_align": _alignment(12, [1, 2, 2, 5]),
    "forced_align tight": _alignment(6, [3, 3, 4, 1, 2]),
    "lfilter": _filter(40, 3),
    "lfilter long": _filter(300, 7),
    "lfilter that rings": _filter(600, 5, 0.8 + 0.3j, 0.8 - 0.3j, 0.9, -0.9),
    "lfilter of one coefficient": _filter(5, 1),
}


def results(torch: Any, case: Case, device: str) -> list[numpy.ndarray]:
    """What the operator returns, and the gradients of a weighted sum of its first result."""
    arguments = [
        torch.tensor(value, device=device) if isinstance(value, numpy.ndarray) else value
        for value in case.arguments
    ]
    for i in case.differentiated:
        arguments[i].requires_grad_()
    namespace, _, name = case.operator.partition("::")
    outputs = getattr(getattr(torch.ops, namespace), name)(*arguments)
    outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    if case.differentiated:
        first = outputs[0]
        weights = numpy.cos(numpy.arange(first.numel())).astype("float32").reshape(first.shape)
        (first * torch.tensor(weights, device=device)).sum().backward()
        outputs += [arguments[i].grad for i in case.differentiated]
    return [output.detach().cpu().numpy() for output in outputs]

"""torchvision's and torchaudio's operators: the numbers of their own kernels, gradients, shapes, autocast, errors."""

from pathlib import Path

import numpy
import pytest
from cases import CASES, results

import mindtorch_v2 as torch
from mindtorch_v2.autograd import gradcheck

RECORDED = numpy.load(Path(__file__).parent / "recorded.npz")
vision, audio = torch.ops.torchvision, torch.ops.torchaudio


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_the_packages_own_kernels(name, device):
    found = results(torch, CASES[name], device)
    wanted = [RECORDED[f"{name}.{i}"] for i in range(len(found))]
    assert f"{name}.{len(found)}" not in RECORDED
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        largest = numpy.abs(theirs[numpy.isfinite(theirs)]).max(initial=1)
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5 * largest)


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if not name.startswith(("nms", "lfilter"))]
)
def test_shapes_are_known_without_numbers(name):
    case = CASES[name]
    arguments = [
        torch.tensor(value, device="meta") if isinstance(value, numpy.ndarray) else value
        for value in case.arguments
    ]
    namespace, _, short = case.operator.partition("::")
    made = getattr(getattr(torch.ops, namespace), short)(*arguments)
    made = [made] if isinstance(made, torch.Tensor) else made
    for i, tensor in enumerate(made):
        assert tensor.is_meta and tensor.shape == RECORDED[f"{name}.{i}"].shape


def _double(array):
    return torch.tensor(array, dtype=torch.float64)


IMAGES = _double(CASES["roi_align"].arguments[0])[:, :4, :6, :7].contiguous()
REGIONS = _double([[0, 0.3, 1.2, 4.6, 5.1], [1, 2.4, 0.7, 6.3, 3.9]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: vision.roi_align(x, REGIONS, 1.0, 2, 2, 2, True),
        lambda x: vision.roi_align(x, REGIONS, 0.8, 2, 3, -1, False),
        lambda x: vision.roi_pool(x, REGIONS, 1.0, 2, 2)[0],
        lambda x: vision.ps_roi_align(x, REGIONS, 1.0, 2, 2, -1)[0],
        lambda x: vision.ps_roi_pool(x, REGIONS, 1.0, 2, 2)[0],
    ],
    ids=["roi_align", "roi_align adaptive", "roi_pool", "ps_roi_align", "ps_roi_pool"],
)
def test_gradients_of_regions_are_those_of_finite_differences(call):
    assert gradcheck(call, (IMAGES.clone().requires_grad_(),))


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_deform_conv2d_are_those_of_finite_differences(masked):
    images, weight, offset, mask, bias = (_double(array) for array in CASES["deform_conv2d"].arguments[:5])
    mask = mask[:1, :, :4, :4] if masked else torch.zeros(2, 1, dtype=torch.float64)
    tensors = [images[:1, :, :4, :4], weight, offset[:1, :, :4, :4], mask, bias]
    assert gradcheck(
        lambda *tensors: vision.deform_conv2d(*tensors, 1, 1, 1, 1, 1, 1, 1, 1, masked),
        tuple(tensor.contiguous().requires_grad_(masked or tensor is not mask) for tensor in tensors),
    )


def test_a_gradient_of_a_gradient_is_refused():
    x = IMAGES.clone().requires_grad_()
    weights = torch.ones(2, 4, 2, 2, dtype=torch.float64, requires_grad=True)
    loss = (vision.roi_align(x, REGIONS, 1.0, 2, 2, 2, True) * weights).sum()
    (slope,) = torch.autograd.grad(loss, x, create_graph=True)
    with pytest.raises(RuntimeError, match="torchvision::_roi_align_backward"):
        slope.sum().backward()


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_boxes_of_equal_scores_stay_in_their_order(device):
    boxes = torch.tensor([[0.0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, 1]], device=device)
    assert vision.nms(boxes, torch.ones(3, device=device), 0.5).tolist() == [0, 1]


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_an_overlap_as_large_as_the_threshold_stays(device):
    boxes = torch.tensor([[0.0, 0, 4, 1], [0, 0, 4, 2]], device=device)  # half of the union
    scores = torch.tensor([0.9, 0.8], device=device)
    assert vision.nms(boxes, scores, 0.5).tolist() == [0, 1]
    assert vision.nms(boxes, scores, 0.4999).tolist() == [0]


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_chain_of_overlaps_keeps_every_second_box(device):
    left = torch.arange(2500, dtype=torch.float32)
    boxes = torch.stack([left, left * 0, left + 1.5, left * 0 + 1], 1).to(device)
    kept = vision.nms(boxes, torch.linspace(1, 0, 2500).to(device), 0.1)
    assert kept.tolist() == list(range(0, 2500, 2))


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_autocast_computes_in_float32_and_gives_back_the_dtype_it_got(device):
    x, regions = IMAGES.float().to(device), REGIONS.float().to(device)
    exact = vision.roi_align(x.bfloat16().float(), regions, 1.0, 2, 2, 2, True)
    with torch.autocast(device, dtype=torch.bfloat16):
        found = vision.roi_align(x.bfloat16(), regions, 1.0, 2, 2, 2, True)
        assert vision.roi_align(x, regions.bfloat16(), 1.0, 2, 2, 2, True).dtype == torch.float32
        boxes = regions[:, 1:].bfloat16()
        assert vision.nms(boxes, regions[:, 0], 0.5).tolist() == [1, 0]  # which wants one dtype
    assert found.dtype == torch.bfloat16 and torch.equal(found, exact.bfloat16())


def test_accelerators_cast_the_other_regions_and_deform_conv2d_as_well():
    x, regions = IMAGES.half().to("npu"), REGIONS.float().to("npu")
    with torch.autocast("npu"):
        values, places = vision.roi_pool(x, regions, 1.0, 2, 2)
        assert values.dtype == torch.float16 and places.dtype == torch.int32
        assert vision.ps_roi_align(x, regions, 1.0, 2, 2, 2)[0].dtype == torch.float16
        assert vision.ps_roi_pool(x, regions, 1.0, 2, 2)[0].dtype == torch.float16


def _refused(call, *words):
    with pytest.raises(Exception) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_bad_arguments_are_refused():
    x, regions = IMAGES, REGIONS
    boxes, scores = regions[:, 1:], regions[:, 0]
    _refused(lambda: vision.roi_align(x, boxes, 1.0, 2, 2, 2, True), "Tensor[K, 5]", "[2, 4]")
    _refused(lambda: vision.roi_align(x, regions.float(), 1.0, 2, 2, 2, True), "DoubleTensor", "FloatTensor")
    _refused(lambda: vision.roi_align(x[0], regions, 1.0, 2, 2, 2, True), "4D", "[4, 6, 7]")
    _refused(lambda: vision.roi_align(x[:1], regions, 1.0, 2, 2, 2, True), "box 1", "image 1", "of 1")
    _refused(lambda: vision.roi_pool(x, regions * float("nan"), 1.0, 2, 2), "box 0", "nan")
    _refused(lambda: vision.ps_roi_pool(x, regions, 1.0, 3, 2), "multiple of pooling height * pooling width")
    _refused(lambda: vision.nms(boxes[0], scores, 0.5), "2d tensor, got 1D")
    _refused(lambda: vision.nms(regions, scores, 0.5), "4 elements in dimension 1, got 5")
    _refused(lambda: vision.nms(boxes, scores[:1], 0.5), "2 and 1")
    _refused(lambda: vision.nms(boxes.to("meta"), scores.to("meta"), 0.5), "meta")
    tensors = [torch.tensor(array) for array in CASES["deform_conv2d"].arguments[:5]]
    _refused(lambda: vision.deform_conv2d(*tensors, 0, 1, 1, 1, 1, 1, 1, 1, True), "stride_h: 0")
    _refused(lambda: vision.deform_conv2d(*tensors, 1, 1, 1, 1, 1, 1, 1, 2, True), "got: 18 expected: 36")
    _refused(lambda: vision.deform_conv2d(*tensors, 1, 1, 0, 0, 1, 1, 1, 1, True), "(7, 8)", "(5, 6)")
    _refused(lambda: vision.deform_conv2d(*tensors, 1, 1, 1, 1, 1, 1, 3, 1, True), "3 groups")
    _refused(lambda: vision.qnms(boxes, scores, 0.5), "quantized")


def test_bad_sequences_are_refused():
    logits, targets, times, labels = (torch.tensor(array) for array in CASES["rnnt_loss"].arguments[:4])
    loss = audio.rnnt_loss_forward
    _refused(lambda: loss(logits, targets.long(), times, labels, 0, -1.0, True), "targets must be int32")
    _refused(lambda: loss(logits, targets, times, labels, 5, -1.0, True), "blank must be within")
    _refused(lambda: loss(logits, targets, times + 3, labels, 0, -1.0, True), "entry 0", "9 time steps")
    _refused(lambda: loss(logits, targets + 5, times, labels, 0, -1.0, True), "target 6")
    _refused(lambda: loss(logits[:, :, :3], targets, times, labels, 0, -1.0, True), "output length mismatch")
    log_probs, labels, length, count = (torch.tensor(array) for array in CASES["forced_align"].arguments[:4])
    for device in ("cpu", "npu"):
        given = [tensor.to(device) for tensor in (log_probs[:, :4], labels, length * 0 + 4, count)]
        _refused(lambda given=given: audio.forced_align(*given, 0), "length: 4", "length: 4", "repeats: 1")
    _refused(lambda: audio.forced_align(log_probs, labels, length, count - 1, 0), "target length mismatch")
    x = torch.zeros(2, 3, 7)
    _refused(
        lambda: audio._lfilter_core_loop(x, torch.ones(3, 3), torch.zeros(2, 3, 8)), "[2, 3, 9]", "[2, 3, 8]"
    )


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_overdrive_writes_its_last_three_arguments(device):
    wave = torch.tensor(numpy.cos(numpy.arange(14)).reshape(2, 7), dtype=torch.float32)
    before, after, wanted = torch.tensor([0.1, 0.2]), torch.tensor([0.3, -0.4]), torch.zeros(2, 7)
    given = [t.to(device) for t in (wave, wave * 0.5, before, after, torch.zeros(2, 7))]
    for i in range(7):
        after, before = wave[:, i] * 0.5 - before + 0.995 * after, wave[:, i] * 0.5
        wanted[:, i] = wave[:, i] * 0.5 + after * 0.75
    made = audio._overdrive_core_loop(*given)
    assert made[0] is given[2] and made[1] is given[3] and made[2] is given[4]
    for ours, theirs in zip(given[2:], (before, after, wanted), strict=True):
        assert torch.allclose(ours.cpu(), theirs, atol=1e-6)


def test_strided_operands_give_the_same_as_dense_ones():
    x = IMAGES.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
    regions = torch.stack([REGIONS, REGIONS], 1)[:, 0]
    assert not x.is_contiguous() and not regions.is_contiguous()
    for ours, theirs in (
        (
            vision.roi_align(x, regions, 1.0, 2, 2, 2, True),
            vision.roi_align(IMAGES, REGIONS, 1.0, 2, 2, 2, True),
        ),
        (vision.roi_pool(x, regions, 1.0, 2, 2)[0], vision.roi_pool(IMAGES, REGIONS, 1.0, 2, 2)[0]),
    ):
        assert torch.equal(ours, theirs)


def test_boxes_far_outside_and_without_numbers_end_at_once():
    far = _double([[0, -1e30, -1e30, 1e30, 1e30], [0, float("nan"), 0, 3, 3], [1, 1e9, 1e9, 2e9, 2e9]])
    assert vision.roi_align(IMAGES, far, 1.0, 2, 2, -1, False).isfinite().all()
    assert vision.roi_pool(IMAGES, far, 1.0, 2, 2)[0].isfinite().all()
    assert vision.ps_roi_pool(IMAGES, far, 1.0, 2, 2)[0].isfinite().all()
    offset = torch.full((1, 18, 6, 7), float("nan"), dtype=torch.float64)
    weight, bias, mask = torch.ones(2, 4, 3, 3), torch.zeros(2), torch.zeros(1, 1)
    made = vision.deform_conv2d(
        IMAGES[:1], weight.double(), offset, mask.double(), bias.double(), 1, 1, 1, 1, 1, 1, 1, 1, False
    )
    assert (made == 0).all()


def test_boxes_that_share_edges_and_corners_overlap_alike_on_all_devices():
    boxes = torch.tensor([
        [0, 0, 2, 2, 0], [0, 0, 2, 2, 90], [0, 0, 2, 2, 45], [1, 0, 2, 2, 0], [2, 0, 2, 2, 0], [0, 0, 4, 1, 0],
        [0.5, 0, 1, 2, 180], [0, 0, 2, 2, 30], [0, 0, 2, 1, 30], [1000.5, 2000.25, 3, 2, 33],
        [1000.5, 2000.25, 3, 1, 33], [0, 0, 0, 2, 3],
    ], dtype=torch.float32)  # fmt: skip
    wanted = vision.box_iou_rotated(boxes, boxes)
    found = vision.box_iou_rotated(boxes.npu(), boxes.npu())
    numpy.testing.assert_allclose(found.cpu().numpy(), wanted.numpy(), atol=2e-5)
    assert vision.box_iou_rotated(boxes[:0].npu(), boxes.npu()).shape == (0, 12)
    assert vision.box_iou_rotated(boxes.half().npu(), boxes[:3].half().npu()).dtype is torch.float16

"""Padding, windows, embeddings, sampling of images, dropout and recurrent cells."""

import torch
import torch.nn.functional as F

from .harness import ALL, FLOATS, FLOATS_AND_DOUBLE, NUMBERS, OUT, AnyResult, Check, Inplace, case
from .reference import exact, gradients, packed_bits, rounded, wide

aten = torch.ops.aten
NOTHING = torch.empty(0)


@case("aclnnConstantPadNd", dtypes=ALL)
def padding_with_a_number(make):
    x = make(2, 3, 6, 5)
    for pad, value in (([1, 2], 1), ([1, 2, -1, 3], 0), ([0, 1, 2, 0, 1, 1], 1)):
        yield [x, pad, value, OUT], F.pad(x, pad, value=value)


_EDGES = {"Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}
_PADS = {1: [1, 2], 2: [1, 2, 3, 1], 3: [1, 2, 3, 1, 2, 3]}
_PADDED = [
    f"aclnn{kind}Pad{dims}d" for kind in _EDGES for dims in (1, 2, 3) if (kind, dims) != ("Circular", 1)
]


def _padding(operator):
    kind = next(k for k in _EDGES if k in operator)
    return _EDGES[kind], _PADS[int(operator[operator.index("Pad") + 3])]


@case(*_PADDED, dtypes=FLOATS_AND_DOUBLE)
def edges_are_continued(make, operator):
    mode, pad = _padding(operator)
    x = make(2, 3, *(4, 5, 6)[: len(pad) // 2])
    return [x, pad, OUT], exact(lambda x: F.pad(x, pad, mode=mode), x, dtype=make.dtype)


@case(*(name + "Backward" for name in _PADDED), dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_of_continued_edges(make, operator):
    mode, pad = _padding(operator)
    x = make(2, 3, *(4, 5, 6)[: len(pad) // 2])
    grad = make(*F.pad(wide(x), pad, mode=mode).shape)
    (wanted,) = gradients(lambda x: F.pad(x, pad, mode=mode), grad, x, dtype=make.dtype)
    return [grad, x, pad, OUT], wanted


_WINDOW = ((3, 2), (1, 2), (1, 1), (2, 1))


@case("aclnnIm2col", dtypes=FLOATS_AND_DOUBLE)
def windows_of_an_image_as_columns(make):
    x = make(2, 3, 6, 5)
    wanted = exact(lambda x: F.unfold(x, *_WINDOW), x, dtype=make.dtype)
    yield [x, *map(list, _WINDOW), OUT], wanted
    yield [x[0], *map(list, _WINDOW), OUT], wanted[0]


@case("aclnnIm2colBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def columns_add_up_in_an_image(make):
    grad = make(2, 18, 15)
    return [grad, [6, 5], *map(list, _WINDOW), OUT], exact(
        lambda g: F.fold(g, (6, 5), *_WINDOW), grad, dtype=make.dtype
    )


@case("aclnnUnfoldGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def windows_along_a_dimension_add_up(make):
    for step, count in ((1, 4), (2, 2)):
        grad = make(2, 3, count, 5, 3)
        wanted = exact(
            lambda g, s=step: aten.unfold_backward(g, [2, 3, 6, 5], 2, 3, s), grad, dtype=make.dtype
        )
        yield [grad, [2, 3, 6, 5], 2, 3, step, OUT], wanted


@case("aclnnChannelShuffle", dtypes=NUMBERS)
def channels_of_groups_take_turns(make):
    x = make(2, 6, 3, 3)
    return [x, 3, OUT], torch.channel_shuffle(x, 3)


# ---- embeddings ------------------------------------------------------------------------------------


@case("aclnnEmbedding", dtypes=ALL)
def rows_of_a_table(make):
    table = make(7, 4)
    for indices in (make.index(2, 3, below=7), make.index(5, below=7, dtype=torch.int32)):
        yield [table, indices, OUT], table[indices.long()]


@case("aclnnEmbeddingDenseBackward", "aclnnEmbeddingDenseGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_of_rows_of_a_table(make, operator):
    grad, indices = make(2, 3, 4), make.index(2, 3, below=7)
    nothing = 2**64 - 1 if operator.endswith("Backward") else -1
    for padding, by_frequency in ((-1, False), (2, True)):
        wanted = aten.embedding_dense_backward(wide(grad), indices, 7, padding, by_frequency)
        yield (
            [grad, indices, 7, nothing if padding < 0 else padding, by_frequency, OUT],
            wanted.to(make.dtype),
        )


@case("aclnnEmbeddingRenorm", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def rows_that_are_too_long_are_shortened(make):
    table, indices = make(7, 4), torch.tensor([1, 3, 3, 5])
    wanted = torch.embedding_renorm_(wide(table).clone(), indices, 2.0, 2.0)
    return [Inplace(table), indices, 2.0, 2.0], wanted.to(make.dtype)


@case("aclnnEmbeddingBag", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def bags_of_rows(make):
    table, indices, offsets = make(7, 4), torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 3])
    owners, sizes = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([3, 3])
    weights = make(6)
    for mode, sample in ((0, None), (0, weights), (1, None), (2, None)):
        made = aten._embedding_bag(wide(table), indices, offsets, False, mode, False, wide(sample), False, -1)
        places = OUT if mode == 2 else AnyResult((2,), torch.int64)
        yield (
            [table, indices, offsets, False, mode, False, sample, False, -1, OUT, OUT, OUT, places],
            (made[0].to(make.dtype), owners, sizes, made[3]),
        )


@case("aclnnOneHot", dtypes=(torch.int64, torch.int32))
def classes_as_rows_of_ones_and_zeros(make):
    classes = make.index(2, 3, below=5, dtype=make.dtype)
    hot = F.one_hot(classes.long(), 5)
    for axis, wanted in ((-1, hot), (1, hot.permute(0, 2, 1)), (0, hot.permute(2, 0, 1))):
        yield [classes, 5, torch.tensor([1]), torch.tensor([0]), axis, OUT], wanted


# ---- sampling --------------------------------------------------------------------------------------


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


# ---- dropout ---------------------------------------------------------------------------------------


def _share_of_ones(count, low, high):
    def check(mask):
        bits = (mask[:, None] >> torch.arange(8)) & 1
        assert low < bits.flatten()[:count].float().mean() < high
        assert not bits.flatten()[count:].any(), "bits beyond the elements are not 0"

    return check


@case(
    "aclnnDropoutGenMask",
    "aclnnDropoutGenMaskV2",
    "aclnnDropoutGenMaskV2Tensor",
    layouts=("dense",),
    dtypes=FLOATS,
)
def a_bit_for_each_element(make, operator):
    for p, low, high in ((0.3, 0.65, 0.75), (0.0, 0.999, 1.001), (1.0, -0.001, 0.001)):
        mask = Check((512,), torch.uint8, _share_of_ones(4000, low, high))
        if operator.endswith("Tensor"):
            seed = [torch.tensor([7]), torch.tensor([3]), 1]
        else:
            seed = [7, 3]
        kind = [make.dtype] if "V2" in operator else []
        yield [[40, 100], p, *seed, *kind, mask], NOTHING


@case("aclnnDropoutDoMask", "aclnnDropoutBackward", "aclnnDropoutV3Grad", dtypes=FLOATS_AND_DOUBLE)
def a_mask_decides_what_is_kept(make, operator):
    x, kept = make(7, 9), make(7, 9, dtype=torch.bool)
    for p in (0.0, 0.25, 1.0):
        keep = torch.ones_like(kept) if p == 0 else kept & (p < 1)
        wanted = exact(lambda x, k=keep, p=p: x * k / (1 - p if p < 1 else 1), x, dtype=make.dtype)
        factor = p if operator == "aclnnDropoutDoMask" else 0.0 if p == 1 else 1 / (1 - p)
        yield [x, packed_bits(kept), factor, OUT], wanted


@case("aclnnDropout", "aclnnDropoutV3", "aclnnDropoutV3Tensor", layouts=("dense",), dtypes=FLOATS)
def dropout_keeps_a_share_and_says_which(make, operator):
    x = torch.ones(40, 100, dtype=make.dtype)

    def kept_are_scaled(out):
        assert set(out.unique().tolist()) == {0.0, 2.0}
        assert 0.45 < (out != 0).double().mean() < 0.55

    mask = Check((512,), torch.uint8, _share_of_ones(4000, 0.45, 0.55))
    out = Check((40, 100), make.dtype, kept_are_scaled)
    if operator == "aclnnDropout":
        return [x, 0.5, True, 7, 3, out, mask], (NOTHING, NOTHING)
    if operator.endswith("Tensor"):
        return [x, None, 0.5, torch.tensor([7]), torch.tensor([3]), 1, out, mask], (NOTHING, NOTHING)
    return [x, None, 0.5, 7, 3, out, mask], (NOTHING, NOTHING)


# ---- recurrent cells -------------------------------------------------------------------------------


def _cell(gates, state):
    i, f, g, o = gates.chunk(4, 1)
    kept = (i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid())
    after = kept[1] * state + kept[0] * kept[2]
    return kept[3] * after.tanh(), after, torch.cat(kept, 1)


@case("aclnnThnnFusedLstmCell", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def one_step_of_an_lstm(make):
    x, h, state, a, b = make(3, 8), make(3, 8), make(3, 2), make(8), make(8)
    for first, second in ((None, None), (a, b)):
        gates = wide(x) + wide(h) + (0 if first is None else wide(first) + wide(second))
        yield [x, h, state, first, second, OUT, OUT, OUT], rounded(_cell(gates, wide(state)), make.dtype)


@case("aclnnThnnFusedLstmCellBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def the_gradients_of_one_step_of_an_lstm(make):
    gates, state, dh, dc = make(3, 8, low=-1, high=1), make(3, 2), make(3, 2), make(3, 2)
    _, after, kept = rounded(_cell(wide(gates), wide(state)), make.dtype)
    for hidden, cell in ((dh, dc), (dh, None), (None, dc)):
        grads = [torch.zeros(3, 2) if g is None else g for g in (hidden, cell)]

        def weighted(gates, state, grads=grads):
            made = _cell(gates, state)
            return (made[0] * wide(grads[0]) + made[1] * wide(grads[1])).sum()

        one = torch.ones((), dtype=torch.float64)
        to_gates, to_state = gradients(weighted, one, gates, state, dtype=torch.float64)
        wanted = rounded((to_gates, to_state, to_gates.sum(0)), make.dtype)
        yield [hidden, cell, state, after, kept, True, OUT, OUT, OUT], wanted

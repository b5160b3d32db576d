"""Groups of products, and products and conversions of quantised numbers."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, Inplace, case

HALVES = (torch.float16, torch.bfloat16)
INT8 = 2  # in the numbering of ACL


def _products(x, weights, ends):
    starts = [0, *ends[:-1]]
    return torch.cat([x[a:b] @ w for a, b, w in zip(starts, ends, weights, strict=True)])


@case("aclnnGroupedMatmul", "aclnnGroupedMatmulV2", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def rows_with_a_weight_for_each_group(make, operator):
    x, weights, biases, ends = (
        make(7, 4),
        [make(4, 3) for _ in range(3)],
        [make(3) for _ in range(3)],
        [2, 2, 7],
    )
    none = [None] * 5
    kind = [0] if operator == "aclnnGroupedMatmulV2" else []
    yield [[x], weights, *none, ends, 3, *kind, [OUT]], _products(x, weights, ends)
    parts = tuple(x[a:b] for a, b in ((0, 2), (2, 3), (3, 7)))
    apart = tuple(p @ w for p, w in zip(parts, weights, strict=True))
    alone = [-1] if kind else []
    yield [parts, weights, *none, [], 0, *alone, [OUT] * 3], apart
    added = tuple(torch.addmm(b, p, w) for b, p, w in zip(biases, parts, weights, strict=True))
    yield [parts, weights, biases, *none[1:], [], 0, *alone, [OUT] * 3], added


@case("aclnnGroupedMatmulV3", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def rows_in_groups_that_a_tensor_names(make):
    x, weight, ends = make(7, 4), make(3, 4, 5), torch.tensor([2, 2, 7])
    yield [[x], [weight], *[None] * 5, ends, 3, 0, [OUT]], _products(x, weight, ends.tolist())


@case(
    "aclnnGroupedMatmulV4", "aclnnGroupedMatmulV5", "aclnnGroupedMatmulWeightNz", dtypes=FLOATS, tolerance=8
)
def rows_in_groups_by_their_sizes(make, operator):
    x, weight = make(7, 4), make(3, 4, 5)
    tuning = {"4": [], "5": [None], "z": [None, 0]}[operator[-1]]

    def call(first, second, groups, group_type, kind):
        return [
            [first],
            [second],
            *[None] * 6,
            groups,
            *[None] * 3,
            3,
            group_type,
            kind,
            0,
            *tuning,
            [OUT],
            None,
            None,
        ]

    yield call(x, weight, torch.tensor([2, 0, 5]), 0, 1), _products(x, weight, [2, 2, 7])
    yield call(x, weight, torch.tensor([2, 2, 7]), 0, 0), _products(x, weight, [2, 2, 7])
    pairs = torch.tensor([[2, 3], [0, 4]])
    yield call(x, weight, pairs, 0, 2), torch.cat([x[:3] @ weight[2], x[3:] @ weight[0]])
    wide, tall = make(4, 7), make(7, 5)
    inner = torch.stack([wide[:, :2] @ tall[:2], torch.zeros(4, 5, dtype=make.dtype), wide[:, 2:] @ tall[2:]])
    yield call(wide, tall, torch.tensor([2, 2, 7]), 2, 0), inner


@case("aclnnGroupedMatmulV4", dtypes=HALVES, tolerance=2)
def groups_of_quantised_rows(make):
    x, weight = make(7, 4, dtype=torch.int8), make(3, 4, 5, dtype=torch.int8)
    scale, tokens = (
        make(3, 5, low=0.5, high=1, dtype=torch.float32),
        make(7, low=0.5, high=1, dtype=torch.float32),
    )
    groups = torch.tensor([2, 2, 7])
    which = torch.tensor([0, 0, 2, 2, 2, 2, 2])
    wanted = _products(x.double(), weight.double(), [2, 2, 7]) * scale[which] * tokens[:, None]
    arguments = [
        [x],
        [weight],
        None,
        [scale],
        None,
        None,
        None,
        [tokens],
        groups,
        *[None] * 3,
        3,
        0,
        0,
        0,
        [OUT],
    ]
    return [*arguments, None, None], wanted.to(make.dtype)


@case("aclnnGroupedMatmulAdd", "aclnnGroupedMatmulAddV2", dtypes=HALVES, layouts=("dense",), tolerance=8)
def gradients_of_weights_added_in_groups(make, operator):
    x, grad, total = make(7, 4), make(7, 5), make(3, 4, 5, dtype=torch.float32)
    kind = [0] if operator.endswith("V2") else []
    ends = torch.tensor([2, 2, 7])
    parts = [x[a:b].float().t() @ grad[a:b].float() for a, b in ((0, 2), (2, 2), (2, 7))]
    return [x, grad, ends, Inplace(total), True, False, 2, *kind], total + torch.stack(parts)


@case("aclnnQuantMatmulV3", "aclnnQuantMatmulV4", dtypes=HALVES, tolerance=2)
def a_product_of_int8_matrices(make, operator):
    a, b = make(3, 6, low=-100, high=100, dtype=torch.int8), make(4, 6, low=-100, high=100, dtype=torch.int8)
    scale, bias = (
        make(4, low=1e-4, high=1e-3, dtype=torch.float32),
        make(4, low=-90, high=90, dtype=torch.int32),
    )
    wanted = (a.double() @ b.double().t() + bias) * scale
    if operator == "aclnnQuantMatmulV3":
        yield [a, b, scale, None, bias, False, True, OUT], wanted.to(make.dtype)
        return
    tokens = make(3, low=0.5, high=1, dtype=torch.float32)
    yield [a, b, scale, None, tokens, bias, False, True, OUT], (wanted * tokens[:, None]).to(make.dtype)
    batch = torch.stack([a, a - 1])
    plain = (batch.double() @ b.double().t()) * scale
    yield [batch, b, scale, None, None, None, False, True, OUT], plain.to(make.dtype)


@case("aclnnQuantMatmulV5", "aclnnQuantMatmulWeightNz", dtypes=HALVES, tolerance=2)
def a_product_of_int8_matrices_with_two_scales(make):
    a, b = make(3, 6, low=-100, high=100, dtype=torch.int8), make(6, 4, low=-100, high=100, dtype=torch.int8)
    rows, columns = (
        make(3, low=0.1, high=1, dtype=torch.float32),
        make(4, low=1e-4, high=1e-3, dtype=torch.float32),
    )
    wanted = (a.double() @ b.double()) * columns * rows[:, None]
    return [a, b, rows, columns, *[None] * 5, False, False, 0, OUT], wanted.to(make.dtype)


@case("aclnnTransQuantParamV2", "aclnnTransQuantParamV3", dtypes=(torch.float32,))
def scales_packed_into_64_bits(make, operator):
    scale = make(5)
    mode = [1] if operator.endswith("V3") else []
    return [scale, None, *mode, OUT], scale.view(torch.int32).to(torch.int64) & 0xFFFFFFFF


@case(
    "aclnnWeightQuantBatchMatmulV2",
    "aclnnWeightQuantBatchMatmulV3",
    "aclnnWeightQuantBatchMatmulNz",
    dtypes=HALVES,
    tolerance=4,
)
def a_product_with_an_int8_weight(make, operator):
    x, weight, bias = make(3, 6, low=-1, high=1), make(6, 4, dtype=torch.int8), make(4)
    scale, offset = make(4, low=0.1, high=1), make(4)
    precise = [0] if operator.endswith("V3") else []
    dequantised = (weight.double() + offset.double()) * scale.double()
    wanted = (x.double() @ dequantised + bias.double()).to(make.dtype)
    yield [x, weight, scale, offset, None, None, bias, 0, *precise, OUT], wanted
    grid = make(3, 4, low=0.1, high=1)
    grouped = (x.double() @ (weight.double() * grid.double().repeat_interleave(2, 0))).to(make.dtype)
    yield [x, weight, grid, None, None, None, None, 2, *precise, OUT], grouped


@case("aclnnAscendQuant", "aclnnAscendQuantV3", dtypes=FLOATS)
def numbers_to_int8(make, operator):
    x, scale, offset = make(3, 4), make(4, low=5, high=60), make(4, low=-9, high=9)
    axis = [-1] if operator.endswith("V3") else []
    for mode, function in (
        ("round", torch.round),
        ("floor", torch.floor),
        ("ceil", torch.ceil),
        ("trunc", torch.trunc),
    ):
        wanted = function(x.float() * scale.float() + offset.float()).clamp(-128, 127).to(torch.int8)
        yield [x, scale, offset, False, mode, INT8, *axis, OUT], wanted
    squared = torch.round(x.float() * (scale[:1].float() ** 2)).clamp(-128, 127).to(torch.int8)
    yield [x, scale[:1], None, True, "round", INT8, *axis, OUT], squared


@case("aclnnQuantize", dtypes=FLOATS)
def numbers_to_int8_by_division(make):
    x, scale, zero = make(3, 4), make(3, low=0.01, high=0.1), make(3, dtype=torch.int32)
    wanted = torch.round(x.float() / scale.float()[:, None] + zero[:, None]).clamp(-128, 127).to(torch.int8)
    return [x, scale, zero, torch.int8, 0, OUT], wanted


@case("aclnnAscendAntiQuant", dtypes=HALVES)
def int8_back_to_numbers(make):
    x, scale, offset = (
        make(3, 4, low=-100, high=100, dtype=torch.int8),
        make(4, dtype=torch.float32),
        make(4, dtype=torch.float32),
    )
    kind = {torch.float16: 1, torch.bfloat16: 27}[make.dtype]
    yield [x, scale, offset, kind, False, OUT], ((x + offset) * scale).to(make.dtype)
    yield [x, scale[:1], None, kind, True, OUT], (x * scale[:1] * scale[:1]).to(make.dtype)


@case("aclnnDynamicQuant", "aclnnDynamicQuantV2", "aclnnDynamicQuantV3", "aclnnDynamicQuantV4", dtypes=HALVES)
def rows_to_int8_with_a_scale_each(make, operator):
    x, smooth = make(2, 3, 8), make(8, low=0.5, high=2)
    more = {
        "t": [],
        "2": [None, INT8],
        "3": [None, INT8, True, "pertoken"],
        "4": [None, INT8, True, "pertoken", 0.0],
    }
    unused = {"t": [], "2": [None], "3": [None], "4": [None]}[operator[-1]]
    for factor in (None, smooth):
        y = x.float() if factor is None else x.float() * factor.float()
        scale = y.abs().amax(-1) / 127
        wanted = torch.round(y / scale[..., None]).to(torch.int8)
        yield [x, factor, *more[operator[-1]], OUT, OUT, *unused], (wanted, scale)


@case("aclnnDynamicQuantV2", "aclnnDynamicQuantV3", dtypes=HALVES)
def rows_to_int8_with_a_scale_and_an_offset_each(make, operator):
    x = make(3, 8)
    y = x.float()
    scale = (y.amax(-1) - y.amin(-1)) / 255
    offset = 127 - y.amax(-1) / scale
    wanted = torch.round(y / scale[:, None] + offset[:, None]).clamp(-128, 127).to(torch.int8)
    more = [None, INT8] if operator.endswith("V2") else [None, INT8, False, "pertoken"]
    return [x, None, *more, OUT, OUT, OUT], (wanted, scale, offset)


@case("aclnnFakeQuantPerTensorAffineCachemask", dtypes=(torch.float32,))
def numbers_rounded_as_if_quantised(make):
    x = make(3, 4)
    scale, zero = torch.tensor([0.02]), torch.tensor([3], dtype=torch.int32)
    out, mask = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask(x, 0.02, 3, -128, 127)
    yield [x, scale, zero, 1.0, -128, 127, OUT, OUT], (out, mask)
    yield [x, scale, zero, 0.0, -128, 127, OUT, OUT], (x, torch.ones_like(mask))


@case("aclnnFakeQuantPerChannelAffineCachemask", dtypes=(torch.float32,))
def channels_rounded_as_if_quantised(make):
    x, scale, zero = make(3, 4), make(4, low=0.01, high=0.1), make(4, dtype=torch.int32)
    out, mask = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(x, scale, zero, 1, -128, 127)
    return [x, scale, zero, 1, -128, 127, OUT, OUT], (out, mask)

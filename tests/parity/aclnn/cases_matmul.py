"""Products of matrices, vectors, groups and quantised numbers."""

import torch

from .harness import FLOATS, FLOATS_AND_DOUBLE, OUT, Inplace, case


@case("aclnnAddmm", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_product_added_to_a_matrix(make):
    self, a, b = make(3, 4), make(3, 5), make(5, 4)
    return [self, a, b, 0.5, 2.0, OUT, 0], torch.addmm(self, a, b, beta=0.5, alpha=2.0)


PRODUCTS = (*FLOATS_AND_DOUBLE, torch.int32, torch.int64)


@case("aclnnMm", "aclnnMatmul", "aclnnMatmulWeightNz", dtypes=PRODUCTS, tolerance=8)
def a_product_of_matrices(make):
    a, b = make(3, 5), make(5, 4)
    return [a, b, OUT, 0], a @ b


@case("aclnnMatmul", dtypes=PRODUCTS, tolerance=8)
def products_broadcast_and_take_vectors(make):
    a, b, row = make(2, 1, 3, 5), make(4, 5, 2), make(5)
    yield [a, b, OUT, 1], a @ b
    yield [a, row, OUT, 0], a @ row
    yield [row, b, OUT, 0], row @ b
    yield [row, row, OUT, 0], row @ row


@case("aclnnBatchMatMul", "aclnnBatchMatMulWeightNz", dtypes=PRODUCTS, tolerance=8)
def products_of_batches(make):
    a, b = make(4, 3, 5), make(4, 5, 2)
    return [a, b, OUT, 0], torch.bmm(a, b)


@case("aclnnAddmmWeightNz", "aclnnInplaceAddmm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_scaled_product_added(make, operator):
    self, a, b = make(3, 4), make(3, 5), make(5, 4)
    wanted = torch.addmm(self, a, b, beta=0.5, alpha=2.0)
    if operator == "aclnnInplaceAddmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnBaddbmm", "aclnnInplaceBaddbmm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def scaled_products_of_batches_added(make, operator):
    self, a, b = make(2, 3, 4), make(2, 3, 5), make(2, 5, 4)
    wanted = torch.baddbmm(self, a, b, beta=0.5, alpha=2.0)
    if operator == "aclnnInplaceBaddbmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnAddbmm", "aclnnInplaceAddbmm", dtypes=FLOATS_AND_DOUBLE, tolerance=16)
def all_products_of_a_batch_added(make, operator):
    self, a, b = make(3, 4), make(2, 3, 5), make(2, 5, 4)
    wanted = torch.addbmm(self.double(), a.double(), b.double(), beta=0.5, alpha=2.0).to(self)
    if operator == "aclnnInplaceAddbmm":
        return [Inplace(self), a, b, 0.5, 2.0, 0], wanted
    return [self, a, b, 0.5, 2.0, OUT, 0], wanted


@case("aclnnMv", dtypes=PRODUCTS, tolerance=8)
def a_matrix_with_a_vector(make):
    a, x = make(3, 5), make(5)
    return [a, x, OUT, 0], torch.mv(a, x)


@case("aclnnAddmv", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_matrix_with_a_vector_added(make):
    self, a, x = make(3), make(3, 5), make(5)
    return [self, a, x, 2.0, 0.5, OUT, 0], torch.addmv(self, a, x, alpha=2.0, beta=0.5)


@case("aclnnDot", dtypes=PRODUCTS, tolerance=8)
def two_vectors_to_a_number(make):
    a, b = make(7), make(7)
    return [a, b, OUT], torch.dot(a, b)


@case("aclnnGer", dtypes=PRODUCTS)
def two_vectors_to_a_matrix(make):
    a, b = make(3), make(4)
    return [a, b, OUT], torch.outer(a, b)


@case("aclnnAddr", "aclnnAddrV2", "aclnnInplaceAddr", "aclnnInplaceAddrV2", dtypes=PRODUCTS, tolerance=4)
def an_outer_product_added(make, operator):
    self, a, b = make(3, 4), make(3), make(4)
    wanted = torch.addr(self, a, b, beta=3, alpha=2)
    if "Inplace" in operator:
        yield [Inplace(self), a, b, 3, 2], wanted
        yield [Inplace(self), a, b, None, None], torch.addr(self, a, b)
    else:
        yield [self, a, b, 3, 2, OUT], wanted


@case("aclnnGemm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_product_of_transposed_matrices(make):
    a, b, c = make(5, 3), make(4, 5), make(3, 4)
    return [a, b, c, 2.0, 0.5, 1, 1, OUT, 0], torch.addmm(c, a.t(), b.t(), beta=0.5, alpha=2.0)


@case("aclnnTransposeBatchMatMul", "aclnnTransposeBatchMatMulWeightNz", dtypes=FLOATS, tolerance=8)
def a_product_whose_rows_come_first(make):
    a, b = make(3, 4, 5), make(4, 5, 2)
    product = torch.bmm(a.permute(1, 0, 2), b)
    yield [a, b, None, None, [1, 0, 2], [0, 1, 2], [1, 0, 2], 0, 1, OUT], product.permute(1, 0, 2)
    split = product.view(2, 2, 3, 2).permute(0, 2, 1, 3).reshape(2, 3, 4)
    yield [a, b, None, None, [1, 0, 2], [0, 1, 2], [1, 0, 2], 0, 2, OUT], split


@case("aclnnFusedMatmul", dtypes=FLOATS, tolerance=8)
def a_product_and_what_comes_after(make):
    a, b, c, bias = make(3, 5), make(5, 4), make(3, 4), make(4)
    yield [a, b, None, None, "", 0, OUT], a @ b
    yield [a, b, bias, None, "relu", 0, OUT], torch.addmm(bias, a, b).relu()
    yield [a, b, None, c, "add", 0, OUT], a @ b + c
    yield [a, b, None, c, "mul", 0, OUT], (a @ b) * c


@case("aclnnLinalgCross", dtypes=(*FLOATS_AND_DOUBLE, torch.int32), tolerance=4)
def cross_products(make):
    a, b = make(2, 3, 4), make(2, 3, 1)
    return [a, b, 1, OUT], torch.linalg.cross(a, b.expand(2, 3, 4), dim=1)


@case("aclnnEinsum", dtypes=PRODUCTS, tolerance=16)
def sums_of_products_by_letters(make):
    a, b, c, square = make(3, 4), make(4, 5), make(5, 2), make(2, 3, 3)
    batch, other = make(2, 3, 4), make(2, 4, 5)
    yield _einsum("ij,jk->ik", a, b)
    yield _einsum("ij,jk->ki", a, b)
    yield _einsum("ij->j", a)
    yield _einsum("ij->ji", a)
    yield _einsum("bij,bjk->bik", batch, other)
    yield _einsum("bij,bjk->ki", batch, other)
    yield _einsum("ij,kl->ikl", a, c)
    yield _einsum("bii->bi", square)
    yield _einsum("bii->", square)
    yield _einsum("ij,jk,kl->il", a, b, c)
    yield _einsum("ij,ij->i", a, a)


def _einsum(equation, *tensors):
    exact = [t.double() if t.is_floating_point() else t for t in tensors]
    return [list(tensors), equation, OUT], torch.einsum(equation, *exact).to(tensors[0])


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

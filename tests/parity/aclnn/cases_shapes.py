"""Order, sets, shapes: what moves elements without computing with them."""

import torch

from .harness import ALL, FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, Sized, case


@case("aclnnInplaceCopy", "aclnnCast", dtypes=ALL)
def a_copy_converts(make, operator):
    for dtype in (torch.float32, torch.int32, torch.float16, torch.bool):
        x = make(3, 4, low=0, high=3)
        if operator == "aclnnCast":
            yield [x, dtype, OUT], x.to(dtype)
        else:
            yield [Inplace(torch.zeros(3, 4, dtype=dtype)), x], x.to(dtype)
            yield [Inplace(torch.zeros(3, 4, dtype=dtype)), x[:1]], x[:1].to(dtype).expand(3, 4)


@case("aclnnCat", dtypes=ALL)
def tensors_side_by_side(make):
    a, b, c = make(2, 3), make(2, 1), make(2, 4)
    yield [[a, b, c], -1, OUT], torch.cat([a, b, c], -1)
    yield [[a, make(0), a], 0, OUT], torch.cat([a, a], 0)


@case("aclnnStack", dtypes=ALL)
def tensors_along_a_new_dimension(make):
    a, b = make(2, 3), make(2, 3)
    for dim in (0, 1, -1):
        yield [[a, b, a], dim, OUT], torch.stack([a, b, a], dim)


@case("aclnnSplitTensor", "aclnnSplitWithSize", dtypes=ALL)
def a_tensor_taken_apart(make, operator):
    x = make(3, 7)
    sizes = 3 if operator == "aclnnSplitTensor" else [3, 0, 4]
    parts = torch.split(x, sizes, 1)
    return [x, sizes, 1, [OUT] * len(parts)], parts


@case("aclnnChunkCat", dtypes=FLOATS_AND_DOUBLE)
def chunks_of_tensors_side_by_side(make):
    tensors = [make(5, 3), make(4), make(6, 2, 2)]
    yield [tensors, 0, 2, OUT], torch._chunk_cat(tensors, 0, 2)
    leading = [make(2, 5, 3), make(2, 4)]
    yield [leading, 1, 3, OUT], torch._chunk_cat(leading, 1, 3)


@case("aclnnPermute", dtypes=ALL)
def dimensions_in_another_order(make):
    x = make(2, 3, 4)
    return [x, [2, 0, -2], OUT], x.permute(2, 0, 1)


@case("aclnnConfusionTranspose", dtypes=ALL)
def a_permutation_and_a_shape(make):
    x = make(2, 3, 4)
    yield [x, [1, 0, 2], [3, 8], True, OUT], x.permute(1, 0, 2).reshape(3, 8)
    yield [x, [1, 0], [6, 4], False, OUT], x.reshape(6, 4).permute(1, 0)


@case("aclnnExpand", "aclnnExpandv", dtypes=ALL)
def a_broadcast_made_real(make):
    x = make(3, 1)
    return [x, [2, -1, 4], OUT], x.expand(2, 3, 4)


@case("aclnnFlip", dtypes=ALL)
def dimensions_turned_round(make):
    x = make(2, 3, 4)
    yield [x, [0, -1], OUT], x.flip(0, 2)
    yield [x, [1], OUT], x.flip(1)


@case("aclnnRoll", dtypes=ALL)
def dimensions_turned_like_a_wheel(make):
    x = make(4, 5)
    yield [x, [1, -2], [0, 1], OUT], x.roll((1, -2), (0, 1))
    yield [x, [7], [-1], OUT], x.roll(7, -1)
    yield [x, [3], [], OUT], x.roll(3)


@case("aclnnRepeat", dtypes=ALL)
def tiles(make):
    x = make(2, 3)
    yield [x, [2, 1, 3], OUT], x.repeat(2, 1, 3)
    yield [x, [1, 0], OUT], x.repeat(1, 0)


@case("aclnnRepeatInterleave", "aclnnRepeatInterleaveInt", dtypes=ALL)
def every_element_several_times(make, operator):
    x = make(2, 3)
    if operator.endswith("Int"):
        return [x, 2, 12, OUT], x.repeat_interleave(2)
    repeats = torch.tensor([1, 0, 2, 3, 1, 1])
    return [x, repeats, 8, OUT], x.repeat_interleave(repeats)


@case("aclnnRepeatInterleaveWithDim", "aclnnRepeatInterleaveIntWithDim", dtypes=ALL)
def every_slice_several_times(make, operator):
    x = make(2, 3, 2)
    if "Int" in operator.removeprefix("aclnnRepeatInterleave"):
        return [x, 2, -2, 6, OUT], x.repeat_interleave(2, 1)
    return _slices_by_counts(x)


def _slices_by_counts(x):
    counts = torch.tensor([1, 0, 2], dtype=torch.int32)
    return [x, counts, 1, 3, OUT], x.repeat_interleave(counts, 1)


@case("aclnnRepeatInterleaveTensor", dtypes=(torch.int32, torch.int64))
def the_numbers_of_repeated_elements(make):
    repeats = make(5, low=0)
    result = torch.repeat_interleave(repeats)
    return [repeats, result.numel(), OUT], result


@case("aclnnRepeatInterleaveGrad", dtypes=FLOATS_AND_DOUBLE)
def what_repetitions_got_adds_up(make):
    counts = torch.tensor([1, 0, 2])
    grad = make(2, 3, 2)
    wanted = torch.stack(
        [grad[:, 0], torch.zeros_like(grad[:, 0]), (grad[:, 1].double() + grad[:, 2].double()).to(grad)], 1
    )
    yield [grad, counts, 1, OUT], wanted
    even = make(2, 4)
    yield [even, torch.tensor([2]), 1, OUT], even.double().view(2, 2, 2).sum(-1).to(even)


@case("aclnnSlice", dtypes=ALL)
def every_second_row(make):
    x = make(5, 6)
    yield [x, 1, 1, 6, 2, OUT], x[:, 1:6:2]
    yield [x, 0, -3, 100, 1, OUT], x[-3:]
    yield [x, 0, 3, 2, 1, OUT], x[3:2]


@case("aclnnSliceV2", dtypes=ALL)
def slices_along_several_dimensions(make):
    x = make(5, 6, 3)
    return [x, [1, -2], [4, 6], [0, -1], [2, 1], OUT], x[1:4:2, :, -2:6]


@case("aclnnStridedSlice", dtypes=ALL)
def slices_with_masks(make):
    x = make(5, 6, 3)
    yield [x, [1, 0], [4, 5], [1, 2], 0, 0, 0, 0, 0, OUT], x[1:4, 0:5:2]
    yield [x, [1, 9, 9], [4, 9, 9], [1, 1, 1], 6, 6, 0, 0, 0, OUT], x[1:4]
    yield [x, [2, 0, 1], [3, 0, 2], [1, 1, 1], 0, 0, 2, 0, 1, OUT], x[2, ..., 1:2]
    yield [x, [0, 1], [0, 3], [1, 1], 0, 0, 0, 1, 0, OUT], x[None, 1:3]
    yield [x, [4], [0], [-2], 0, 1, 0, 0, 0, OUT], x.flip(0)[::2]


@case("aclnnStridedSliceAssignV2", dtypes=ALL)
def slices_written(make):
    x, value = make(5, 6), make(2, 3)
    wanted = x.clone()
    wanted[1:4:2, 0:6:2] = value
    return [Inplace(x), value, [1, 0], [4, 6], [2, 2], [0, 1]], wanted


@case("aclnnAsStrided", dtypes=ALL)
def a_window_on_the_elements(make):
    x = make(4, 6)
    return [x, [3, 2, 2], [6, 1, 2], [1], OUT], x.as_strided((3, 2, 2), (6, 1, 2), 1)


@case("aclnnViewCopy", dtypes=ALL)
def a_window_copied_to_another(make):
    target, source = make(4, 6), make(5, 5)
    wanted = target.clone()
    wanted.as_strided((2, 3), (6, 2), 1).copy_(source.as_strided((2, 3), (1, 5), 2))
    numbers = [torch.tensor(n) for n in ([2, 3], [6, 2], [1], [2, 3], [1, 5], [2])]
    return [target, *numbers[:3], source, *numbers[3:], OUT], wanted


@case("aclnnTril", "aclnnTriu", "aclnnInplaceTril", "aclnnInplaceTriu", dtypes=ALL)
def triangles(make, operator):
    x = make(2, 4, 5)
    function = torch.tril if operator.endswith("Tril") else torch.triu
    for diagonal in (0, 2, -1):
        if "Inplace" in operator:
            yield [Inplace(x), diagonal], function(x, diagonal)
        else:
            yield [x, diagonal, OUT], function(x, diagonal)


@case("aclnnDiag", dtypes=ALL)
def diagonals_and_matrices_of_them(make):
    x, row = make(4, 5), make(3)
    for diagonal in (0, 1, -2):
        yield [x, diagonal, OUT], torch.diag(x, diagonal)
        yield [row, diagonal, OUT], torch.diag(row, diagonal)


@case("aclnnDiagFlat", dtypes=ALL)
def all_elements_on_a_diagonal(make):
    x = make(2, 3)
    return [x, 1, OUT], torch.diagflat(x, 1)


@case("aclnnDiagPart", dtypes=ALL)
def the_diagonal_of_a_tensor(make):
    x, matrix = make(2, 3, 2, 3), make(4, 4)
    yield [x, OUT], torch.einsum("ijij->ij", x) if make.dtype.is_floating_point else _diagonal(x)
    yield [matrix, OUT], matrix.diagonal()


def _diagonal(x):
    return x.diagonal(0, 0, 2).diagonal(0, 0, 1)


@case("aclnnSort", dtypes=ALL)
def elements_in_order(make):
    x = make(4, 6)
    for dim, descending in ((1, False), (0, True)):
        values, indices = torch.sort(x, stable=True, dim=dim, descending=descending)
        yield [x, True, dim, descending, OUT, OUT], (values, indices)


@case("aclnnArgsort", dtypes=ALL)
def the_places_of_elements_in_order(make):
    x = make(4, 6)
    return [x, -1, False, OUT], torch.argsort(x, dim=-1, stable=True)


@case("aclnnSortWithIndex", dtypes=ALL)
def labels_that_follow_their_elements(make):
    x, labels = make(4, 6), make.index(4, 6, below=100, dtype=torch.int32)
    values, order = torch.sort(x, stable=True, dim=-1, descending=True)
    return [x, labels, -1, True, True, OUT, OUT], (values, labels.gather(1, order))


@case("aclnnTopk", "aclnnTopkV2", dtypes=FLOATS_AND_DOUBLE)
def the_largest_elements(make, operator):
    x = torch.randperm(24, generator=make.generator).view(4, 6).to(make.dtype)
    policy = [0] if operator == "aclnnTopkV2" else []
    for dim, largest in ((-1, True), (0, False)):
        yield [x, 3, dim, largest, True, *policy, OUT, OUT], tuple(torch.topk(x, 3, dim, largest))


@case("aclnnKthvalue", dtypes=NUMBERS)
def the_third_smallest_element(make):
    x = torch.randperm(24, generator=make.generator).view(4, 6).to(make.dtype)
    for keep in (False, True):
        yield [x, 3, 1, keep, OUT, OUT], tuple(torch.kthvalue(x, 3, 1, keep))


def _coarse(x):
    """Few different numbers."""
    return x.round() if x.is_floating_point() else x


@case("aclnnUnique", dtypes=ALL)
def the_different_elements(make):
    x = _coarse(make(4, 6))
    values, inverse = torch.unique(x, return_inverse=True)
    yield [x, True, True, Sized(24), OUT], (values, inverse)


@case("aclnnUnique2", dtypes=ALL)
def the_different_elements_with_their_counts(make):
    x = _coarse(make(4, 6))
    yield (
        [x, True, True, True, Sized(24), OUT, Sized(24)],
        torch.unique(x, return_inverse=True, return_counts=True),
    )
    values, counts = torch.unique(x, return_counts=True)
    nothing = torch.zeros(0, dtype=torch.int64)
    yield [x, True, False, True, Sized(24), OUT, Sized(24)], (values, nothing, counts)


@case("aclnnUniqueDim", dtypes=ALL)
def the_different_slices(make):
    x = _coarse(make(6, 2, 3, low=0, high=1))
    x[3] = x[0]
    yield (
        [x, True, True, 0, Sized(6, 2, 3), OUT, Sized(6)],
        torch.unique(x, return_inverse=True, return_counts=True, dim=0),
    )
    y = x.permute(1, 2, 0).contiguous()
    yield (
        [y, True, True, -1, Sized(2, 3, 6), OUT, Sized(6)],
        torch.unique(y, return_inverse=True, return_counts=True, dim=2),
    )


@case("aclnnUniqueConsecutive", dtypes=ALL)
def the_different_neighbours(make):
    x = _coarse(make(4, 6, low=0, high=1))
    yield (
        [x, True, True, 1000, Sized(24), OUT, Sized(24)],
        torch.unique_consecutive(x, return_inverse=True, return_counts=True),
    )
    rows = x[[0, 0, 1, 2, 2, 2]]
    yield (
        [rows, True, True, 0, Sized(6, 6), OUT, Sized(6)],
        torch.unique_consecutive(rows, return_inverse=True, return_counts=True, dim=0),
    )


@case("aclnnApplyTopKTopP", dtypes=FLOATS_AND_DOUBLE[:3])
def the_logits_that_sampling_considers(make):
    logits = torch.randperm(24, generator=make.generator).view(3, 8).to(make.dtype) / 4
    k, p = torch.tensor([3, 8, 1], dtype=torch.int32), torch.tensor([0.9, 0.5, 0.7]).to(make.dtype)
    yield [logits, None, k, OUT], _likeliest(logits, None, k)
    yield [logits, p, None, OUT], _likeliest(logits, p, None)
    yield [logits, p, k, OUT], _likeliest(logits, p, k)


def _likeliest(logits, p, k):
    values, order = logits.float().sort(dim=-1, stable=True)
    if k is not None:
        values = values.masked_fill(values < values.gather(1, 8 - k.long()[:, None]), -torch.inf)
    if p is not None:
        gone = values.softmax(-1).cumsum(-1) <= 1 - p.float()[:, None]
        gone[:, -1] = False
        values = values.masked_fill(gone, -torch.inf)
    return torch.empty_like(values).scatter_(1, order, values).to(logits)

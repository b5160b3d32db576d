"""Reading and writing through indices and masks."""

import torch

from .harness import ALL, EVERYTHING, FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, Sized, case


@case("aclnnIndexSelect", dtypes=ALL)
def rows_and_columns_by_their_numbers(make):
    x = make(4, 5, 3)
    for dim, size in ((0, 4), (-2, 5), (2, 3)):
        index = make.index(6, below=size)
        yield [x, dim, index, OUT], x.index_select(dim, index)
    short = make.index(2, below=4, dtype=torch.int32)
    yield [x, 0, short, OUT], x.index_select(0, short)
    yield [x[0, 0], 0, torch.tensor(1), OUT], x[0, 0, 1:2]


@case("aclnnGather", dtypes=ALL)
def elements_along_a_dimension(make):
    x = make(4, 5)
    index = make.index(3, 5, below=4)
    yield [x, 0, index, OUT], x.gather(0, index)
    narrow = make.index(4, 2, below=5)
    yield [x, -1, narrow.int(), OUT], x.gather(1, narrow)


@case("aclnnGatherV2", dtypes=ALL)
def slices_by_an_index_of_several_dimensions(make):
    x = make(4, 5, 3)
    index = make.index(2, 3, below=5)
    yield [x, 1, index, OUT], x[:, index]
    yield [x, 0, torch.tensor(2), OUT], x[2]


@case("aclnnGatherV3", dtypes=ALL)
def slices_with_batches_of_indices(make):
    x = make(4, 5, 3)
    index = make.index(2, 3, below=5)
    yield [x, 1, index, 0, 0, OUT], x[:, index]
    batched = make.index(4, 2, below=5)
    yield [x, 1, batched, 1, 1, OUT], torch.stack([x[i][batched[i]] for i in range(4)])


@case("aclnnGatherNd", dtypes=ALL)
def slices_by_coordinates(make):
    x = make(4, 5, 3)
    index = torch.stack([make.index(2, 3, below=4), make.index(2, 3, below=5)], -1)
    yield [x, index, False, OUT], x[index[..., 0], index[..., 1]]
    yield [x, torch.tensor([[-1], [0]]), True, OUT], x[[-1, 0]]


@case("aclnnTake", dtypes=ALL)
def elements_by_their_place(make):
    x = make(4, 5)
    index = make.index(2, 3, below=20) - 3
    return [x, index, OUT], torch.take(x, index)


@case("aclnnIndex", dtypes=ALL)
def several_indices_at_once(make):
    x = make(4, 5, 3)
    i, j, k = make.index(2, 1, below=4), make.index(1, 3, below=5), make.index(6, below=3) - 1
    whole = torch.empty(0, dtype=torch.int64)
    yield [x, [i, j], OUT], x[i, j]
    yield [x, [whole, whole, k], OUT], x[:, :, k]
    yield [x, [i, whole, k[:1]], OUT], x[i, :, k[:1]]
    yield [x, [whole, j.int()], OUT], x[:, j]
    mask = make(4, 5, dtype=torch.bool)
    yield [x, [mask], OUT], x[mask]
    yield [x, [whole, mask[0]], OUT], x[:, mask[0]]


@case("aclnnIndexPutImpl", dtypes=ALL)
def values_put_where_indices_say(make):
    x, i, j = make(4, 5), torch.tensor([0, 3, 1]), torch.tensor([4, 2, 4])
    values, whole = make(3), torch.empty(0, dtype=torch.int64)
    yield [Inplace(x), [i, j], values, False, False], x.index_put((i, j), values)
    row = make(1, 5)
    yield [Inplace(x), [i], row, False, False], x.index_put((i,), row)
    mask = make(4, 5, dtype=torch.bool)
    one = make(1)
    yield [Inplace(x), [mask], one, False, False], x.masked_fill(mask, one[0])
    column = make(4, 1)
    yield [Inplace(x), [whole, j[:1]], column, False, False], _put_column(x, j[:1], column)


def _put_column(x, j, column):
    result = x.clone()
    result[:, j] = column
    return result


@case("aclnnIndexPutImpl", dtypes=NUMBERS)
def values_added_where_indices_meet(make):
    x, i, values = make(4, 5), torch.tensor([0, 3, 0]), make(3, 5)
    return [Inplace(x), [i], values, True, False], x.index_put((i,), values, accumulate=True)


@case("aclnnScatter", dtypes=ALL)
def elements_written_along_a_dimension(make):
    x, src, index = make(4, 5), make(3, 5), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 1], [2, 3, 0, 1, 2]])
    yield [x, 0, index, src, 0, OUT], x.scatter(0, index, src)
    yield [x, 0, index[:2, :3].int(), src, 0, OUT], x.scatter(0, index[:2, :3], src)


@case("aclnnScatter", "aclnnInplaceScatter", dtypes=NUMBERS)
def elements_added_and_multiplied_along_a_dimension(make, operator):
    x, src, index = make(4, 5), make(4, 3), make.index(4, 3, below=5)
    for code, reduce in ((1, "add"), (2, "multiply")):
        wanted = x.scatter_reduce(1, index, src, {"add": "sum", "multiply": "prod"}[reduce])
        if operator == "aclnnScatter":
            yield [x, 1, index, src, code, OUT], wanted
        else:
            yield [Inplace(x), 1, index, src, code], wanted


@case("aclnnScatterAdd", dtypes=NUMBERS)
def elements_added_where_they_meet(make):
    x, src, index = make(4, 5), make(4, 3), make.index(4, 3, below=5)
    return [x, 1, index, src, OUT], x.scatter_add(1, index, src)


@case("aclnnScatterValue", "aclnnInplaceScatterValue", dtypes=NUMBERS)
def one_number_written_along_a_dimension(make, operator):
    x, index = make(4, 5), make.index(4, 3, below=5)
    for code, reduce in ((0, None), (1, "add"), (2, "multiply")):
        wanted = x.scatter(1, index, 2, reduce=reduce) if reduce else x.scatter(1, index, 2)
        if operator == "aclnnScatterValue":
            yield [x, 1, index, 2, code, OUT], wanted
        else:
            yield [Inplace(x), 1, index, 2, code], wanted


@case("aclnnScatterReduce", "aclnnInplaceScatterReduce", dtypes=NUMBERS, tolerance=4)
def elements_that_meet_are_reduced(make, operator):
    x, src, index = make(4, 5), make(3, 5), make.index(3, 5, below=4)
    for code, reduce in ((1, "sum"), (2, "prod"), (3, "amax"), (4, "amin"), (5, "mean")):
        for include in (True, False):
            wanted = x.scatter_reduce(0, index, src, reduce, include_self=include)
            if operator == "aclnnScatterReduce":
                yield [x, 0, index, src, code, include, OUT], wanted
            else:
                yield [Inplace(x), 0, index, src, code, include], wanted


@case("aclnnIndexAdd", "aclnnIndexAddV2", dtypes=NUMBERS)
def slices_added_to_the_rows_an_index_names(make, operator):
    x, source, index = make(4, 5), make(4, 3), make.index(3, below=5)
    mode = [0] if operator == "aclnnIndexAddV2" else []
    yield [x, 1, index, source, 2, *mode, OUT], x.index_add(1, index, source, alpha=2)
    yield [x, -1, index.int(), source, 1, *mode, OUT], x.index_add(1, index, source)


@case("aclnnIndexCopy", "aclnnInplaceIndexCopy", dtypes=ALL)
def slices_copied_to_the_rows_an_index_names(make, operator):
    x, source, index = make(4, 5), make(2, 5), torch.tensor([3, 0])
    wanted = x.index_copy(0, index, source)
    if operator == "aclnnIndexCopy":
        return [x, 0, index, source, OUT], wanted
    return [Inplace(x), 0, index, source], wanted


@case(
    "aclnnIndexFill",
    "aclnnInplaceIndexFill",
    "aclnnIndexFillTensor",
    "aclnnInplaceIndexFillTensor",
    dtypes=ALL,
)
def slices_filled_with_one_number(make, operator):
    x, index = make(4, 5), torch.tensor([3, 0, -1])
    wanted = x.index_fill(1, index, 1)
    given = [3, 0, -1] if operator.endswith("Tensor") else index
    if "Inplace" in operator:
        return [Inplace(x), 1, given, 1], wanted
    return [x, 1, given, 1, OUT], wanted


@case("aclnnScatterNd", "aclnnScatterNdUpdate", dtypes=ALL)
def slices_written_at_coordinates(make, operator):
    x, index, updates = make(4, 5, 3), torch.tensor([[0, 1], [3, 4]]), make(2, 3)
    wanted = x.index_put((index[:, 0], index[:, 1]), updates)
    if operator == "aclnnScatterNd":
        return [x, index, updates, OUT], wanted
    return [Inplace(x), index.int(), updates], wanted


@case("aclnnTfScatterAdd", "aclnnScatterMul", "aclnnScatterMax", "aclnnScatterMin", dtypes=NUMBERS)
def rows_combined_with_updates(make, operator):
    x, index, updates = make(4, 5), torch.tensor([[0], [3], [0]]), make(3, 1, 5)
    how = {"Add": "sum", "Mul": "prod", "Max": "amax", "Min": "amin"}[operator[-3:]]
    wanted = x.scatter_reduce(0, index.expand(3, 5), updates[:, 0], how)
    return [Inplace(x), index, updates, *([] if operator.endswith("Add") else [False])], wanted


@case("aclnnInplacePut", dtypes=ALL)
def elements_put_by_their_place(make):
    x, index, source = make(4, 5), torch.tensor([[3, 0], [-1, 7]]), make(2, 2)
    return [Inplace(x), index, source, False], x.put(index, source)


@case("aclnnInplacePut", dtypes=NUMBERS)
def elements_added_by_their_place(make):
    x, index, source = make(4, 5), torch.tensor([3, 0, 3]), make(3)
    return [Inplace(x), index, source, True], x.put(index, source, accumulate=True)


@case("aclnnInplaceScatterUpdate", dtypes=NUMBERS)
def a_cache_gets_new_entries_at_its_positions(make):
    cache, new, at = make(3, 2, 6, 4), make(3, 2, 1, 4), torch.tensor([5, 0, 2])
    wanted = cache.clone()
    for b in range(3):
        wanted[b, :, at[b]] = new[b, :, 0]
    yield [Inplace(cache), at, new, -2], wanted
    named, pairs = cache.clone(), torch.tensor([[2, 1], [0, 3]])
    for b, (batch, start) in enumerate(pairs):
        named[batch, :, start] = new[b, :, 0]
    yield [Inplace(cache), pairs.int(), new[:2], -2], named


@case("aclnnInplaceMaskedScatter", dtypes=ALL)
def a_mask_takes_elements_in_order(make):
    x, mask, source = make(4, 5), make(4, 5, dtype=torch.bool), make(6, 5)
    return [Inplace(x), mask, source], x.masked_scatter(mask, source)


@case("aclnnMaskedSelect", dtypes=ALL)
def the_elements_under_a_mask(make):
    x, mask = make(4, 5), make(4, 5, dtype=torch.bool)
    yield [x, mask, Sized(20)], x.masked_select(mask)
    yield [x, mask[0], Sized(20)], x.masked_select(mask[0])
    yield [x, torch.zeros(4, 5, dtype=torch.bool), Sized(20)], x[:0, 0]


@case("aclnnNonzero", dtypes=ALL)
def coordinates_of_what_is_not_zero(make):
    x = make(4, 5) * make(4, 5, low=0, high=1, dtype=torch.int8).to(make.dtype)
    yield [x, Sized(20, 2)], x.nonzero()
    yield [x[0], Sized(5, 1)], x[0].nonzero()


@case("aclnnNonzeroV2", dtypes=ALL)
def coordinates_of_what_is_not_zero_as_columns(make):
    x = make(4, 5) * make(4, 5, low=0, high=1, dtype=torch.int8).to(make.dtype)
    return [x, Sized(2, 20)], x.nonzero().t()


@case("aclnnMaskedScale", dtypes=FLOATS_AND_DOUBLE)
def what_a_mask_keeps_is_scaled(make):
    x, mask = make(4, 5), make(4, 5, dtype=torch.bool)
    yield [x, mask, 2.0, OUT], x * mask * 2.0
    yield [x, mask.to(torch.uint8), 0.5, OUT], x * mask * 0.5


@case("aclnnScatterList", dtypes=NUMBERS)
def a_list_of_caches_gets_new_entries(make):
    caches, new = [make(2, 6, 4) for _ in range(3)], make(3, 2, 2, 4)
    at, mask = torch.tensor([4, 0, 2]), torch.tensor([1, 0, 1], dtype=torch.uint8)
    written = [cache.clone() for cache in caches]
    for b in (0, 2):
        written[b][:, at[b] : at[b] + 2] = new[b]
    yield [[Inplace(cache) for cache in caches], at, new, mask, "update", -2], tuple(written)
    pairs, shorter = torch.tensor([[1, 2], [5, 1], [3, 0]]), [cache.clone() for cache in caches]
    for b, (start, length) in enumerate(pairs.tolist()):
        shorter[b][:, start : start + length] = new[b, :, :length]
    yield [[Inplace(cache) for cache in caches], pairs, new, None, None, -2], tuple(shorter)


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


@case("aclnnSWhere", dtypes=EVERYTHING)
def one_or_the_other(make):
    condition = make(3, 4, dtype=torch.bool)
    a, b = make(3, 4), make(4)
    yield [condition, a, b, OUT], torch.where(condition, a, b)
    yield [condition[:1], a, b, OUT], torch.where(condition[:1], a, b)


@case("aclnnInplaceMaskedFillScalar", dtypes=ALL)
def a_mask_is_filled_with_a_number(make):
    x, mask = make(4, 5), make(4, 5, dtype=torch.bool)
    yield [Inplace(x), mask, 1], x.masked_fill(mask, 1)
    yield [Inplace(x), mask[:1], 0], x.masked_fill(mask[:1], 0)


@case("aclnnInplaceMaskedFillTensor", dtypes=ALL)
def a_mask_is_filled_with_an_element(make):
    x, mask, value = make(4, 5), make(5, dtype=torch.bool), make(1)
    return [Inplace(x), mask, value], x.masked_fill(mask, value[0])

"""Order, medians, sets and counts."""

import torch

from .harness import ALL, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Sized, case


@case("aclnnSearchSorted", dtypes=NUMBERS)
def places_in_sorted_rows(make):
    rows, values = make(3, 6).sort(-1).values, make(3, 4)
    for right in (False, True):
        yield [rows, values, False, right, None, OUT], torch.searchsorted(rows, values, right=right)
        yield (
            [rows[0].clone(), values, True, right, None, OUT],
            torch.searchsorted(rows[0].contiguous(), values, right=right, out_int32=True),
        )
    unsorted = make(3, 6)
    order = unsorted.argsort(-1)
    yield [unsorted, values, False, False, order, OUT], torch.searchsorted(unsorted, values, sorter=order)


@case("aclnnSearchSorteds", dtypes=NUMBERS)
def the_place_of_a_number_in_a_sorted_row(make):
    row = make(6).sort(-1).values
    return [row, 1, False, True, None, OUT], torch.searchsorted(row, 1, right=True)


@case("aclnnBucketize", dtypes=NUMBERS)
def the_interval_each_value_falls_into(make):
    bounds, values = make(6).sort(-1).values, make(4, 5)
    yield [values, bounds, False, False, OUT], torch.bucketize(values, bounds)
    yield [values, bounds, True, True, OUT], torch.bucketize(values, bounds, out_int32=True, right=True)


@case("aclnnMedian", "aclnnNanMedian", dtypes=NUMBERS)
def the_median_of_everything(make, operator):
    function = torch.median if operator == "aclnnMedian" else torch.nanmedian
    x = make(3, 4)
    yield [x, OUT], function(x)
    if x.dtype.is_floating_point:
        x[1, 1] = float("nan")
        yield [x, OUT], function(x)


@case("aclnnMedianDim", "aclnnNanMedianDim", dtypes=FLOATS_AND_DOUBLE)
def a_median_and_its_place(make, operator):
    function = torch.median if operator == "aclnnMedianDim" else torch.nanmedian
    x = make(3, 5)
    for dim, keep in [(1, False), (0, True)]:
        yield [x, dim, keep, OUT, OUT], tuple(function(x, dim, keepdim=keep))


@case("aclnnCummax", "aclnnCummin", dtypes=ALL)
def running_extremes(make, operator):
    function = torch.cummax if operator == "aclnnCummax" else torch.cummin
    x = make(3, 5)
    values, indices = function(x, 1)
    yield [x, 1, OUT, OUT], (values, indices)
    yield [x, 1, OUT, OUT], (values, indices.to(torch.int32))


@case("aclnnHistc", dtypes=(torch.float32, torch.float64))
def counts_in_bins(make):
    x = make(50)
    yield [x, 7, 0.0, 0.0, OUT], torch.histc(x, 7)
    yield [x, 4, -1.0, 2.0, OUT], torch.histc(x, 4, -1.0, 2.0)


@case("aclnnHistc", dtypes=(torch.float16, *INTEGERS))
def counts_in_bins_of_small_numbers(make):
    x = make(50)
    return [x, 4, -2, 2, OUT], torch.histc(x.float(), 4, -2, 2).to(x.dtype)


@case("aclnnBincount", dtypes=INTEGERS)
def counts_of_values(make):
    x = make(20, low=0, high=5)
    yield [x, None, 0, OUT], torch.bincount(x)
    yield [x, None, 9, OUT], torch.bincount(x, minlength=9)
    for dtype in (torch.float32, torch.float64):
        weights = make(20, dtype=dtype)
        expected = torch.bincount(x, weights)
        yield [x, weights, 0, OUT], expected


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

"""Reductions, running reductions, medians and counts."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Inplace, case

DIMS = [([1], False), ([0], True), ([0, -1], False), ([], False)]


def over(dims):
    return dims or None


@case("aclnnReduceSum", dtypes=(*NUMBERS, torch.bool, *COMPLEX), tolerance=4)
def a_sum_over_dimensions(make):
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        expected = torch.sum(x, over(dims), keepdim=keep)
        yield [x, dims, keep, expected.dtype, OUT], expected
    yield [make(0, 3), [0], False, x.dtype, OUT], torch.zeros(3, dtype=x.dtype)


@case("aclnnReduceNansum", dtypes=FLOATS, tolerance=4)
def a_sum_of_what_is_a_number(make):
    x = make(2, 3, 4)
    x[0, 1, 2] = float("nan")
    for dims, keep in DIMS:
        yield [x, dims, keep, x.dtype, OUT], torch.nansum(x, over(dims), keepdim=keep)


@case("aclnnMean", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_mean_over_dimensions(make):
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        yield [x, dims, keep, x.dtype, OUT], torch.mean(x, over(dims), keepdim=keep)


@case("aclnnMeanV2", "aclnnMaxV2", dtypes=FLOATS, tolerance=4)
def no_dimensions_may_mean_none(make, operator):
    function = torch.mean if "Mean" in operator else torch.amax
    x = make(2, 3, 4)
    yield [x, [1], True, False, OUT], function(x, [1], keepdim=True)
    yield [x, [], False, False, OUT], function(x, [0, 1, 2])
    yield [x, [], False, True, OUT], x


@case("aclnnProd", dtypes=ALL, tolerance=8)
def the_product_of_everything(make):
    x = make(2, 3)
    expected = torch.prod(x)
    return [x, expected.dtype, OUT], expected


@case("aclnnProdDim", dtypes=ALL, tolerance=8)
def a_product_over_a_dimension(make):
    x = make(2, 3, 4)
    for dim, keep in [(1, False), (-1, True)]:
        expected = torch.prod(x, dim, keepdim=keep)
        yield [x, dim, keep, expected.dtype, OUT], expected


@case("aclnnAll", "aclnnAny", dtypes=ALL)
def whether_all_or_any(make, operator):
    function = torch.all if operator == "aclnnAll" else torch.any
    x = make(2, 3, 4)
    for dims, keep in DIMS[:3]:
        yield [x, dims, keep, OUT], function(x != 0, dims, keepdim=keep)


@case("aclnnAmax", "aclnnAmin", dtypes=ALL)
def an_extreme_over_dimensions(make, operator):
    function = torch.amax if operator == "aclnnAmax" else torch.amin
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        yield [x, dims, keep, OUT], function(x, dims, keepdim=keep)


@case("aclnnMax", "aclnnMin", dtypes=ALL)
def the_extreme_of_everything(make, operator):
    x = make(3, 4)
    if x.dtype.is_floating_point:
        yield [x, OUT], (x.max() if operator == "aclnnMax" else x.min())
        x[1, 1] = float("nan")
    yield [x, OUT], (x.max() if operator == "aclnnMax" else x.min())


@case("aclnnMaxDim", "aclnnMinDim", dtypes=ALL)
def an_extreme_and_its_place(make, operator):
    function = torch.max if operator == "aclnnMaxDim" else torch.min
    x = make(3, 4)
    for dim, keep in [(1, False), (0, True)]:
        yield [x, dim, keep, OUT, OUT], tuple(function(x, dim, keepdim=keep))


@case("aclnnArgMax", "aclnnArgMin", dtypes=NUMBERS)
def the_place_of_an_extreme(make, operator):
    function = torch.argmax if operator == "aclnnArgMax" else torch.argmin
    x = make(3, 4)
    for dim, keep in [(1, False), (0, True)]:
        yield [x, dim, keep, OUT], function(x, dim, keepdim=keep)


@case("aclnnAminmax", dtypes=NUMBERS)
def both_extremes_over_dimensions(make):
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        yield (
            [x, dims, keep, OUT, OUT],
            (torch.amin(x, dims, keepdim=keep), torch.amax(x, dims, keepdim=keep)),
        )


@case("aclnnAminmaxAll", "aclnnAminmaxDim", dtypes=NUMBERS)
def both_extremes(make, operator):
    x = make(3, 4)
    if operator == "aclnnAminmaxAll":
        yield [x, OUT, OUT], tuple(torch.aminmax(x))
    else:
        for keep in (False, True):
            yield [x, 1, keep, OUT, OUT], tuple(torch.aminmax(x, dim=1, keepdim=keep))


# ---- norms and moments -----------------------------------------------------------------------------

ORDERS = (0.0, 0.5, 1.0, 2.0, 3.0, float("inf"), -float("inf"))


@case("aclnnNorm", dtypes=(*FLOATS_AND_DOUBLE, *COMPLEX), tolerance=8)
def a_norm_over_dimensions(make):
    x = make(2, 3, 4)
    for order in ORDERS:
        for dims, keep in DIMS:
            expected = torch.linalg.vector_norm(x, order, over(dims), keepdim=keep)
            yield [x, order, dims, keep, OUT], expected


@case("aclnnLinalgVectorNorm", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def a_norm_in_a_dtype_of_its_own(make):
    x = make(2, 3, 4)
    for order in ORDERS:
        yield [x, order, [1], True, x.dtype, OUT], torch.linalg.vector_norm(x, order, [1], keepdim=True)
    yield (
        [x, 2.0, [], False, torch.float64, OUT],
        torch.linalg.vector_norm(x, 2.0, dtype=torch.float64),
    )


@case("aclnnLogSumExp", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def the_logarithm_of_a_sum_of_exponentials(make):
    x = make(2, 3, 4)
    x[0, 0] = -float("inf")
    for dims, keep in DIMS[:3]:
        yield [x, dims, keep, OUT], torch.logsumexp(x, dims, keepdim=keep)
    yield [x + 100, [2], False, OUT], torch.logsumexp(x + 100, [2])


@case("aclnnVar", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_variance(make):
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        for unbiased in (False, True):
            expected = torch.var(x, dims or [0, 1, 2], unbiased=unbiased, keepdim=keep)
            yield [x, dims, unbiased, keep, OUT], expected


@case("aclnnVarCorrection", "aclnnStd", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_spread_with_a_correction(make, operator):
    function = torch.std if operator == "aclnnStd" else torch.var
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        for correction in (0, 2):
            expected = function(x, over(dims), correction=correction, keepdim=keep)
            yield [x, dims, correction, keep, OUT], expected


@case("aclnnVarMean", "aclnnStdMeanCorrection", dtypes=FLOATS_AND_DOUBLE, tolerance=4)
def a_spread_and_a_mean(make, operator):
    function = torch.var_mean if operator == "aclnnVarMean" else torch.std_mean
    x = make(2, 3, 4)
    for dims, keep in DIMS:
        yield [x, dims, 1, keep, OUT, OUT], tuple(function(x, over(dims), correction=1, keepdim=keep))


@case("aclnnTrace", dtypes=NUMBERS, tolerance=4)
def the_sum_of_a_diagonal(make):
    for shape in [(3, 4), (4, 3)]:
        x = make(*shape)
        expected = torch.trace(x.float()).to(x.dtype) if x.dtype == torch.bfloat16 else torch.trace(x)
        yield [x, OUT], expected


# ---- medians ---------------------------------------------------------------------------------------


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


# ---- running reductions ----------------------------------------------------------------------------


@case("aclnnCumsum", dtypes=(*ALL, *COMPLEX), tolerance=4)
def running_sums(make):
    x = make(3, 4)
    for dim in (0, -1):
        expected = torch.cumsum(x, dim)
        yield [x, dim, expected.dtype, OUT], expected


@case("aclnnCumprod", dtypes=ALL, tolerance=8)
def running_products(make):
    x = make(3, 4)
    expected = torch.cumprod(x, 1)
    return [x, 1, expected.dtype, OUT], expected


@case("aclnnInplaceCumprod", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def running_products_in_place(make):
    x = make(3, 4)
    return [Inplace(x), 1], torch.cumprod(x, 1)


@case("aclnnCumsumV2", dtypes=(*FLOATS, torch.int32), tolerance=4)
def running_sums_from_either_end_with_or_without_oneself(make):
    x = make(3, 4)
    for exclusive in (False, True):
        for reverse in (False, True):
            y = x.flip(1) if reverse else x
            expected = torch.cumsum(y, 1, dtype=x.dtype)
            if exclusive:
                expected = torch.cat([torch.zeros_like(y[:, :1]), expected[:, :-1]], 1)
            yield [x, 1, exclusive, reverse, OUT], expected.flip(1) if reverse else expected


@case("aclnnCummax", "aclnnCummin", dtypes=ALL)
def running_extremes(make, operator):
    function = torch.cummax if operator == "aclnnCummax" else torch.cummin
    x = make(3, 5)
    values, indices = function(x, 1)
    yield [x, 1, OUT, OUT], (values, indices)
    yield [x, 1, OUT, OUT], (values, indices.to(torch.int32))


# ---- counts ----------------------------------------------------------------------------------------


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


@case("aclnnReduceLogSum", dtypes=FLOATS, tolerance=4)
def the_logarithm_of_a_sum(make):
    x = make.positive(2, 3, 4)
    for dims, keep in DIMS:
        expected = torch.log(torch.sum(x.double(), over(dims), keepdim=keep)).to(x.dtype)
        yield [x, dims, keep, False, OUT], expected
    yield [x, [], False, True, OUT], torch.log(x)

"""Reductions, extremes with their places, and norms."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, NUMBERS, OUT, Inplace, case
from .reference import exact


@case("aclnnRenorm", "aclnnInplaceRenorm", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def slices_that_are_too_long_are_shortened(make, operator):
    x = make(3, 4, 5)
    for p in (1.0, 2.0, 3.0):
        wanted = exact(lambda x, p=p: torch.renorm(x, p, 1, 4.0), x, dtype=make.dtype)
        if "Inplace" in operator:
            yield [Inplace(x), p, 1, 4.0], wanted
        else:
            yield [x, p, 1, 4.0, OUT], wanted


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


@case("aclnnTrace", dtypes=NUMBERS, tolerance=4)
def the_sum_of_a_diagonal(make):
    for shape in [(3, 4), (4, 3)]:
        x = make(*shape)
        expected = torch.trace(x.float()).to(x.dtype) if x.dtype == torch.bfloat16 else torch.trace(x)
        yield [x, OUT], expected


@case("aclnnReduceLogSum", dtypes=FLOATS, tolerance=4)
def the_logarithm_of_a_sum(make):
    x = make.positive(2, 3, 4)
    for dims, keep in DIMS:
        expected = torch.log(torch.sum(x.double(), over(dims), keepdim=keep)).to(x.dtype)
        yield [x, dims, keep, False, OUT], expected
    yield [x, [], False, True, OUT], torch.log(x)

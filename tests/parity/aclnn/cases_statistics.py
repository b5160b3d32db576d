"""Mean and variance."""

import torch

from .cases_reduce import DIMS, over
from .harness import FLOATS_AND_DOUBLE, OUT, case


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

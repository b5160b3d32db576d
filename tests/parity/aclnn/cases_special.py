"""Special functions."""

import torch

from .harness import FLOATS, OUT, case


@case("aclnnNdtri", dtypes=(torch.float32, torch.float64), tolerance=8)
def the_quantile_of_the_normal_distribution(make):
    x = make(3, 4, low=0.05, high=0.95)
    return [x, OUT], torch.special.ndtri(x)


@case("aclnnXlog1py", dtypes=FLOATS)
def a_number_times_the_logarithm_of_one_more(make):
    a, b = make(3, 4), make.positive(3, 4)
    return [a, b, OUT], torch.special.xlog1py(a, b)

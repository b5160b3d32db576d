"""Running sums and products."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, OUT, Inplace, case


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

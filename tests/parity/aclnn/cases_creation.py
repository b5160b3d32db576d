"""Tensors from numbers."""

import torch

from .harness import ALL, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Inplace, case


@case("aclnnInplaceFillDiagonal", dtypes=ALL)
def a_diagonal_that_may_wrap(make):
    for shape in [(3, 4), (7, 3), (2, 2, 2)]:
        for wrap in (False, True):
            x = make(*shape)
            yield [Inplace(x), 1, wrap], x.clone().fill_diagonal_(1, wrap=wrap)


@case("aclnnEye", dtypes=ALL)
def ones_on_the_diagonal(make):
    for rows, columns in [(3, 3), (2, 4), (4, 2), (0, 3)]:
        yield [rows, columns, OUT], torch.eye(rows, columns, dtype=make.dtype)


@case("aclnnArange", dtypes=NUMBERS)
def numbers_in_steps(make):
    yield [1, 8, 2, OUT], torch.arange(1, 8, 2, dtype=make.dtype)
    if make.dtype.is_floating_point:
        yield [0.5, 3.0, 0.5, OUT], torch.arange(0.5, 3.0, 0.5, dtype=make.dtype)


@case("aclnnRange", dtypes=NUMBERS)
def numbers_in_steps_to_the_end(make):
    yield [1, 7, 2, OUT], torch.arange(1, 8, 2, dtype=make.dtype)
    if make.dtype.is_floating_point:
        yield [0.5, 3.0, 0.5, OUT], torch.arange(0.5, 3.25, 0.5, dtype=make.dtype)


@case("aclnnLinspace", dtypes=NUMBERS)
def numbers_evenly_spaced(make):
    for steps in (0, 1, 7):
        yield [0, 60, steps, OUT], torch.linspace(0, 60, steps, dtype=make.dtype)


@case("aclnnLogSpace", dtypes=FLOATS_AND_DOUBLE, tolerance=8)
def powers_evenly_spaced(make):
    for base in (10.0, 2.0):
        yield (
            [-1.0, 2.0, 7, base, OUT],
            torch.logspace(-1.0, 2.0, 7, base, dtype=torch.float64).to(make.dtype),
        )


@case("aclnnLinspace", dtypes=INTEGERS, layouts=("dense",))
def whole_numbers_between_ends_are_cut_off(make):
    return [1, 10, 4, OUT], torch.linspace(1, 10, 4, dtype=make.dtype)

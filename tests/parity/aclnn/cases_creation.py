"""Tensors from numbers, copies and casts, and the parts of complex numbers."""

import torch

from .harness import ALL, COMPLEX, FLOATS, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, Inplace, case

EVERYTHING = (*ALL, *COMPLEX)


@case("aclnnInplaceCopy", dtypes=EVERYTHING)
def a_copy_broadcasts_and_converts(make):
    target, source = make(3, 4), make(4)
    yield [Inplace(target), source], source.expand(3, 4)
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.bool):
        if not make.dtype.is_complex:
            into = torch.zeros(3, 4, dtype=dtype)
            whole = source.abs() if source.dtype.is_floating_point else source
            yield [Inplace(into), whole], whole.to(dtype).expand(3, 4)


@case("aclnnCast", dtypes=EVERYTHING)
def a_cast_to_every_other_dtype(make):
    x = make(3, 4, low=0)
    for dtype in ALL:
        if not make.dtype.is_complex:
            yield [x, dtype, OUT], x.to(dtype)
    if not x.dtype.is_floating_point:
        yield [x, torch.complex64, OUT], x.to(torch.complex64)


@case("aclnnTensorMove", dtypes=EVERYTHING)
def a_copy_of_the_same_kind(make):
    x = make(3, 4)
    return [x, OUT], x


@case("aclnnInplaceFillScalar", dtypes=EVERYTHING)
def a_number_everywhere(make):
    x = make(3, 4)
    return [Inplace(x), 2], torch.full_like(x, 2)


@case("aclnnInplaceFillTensor", dtypes=EVERYTHING)
def an_element_everywhere(make):
    x, value = make(3, 4), make(1)
    yield [Inplace(x), value], value.expand(3, 4)
    yield [Inplace(x), value[0]], value.expand(3, 4)


@case("aclnnInplaceZero", "aclnnInplaceOne", dtypes=EVERYTHING)
def zeros_and_ones(make, operator):
    x = make(3, 4)
    return [Inplace(x)], torch.zeros_like(x) if operator.endswith("Zero") else torch.ones_like(x)


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


@case("aclnnSWhere", dtypes=EVERYTHING)
def one_or_the_other(make):
    condition = make(3, 4, dtype=torch.bool)
    a, b = make(3, 4), make(4)
    yield [condition, a, b, OUT], torch.where(condition, a, b)
    yield [condition[:1], a, b, OUT], torch.where(condition[:1], a, b)


@case("aclnnComplex", dtypes=(torch.float32, torch.float64))
def complex_numbers_from_their_parts(make):
    real, imaginary = make(3, 4), make(4)
    return [real, imaginary, OUT], torch.complex(real, imaginary.expand(3, 4))


@case("aclnnPolar", dtypes=(torch.float32, torch.float64))
def complex_numbers_from_size_and_angle(make):
    size, angle = make.positive(3, 4), make(3, 4)
    return [size, angle, OUT], torch.polar(size, angle)


@case("aclnnReal", "aclnnRealV2", dtypes=(*COMPLEX, *FLOATS))
def the_real_part(make):
    x = make(3, 4)
    return [x, OUT], torch.real(x)


@case("aclnnCat", dtypes=EVERYTHING)
def one_behind_the_other(make):
    a, b, c = make(2, 3), make(2, 1), make(0)
    yield [[a, b], 1, OUT], torch.cat([a, b], 1)
    yield [[a, c, a], 0, OUT], torch.cat([a, c, a], 0)


@case("aclnnLinspace", dtypes=INTEGERS, layouts=("dense",))
def whole_numbers_between_ends_are_cut_off(make):
    return [1, 10, 4, OUT], torch.linspace(1, 10, 4, dtype=make.dtype)

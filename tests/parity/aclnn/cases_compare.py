"""Comparisons with more than an answer per element: closeness, equality of tensors, membership."""

import torch

from .harness import ALL, FLOATS, FLOATS_AND_DOUBLE, INTEGERS, NUMBERS, OUT, case


@case("aclnnIsClose", dtypes=(*FLOATS_AND_DOUBLE, *INTEGERS))
def closeness_within_a_tolerance(make):
    a = make(3, 4)
    b = a.clone()
    b[0] += 1
    if a.dtype.is_floating_point:
        a[1, 1] = b[1, 1] = float("nan")
        b[2, 2] = a[2, 2] * (1 + 2**-5)
    yield [a, b, 0.1, 0.01, True, OUT], torch.isclose(a, b, 0.1, 0.01, True)
    yield [a, b, 0.0, 0.0, False, OUT], torch.isclose(a, b, 0.0, 0.0)


@case("aclnnApproximateEqual", dtypes=FLOATS)
def closeness_within_a_distance(make):
    a, b = make(3, 4), make(3, 4)
    return [a, b, 1.0, OUT], (a - b).abs() <= 1.0


@case("aclnnEqual", dtypes=ALL)
def equality_of_whole_tensors(make):
    a = make(3, 4)
    b = a.clone()
    yield [a, b, OUT], torch.tensor(True)
    b[2, 3] = not b[2, 3] if a.dtype == torch.bool else b[2, 3] + 1
    yield [a, b, OUT], torch.tensor(False)
    yield [a, make(4, 3), OUT], torch.tensor([False])


@case("aclnnIsInTensorScalar", dtypes=NUMBERS)
def elements_that_are_a_number(make):
    a = make(3, 4).round()
    for invert in (False, True):
        yield [a, 2, False, invert, OUT], torch.isin(a, 2, invert=invert)


@case("aclnnIsInScalarTensor", dtypes=NUMBERS)
def a_number_among_elements(make):
    a = torch.tensor([1, 2, 5]).to(make.dtype)
    for number in (2, 3):
        for invert in (False, True):
            yield [number, a, False, invert, OUT], torch.isin(number, a, invert=invert)

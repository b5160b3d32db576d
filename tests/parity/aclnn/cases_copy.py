"""Copies, casts and fills."""

import torch

from .harness import (
    ALL,
    EVERYTHING,
    OUT,
    Inplace,
    case,
)


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


@case("aclnnInplaceCopy", "aclnnCast", dtypes=ALL)
def a_copy_converts(make, operator):
    for dtype in (torch.float32, torch.int32, torch.float16, torch.bool):
        x = make(3, 4, low=0, high=3)
        if operator == "aclnnCast":
            yield [x, dtype, OUT], x.to(dtype)
        else:
            yield [Inplace(torch.zeros(3, 4, dtype=dtype)), x], x.to(dtype)
            yield [Inplace(torch.zeros(3, 4, dtype=dtype)), x[:1]], x[:1].to(dtype).expand(3, 4)

"""Complex numbers, their parts and angles."""

import torch

from .harness import COMPLEX, FLOATS, OUT, case


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


@case("aclnnAngleV2", dtypes=(torch.float32, *COMPLEX))
def angles(make):
    x = make(3, 4)
    return [x, OUT], torch.angle(x)

"""Tensors put together, taken apart, turned, repeated and seen through windows."""

import torch
import torch.nn.functional as F

from .harness import (
    ALL,
    EVERYTHING,
    FLOATS_AND_DOUBLE,
    NUMBERS,
    OUT,
    Inplace,
    case,
)
from .reference import exact


@case("aclnnCat", dtypes=EVERYTHING)
def one_behind_the_other(make):
    a, b, c = make(2, 3), make(2, 1), make(0)
    yield [[a, b], 1, OUT], torch.cat([a, b], 1)
    yield [[a, c, a], 0, OUT], torch.cat([a, c, a], 0)


aten = torch.ops.aten
_WINDOW = ((3, 2), (1, 2), (1, 1), (2, 1))


@case("aclnnIm2col", dtypes=FLOATS_AND_DOUBLE)
def windows_of_an_image_as_columns(make):
    x = make(2, 3, 6, 5)
    wanted = exact(lambda x: F.unfold(x, *_WINDOW), x, dtype=make.dtype)
    yield [x, *map(list, _WINDOW), OUT], wanted
    yield [x[0], *map(list, _WINDOW), OUT], wanted[0]


@case("aclnnIm2colBackward", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def columns_add_up_in_an_image(make):
    grad = make(2, 18, 15)
    return [grad, [6, 5], *map(list, _WINDOW), OUT], exact(
        lambda g: F.fold(g, (6, 5), *_WINDOW), grad, dtype=make.dtype
    )


@case("aclnnUnfoldGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def windows_along_a_dimension_add_up(make):
    for step, count in ((1, 4), (2, 2)):
        grad = make(2, 3, count, 5, 3)
        wanted = exact(
            lambda g, s=step: aten.unfold_backward(g, [2, 3, 6, 5], 2, 3, s), grad, dtype=make.dtype
        )
        yield [grad, [2, 3, 6, 5], 2, 3, step, OUT], wanted


@case("aclnnChannelShuffle", dtypes=NUMBERS)
def channels_of_groups_take_turns(make):
    x = make(2, 6, 3, 3)
    return [x, 3, OUT], torch.channel_shuffle(x, 3)


@case("aclnnCat", dtypes=ALL)
def tensors_side_by_side(make):
    a, b, c = make(2, 3), make(2, 1), make(2, 4)
    yield [[a, b, c], -1, OUT], torch.cat([a, b, c], -1)
    yield [[a, make(0), a], 0, OUT], torch.cat([a, a], 0)


@case("aclnnStack", dtypes=ALL)
def tensors_along_a_new_dimension(make):
    a, b = make(2, 3), make(2, 3)
    for dim in (0, 1, -1):
        yield [[a, b, a], dim, OUT], torch.stack([a, b, a], dim)


@case("aclnnSplitTensor", "aclnnSplitWithSize", dtypes=ALL)
def a_tensor_taken_apart(make, operator):
    x = make(3, 7)
    sizes = 3 if operator == "aclnnSplitTensor" else [3, 0, 4]
    parts = torch.split(x, sizes, 1)
    return [x, sizes, 1, [OUT] * len(parts)], parts


@case("aclnnChunkCat", dtypes=FLOATS_AND_DOUBLE)
def chunks_of_tensors_side_by_side(make):
    tensors = [make(5, 3), make(4), make(6, 2, 2)]
    yield [tensors, 0, 2, OUT], torch._chunk_cat(tensors, 0, 2)
    leading = [make(2, 5, 3), make(2, 4)]
    yield [leading, 1, 3, OUT], torch._chunk_cat(leading, 1, 3)


@case("aclnnPermute", dtypes=ALL)
def dimensions_in_another_order(make):
    x = make(2, 3, 4)
    return [x, [2, 0, -2], OUT], x.permute(2, 0, 1)


@case("aclnnConfusionTranspose", dtypes=ALL)
def a_permutation_and_a_shape(make):
    x = make(2, 3, 4)
    yield [x, [1, 0, 2], [3, 8], True, OUT], x.permute(1, 0, 2).reshape(3, 8)
    yield [x, [1, 0], [6, 4], False, OUT], x.reshape(6, 4).permute(1, 0)


@case("aclnnExpand", "aclnnExpandv", dtypes=ALL)
def a_broadcast_made_real(make):
    x = make(3, 1)
    return [x, [2, -1, 4], OUT], x.expand(2, 3, 4)


@case("aclnnFlip", dtypes=ALL)
def dimensions_turned_round(make):
    x = make(2, 3, 4)
    yield [x, [0, -1], OUT], x.flip(0, 2)
    yield [x, [1], OUT], x.flip(1)


@case("aclnnRoll", dtypes=ALL)
def dimensions_turned_like_a_wheel(make):
    x = make(4, 5)
    yield [x, [1, -2], [0, 1], OUT], x.roll((1, -2), (0, 1))
    yield [x, [7], [-1], OUT], x.roll(7, -1)
    yield [x, [3], [], OUT], x.roll(3)


@case("aclnnRepeat", dtypes=ALL)
def tiles(make):
    x = make(2, 3)
    yield [x, [2, 1, 3], OUT], x.repeat(2, 1, 3)
    yield [x, [1, 0], OUT], x.repeat(1, 0)


@case("aclnnTril", "aclnnTriu", "aclnnInplaceTril", "aclnnInplaceTriu", dtypes=ALL)
def triangles(make, operator):
    x = make(2, 4, 5)
    function = torch.tril if operator.endswith("Tril") else torch.triu
    for diagonal in (0, 2, -1):
        if "Inplace" in operator:
            yield [Inplace(x), diagonal], function(x, diagonal)
        else:
            yield [x, diagonal, OUT], function(x, diagonal)


@case("aclnnDiag", dtypes=ALL)
def diagonals_and_matrices_of_them(make):
    x, row = make(4, 5), make(3)
    for diagonal in (0, 1, -2):
        yield [x, diagonal, OUT], torch.diag(x, diagonal)
        yield [row, diagonal, OUT], torch.diag(row, diagonal)


@case("aclnnDiagFlat", dtypes=ALL)
def all_elements_on_a_diagonal(make):
    x = make(2, 3)
    return [x, 1, OUT], torch.diagflat(x, 1)


@case("aclnnDiagPart", dtypes=ALL)
def the_diagonal_of_a_tensor(make):
    x, matrix = make(2, 3, 2, 3), make(4, 4)
    yield [x, OUT], torch.einsum("ijij->ij", x) if make.dtype.is_floating_point else _diagonal(x)
    yield [matrix, OUT], matrix.diagonal()


def _diagonal(x):
    return x.diagonal(0, 0, 2).diagonal(0, 0, 1)

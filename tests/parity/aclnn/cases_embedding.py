"""Rows of tables, and bags of them."""

import torch
import torch.nn.functional as F

from .harness import ALL, FLOATS_AND_DOUBLE, OUT, AnyResult, Inplace, case
from .reference import wide

aten = torch.ops.aten


@case("aclnnEmbedding", dtypes=ALL)
def rows_of_a_table(make):
    table = make(7, 4)
    for indices in (make.index(2, 3, below=7), make.index(5, below=7, dtype=torch.int32)):
        yield [table, indices, OUT], table[indices.long()]


@case("aclnnEmbeddingDenseBackward", "aclnnEmbeddingDenseGrad", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_of_rows_of_a_table(make, operator):
    grad, indices = make(2, 3, 4), make.index(2, 3, below=7)
    nothing = 2**64 - 1 if operator.endswith("Backward") else -1
    for padding, by_frequency in ((-1, False), (2, True)):
        wanted = aten.embedding_dense_backward(wide(grad), indices, 7, padding, by_frequency)
        yield (
            [grad, indices, 7, nothing if padding < 0 else padding, by_frequency, OUT],
            wanted.to(make.dtype),
        )


@case("aclnnEmbeddingRenorm", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def rows_that_are_too_long_are_shortened(make):
    table, indices = make(7, 4), torch.tensor([1, 3, 3, 5])
    wanted = torch.embedding_renorm_(wide(table).clone(), indices, 2.0, 2.0)
    return [Inplace(table), indices, 2.0, 2.0], wanted.to(make.dtype)


@case("aclnnEmbeddingBag", dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def bags_of_rows(make):
    table, indices, offsets = make(7, 4), torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 3])
    owners, sizes = torch.tensor([0, 0, 0, 1, 1, 1]), torch.tensor([3, 3])
    weights = make(6)
    for mode, sample in ((0, None), (0, weights), (1, None), (2, None)):
        made = aten._embedding_bag(wide(table), indices, offsets, False, mode, False, wide(sample), False, -1)
        places = OUT if mode == 2 else AnyResult((2,), torch.int64)
        yield (
            [table, indices, offsets, False, mode, False, sample, False, -1, OUT, OUT, OUT, places],
            (made[0].to(make.dtype), owners, sizes, made[3]),
        )


@case("aclnnOneHot", dtypes=(torch.int64, torch.int32))
def classes_as_rows_of_ones_and_zeros(make):
    classes = make.index(2, 3, below=5, dtype=make.dtype)
    hot = F.one_hot(classes.long(), 5)
    for axis, wanted in ((-1, hot), (1, hot.permute(0, 2, 1)), (0, hot.permute(2, 0, 1))):
        yield [classes, 5, torch.tensor([1]), torch.tensor([0]), axis, OUT], wanted

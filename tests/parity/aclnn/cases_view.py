"""Parts of a tensor at regular distances, and windows on its elements."""

import torch

from .harness import ALL, OUT, Inplace, case


@case("aclnnSlice", dtypes=ALL)
def every_second_row(make):
    x = make(5, 6)
    yield [x, 1, 1, 6, 2, OUT], x[:, 1:6:2]
    yield [x, 0, -3, 100, 1, OUT], x[-3:]
    yield [x, 0, 3, 2, 1, OUT], x[3:2]


@case("aclnnSliceV2", dtypes=ALL)
def slices_along_several_dimensions(make):
    x = make(5, 6, 3)
    return [x, [1, -2], [4, 6], [0, -1], [2, 1], OUT], x[1:4:2, :, -2:6]


@case("aclnnStridedSlice", dtypes=ALL)
def slices_with_masks(make):
    x = make(5, 6, 3)
    yield [x, [1, 0], [4, 5], [1, 2], 0, 0, 0, 0, 0, OUT], x[1:4, 0:5:2]
    yield [x, [1, 9, 9], [4, 9, 9], [1, 1, 1], 6, 6, 0, 0, 0, OUT], x[1:4]
    yield [x, [2, 0, 1], [3, 0, 2], [1, 1, 1], 0, 0, 2, 0, 1, OUT], x[2, ..., 1:2]
    yield [x, [0, 1], [0, 3], [1, 1], 0, 0, 0, 1, 0, OUT], x[None, 1:3]
    yield [x, [4], [0], [-2], 0, 1, 0, 0, 0, OUT], x.flip(0)[::2]


@case("aclnnStridedSliceAssignV2", dtypes=ALL)
def slices_written(make):
    x, value = make(5, 6), make(2, 3)
    wanted = x.clone()
    wanted[1:4:2, 0:6:2] = value
    return [Inplace(x), value, [1, 0], [4, 6], [2, 2], [0, 1]], wanted


@case("aclnnAsStrided", dtypes=ALL)
def a_window_on_the_elements(make):
    x = make(4, 6)
    return [x, [3, 2, 2], [6, 1, 2], [1], OUT], x.as_strided((3, 2, 2), (6, 1, 2), 1)


@case("aclnnViewCopy", dtypes=ALL)
def a_window_copied_to_another(make):
    target, source = make(4, 6), make(5, 5)
    wanted = target.clone()
    wanted.as_strided((2, 3), (6, 2), 1).copy_(source.as_strided((2, 3), (1, 5), 2))
    numbers = [torch.tensor(n) for n in ([2, 3], [6, 2], [1], [2, 3], [1, 5], [2])]
    return [target, *numbers[:3], source, *numbers[3:], OUT], wanted

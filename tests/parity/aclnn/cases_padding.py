"""Tensors grown at their edges."""

import torch.nn.functional as F

from .harness import ALL, FLOATS_AND_DOUBLE, OUT, case
from .reference import exact, gradients, wide


@case("aclnnConstantPadNd", dtypes=ALL)
def padding_with_a_number(make):
    x = make(2, 3, 6, 5)
    for pad, value in (([1, 2], 1), ([1, 2, -1, 3], 0), ([0, 1, 2, 0, 1, 1], 1)):
        yield [x, pad, value, OUT], F.pad(x, pad, value=value)


_EDGES = {"Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}
_PADS = {1: [1, 2], 2: [1, 2, 3, 1], 3: [1, 2, 3, 1, 2, 3]}
_PADDED = [
    f"aclnn{kind}Pad{dims}d" for kind in _EDGES for dims in (1, 2, 3) if (kind, dims) != ("Circular", 1)
]


def _padding(operator):
    kind = next(k for k in _EDGES if k in operator)
    return _EDGES[kind], _PADS[int(operator[operator.index("Pad") + 3])]


@case(*_PADDED, dtypes=FLOATS_AND_DOUBLE)
def edges_are_continued(make, operator):
    mode, pad = _padding(operator)
    x = make(2, 3, *(4, 5, 6)[: len(pad) // 2])
    return [x, pad, OUT], exact(lambda x: F.pad(x, pad, mode=mode), x, dtype=make.dtype)


@case(*(name + "Backward" for name in _PADDED), dtypes=FLOATS_AND_DOUBLE, tolerance=2)
def the_gradient_of_continued_edges(make, operator):
    mode, pad = _padding(operator)
    x = make(2, 3, *(4, 5, 6)[: len(pad) // 2])
    grad = make(*F.pad(wide(x), pad, mode=mode).shape)
    (wanted,) = gradients(lambda x: F.pad(x, pad, mode=mode), grad, x, dtype=make.dtype)
    return [grad, x, pad, OUT], wanted

"""Samples of operators whose arguments have a meaning of their own; opcases.py makes the rest."""

from __future__ import annotations

from typing import Any

from opcases import FLOATS, Array, DType, Named, Sample

_FLOAT_ONLY: dict[str, Any] = {"dtypes": FLOATS}


def _array(*shape: int, **options: Any) -> Array:
    return Array(tuple(shape), **options)


def _target(*shape: int, classes: int) -> Array:
    return Array(tuple(shape), dtype="int64", values=f"classes:{classes}", differentiable=False)


def _mask(*shape: int) -> Array:
    return Array(tuple(shape), dtype="bool", values="mask", seed=3, differentiable=False)


def _each(arrays: list[Array], *tails: tuple[Any, ...]) -> list[Sample]:
    return [Sample((a, *tail)) for a in arrays for tail in tails]


_ANY = [
    _array(),
    _array(3),
    _array(2, 3),
    _array(0),
    _array(4, 3, layout="transposed"),
    _array(3, 2, 4, layout="sliced"),
]
_CUBES = [_array(2, 3, 4), _array(2, 3, 4, layout="transposed"), _array(2, 0, 4)]

COPY = {
    "copy_": [
        Sample((_array(2, 3), _array(2, 3, seed=1))),
        Sample((_array(2, 3), _array(3, seed=1))),
        Sample((_array(2, 3), _array(seed=1))),
        Sample((_array(4, 3, layout="transposed"), _array(4, 3, seed=1))),
        Sample((_array(4, 3), _array(4, 3, layout="transposed", seed=1))),
        Sample((_array(3, 4, layout="sliced"), _array(1, 4, dtype="int64", seed=1))),
        Sample((_array(2, 3), _array(2, 3, dtype="float64", values="positive", seed=1))),
        Sample((_array(2, 3), _array(2, 3, dtype="bool", seed=1))),
        Sample((_array(2, 3), _array(2, 3, dtype="float16", values="positive", seed=1))),
        Sample((_array(0, 3), _array(0, 3))),
        Sample((_array(37, 65), _array(37, 65, layout="transposed", seed=1))),
    ],
    "fill_.Scalar": _each(_ANY, (2,), (0.5,), (True,)),
    "zero_": _each(_ANY, ()),
    "clone": [
        *_each(_ANY, ()),
        Sample((_array(4, 3, layout="transposed"),), {"memory_format": Named("contiguous_format")}),
    ],
    "_to_copy": [
        *[
            Sample((_array(2, 3, values="positive"),), {"dtype": DType(t)})
            for t in ("float64", "float16", "int32", "bool")
        ],
        Sample((_array(4, 3, layout="transposed"),), {"dtype": DType("float32")}),
        Sample((_array(),), {}),
    ],
    "where.self": [
        Sample((_mask(2, 3), _array(2, 3), _array(2, 3, seed=1))),
        Sample((_mask(3), _array(2, 1), _array(seed=1))),
        Sample((_mask(), _array(2, 3), _array(3, seed=1))),
        Sample((_mask(4, 3), _array(4, 3, layout="transposed"), _array(4, 3, dtype="float64", seed=1))),
        Sample((_mask(3), _array(3), _array(3, dtype="int64", seed=1))),
        Sample((_mask(0), _array(0), _array(1))),
    ],
    "where.ScalarOther": _each([_mask(2, 3)], (_array(2, 3), 2), (_array(3), 0.5), (_array(), True)),
    "where.ScalarSelf": _each([_mask(2, 3)], (2, _array(2, 3)), (0.5, _array(3)), (True, _array())),
    "masked_fill.Scalar": [
        Sample((_array(2, 3), _mask(2, 3), 2)),
        Sample((_array(2, 3), _mask(3), 0)),
        Sample((_array(4, 3, layout="transposed"), _mask(4, 1), 1)),
        Sample((_array(2, 3), _mask(), 0.5), dtypes=FLOATS),
    ],
}

_LIKE = [
    _array(2, 3),
    _array(),
    _array(0),
    _array(4, 3, layout="transposed"),
    _array(3, 2, 4, layout="sliced"),
]
_SIZES = [([2, 3],), ([],), ([0, 2],), ([5],)]
_ONE = ("float32",)  # the tensor under test is the result; its dtype comes as a keyword


def _made(
    *args: Any, dtypes: tuple[str | None, ...] = (None, "float64", "float16", "int32", "bool")
) -> list[Sample]:
    return [Sample(tuple(args), {"dtype": DType(t)} if t else {}, dtypes=_ONE) for t in dtypes]


_FLOATING = (None, "float64", "float16", "bfloat16")
CREATION = {
    "empty": [s for size in _SIZES for s in _made(*size)],
    "empty_strided": [s for pair in ([[2, 3], [1, 2]], [[2, 2], [0, 1]], [[], []]) for s in _made(*pair)],
    "zeros": [s for size in _SIZES for s in _made(*size)],
    "ones": [s for size in _SIZES for s in _made(*size)],
    "full": [s for size in _SIZES for fill in (2, 0.5, True) for s in _made(*size, fill)],
    "arange": [s for end in (5, 0, 2.5, 7) for s in _made(end, dtypes=(None, "float64", "int32", "float16"))],
    "arange.start": [
        s for pair in ((1, 5), (-2, 2.5), (3, 3)) for s in _made(*pair, dtypes=(None, "float64", "int32"))
    ],
    "arange.start_step": [
        s
        for triple in ((0, 10, 3), (5, 0, -2), (0, 1, 0.1), (1.5, -2, -0.5))
        for s in _made(*triple, dtypes=(None, "float64"))
    ],
    "rand": [s for size in _SIZES for s in _made(*size, dtypes=_FLOATING)],
    "randn": [s for size in _SIZES for s in _made(*size, dtypes=_FLOATING)],
    "randint": [s for size in _SIZES for s in _made(7, *size, dtypes=(None, "int32", "float32"))],
    "randint.low": [s for size in _SIZES for s in _made(-3, 7, *size, dtypes=(None, "int32", "float32"))],
    "randperm": [s for n in (0, 1, 6) for s in _made(n, dtypes=(None, "int32", "float32"))],
    "empty_like": [*_each(_LIKE, ()), *[Sample((a,), {"dtype": DType("int32")}) for a in _LIKE]],
    "zeros_like": [*_each(_LIKE, ()), *[Sample((a,), {"dtype": DType("float64")}) for a in _LIKE]],
    "ones_like": [
        *_each(_LIKE, ()),
        Sample((_array(4, 3, layout="transposed"),), {"memory_format": Named("contiguous_format")}),
    ],
    "full_like": _each(_LIKE, (2,), (True,)),
    "rand_like": [Sample((a,), **_FLOAT_ONLY) for a in _LIKE],
    "randn_like": [Sample((a,), **_FLOAT_ONLY) for a in _LIKE],
}

MATMUL = {
    "mm": [
        Sample((_array(2, 3), _array(3, 4, seed=1))),
        Sample((_array(3, 2, layout="transposed"), _array(2, 3, layout="transposed", seed=1))),
        Sample((_array(2, 0), _array(0, 4))),
        Sample((_array(0, 3), _array(3, 4))),
        Sample((_array(33, 17), _array(17, 40, seed=1)), **_FLOAT_ONLY),
        Sample((_array(4, 6, layout="sliced"), _array(6, 3, layout="offset", seed=1))),
        Sample((_array(1, 3), _array(3, 1, seed=1))),
        Sample((_array(3, 4, layout="expanded"), _array(4, 2, seed=1))),
    ],
    "linalg_cross": [
        Sample((_array(4, 3), _array(4, 3, seed=1))),
        Sample((_array(3, 5, layout="transposed"), _array(3, 1, seed=1)), {"dim": 0}),
        Sample((_array(2, 3, 4, layout="sliced"), _array(1, 3, 4, seed=1)), {"dim": -2}),
        Sample((_array(0, 3), _array(0, 3))),
    ],
    "bmm": [
        Sample((_array(2, 3, 4), _array(2, 4, 5, seed=1))),
        Sample((_array(4, 3, 2, layout="transposed"), _array(4, 2, 5, seed=1))),
        Sample((_array(0, 3, 4), _array(0, 4, 5))),
        Sample((_array(2, 3, 0), _array(2, 0, 5))),
        Sample((_array(3, 4, 5, layout="expanded"), _array(3, 5, 2, layout="sliced", seed=1))),
    ],
    "addmm": [
        Sample((_array(2, 4), _array(2, 3, seed=1), _array(3, 4, seed=2))),
        Sample((_array(4), _array(2, 3, seed=1), _array(3, 4, seed=2)), {"beta": 2, "alpha": 3}),
        Sample((_array(), _array(2, 3, seed=1), _array(3, 4, layout="transposed", seed=2)), {"beta": 0}),
        Sample((_array(2, 1), _array(2, 0), _array(0, 4)), **_FLOAT_ONLY),
        Sample(
            (_array(4), _array(5, 3, layout="transposed", seed=1), _array(3, 4, seed=2)),
            {"alpha": 0.5},
            **_FLOAT_ONLY,
        ),
        Sample((_array(3, 3), _array(3, 3, seed=1), _array(3, 3, seed=2)), {"beta": 3}),
        Sample((_array(2, 5, layout="transposed"), _array(2, 1, seed=1), _array(1, 5, seed=2))),
    ],
    "matmul": [
        Sample((_array(3), _array(3, seed=1))),
        Sample((_array(2, 3), _array(3, seed=1))),
        Sample((_array(3), _array(3, 2, seed=1))),
        Sample((_array(2, 3), _array(3, 2, seed=1))),
        Sample((_array(2, 2, 3), _array(3, seed=1))),
        Sample((_array(2, 2, 3), _array(3, 4, seed=1))),
        Sample((_array(3), _array(2, 3, 4, seed=1))),
        Sample((_array(2, 3), _array(5, 3, 2, seed=1))),
        Sample((_array(2, 1, 2, 3), _array(4, 3, 2, seed=1))),
        Sample((_array(2, 0, 3), _array(3, 4))),
        Sample((_array(4, 2, 3, layout="transposed"), _array(4, 3, 2, layout="transposed", seed=1))),
    ],
    "dot": [
        Sample((_array(5), _array(5, seed=1))),
        Sample((_array(0), _array(0))),
        Sample((_array(5, layout="sliced"), _array(5, seed=1))),
        Sample((_array(1), _array(1, seed=1))),
        Sample((_array(40), _array(40, layout="sliced", seed=1))),
    ],
    "mv": [
        Sample((_array(2, 3), _array(3, seed=1))),
        Sample((_array(4, 3, layout="transposed"), _array(3, layout="sliced", seed=1))),
        Sample((_array(0, 3), _array(3, seed=1))),
        Sample((_array(3, 3), _array(3, seed=1))),
    ],
    "linear": [
        Sample((_array(2, 3), _array(4, 3, seed=1), _array(4, seed=2)), **_FLOAT_ONLY),
        Sample((_array(2, 3), _array(4, 3, seed=1)), **_FLOAT_ONLY),
        Sample((_array(3), _array(4, 3, seed=1), _array(4, seed=2)), **_FLOAT_ONLY),
        Sample((_array(2, 5, 3), _array(4, 3, seed=1), _array(4, seed=2)), **_FLOAT_ONLY),
        Sample((_array(0, 3), _array(4, 3, seed=1), _array(4, seed=2)), **_FLOAT_ONLY),
    ],
}

RANDOM = {
    "uniform_": [Sample((a, *tail), **_FLOAT_ONLY) for a in _LIKE for tail in ((), (-1, 2.5))],
    "normal_": [Sample((a, *tail), **_FLOAT_ONLY) for a in _LIKE for tail in ((), (1, 0.5))],
    "bernoulli_.float": _each(_LIKE, (), (0.2,)),
    "random_.from": _each(_LIKE, (0, 2)),
}

_DIM_TAILS = ((0,), (-1,), (1, True))
_ALONG = [Sample((a, *tail), refused=a.shape[tail[0]] == 0) for a in _CUBES for tail in _DIM_TAILS]
_EXTREMA = [
    Sample((_array(),)),
    Sample((_array(3),)),
    Sample((_array(2, 3),)),
    Sample((_array(4, 3, layout="transposed"),)),
    Sample((_array(0),), refused=True),
    Sample((_array(17),)),
    Sample((_array(7, values="special"),), forward_only=True),
]
REDUCE = {
    "argmax": [*_EXTREMA, *_ALONG, Sample((_array(), 0))],
    "argmin": [*_EXTREMA, *_ALONG, Sample((_array(), 0))],
    "max.dim": [
        *_ALONG,
        Sample((_array(), 0)),
        Sample((_array(3, 8, values="special"), 1), forward_only=True),
    ],
    "min.dim": [
        *_ALONG,
        Sample((_array(), 0)),
        Sample((_array(3, 8, values="special"), 1), forward_only=True),
    ],
    "max": _EXTREMA,
    "min": _EXTREMA,
    "max.other": [
        Sample((_array(2, 3), _array(3, seed=1))),
        Sample((_array(2, 3), _array(dtype="float64", seed=1))),
    ],
    "min.other": [
        Sample((_array(2, 3), _array(3, seed=1))),
        Sample((_array(2, 3), _array(dtype="int64", seed=1))),
    ],
    "clamp": _each(_ANY, (1, 2), (None, 1), (-1.5, None), (2, 1)),
}

_SOFT = [
    _array(2, 3),
    _array(3),
    _array(),
    _array(4, 3, layout="transposed"),
    _array(2, 3, 4),
    _array(0, 3),
    _array(5, 70),
]
_SOFT_BACK = [
    Sample((_array(2, 3), _array(2, 3, values="unit", seed=1), 1, DType("float32")), dtypes=("float32",)),
    Sample(
        (_array(2, 3, 4), _array(2, 3, 4, values="unit", seed=1), 1, DType("float64")), dtypes=("float64",)
    ),
]
_LOSS_DTYPES = ("float32", "float64")
_TOTAL = _array(values="positive", differentiable=False)
_LOSS = [
    (_array(4, 3), _target(4, classes=3)),
    (_array(3), _target(classes=3)),
    (_array(5, 4, layout="transposed"), _target(5, classes=4)),
]
_WEIGHT = {
    3: _array(3, values="positive", seed=4, differentiable=False),
    4: _array(4, values="positive", seed=4, differentiable=False),
}
SOFTMAX = {
    "_softmax": [Sample((a, d, False), **_FLOAT_ONLY) for a in _SOFT for d in (0, -1)],
    "_log_softmax": [Sample((a, d, False), **_FLOAT_ONLY) for a in _SOFT for d in (0, -1)],
    "_softmax_backward_data": _SOFT_BACK,
    "_log_softmax_backward_data": _SOFT_BACK,
    "softmax.int": [
        *[Sample((a, d), **_FLOAT_ONLY) for a in _SOFT for d in (0, -1)],
        Sample((_array(2, 3), 1), {"dtype": DType("float64")}),
        Sample((_array(17, values="special"), 0), forward_only=True, **_FLOAT_ONLY),
    ],
    "log_softmax.int": [
        *[Sample((a, d), **_FLOAT_ONLY) for a in _SOFT for d in (0, -1)],
        Sample((_array(2, 3), 1), {"dtype": DType("float64")}),
    ],
    "nll_loss_forward": [
        Sample((x, y, w, reduction, ignored), dtypes=_LOSS_DTYPES)
        for x, y in _LOSS
        for w in (None, _WEIGHT[x.shape[-1]])
        for reduction in (0, 1, 2)
        for ignored in (-100, 1)
    ],
    "nll_loss_backward": [
        Sample((_array(4), _array(4, 3), _target(4, classes=3), None, 0, -100, _TOTAL), dtypes=_LOSS_DTYPES),
        Sample(
            (_array(), _array(4, 3), _target(4, classes=3), _WEIGHT[3], 2, 1, _TOTAL), dtypes=_LOSS_DTYPES
        ),
    ],
    "nll_loss": [
        *[
            Sample((x, y, w, reduction), dtypes=_LOSS_DTYPES)
            for x, y in _LOSS
            for w in (None, _WEIGHT[x.shape[-1]])
            for reduction in (0, 1, 2)
        ],
    ],
    "cross_entropy_loss": [
        *[Sample((x, y), dtypes=_LOSS_DTYPES) for x, y in _LOSS],
        Sample((_array(2, 3, 4), _target(2, 4, classes=3), _WEIGHT[3], 2), dtypes=_LOSS_DTYPES),
    ],
}

VIEW = {
    "view": [
        Sample((_array(2, 3), [3, 2])),
        Sample((_array(2, 3), [-1])),
        Sample((_array(2, 3, 4), [6, -1])),
        Sample((_array(), [1, 1])),
        Sample((_array(2, 3, 4, layout="transposed"), [4, 3, 2, 1]), refused=True),
        Sample((_array(4, 6, layout="sliced"), [4, 2, 3])),
        Sample((_array(0, 3), [3, 0])),
        Sample((_array(4, 3, layout="transposed"), [12]), refused=True),
        Sample((_array(1), [])),
    ],
    "permute": [
        Sample((_array(2, 3, 4), [2, 0, 1])),
        Sample((_array(2, 3), [-1, 0])),
        Sample((_array(), [])),
        Sample((_array(0, 2), [1, 0])),
    ],
    "transpose.int": _each(_CUBES, (0, 1), (-1, 0), (1, 1)),
    "t": [
        Sample((_array(),)),
        Sample((_array(3),)),
        Sample((_array(2, 3),)),
        Sample((_array(4, 3, layout="transposed"),)),
    ],
    "expand": [
        Sample((_array(1, 3), [2, 3])),
        Sample((_array(3), [2, -1])),
        Sample((_array(), [2, 2])),
        Sample((_array(2, 1, 3), [4, 2, 5, 3])),
        Sample((_array(1), [0])),
    ],
    "squeeze": [
        Sample((_array(1, 3, 1),)),
        Sample((_array(2, 3),)),
        Sample((_array(),)),
        Sample((_array(1, 1),)),
    ],
    "squeeze.dim": [
        Sample((_array(1, 3, 1), 0)),
        Sample((_array(1, 3, 1), -1)),
        Sample((_array(2, 3), 0)),
        Sample((_array(), 0)),
    ],
    "unsqueeze": [Sample((_array(2, 3), d)) for d in (0, 1, 2, -1, -3)] + [Sample((_array(), 0))],
    "select.int": _each([_array(2, 3, 4), _array(2, 3, 4, layout="transposed")], (0, 1), (-1, -2), (1, 0)),
    "as_strided": [
        Sample((_array(12), [3, 2], [1, 3])),
        Sample((_array(12), [2, 2], [4, 1], 3)),
        Sample((_array(3, 4), [2], [5])),
        Sample((_array(6), [2, 0], [1, 1])),
    ],
    "diagonal": _each([_array(3, 4), _array(4, 3, layout="transposed")], (), (1,), (-2,), (5,))
    + [Sample((_array(2, 3, 4), 0, -1, 0))],
    "detach": _each(_ANY, ()),
    "reshape": [
        Sample((_array(2, 3), [3, 2])),
        Sample((_array(4, 3, layout="transposed"), [-1])),
        Sample((_array(2, 3, 4, layout="sliced"), [6, 4])),
        Sample((_array(), [1])),
        Sample((_array(0, 3), [0])),
    ],
    "flatten": [
        Sample((_array(2, 3, 4),)),
        Sample((_array(2, 3, 4), 1)),
        Sample((_array(2, 3, 4), 0, 1)),
        Sample((_array(),)),
        Sample((_array(2, 3, 4, layout="transposed"), 1)),
        Sample((_array(3),)),
    ],
    "narrow": [
        Sample((_array(4, 3), 0, 1, 2)),
        Sample((_array(4, 3), -1, 0, 3)),
        Sample((_array(4, 3), 1, -2, 1)),
        Sample((_array(4, 3), 0, 4, 0)),
    ],
    "contiguous": _each(_ANY, ()),
    "unbind": [Sample((_array(3, 2),)), Sample((_array(3, 2), -1)), Sample((_array(0, 2),))],
    "split": [
        Sample((_array(5, 2), 2)),
        Sample((_array(2, 6), 3, 1)),
        Sample((_array(2, 6), 10, -1)),
        Sample((_array(0, 2), 2)),
    ],
    "split.sizes": [
        Sample((_array(5, 2), [2, 3])),
        Sample((_array(5, 2), [0, 4, 1], 0)),
        Sample((_array(5, 2), [1, 1], -1)),
    ],
    "chunk": [
        Sample((_array(5, 2), 2)),
        Sample((_array(5, 2), 9)),
        Sample((_array(5, 2), 2, 1)),
        Sample((_array(0, 2), 3)),
    ],
    "cat": [
        Sample(([_array(2, 3), _array(1, 3, seed=1)],)),
        Sample(([_array(2, 3), _array(2, 1, seed=1), _array(2, 3, seed=2)], 1)),
        Sample(([_array(0), _array(2, 3)], 0)),
        Sample(([_array(4, 3, layout="transposed"), _array(2, 3, layout="sliced", seed=1)], 0)),
        Sample(([_array(2, 3), _array(2, 3, dtype="float64", seed=1)], -1)),
        Sample(([_array(3)],)),
        Sample(([_array(2, 3), _array(2, 3, dtype="int64", seed=1)], 0)),
    ],
    "stack": [
        Sample(([_array(2, 3), _array(2, 3, seed=1)],)),
        Sample(([_array(2, 3), _array(2, 3, seed=1)], -1)),
        Sample(([_array(), _array(seed=1)],)),
        Sample(([_array(4, 3, layout="transposed"), _array(4, 3, seed=1)], 1)),
    ],
}

_SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((2, 1), (4,)), ((0, 3), (1, 3)), ((), ()), ((37, 65), (37, 65))]


def _pairs(*tail: Any, dtype: str | None = None, **options: Any) -> list[Sample]:
    """Two tensors of one dtype that broadcast, and what follows them."""
    return [
        Sample((_array(*a, dtype=dtype, **options), _array(*b, dtype=dtype, seed=1, **options), *tail))
        for a, b in _SHAPES
    ]


ELEMENTWISE = {
    "gcd": _pairs(dtype="int64"),
    "lcm": _pairs(dtype="int64"),
    "heaviside": _pairs(),
    "lerp.Scalar": _pairs(0.25),
    "leaky_relu_backward": _pairs(0.1, False),
}

NAMED: dict[str, list[Sample]] = {
    **COPY, **CREATION, **ELEMENTWISE, **MATMUL, **RANDOM, **REDUCE, **SOFTMAX, **VIEW,
}  # fmt: skip

"""torch.func, torch.testing, one's own operators and torch.utils._pytree give PyTorch's results and errors."""

import collections
from operator import attrgetter

import numpy
import pytest
import torch as pytorch

import mindtorch_v2
import mindtorch_v2.utils._pytree
import mindtorch_v2.utils.benchmark

Pair = collections.namedtuple("Pair", "first second")


def outcome(function, torch):
    """What a call gives or raises, as text without the name of the library."""
    torch.manual_seed(0)
    try:
        text = repr(function(torch))
    except Exception as error:  # noqa: BLE001 - errors are compared
        text = f"{type(error).__name__}: {error}"
    return text.replace("mindtorch_v2", "torch").replace("-0.0000", " 0.0000")


def x(torch):
    return torch.arange(3.0) + 1


FUNC = {
    "grad of a vector": lambda t: t.func.grad(lambda x: x.sin())(x(t)),
    "grad with aux": lambda t: t.func.grad(lambda x: (x.sin().sum(), x * 2), has_aux=True)(x(t)),
    "grad with a number as aux": lambda t: t.func.grad(lambda x: (x.sin().sum(), 1), has_aux=True)(x(t)),
    "grad of a tuple": lambda t: t.func.grad(lambda x: (x.sum(), x))(x(t)),
    "grad of a number": lambda t: t.func.grad(lambda x: 3.0)(x(t)),
    "grad of two": lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(x(t), x(t)),
    "grad of an argument that is not there": lambda t: t.func.grad(lambda x: x.sum(), argnums=2)(x(t)),
    "grad of integers": lambda t: t.func.grad(lambda x: x.sum())(t.arange(3)),
    "grad of a string": lambda t: t.func.grad(lambda x: x.sum())("a"),
    "grad of grad": lambda t: t.func.grad(t.func.grad(lambda x: x**3))(t.tensor(2.0)),
    "grad of a dict": lambda t: t.func.grad(lambda d: (d["a"] * 2).sum())({"a": x(t)}),
    "grad and value": lambda t: t.func.grad_and_value(lambda x: x.sum())(x(t)),
    "grad that nothing depends on": lambda t: t.func.grad(lambda x: t.ones(()))(x(t)),
    "vjp": lambda t: t.func.vjp(lambda x: (x.sin(), x.cos()), x(t))[1]((x(t), x(t))),
    "vjp of two": lambda t: t.func.vjp(lambda x, y: x * y, x(t), x(t))[1](x(t)),
    "vjp with another nesting": lambda t: t.func.vjp(lambda x: (x.sin(), x), x(t))[1](x(t)),
    "jvp": lambda t: t.func.jvp(lambda x: x.sin(), (x(t),), (x(t),)),
    "jvp of two": lambda t: t.func.jvp(lambda x, y: (x * y, x), (x(t), x(t)), (x(t), x(t))),
    "jvp with aux": lambda t: t.func.jvp(lambda x: (x * 2, x), (x(t),), (x(t),), has_aux=True),
    "jvp without tuples": lambda t: t.func.jvp(lambda x: x, x(t), x(t)),
    "jvp of another size": lambda t: t.func.jvp(lambda x: x, (x(t),), (t.ones(2),)),
    "jacrev": lambda t: t.func.jacrev(lambda x: x.sin())(x(t)),
    "jacrev of a dict": lambda t: t.func.jacrev(lambda x: {"a": x.exp(), "b": x.sum()})(x(t)),
    "jacfwd": lambda t: t.func.jacfwd(lambda x, y: x * y, argnums=(0, 1))(x(t), x(t)),
    "hessian": lambda t: t.func.hessian(lambda x: (x**3).sum() * x[0])(x(t)),
    "linearize": lambda t: t.func.linearize(lambda x: x.sin(), x(t))[1](x(t)),
    "vmap": lambda t: t.vmap(lambda x: x * 2)(x(t)),
    "vmap of two": lambda t: t.vmap(t.dot)(t.ones(2, 3), t.ones(2, 3)),
    "vmap over one of two": lambda t: t.vmap(lambda a, b: a + b, in_dims=(0, None))(t.ones(2, 3), x(t)),
    "vmap over columns": lambda t: t.vmap(lambda a: a.sum(), in_dims=1)(t.ones(2, 3)),
    "vmap with out_dims": lambda t: t.vmap(lambda a: (a, a.sum()), out_dims=(1, 0))(t.ones(2, 3)),
    "vmap of a dict": lambda t: t.vmap(lambda d: d["a"] * 2)({"a": x(t)}),
    "vmap of grad": lambda t: t.vmap(t.func.grad(lambda x: x**2))(x(t)),
    "vmap of a number": lambda t: t.vmap(lambda a: a)(1),
    "vmap of sizes that differ": lambda t: t.vmap(lambda a, b: a)(x(t), t.ones(2)),
    "vmap over a missing dimension": lambda t: t.vmap(lambda a: a, in_dims=2)(x(t)),
    "vmap with too many in_dims": lambda t: t.vmap(lambda a: a, in_dims=(0, 0))(x(t)),
    "vmap with a string": lambda t: t.vmap(lambda a: a, in_dims="a")(x(t)),
    "vmap without inputs": lambda t: t.vmap(lambda a: a)(),
    "vmap that returns a number": lambda t: t.vmap(lambda a: 1)(x(t)),
    "vmap with too many out_dims": lambda t: t.vmap(lambda a: a, out_dims=(0, 0))(x(t)),
    "vmap with random numbers": lambda t: t.vmap(lambda a: a + t.randn(()))(x(t)),
    "vmap with unknown randomness": lambda t: t.vmap(lambda a: a, randomness="foo")(x(t)),
    "vmap in chunks of none": lambda t: t.vmap(lambda a: a, chunk_size=0)(x(t)),
    "functional_call": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), {"weight": t.ones(2, 2), "bias": t.ones(2)}, (t.ones(1, 2),)
    ),
    "functional_call that lacks one": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), {"weight": t.zeros(2, 2)}, t.ones(1, 2), strict=True
    ),
    "functional_call with one twice": lambda t: t.func.functional_call(
        t.nn.Linear(2, 2), ({"weight": t.zeros(2, 2)}, {"weight": t.ones(2)}), t.ones(1, 2)
    ),
    "stack of no modules": lambda t: t.func.stack_module_state([]),
    "grad through what is outside": lambda t: (
        lambda w: t.func.grad(lambda x: (x * w).sum())(x(t)).requires_grad
    )(t.ones(3, requires_grad=True)),
}


def pair(torch):
    a = torch.arange(6.0).reshape(2, 3)
    b = a.clone()
    b[0, 1], b[1, 2] = 5, 7
    return a, b


def close(*make, **options):
    return lambda t: t.testing.assert_close(*(m(t) for m in make), **options)


TESTING = {
    "equal": close(lambda t: pair(t)[0], lambda t: pair(t)[0]),
    "different": close(lambda t: pair(t)[0], lambda t: pair(t)[1]),
    "exact": close(lambda t: pair(t)[0], lambda t: pair(t)[1], rtol=0, atol=0),
    "integers": close(lambda t: pair(t)[0].long(), lambda t: pair(t)[1].long()),
    "shapes": close(lambda t: pair(t)[0], lambda t: pair(t)[1][0]),
    "dtypes": close(lambda t: pair(t)[0], lambda t: pair(t)[1].double()),
    "dtypes that do not matter": close(
        lambda t: pair(t)[0], lambda t: pair(t)[1].double(), check_dtype=False
    ),
    "NaN": close(lambda t: t.tensor([float("nan"), 1.0]), lambda t: t.tensor([float("nan"), 1.0])),
    "NaN that is equal": close(
        lambda t: t.tensor([float("nan")]), lambda t: t.tensor([float("nan")]), equal_nan=True
    ),
    "floats": close(lambda t: 1.0, lambda t: 1.1),
    "ints": close(lambda t: 1, lambda t: 2),
    "an int and a float": close(lambda t: 1, lambda t: 1.0),
    "complex": close(lambda t: 1 + 1j, lambda t: 1 + 2j),
    "bools": close(lambda t: True, lambda t: False),
    "lists": close(lambda t: [*pair(t)], lambda t: [pair(t)[0]] * 2),
    "lengths": close(lambda t: [pair(t)[0]], lambda t: [*pair(t)]),
    "nested": close(lambda t: {"a": [1, {"b": pair(t)[0]}]}, lambda t: {"a": [1, {"b": pair(t)[1]}]}),
    "keys": close(lambda t: {"a": 1}, lambda t: {"b": 1}),
    "strings": close(lambda t: "a", lambda t: "a"),
    "arrays": close(lambda t: numpy.ones(2), lambda t: numpy.zeros(2)),
    "None": close(lambda t: None, lambda t: pair(t)[0]),
    "one tolerance": close(lambda t: pair(t)[0], lambda t: pair(t)[1], rtol=1),
    "a message": close(lambda t: pair(t)[0], lambda t: pair(t)[1], msg=lambda m: "see: " + m),
    "scalars": close(lambda t: t.tensor(1.0), lambda t: t.tensor(2.0)),
    "bool tensors": close(lambda t: t.tensor([True, False]), lambda t: t.tensor([True, True])),
    "bfloat16": close(lambda t: pair(t)[0].bfloat16(), lambda t: pair(t)[1].bfloat16()),
    "infinity": close(lambda t: t.tensor([float("inf")]), lambda t: t.tensor([1.0])),
    "empty": close(lambda t: t.empty(0), lambda t: t.empty(0)),
    "make floats": lambda t: t.testing.make_tensor(2, 3, dtype=t.float32, device="cpu"),
    "make ints": lambda t: t.testing.make_tensor((2, 3), dtype=t.int64, device="cpu"),
    "make bools": lambda t: t.testing.make_tensor((4,), dtype=t.bool, device="cpu"),
    "make complex": lambda t: t.testing.make_tensor((2,), dtype=t.complex64, device="cpu"),
    "make in a range": lambda t: t.testing.make_tensor((3,), dtype=t.float64, device="cpu", low=1, high=2),
    "make with limits crossed": lambda t: t.testing.make_tensor(
        (3,), dtype=t.int32, device="cpu", low=3, high=0
    ),
    "make ints with gradient": lambda t: t.testing.make_tensor(
        3, dtype=t.int32, device="cpu", requires_grad=True
    ),
}

TREE = {
    "a": [1, (2, None)],
    "b": collections.OrderedDict(c=Pair(3, 4)),
    "d": collections.deque([5], maxlen=2),
}
PYTREE = {
    "leaves": lambda t: t.utils._pytree.tree_leaves(TREE),
    "map": lambda t: t.utils._pytree.tree_map(lambda v: (v, v), TREE),
    "map of two": lambda t: t.utils._pytree.tree_map(lambda a, b: (a, b), [1, 2], [[3], 4]),
    "map of two that differ": lambda t: t.utils._pytree.tree_map(lambda a, b: a, [1, 2], [3]),
    "map of some": lambda t: t.utils._pytree.tree_map_only(int, lambda v: -v, TREE),
    "paths": lambda t: [t.utils._pytree.keystr(p) for p, _ in t.utils._pytree.tree_leaves_with_path(TREE)],
    "too few leaves": lambda t: t.utils._pytree.tree_unflatten([], t.utils._pytree.tree_structure((1,))),
    "counts": lambda t: [
        getattr(t.utils._pytree.tree_structure(TREE), n) for n in ("num_leaves", "num_children")
    ],
    "results of operators": lambda t: t.utils._pytree.tree_leaves(t.max(t.ones(2, 2), 0)),
}


@pytest.mark.parametrize("case", [*FUNC, *TESTING, *PYTREE])
def test_the_outcome_is_pytorchs(case):
    function = (FUNC | TESTING | PYTREE)[case]
    assert outcome(function, mindtorch_v2) == outcome(function, pytorch)


def test_custom_operators_have_pytorchs_schemas_results_and_gradients():
    found = []
    for torch in (mindtorch_v2, pytorch):

        def function(
            a: torch.Tensor, b: torch.Tensor | None = None, n: int = 2, s: str = "x", *, f: float = 1.5
        ) -> torch.Tensor:
            return a * n * f if b is None else a * b

        operator = attrgetter("library.custom_op")(torch)("parity::scale", function, mutates_args=())
        operator.register_autograd(
            lambda ctx, grad: (grad * ctx.factor, None, None, None),
            setup_context=lambda ctx, inputs, keyword_only_inputs, output: setattr(
                ctx, "factor", inputs[2] * keyword_only_inputs["f"]
            ),
        )
        a = torch.arange(3.0, requires_grad=True)
        out = torch.ops.parity.scale(a, n=3, f=2.0)
        out.sum().backward()
        found.append((str(operator._opoverload._schema), out.tolist(), a.grad.tolist(), repr(operator)))
    assert found[0] == found[1]


PUBLIC = [
    "autograd.grad_mode",
    "fft",
    "func",
    "futures",
    "fx",
    "hub",
    "jit",
    "nn.init",
    "nn.utils",
    "storage",
]


@pytest.mark.parametrize("module", [*PUBLIC, "types", "utils.data.dataset", "utils.data.sampler"])
def test_modules_list_the_public_names_that_they_have(module):
    ours, theirs = attrgetter(module)(mindtorch_v2), attrgetter(module)(pytorch)
    assert set(ours.__all__) >= {name for name in theirs.__all__ if hasattr(ours, name)}
    assert all(hasattr(ours, name) for name in ours.__all__)

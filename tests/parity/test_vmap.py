"""vmap beside PyTorch's: results, refusals and text."""

import pytest
import torch as pytorch
from test_namespaces import outcome

import mindtorch_v2


def x(t):
    return (t.arange(12.0).reshape(3, 4) - 5) / 7


def functions(t):
    """Functions with a backward of their own: with vmap's rule from it, by hand, and without."""

    class Scaled(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(a, b):
            return a * b

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return g * b * 10, g * a * 100

    class ByHand(Scaled):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, a, b):
            assert in_dims == (0, None) and info.batch_size == 3 and info.randomness == "error"
            return Scaled.apply(a, b), 0

    class Silent(Scaled):
        generate_vmap_rule = False

    class Both(ByHand):
        generate_vmap_rule = True

    class One(Silent):
        @staticmethod
        def vmap(info, in_dims, a, b):
            return Scaled.apply(a, b)

    class Bare(t.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a

    return {"made": Scaled, "by hand": ByHand, "none": Silent, "both": Both, "one result": One, "bare": Bare}


def inside_and_outside(t, function):
    inside = t.vmap(t.func.grad(lambda a, b: function.apply(a, b).sum(), (0, 1)), (0, None))(x(t), x(t)[1])
    a, b = x(t).requires_grad_(), x(t)[1].clone().requires_grad_()
    made = t.vmap(function.apply, (0, None))(a, b)
    made.sum().backward()
    return inside, made.detach(), a.grad, b.grad


def shown(t, function):
    """What a function prints of its argument."""
    seen = []
    t.vmap(lambda a: function(a, seen.append) or a)(x(t))
    return seen


def batched(t):
    a = x(t).requires_grad_()
    return t.autograd.grad(a**2, a, t.eye(12).reshape(12, 3, 4), is_grads_batched=True)


CASES = {
    "reading an item": lambda t: t.vmap(lambda a: a.sum().item())(x(t)),
    "reading a float": lambda t: t.vmap(lambda a: float(a.sum()))(x(t)),
    "a branch": lambda t: t.vmap(lambda a: a if a.sum() > 0 else -a)(x(t)),
    "reading a list": lambda t: t.vmap(lambda a: a.tolist())(x(t)),
    "reading the memory": lambda t: t.vmap(lambda a: a.numpy())(x(t)),
    "reading the address": lambda t: t.vmap(lambda a: a.data_ptr())(x(t)),
    "a mask": lambda t: t.vmap(lambda a: a[a > 0])(x(t)),
    "places that are not zero": lambda t: t.vmap(lambda a: a.nonzero())(x(t)),
    "a write to what is shared": lambda t: t.vmap(lambda a: t.zeros(4).copy_(a))(x(t)),
    "a result that is given": lambda t: t.vmap(lambda a: t.add(a, a, out=t.empty(4)))(x(t)),
    "a window beyond the slice": lambda t: t.vmap(lambda a: a.as_strided((2, 4), (1, 1)))(x(t)),
    "text": lambda t: shown(t, lambda a, show: show(repr(a))),
    "text inside": lambda t: shown(t, lambda a, show: show(t.vmap(lambda b: show(repr(b)) or b)(a).shape)),
    "strides": lambda t: shown(t, lambda a, show: show((a.stride(), a.is_contiguous(), a.shape))),
    "nothing to map over": lambda t: t.vmap(lambda a: a, None)(x(t)),
    "nothing of two to map over": lambda t: t.vmap(lambda a, b: a, (None, None))(x(t), x(t)),
    "a batch as it is": lambda t: t.vmap(lambda a: a, out_dims=None)(x(t)),
    "what is no batch as it is": lambda t: t.vmap(lambda a: t.ones(2), out_dims=None)(x(t)),
    "a dimension that is not there": lambda t: t.vmap(lambda a: a, out_dims=5)(x(t)),
    "a last dimension": lambda t: t.vmap(lambda a: (a, a.sum()), out_dims=-1)(x(t)),
    "chunks": lambda t: t.vmap(lambda a: a.cumsum(0), chunk_size=2)(x(t)),
    "an index of slices": lambda t: t.vmap(lambda a, i: a[i])(x(t), t.tensor([0, 3, 1])),
    "promotion of numbers": lambda t: t.vmap(t.add)(x(t), t.arange(3, dtype=t.float64)),
    "promotion of a number": lambda t: t.vmap(lambda a: a + t.tensor(1.0, dtype=t.float64))(x(t)[0]),
    "writes": lambda t: t.vmap(lambda a: a.clone().mul_(2).index_fill_(0, t.tensor([1]), 7.0))(x(t)),
    "random numbers": lambda t: t.vmap(lambda a: t.rand(2))(x(t)),
    "the same random numbers": lambda t: t.vmap(lambda a: t.rand(2), randomness="same")(x(t)),
    "different random numbers": lambda t: t.vmap(lambda a: t.rand(2), randomness="different")(x(t)),
    "different in place": lambda t: t.vmap(lambda a: a.clone().normal_(), randomness="different")(x(t)),
    "different in what is shared": lambda t: t.vmap(lambda a: t.ones(2).normal_(), randomness="different")(x(t)),
    "the same of a batch": lambda t: t.vmap(lambda a: t.bernoulli(a.sigmoid()), randomness="same")(x(t)),
    "jacobian": lambda t: t.func.jacrev(lambda a: a.sin() * a.sum())(x(t)[0]),
    "jacobians": lambda t: t.vmap(t.func.jacrev(lambda a: a.sin() * a.sum()))(x(t)),
    "second derivatives": lambda t: t.vmap(t.func.hessian(lambda a: (a**3).sum() * a[0]))(x(t)),
    "gradients of gradients": lambda t: t.vmap(t.func.grad(t.func.grad(lambda a: a**4)))(x(t)[0]),
    "batched gradients": batched,
    "below": lambda t: shown(t, lambda a, show: show((t.func.debug_unwrap(a).shape, t._C._functorch.current_level()))),
    "functionalize": lambda t: t.func.functionalize(lambda a: a.add_(1).view(-1), remove="mutations_and_views")(x(t)),
    "functionalize what else": lambda t: t.func.functionalize(lambda a: a, remove="all")(x(t)),
    **{f"function, {kind}": lambda t, k=kind: inside_and_outside(t, functions(t)[k])
       for kind in ("made", "by hand", "none", "both", "one result", "bare")},
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_outcome_is_pytorchs(case):
    assert outcome(CASES[case], mindtorch_v2) == outcome(CASES[case], pytorch)

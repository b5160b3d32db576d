"""Forward mode gives PyTorch's results and errors."""

import pytest
import torch as pytorch

import mindtorch_v2


def outcome(function, torch):
    """What a call gives or raises, as text without the name of the library."""
    torch.manual_seed(0)
    try:
        text = repr(function(torch))
    except Exception as error:  # noqa: BLE001 - errors are compared
        text = f"{type(error).__name__}: {error}".split("\nPlease file an issue")[0]
    return text.replace("mindtorch_v2", "torch").replace("-0.0000", " 0.0000")


def x(torch):
    return torch.arange(3.0) + 1


def v(torch):
    return torch.tensor([1.0, -2.0, 0.5])


def inside(function):
    """A call inside a level, with forward_ad and a dual tensor."""

    def call(torch):
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            return function(torch, forward, forward.make_dual(x(torch), v(torch)))

    return call


def switched_off(torch, forward, dual):
    with forward._set_fwd_grad_enabled(False):
        made = dual * 2
    return made, forward.unpack_dual(made)


LEVELS = {
    "no level": lambda t: t.autograd.forward_ad.make_dual(x(t), v(t)),
    "unpacked outside": lambda t: t.autograd.forward_ad.unpack_dual(x(t)),
    "left without one": lambda t: t.autograd.forward_ad.exit_dual_level(),
    "nested": inside(lambda t, f, d: f.enter_dual_level()),
    "another level left": inside(lambda t, f, d: f.exit_dual_level(level=3)),
    "another level unpacked": inside(lambda t, f, d: f.unpack_dual(x(t), level=3)),
    "integers": inside(lambda t, f, d: f.make_dual(t.arange(3), v(t))),
    "an integer direction": inside(lambda t, f, d: f.make_dual(x(t), t.arange(3))),
    "another size": inside(lambda t, f, d: f.make_dual(x(t), v(t)[:2])),
    "dual twice": inside(lambda t, f, d: f.make_dual(d, v(t))),
    "a number": inside(lambda t, f, d: f.make_dual(1.0, v(t))),
    "printed": inside(lambda t, f, d: d),
    "detached": inside(lambda t, f, d: f.unpack_dual(d.detach())),
    "data": inside(lambda t, f, d: f.unpack_dual(d.data)),
    "out=": inside(lambda t, f, d: t.sin(d, out=t.empty(3))),
    "into a dual": inside(lambda t, f, d: t.sin(x(t), out=d)),
    "not implemented": inside(lambda t, f, d: t.igamma(d, x(t))),
    "as a number": inside(lambda t, f, d: (d.tolist(), d[0].item(), d.numpy(), d == 1)),
    "without gradients": inside(lambda t, f, d: t.no_grad()(lambda: f.unpack_dual(d * 2))()),
    "inference": inside(lambda t, f, d: t.inference_mode()(lambda: f.unpack_dual(d * 2))()),
    "switched off": inside(switched_off),
    "copied into": inside(lambda t, f, d: f.unpack_dual(t.zeros(3).copy_(d))),
    "a part written": inside(lambda t, f, d: f.unpack_dual(t.zeros(2, 3).index_put_((t.tensor(1),), d))),
    "in place": inside(lambda t, f, d: f.unpack_dual(d.mul_(x(t)).add_(1).sin_())),
    "views in place": inside(lambda t, f, d: (d[1].mul_(3), f.unpack_dual(d))[1]),
    "split": inside(lambda t, f, d: [f.unpack_dual(p).tangent for p in d.split(2)]),
    "stacked with others": inside(lambda t, f, d: f.unpack_dual(t.stack([d, x(t)]))),
    "sorted": inside(lambda t, f, d: f.unpack_dual(d.sort(descending=True).values)),
    "complex": inside(lambda t, f, d: f.unpack_dual(t.complex(d, x(t)).abs())),
    "masked by a dual": inside(lambda t, f, d: f.unpack_dual(x(t).masked_fill(x(t) > 1, d[0]))),
    "broadcast": inside(lambda t, f, d: f.unpack_dual(t.ones(2, 3) + d)),
    "promoted": inside(lambda t, f, d: f.unpack_dual(d * t.tensor([2.0], dtype=t.float64))),
    "normalised": inside(lambda t, f, d: f.unpack_dual(t.nn.functional.layer_norm(d, (3,)))),
}

FUNC = {
    "primals in a list": lambda t: t.func.jvp(t.sin, [x(t)], [v(t)]),
    "tangents in a list": lambda t: t.func.jvp(t.sin, (x(t),), [v(t)]),
    "more tangents": lambda t: t.func.jvp(t.sin, (x(t),), (v(t), v(t))),
    "strict": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (v(t),), strict=True),
    "independent": lambda t: t.func.jvp(lambda a: t.ones(2), (x(t),), (v(t),)),
    "a number back": lambda t: t.func.jvp(lambda a: 1.0, (x(t),), (v(t),)),
    "a number as aux": lambda t: t.func.jvp(lambda a: (a, 1.0), (x(t),), (v(t),), has_aux=True),
    "a number": lambda t: t.func.jvp(lambda a: a, (1.0,), (v(t),)),
    "nothing": lambda t: t.func.jvp(lambda: x(t), (), ()),
    "integers": lambda t: t.func.jvp(lambda a: a, (t.arange(3),), (v(t),)),
    "a dict back": lambda t: t.func.jvp(lambda a: {"a": a * 2}, (x(t),), (v(t),)),
    "nested": lambda t: t.func.jvp(lambda a: t.func.jvp(t.sin, (a,), (v(t),))[1], (x(t),), (v(t),)),
    "of a gradient": lambda t: t.func.jvp(t.func.grad(lambda a: (a**3).sum()), (x(t),), (v(t),)),
    "gradient of it": lambda t: t.func.grad(lambda a: t.func.jvp(lambda b: b**3, (a,), (v(t),))[1].sum())(
        x(t)
    ),
    "linear of another shape": lambda t: t.func.linearize(t.sin, x(t))[1](v(t)[:2]),
    "linear of another dtype": lambda t: t.func.linearize(t.sin, x(t))[1](v(t).double()),
    "linear of two": lambda t: t.func.linearize(t.sin, x(t))[1](v(t), v(t)),
    "Jacobian of a number": lambda t: t.func.jacfwd(lambda a: 1.0)(x(t)),
    "Jacobian by what is not there": lambda t: t.func.jacfwd(lambda a: a, argnums=2)(x(t)),
    "Jacobian with aux": lambda t: t.func.jacfwd(lambda a: (a, 2 * a), has_aux=True)(x(t)),
    "Jacobian without aux": lambda t: t.func.jacfwd(lambda a: a, has_aux=True)(x(t)),
    "Jacobian of two": lambda t: t.func.jacfwd(lambda a: (a, a.sum()))(x(t)),
    "Jacobian of integers": lambda t: t.func.jacfwd(lambda a: a.sum())(t.arange(3)),
    "Jacobian of nothing": lambda t: t.func.jacfwd(lambda a: a.sum())(t.ones(0)),
    "Jacobian of complex results": lambda t: t.func.jacfwd(lambda a: a * 1j)(x(t)),
    "Jacobian by complex numbers": lambda t: t.func.jacfwd(lambda a: a)(x(t) * 1j),
    "Hessian by two": lambda t: t.func.hessian(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x(t), v(t)),
    "Jacobian of old": lambda t: t.autograd.functional.jacobian(
        lambda a: a.sin(), x(t), strategy="forward-mode", vectorize=True
    ),
    "Jacobian of old, one by one": lambda t: t.autograd.functional.jacobian(
        t.sin, x(t), strategy="forward-mode"
    ),
    "Hessian of old": lambda t: t.autograd.functional.hessian(
        lambda a: (a**3).sum(), x(t), vectorize=True, outer_jacobian_strategy="forward-mode"
    ).detach(),
}


@pytest.mark.parametrize("name", LEVELS)
def test_dual_tensors(name):
    assert outcome(LEVELS[name], mindtorch_v2) == outcome(LEVELS[name], pytorch)


@pytest.mark.parametrize("name", FUNC)
def test_functions(name):
    assert outcome(FUNC[name], mindtorch_v2) == outcome(FUNC[name], pytorch)


def of_gradcheck(**options):
    def call(torch):
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.save_for_backward(a)
                ctx.save_for_forward(a)
                return a * a

            @staticmethod
            def backward(ctx, g):
                return g * 2 * ctx.saved_tensors[0]

            @staticmethod
            def jvp(ctx, t):
                return t * 3 * ctx.saved_tensors[0]

        leaf = x(torch).double().requires_grad_()
        torch.autograd.gradcheck(Square.apply, (leaf,), **options)
        return True

    return call


@pytest.mark.parametrize(
    "options",
    [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_forward_ad": True, "fast_mode": True},
     {"check_backward_ad": False}, {"check_batched_forward_grad": True}, {"check_batched_grad": True},
     {"check_forward_ad": True, "check_backward_ad": False, "check_batched_grad": True}],
)  # fmt: skip
def test_gradcheck_says_the_same(options):
    mine, theirs = (outcome(of_gradcheck(**options), t).split("\n")[0] for t in (mindtorch_v2, pytorch))
    assert mine == theirs

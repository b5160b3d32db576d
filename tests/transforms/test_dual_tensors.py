"""Forward mode: tensors that carry the direction they move in."""

import gc
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import forward_ad as fwd
from mindtorch_v2.autograd.gradcheck import GradcheckError
from mindtorch_v2.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vmap

X = [0.3, 0.7, -0.4]
V = [1.0, -2.0, 0.5]


@pytest.fixture
def x():
    return torch.tensor(X, dtype=torch.float64)


@pytest.fixture
def v():
    return torch.tensor(V, dtype=torch.float64)


def tangent(tensor):
    return fwd.unpack_dual(tensor).tangent


def numerical(function, x, v, eps=1e-6):
    return (function(x + eps * v) - function(x - eps * v)) / (2 * eps)


def test_an_operator_moves_its_result_as_its_derivative_says(x, v):
    with fwd.dual_level():
        made = fwd.make_dual(x, v).sin()
        primal, direction = fwd.unpack_dual(made)
        assert torch.equal(primal, x.sin()) and torch.allclose(direction, v * x.cos())


def test_a_tensor_that_does_not_move_has_no_tangent(x):
    with fwd.dual_level():
        assert tangent(x) is None and fwd.unpack_dual(x).primal.tolist() == X
        assert tangent(x * 2) is None


def test_directions_end_with_their_level(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        made = dual * 2
    with fwd.dual_level():
        assert tangent(dual) is None and tangent(made) is None and tangent(made * 3) is None


def test_a_level_lets_go_of_its_directions(x, v):
    with fwd.dual_level():
        made = fwd.make_dual(x, v.clone()).sin()
        direction = weakref.ref(tangent(made))
        assert direction() is not None
    gc.collect()
    assert direction() is None


def test_what_is_no_operator_of_real_numbers_gives_no_direction(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        for made in (dual > 0, dual.argmax(), dual.to(torch.int64), dual.detach(), dual.data):
            assert tangent(made) is None


@pytest.mark.parametrize(
    "function",
    [
        lambda t: t.add_(1), lambda t: t.mul_(t), lambda t: t.sin_(), lambda t: t.clamp_(0, 1), lambda t: t.pow_(3),
        lambda t: t.zero_(), lambda t: t.fill_(2.0), lambda t: t.copy_(t.clone() * 3), lambda t: t.cumprod_(0),
        lambda t: t.mul_(2).exp_(), lambda t: t.index_fill_(0, torch.tensor([1]), 5.0), lambda t: t.uniform_() * 0,
    ],
)  # fmt: skip
def test_in_place_operators_write_the_direction_too(function, x, v):
    want = numerical(lambda y: function(y.clone()), x, v)
    with fwd.dual_level():
        dual = fwd.make_dual(x.clone(), v.clone())
        made = tangent(function(dual))
        assert torch.allclose(torch.zeros_like(x) if made is None else made, want, atol=1e-6)


def test_a_view_moves_with_its_base_and_the_base_with_its_view(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x.clone(), v.clone())
        first = dual[0]
        dual.mul_(3)
        assert tangent(first).item() == 3 * V[0]
        first.mul_(2)
        assert tangent(dual).tolist() == [6 * V[0], 3 * V[1], 3 * V[2]]


def test_a_moving_part_makes_the_whole_move(x, v):
    with fwd.dual_level():
        whole = torch.zeros(2, 3, dtype=torch.float64)
        whole[1] = fwd.make_dual(x, v) * 2
        assert tangent(whole).tolist() == [[0, 0, 0], [2 * d for d in V]]
        whole[0, 0] = 5
        assert tangent(whole)[0].tolist() == [0, 0, 0]


def test_changing_the_shape_in_place_changes_that_of_the_direction(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x.clone(), v.clone()).unsqueeze_(0).t_()
        assert tangent(dual).shape == (3, 1) and tangent(dual * dual).flatten().tolist() == pytest.approx(
            [2 * a * b for a, b in zip(X, V, strict=True)]
        )


def test_the_direction_of_a_result_is_its_own_memory(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        made = dual + 1
        made.mul_(7)
        assert (
            v.tolist() == V and tangent(dual).tolist() == V and tangent(made).tolist() == [7 * d for d in V]
        )


def test_views_of_a_tensor_whose_direction_lies_otherwise(v):
    base = torch.arange(6.0, dtype=torch.float64).reshape(2, 3)
    turned = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).t()
    with fwd.dual_level():
        assert torch.equal(tangent(fwd.make_dual(base, turned).view(-1)), turned.reshape(-1))


def test_directions_have_the_dtype_and_shape_of_results(v):
    with fwd.dual_level():
        dual = fwd.make_dual(torch.ones(3), torch.ones(3))
        for made in (
            dual + torch.ones(2, 3),
            dual * torch.ones((), dtype=torch.float64),
            dual.double(),
            dual + 1j,
        ):
            assert tangent(made).dtype == made.dtype and tangent(made).shape == made.shape


def test_refusals_are_pytorchs(x, v):
    with pytest.raises(RuntimeError, match="no level exists"):
        fwd.make_dual(x, v)
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        for call, error, text in (
            (
                lambda: fwd.make_dual(dual, v),
                RuntimeError,
                "already has a forward gradient at the same level 0",
            ),
            (lambda: fwd.make_dual(x, v[:2]), RuntimeError, r"Tensor is of size \[3\].* of size \[2\]"),
            (
                lambda: fwd.make_dual(x.long(), v),
                ValueError,
                "Expected primal to be floating point or complex",
            ),
            (
                lambda: fwd.make_dual(x, v.long()),
                ValueError,
                "Expected tangent to be floating point or complex",
            ),
            (lambda: fwd.enter_dual_level(), RuntimeError, "Nested forward mode AD is not supported"),
            (lambda: fwd.exit_dual_level(level=3), RuntimeError, "not the last one"),
            (lambda: torch.sin(dual, out=torch.empty_like(x)), NotImplementedError, "it is an out= function"),
            (
                lambda: torch.hstack([dual], out=torch.empty_like(x)),
                NotImplementedError,
                "it is an out= function",
            ),
        ):
            with pytest.raises(error, match=text):
                call()


def test_modes_say_whether_directions_are_looked_at(x, v):
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        with torch.no_grad():
            assert tangent(dual * 2).tolist() == [2 * d for d in V]
        with fwd._set_fwd_grad_enabled(False):
            made = dual * 2
        assert tangent(made) is None
        with torch.inference_mode():
            assert tangent(dual * 2) is None
        assert tangent(dual * 2) is not None and "tangent=" in repr(dual)


def test_gradients_of_directions_and_directions_of_gradients(x, v):
    def f(t):
        return (t.sin() * t.exp()).sum()

    want = jacrev(jacrev(f))(x) @ v
    assert torch.allclose(jvp(grad(f), (x,), (v,))[1], want)
    assert torch.allclose(grad(lambda t: jvp(f, (t,), (v,))[1])(x), want)
    assert torch.allclose(jvp(lambda t: jvp(f, (t,), (v,))[1], (x,), (v,))[1], want @ v)
    assert torch.allclose(grad(lambda w: jvp(grad(f), (x,), (w,))[1].sum())(v), jacrev(jacrev(f))(x).sum(0))
    assert not jvp(grad(f), (x,), (v,))[1].requires_grad


def test_a_direction_has_history(x, v):
    leaf = v.clone().requires_grad_()
    weights = x.clone().requires_grad_()
    _, moved = jvp(lambda t: t.exp() * t, (weights,), (leaf,))
    moved.sum().backward()
    assert torch.allclose(leaf.grad, x.exp() * (1 + x)) and torch.allclose(
        weights.grad, v * x.exp() * (2 + x)
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda t: torch.linalg.inv(t @ t.mT + torch.eye(2, dtype=t.dtype)).flatten(),
        lambda t: torch.linalg.det(t),
        lambda t: torch.softmax(t, 0).cumprod(1),
        lambda t: torch.nn.functional.layer_norm(t, (2,), t[0], t[1]) + torch.logsumexp(t, 1),
        lambda t: torch.cat([t, t.sin()]).sort(0).values,
        lambda t: torch.nn.functional.cross_entropy(t, torch.tensor([0, 1])),
        lambda t: t.var(0) + t.std(1),
        lambda t: torch.nn.functional.batch_norm(t, None, None, training=True),
        lambda t: torch.linalg.svdvals(t),
        lambda t: t.prod(1) + t.amax(0) + t.norm(dim=1),
    ],
)
def test_rules_and_gradients_agree_with_differences(function):
    at = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64)
    along = torch.tensor([[1.0, 0.5], [-0.5, 2.0]], dtype=torch.float64)
    value, moved = jvp(function, (at,), (along,))
    assert torch.allclose(value, function(at)) and torch.allclose(
        moved, numerical(function, at, along), atol=1e-6
    )
    twice = jvp(lambda t: jvp(function, (t,), (along,))[1], (at,), (along,))[1]
    assert torch.allclose(twice, numerical(lambda t: jvp(function, (t,), (along,))[1], at, along), atol=1e-5)


def test_complex_numbers_move_as_holomorphic_functions_do():
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128)
    w = torch.tensor([0.5 + 1j, -2 + 0.25j], dtype=torch.complex128)
    for function in (torch.sin, lambda t: t * t, torch.tanh, lambda t: t.abs(), lambda t: t.angle(), torch.sgn,
                     lambda t: t.real * 2, lambda t: torch.view_as_real(t), lambda t: t.conj() * 3j):  # fmt: skip
        assert torch.allclose(jvp(function, (z,), (w,))[1], numerical(function, z, w), atol=1e-6)


def test_jacobians_have_a_column_for_each_element(x):
    def f(a, b):
        return {"one": a.sin() * b.sum(), "two": b**2}

    found = jacfwd(f, argnums=(0, 1))(x, x[:2])
    want = jacrev(f, argnums=(0, 1))(x, x[:2])
    for key in ("one", "two"):
        assert all(torch.allclose(a, b) for a, b in zip(found[key], want[key], strict=True))
    assert torch.allclose(hessian(lambda t: (t**3).sum())(x), torch.diag(6 * x))
    jacobian, aux = jacfwd(lambda t: (t * 2, t.sum()), has_aux=True)(x)
    assert torch.equal(jacobian, 2 * torch.eye(3, dtype=torch.float64)) and aux == x.sum()


def test_a_linearized_function_is_linear(x, v):
    value, push = linearize(torch.sin, x)
    assert torch.equal(value, x.sin()) and torch.allclose(push(2 * v), 2 * v * x.cos())
    with pytest.raises(RuntimeError, match="doesn't match the shape"):
        push(v[:2])


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t, factor):
        ctx.save_for_backward(t)
        ctx.save_for_forward(t)
        ctx.factor = factor
        return t * t * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * 2 * ctx.factor, None

    @staticmethod
    def jvp(ctx, t, factor):
        assert factor is None
        return t * ctx.saved_tensors[0] * 2 * ctx.factor


def test_a_function_of_the_program_says_how_it_moves(x, v):
    value, moved = jvp(lambda t: Scaled.apply(t, 3.0), (x,), (v,))
    assert torch.allclose(value, 3 * x * x) and torch.allclose(moved, 6 * x * v)
    assert torch.autograd.gradcheck(
        lambda t: Scaled.apply(t, 3.0), (x.clone().requires_grad_(),), check_forward_ad=True
    )
    twice = jvp(lambda t: jvp(lambda s: Scaled.apply(s, 3.0), (t,), (v,))[1], (x,), (v,))[1]
    assert torch.allclose(twice, 6 * v * v)


class Wrong(Scaled):
    @staticmethod
    def jvp(ctx, t, factor):
        return t * ctx.saved_tensors[0]


@pytest.mark.parametrize("fast", [False, True])
def test_gradcheck_sees_a_wrong_direction(fast, x):
    leaf = x.clone().requires_grad_()
    with pytest.raises(GradcheckError, match="forward mode mismatch"):
        torch.autograd.gradcheck(
            lambda t: Wrong.apply(t, 3.0), (leaf,), check_forward_ad=True, fast_mode=fast
        )
    assert torch.autograd.gradcheck(lambda t: Wrong.apply(t, 3.0), (leaf,), fast_mode=fast)


def test_gradgradcheck_goes_forward_over_backward(x):
    leaf = x.clone().requires_grad_()
    assert torch.autograd.gradgradcheck(lambda t: t.exp() * t.sin(), (leaf,), check_fwd_over_rev=True)
    assert torch.autograd.gradcheck(
        lambda t: torch.tanh(t).cumsum(0), (leaf,), check_forward_ad=True, check_batched_forward_grad=True,
        check_batched_grad=True, fast_mode=True,
    )  # fmt: skip


def test_a_jacobian_in_forward_mode_is_that_of_backward(x):
    functional = torch.autograd.functional
    f = lambda t: (t.sin(), t.sum() * t)  # noqa: E731
    ahead = functional.jacobian(f, x, vectorize=True, strategy="forward-mode")
    assert all(torch.allclose(a, b) for a, b in zip(ahead, functional.jacobian(f, x), strict=True))
    with pytest.raises(NotImplementedError, match="vectorize=True"):
        functional.jacobian(f, x, strategy="forward-mode")


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_a_network_moves_on_every_device(device):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(),
                              torch.nn.Linear(8, 3)).to(device).eval()  # fmt: skip
    data = torch.randn(2, 1, 4, 4).to(device)
    along = torch.randn(2, 1, 4, 4).to(device)
    value, moved = jvp(net, (data,), (along,))
    leaf = data.clone().requires_grad_()
    rows = [torch.autograd.grad(y, leaf, retain_graph=True)[0] for y in net(leaf).flatten()]
    assert torch.allclose(moved.flatten(), torch.stack([(row * along).sum() for row in rows]), atol=1e-4)
    assert torch.allclose(value, net(data))


@pytest.mark.parametrize("loss", ["mse_loss", "huber_loss", "smooth_l1_loss"])
@pytest.mark.parametrize("kind", [grad, jacrev])
def test_products_with_a_hessian_for_many_directions_at_once(loss, kind):
    # The gradient's own tangent comes from its gradient, and runs where nothing is recorded.
    x, goal = torch.tensor([0.3, 0.7, -0.4]), torch.tensor([0.1, 0.5, 0.0])
    directions = torch.eye(3)
    curved = kind(lambda a: getattr(torch.nn.functional, loss)(a, goal))
    found = vmap(lambda v: jvp(curved, (x,), (v,))[1])(directions)
    assert torch.allclose(found, torch.eye(3) * (2 / 3 if loss == "mse_loss" else 1 / 3))
    assert torch.allclose(torch.stack([jvp(curved, (x,), (v,))[1] for v in directions]), found)

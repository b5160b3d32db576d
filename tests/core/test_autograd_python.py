"""The parts of autograd whose content is Python: Function, saved tensor hooks, anomaly mode, inference mode,
checkpoints, gradcheck, derivatives of functions."""

import gc
import weakref

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._plan import memory
from mindtorch_v2.autograd import Function
from mindtorch_v2.autograd.function import once_differentiable
from mindtorch_v2.autograd.gradcheck import GradcheckError
from mindtorch_v2.autograd.graph import (
    disable_saved_tensors_hooks,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)
from mindtorch_v2.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


class CubeWithSetup(Function):
    @staticmethod
    def forward(x, scale):
        return x**3 * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2 * ctx.scale, None


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_a_function_computes_its_own_gradient():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x)
    y.sum().backward()
    assert y.tolist() == [1, 8]
    assert x.grad.tolist() == [3, 12]


def test_setup_context_gets_inputs_and_output():
    x = leaf(2.0)
    CubeWithSetup.apply(x, 10).sum().backward()
    assert x.grad.tolist() == [120]


def test_a_function_can_be_differentiated_twice():
    x = leaf(2.0)
    (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [12]


def test_the_node_bears_the_functions_name_and_shows_its_context():
    y = Cube.apply(leaf(1.0))
    assert y.grad_fn.name() == "CubeBackward"
    assert y.grad_fn.saved_tensors[0].tolist() == [1]


def test_nothing_is_recorded_without_grad():
    assert not Cube.apply(torch.ones(2)).requires_grad
    with torch.no_grad():
        assert not Cube.apply(leaf(1.0)).requires_grad


def test_needs_input_grad_says_which_inputs_matter():
    seen = []

    class Probe(Function):
        @staticmethod
        def forward(ctx, a, b, c):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            return grad, None, None

    Probe.apply(leaf(1.0), torch.ones(1, dtype=torch.float64), 3).sum().backward()
    assert seen == [(True, False, False)]


def test_gradients_nobody_asked_for_are_zeros_unless_switched_off():
    seen = []

    class Two(Function):
        @staticmethod
        def forward(ctx, x, materialize):
            ctx.set_materialize_grads(materialize)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, a, b):
            seen.append(b if b is None else b.tolist())
            return a * 2, None

    for materialize in (True, False):
        Two.apply(leaf(1.0), materialize)[0].sum().backward()
    assert seen == [[0.0], None]


def test_an_input_returned_as_it_is_becomes_an_output_of_its_own():
    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 5

    x = leaf(1.0)
    y = Same.apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5]


def test_a_dirty_input_keeps_its_identity():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = leaf(3.0)
    middle = x * 1
    y = Double.apply(middle)
    assert y is middle
    y.sum().backward()
    assert x.grad.tolist() == [2]


def test_outputs_marked_non_differentiable_have_no_history():
    class Split(Function):
        @staticmethod
        def forward(ctx, x):
            sign = x.sign()
            ctx.mark_non_differentiable(sign)
            return x * 2, sign

        @staticmethod
        def backward(ctx, grad, _):
            return grad * 2

    y, sign = Split.apply(leaf(1.0))
    assert y.requires_grad and not sign.requires_grad


def test_a_wrong_number_of_gradients_is_an_error():
    class Bad(Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(
        RuntimeError, match=r"BadBackward returned an incorrect number of gradients \(expected 2"
    ):
        Bad.apply(leaf(1.0), leaf(2.0)).sum().backward()


def test_an_error_in_backward_reaches_the_caller():
    class Raises(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        Raises.apply(leaf(1.0)).sum().backward()


def test_saved_tensors_are_freed_after_backward():
    y = Cube.apply(leaf(1.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_changing_a_saved_tensor_is_noticed():
    x = leaf(1.0)
    middle = x * 1
    y = Cube.apply(middle)
    with torch.no_grad():
        middle.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_graph_with_a_function_is_freed():
    x = leaf(1.0)

    class Holder(Function):
        @staticmethod
        def forward(ctx, a):
            y = a * 2
            ctx.save_for_backward(a, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Holder.apply(x)
    gone = weakref.ref(y)
    del y
    gc.collect()
    assert gone() is None


def test_once_differentiable_refuses_a_second_derivative():
    class Once(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        @once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = leaf(3.0)
    (first,) = torch.autograd.grad((Once.apply(x) ** 2).sum(), x, create_graph=True)
    assert first.tolist() == [108]
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_functions_are_not_instantiated():
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        Cube()


# ---- saved tensor hooks


def test_what_is_saved_goes_through_the_hooks():
    packed = []
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: packed.append(t.tolist()) or t.numpy(), torch.from_numpy):
        y = x.detach() * x  # saves the constant operand
    y.sum().backward()
    assert packed and x.grad.tolist() == [2]


def test_hooks_keep_double_backward_working():
    x = leaf(2.0)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = (x * x).exp()
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    e = np.exp(4.0)
    assert first.item() == pytest.approx(4 * e)
    assert second.item() == pytest.approx(2 * e + 16 * e)


def test_save_on_cpu_gives_the_same_gradient():
    x = leaf(2.0)
    with save_on_cpu():
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4]


def test_hooks_can_be_forbidden():
    with (
        disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass


def test_a_multi_grad_hook_sees_all_gradients_once():
    a, b = leaf(1.0), leaf(2.0)
    seen = []
    handle = register_multi_grad_hook((a, b), lambda grads: seen.append([g.item() for g in grads]))
    (a * b).sum().backward()
    handle.remove()
    (a * b).sum().backward()
    assert seen == [[2.0, 1.0]]


# ---- anomaly mode


def test_anomaly_mode_finds_nan_and_shows_the_forward():
    x = torch.tensor([0.0], requires_grad=True)
    with pytest.warns(UserWarning) as caught, torch.autograd.detect_anomaly():
        y = (x * 0).sqrt() * 0
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            y.sum().backward()
    assert any("sqrt" in str(w.message) and "Traceback of forward call" in str(w.message) for w in caught)
    assert not torch.is_anomaly_enabled()


# ---- inference mode


def test_inference_tensors_stay_out_of_autograd():
    with torch.inference_mode():
        x = torch.ones(2)
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
    assert x.is_inference() and not torch.ones(1).is_inference()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        leaf(1.0, 2.0).float() * x
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x.add_(1)
    assert (x.clone() * 2).tolist() == [2, 2]


def test_inference_mode_decorates():
    @torch.inference_mode()
    def make():
        return torch.ones(1)

    assert make().is_inference()


# ---- checkpoints


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_gives_the_same_gradients(use_reentrant):
    torch.manual_seed(0)
    calls = []
    weight = torch.randn(3, 3, requires_grad=True)

    def block(x):
        calls.append(1)
        return torch.nn.functional.dropout((x @ weight).tanh(), 0.5)

    gradients = []
    for run in (block, lambda x: checkpoint(block, x, use_reentrant=use_reentrant)):
        torch.manual_seed(1)
        x = torch.ones(2, 3, requires_grad=True)
        weight.grad = None
        run(x).sum().backward()
        gradients.append((x.grad.tolist(), weight.grad.tolist()))
    assert gradients[0] == gradients[1]
    assert len(calls) == 3


def test_a_checkpoint_notices_a_function_that_changed_its_mind():
    runs = []

    def fickle(x):
        runs.append(1)
        return x.exp().exp() if len(runs) == 1 else x.exp()

    y = checkpoint(fickle, leaf(1.0), use_reentrant=False)
    with pytest.raises(CheckpointError, match="different number of tensors"):
        y.sum().backward()


def test_a_sequence_can_be_checkpointed_in_segments():
    layers = torch.nn.Sequential(*[torch.nn.Linear(3, 3) for _ in range(4)])
    x = torch.ones(1, 3, requires_grad=True)
    made = checkpoint_sequential(layers, 2, x, use_reentrant=False)
    assert made.tolist() == layers(x).tolist()
    made.sum().backward()
    assert x.grad is not None and all(p.grad is not None for p in layers.parameters())


# ---- gradcheck and derivatives of functions


def test_gradcheck_accepts_right_gradients_and_refuses_wrong_ones():
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    x = leaf(0.3, -0.7)
    assert torch.autograd.gradcheck(lambda t: t.exp() * t, (x,))
    assert torch.autograd.gradgradcheck(lambda t: t.exp() * t, (x,))
    assert not torch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        torch.autograd.gradcheck(Wrong.apply, (x,))


def test_jacobian_and_hessian():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    functional = torch.autograd.functional
    assert functional.jacobian(lambda t: t**2, x).tolist() == [[2, 0], [0, 4]]
    assert functional.hessian(lambda t: (t**3).sum(), x).tolist() == [[6, 0], [0, 12]]
    nested = functional.hessian(lambda a, b: (a * b).sum(), (x, x))
    assert nested[0][1].tolist() == [[1, 0], [0, 1]]


def test_products_with_vectors():
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    functional = torch.autograd.functional
    assert functional.vjp(lambda t: t**2, x, v)[1].tolist() == [2, -4]
    assert functional.jvp(lambda t: t**2, x, v)[1].tolist() == [2, -4]
    assert functional.hvp(lambda t: (t**3).sum(), x, v)[1].tolist() == [6, -12]
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(lambda t: t**2, x, v[:1])


def test_a_leaf_tells_when_its_gradient_has_been_added():
    x = torch.ones(2, requires_grad=True)
    seen = []
    handle = x.register_post_accumulate_grad_hook(lambda leaf: seen.append((leaf is x, leaf.grad.tolist())))
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    assert seen == [(True, [2, 2]), (True, [5, 5])]
    handle.remove()
    x.sum().backward()
    assert len(seen) == 2
    assert (x * 1).grad_fn.next_functions[0][0].variable is x


def test_such_a_hook_may_take_the_gradient_away():
    x = torch.ones(2, requires_grad=True)

    def step(leaf):
        with torch.no_grad():
            leaf -= 0.1 * leaf.grad
        leaf.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 2).sum().backward()
    assert x.grad is None and torch.allclose(x, torch.full((2,), 0.8))


def test_such_a_hook_belongs_to_leaves_that_want_gradients():
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        torch.ones(2).register_post_accumulate_grad_hook(print)
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (torch.ones(2, requires_grad=True) * 2).register_post_accumulate_grad_hook(print)


def test_a_hook_after_a_gradient_does_not_make_the_engine_copy_it():
    def made(hooked):
        weight = torch.empty(64, 32, device="meta", requires_grad=True)
        if hooked:
            weight.register_post_accumulate_grad_hook(lambda each: None)
        loss = torch.nn.functional.linear(torch.empty(8, 32, device="meta"), weight).sum()
        with memory.recording():
            loss.backward()
            return sorted(memory.history()[:, 2].tolist())

    assert made(True) == made(False)


def test_a_saved_result_has_its_history_in_every_pass():
    seen = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y, x * 3)
            return y

        @staticmethod
        def backward(ctx, grad):
            y, other = ctx.saved_tensors
            seen.append((y.requires_grad, type(y.grad_fn).__name__, other.requires_grad))
            # A root finder differentiates its function at the root, in an ordinary pass.
            with torch.enable_grad():
                (slope,) = torch.autograd.grad((y**2).sum(), y)
            return grad * slope

    x = torch.ones(2, requires_grad=True)
    Doubled.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4] and seen == [(True, "DoubledBackward", False)]
    assert torch.autograd._is_checkpoint_valid()

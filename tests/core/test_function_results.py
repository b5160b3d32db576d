"""What a torch.autograd.Function may return, and what its backward is given for it."""

import warnings

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.autograd.forward_ad as forward_ad
from mindtorch_v2.autograd import Function


def function(forward, backward=None, jvp=None):
    members = {"forward": staticmethod(forward)}
    for name, given in (("backward", backward), ("jvp", jvp)):
        if given is not None:
            members[name] = staticmethod(given)
    return type("Made", (Function,), members)


def test_each_result_has_a_gradient_of_its_own_in_backward():
    seen = []

    def backward(ctx, *grads):
        seen.extend(grads)
        return grads[0] + grads[3]

    made = function(lambda ctx, x: (x * 2, torch.ones(2, dtype=torch.int64), "text", x * 3), backward)
    x = torch.ones(2, requires_grad=True)
    first, _, _, last = made.apply(x)
    assert (first.output_nr, last.output_nr) == (0, 3)
    hooked = []
    first.grad_fn.register_prehook(lambda grads: hooked.append(len(grads)))
    last.sum().backward()
    assert seen[0].tolist() == [0, 0] and seen[1].tolist() == [0, 0] and seen[2] is None
    assert seen[3].tolist() == [1, 1] and hooked == [4]


def test_gradients_of_results_that_have_none_may_be_left_out():
    def forward(ctx, x):
        ctx._materialize_non_diff_grads = False
        other = x.clone()
        ctx.mark_non_differentiable(other)
        return x.clone(), other

    seen = []

    def backward(ctx, grad, other):
        seen.append(other)
        return grad

    function(forward, backward).apply(torch.ones(1, requires_grad=True))[0].backward()
    assert seen == [None]


def test_a_result_returned_twice_gets_both_gradients():
    def forward(ctx, x):
        made = x * 2
        return made, made

    made = function(forward, lambda ctx, a, b: 2 * a + 2 * b)
    x = torch.ones(2, requires_grad=True)
    first, second = made.apply(x)
    assert first is second
    (first + second).sum().backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_what_is_marked_dirty_is_returned():
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x + 1

    for grad in (True, False):
        with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned"):
            function(forward).apply(torch.ones(2, requires_grad=grad).clone())


def test_a_dirty_tensor_that_was_no_input_is_warned_of():
    def forward(ctx, x):
        made = x * 2
        ctx.mark_dirty(made)
        return made

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = function(forward, lambda ctx, grad: 2 * grad).apply(torch.ones(2, requires_grad=True))
    assert made.requires_grad and any("was not an input" in str(w.message) for w in told)


def test_a_dirty_view_is_the_only_result():
    def forward(ctx, x):
        x.add_(1)
        ctx.mark_dirty(x)
        return x, x + 1

    whole = torch.ones(2, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        function(forward).apply(whole.view_as(whole))


def test_an_input_returned_as_it_was_is_another_tensor():
    same = function(lambda ctx, x: x, lambda ctx, grad: grad)
    x = torch.ones(2)
    assert same.apply(x) is not x and same.apply(x)._base is x
    x.requires_grad_()
    assert same.apply(x).grad_fn is not None and x.is_leaf
    with torch.no_grad():
        assert same.apply(x) is not x and not same.apply(x).requires_grad


def test_the_direction_of_what_is_written_is_written_too():
    def forward(ctx, x):
        x.mul_(2)
        ctx.mark_dirty(x)
        return x

    with forward_ad.dual_level():
        tangent = torch.ones(2)
        dual = forward_ad.make_dual(torch.ones(2), tangent)
        made = function(forward, jvp=lambda ctx, t: t.mul_(2)).apply(dual)
        assert made is dual and forward_ad.unpack_dual(made).tangent is tangent
        with pytest.raises(RuntimeError, match="must modify the corresponding gradient inplace"):
            function(forward, jvp=lambda ctx, t: t).apply(dual)


def test_results_without_a_derivative_have_no_direction():
    def forward(ctx, x):
        other = x.clone()
        ctx.mark_non_differentiable(other)
        return x.clone(), other

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        _, other = function(forward, jvp=lambda ctx, t: (t, None)).apply(dual)
        assert forward_ad.unpack_dual(other).tangent is None
        with pytest.raises(RuntimeError, match="You should return None at that position instead"):
            function(forward, jvp=lambda ctx, t: (t, t.clone())).apply(dual)


def test_jvp_sees_what_was_saved_for_it_alone():
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    def jvp(ctx, tangent):
        assert ctx.saved_tensors == ()
        return tangent * 2

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        made = function(forward, jvp=jvp).apply(dual)
        assert forward_ad.unpack_dual(made).tangent.tolist() == [2.0, 2.0]

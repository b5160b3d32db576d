"""Views remember how they were made: what a later write may do to histories, and what it is told."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function


def base(grad=True):
    return torch.arange(6.0, requires_grad=grad).view(2, 3).clone()


class Flat(Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, grad):
        return grad.view(2, 3)


class Rows(Function):
    @staticmethod
    def forward(ctx, x):
        return x[0], x[1]

    @staticmethod
    def backward(ctx, first, second):
        return torch.stack([first, second])


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def made_without_grad(x):
    with torch.no_grad():
        return x.view(-1)


def made_in_inference(x):
    with torch.inference_mode():
        return x.view(-1)


MAKERS = {
    "no_grad": (made_without_grad, "A view was created in no_grad mode and is being.*no_grad block"),
    "inference": (
        made_in_inference,
        "A view was created in inference mode and is being.*inference_mode block",
    ),
    "function": (Flat.apply, "Output 0 of Flat is a view and is being.*inside a custom Function"),
    "same": (Same.apply, "Output 0 of Same is a view and is being.*inside a custom Function"),
    "functions": (lambda x: Rows.apply(x)[1], "Output 1 of Rows is a view.*returns multiple views"),
    "unbind": (lambda x: x.unbind(0)[1], "Output 1 of Unbind is a view.*returns multiple views"),
}


@pytest.mark.parametrize("how", MAKERS)
def test_a_write_through_a_view_whose_history_cannot_be_rebuilt_is_refused(how):
    make, message = MAKERS[how]
    with pytest.raises(RuntimeError, match=message):
        make(base()).mul_(2)


@pytest.mark.parametrize("how", MAKERS)
def test_a_write_to_the_base_of_such_a_view_is_refused_when_its_history_is_asked_for(how):
    whole = base()
    view = MAKERS[how][0](whole)
    whole.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        _ = view.grad_fn
    assert "grad_fn=<Invalid>" in repr(view)
    with pytest.raises(RuntimeError, match="its base or another view"):
        view * 2


def test_a_view_of_a_view_made_without_gradients_says_so():
    view = made_without_grad(base()).view(3, 2)
    with pytest.raises(
        RuntimeError, match="Output 0 of View is a view of a view which was created in no_grad"
    ):
        view.mul_(2)


def test_writes_where_nothing_is_recorded_are_free():
    whole = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        whole.view(-1).mul_(2)
    plain = torch.ones(3)
    made_in_inference(plain).mul_(2)
    made_without_grad(plain).mul_(2)
    assert whole.tolist() == [2, 2, 2] and plain.tolist() == [4, 4, 4]


def test_a_view_requires_what_its_base_does_however_it_was_made():
    for make in (made_without_grad, made_in_inference):
        assert make(base()).requires_grad and make(base()).is_leaf
        assert not make(base(False)).requires_grad
    assert (made_without_grad(base()) * 2).requires_grad


def test_tensors_of_inference_mode_have_no_views_that_anybody_tracks():
    with torch.inference_mode():
        made = torch.ones(2, 3, requires_grad=True)
        inside = made.view(-1)
    outside = made.view(-1)
    for view in (inside, outside):
        assert view.is_inference() and not view._is_view() and not view.requires_grad
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        torch.mul(torch.ones(2, 3), 2, out=made.detach())


CHANGES = {
    "transpose_": (lambda v: v.transpose_(0, 1), lambda v: v.transpose(0, 1)),
    "t_": (lambda v: v.t_(), lambda v: v.t()),
    "unsqueeze_": (lambda v: v.unsqueeze_(0), lambda v: v.unsqueeze(0)),
    "as_strided_": (lambda v: v.as_strided_((2, 2), (3, 1)), lambda v: v.as_strided((2, 2), (3, 1))),
    "swapdims_": (lambda v: v.swapdims_(0, 1), lambda v: v.swapdims(0, 1)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_view_that_changes_its_window_keeps_its_place_in_the_graph(name):
    in_place, fresh = CHANGES[name]
    grads = []
    for change in (in_place, fresh):
        x = torch.arange(6.0, requires_grad=True)
        whole = x.clone()
        before = whole.grad_fn
        view = change(whole.view(2, 3))
        assert whole.grad_fn is before and view._base is whole
        (view * torch.arange(view.numel()).view(view.shape)).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


def test_a_write_after_a_change_of_the_window_reaches_the_base():
    x = torch.arange(6.0, requires_grad=True)
    whole = x.clone()
    view = whole.view(2, 3)
    view.transpose_(0, 1)
    view.mul_(torch.arange(6.0).view(3, 2))
    (whole * torch.arange(6.0)).sum().backward()
    assert x.grad.tolist() == [0.0, 2.0, 8.0, 3.0, 12.0, 25.0]


def test_a_tensor_with_other_memory_is_no_leaf_of_older_graphs():
    x = torch.ones(3, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x)
    out = (x * 2).sum()
    with torch.no_grad():
        x.set_(torch.ones(2))
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(out, x, retain_graph=True)
    (grad,) = torch.autograd.grad(out, edge)
    assert grad.tolist() == [2.0, 2.0, 2.0]
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]

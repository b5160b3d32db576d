"""Nodes, passes and hooks as programs that look at the graph see them."""

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function, graph


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def test_a_tensor_that_only_another_inputs_gradient_reads_is_not_saved():
    x, y = leaf(), torch.ones(2)
    packed = []
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        out = x * y
    assert len(packed) == 1 and out.grad_fn._saved_self is None
    assert out.grad_fn._saved_other.tolist() == [1.0, 1.0]
    out.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_number_is_an_edge_to_nothing_where_pytorch_makes_a_tensor_of_it():
    x = leaf()
    assert [edge[0] for edge in (x + 5).grad_fn.next_functions][1:] == [None]
    assert len((x**2).grad_fn.next_functions) == 1


def test_a_node_can_be_called():
    z = leaf() ** 2
    assert z.grad_fn(torch.ones(2)).tolist() == [2.0, 4.0]
    for given in ((), (torch.ones(2), torch.ones(2))):
        with pytest.raises(TypeError, match=r"expected 1 arguments, got \d instead"):
            z.grad_fn(*given)


def test_accumulators_have_their_native_name():
    node = (leaf() * 2).grad_fn.next_functions[0][0]
    assert node.name() == "torch::autograd::AccumulateGrad" and type(node).__name__ == "AccumulateGrad"


def test_a_hook_that_comes_while_its_node_runs_sees_no_gradients():
    seen = []

    def unpack(kept):
        torch._C._current_autograd_node().register_hook(lambda made, came: seen.append(came))
        return kept

    x = leaf()
    with graph.saved_tensors_hooks(lambda t: t, unpack):
        out = x.sin()
    out.sum().backward()
    assert seen == [(None,)]


def test_hooks_of_a_complete_gradient_come_before_those_of_its_node():
    x, order = leaf(), []
    node = (x * 2).grad_fn.next_functions[0][0]
    node.register_hook(lambda made, came: order.append("node"))
    first = x.register_post_accumulate_grad_hook(lambda t: order.append("first"))
    x.register_post_accumulate_grad_hook(lambda t: order.append("second"))
    (x * 2).sum().backward()
    assert order == ["first", "second", "node"]
    first.remove()
    order.clear()
    (x * 2).sum().backward()
    assert order == ["second", "node"]


def test_saved_tensors_hooks_that_a_pass_enters_or_leaves_are_as_before_afterwards():
    inner = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    outer = graph.saved_tensors_hooks(lambda t: t, lambda t: inner.__exit__() or t)
    with outer:
        inner.__enter__()
        leaf().sin().sum().backward()
        inner.__exit__()
    entering = graph.saved_tensors_hooks(lambda t: t, lambda t: inner.__enter__() or t)
    with entering:
        leaf().sin().sum().backward()
    assert torch._C._autograd._top_saved_tensors_default_hooks() is None


def test_the_order_of_what_is_still_to_run_is_known_inside_a_pass():
    found = []
    x = leaf(1.0)
    out = x.clone().sin().exp()
    out.register_hook(lambda grad: found.extend(torch._C._current_graph_task_execution_order()))
    with torch.autograd.set_multithreading_enabled(False):
        out.backward()
    assert [node.name().split("::")[-1] for node in found] == [
        "ExpBackward0",
        "SinBackward0",
        "CloneBackward0",
        "AccumulateGrad",
    ]
    with pytest.raises(RuntimeError, match="should only be called during the backward pass"):
        torch._C._current_graph_task_execution_order()


def test_pieces_that_nothing_depends_on_pass_no_gradient_on():
    cut = torch._C._functions.UndefinedGrad()
    for split in (lambda x: x.unbind(0), lambda x: x.split(1), lambda x: x.split([1, 1])):
        x = leaf()
        first, second = split(x)
        assert torch.autograd.grad(cut(first) + cut(second), x, allow_unused=True) == (None,)


def test_gradients_of_windows_are_operators():
    grad = torch.tensor([1.0, 2.0], requires_grad=True)
    aten = torch.ops.aten
    for made, place in (
        (aten.select_backward(grad, [3, 2], 0, -1), lambda t: t[-1]),
        (aten.slice_backward(grad, [5], 0, 1, 5, 2), lambda t: t[1:5:2]),
        (aten.diagonal_backward(grad, [2, 3], 1, 0, 1), lambda t: t.diagonal(1)),
    ):
        assert place(made).tolist() == [1.0, 2.0] and made.sum().item() == 3.0
        (found,) = torch.autograd.grad((made * 3).sum(), grad)
        assert found.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="gradient of a window"):
        aten.select_backward(grad, [3, 3], 0, 0)


def test_classes_with_operators_of_their_own_differentiate_windows_twice():
    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            take = [a.inner if isinstance(a, cls) else a for a in args]
            made = func(*take, **(kwargs or {}))
            return cls(made) if isinstance(made, torch.Tensor) else made

    assert Wrapped.__torch_function__ is torch._C._disabled_torch_function_impl
    x = Wrapped(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)).requires_grad_()
    (first,) = torch.autograd.grad((x.narrow(0, 0, 2) ** 3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.inner.tolist() == [6.0, 12.0, 0.0]


def test_extrema_of_nothing_but_nan_share_their_gradient():
    for find in (torch.min, torch.max):
        x = torch.full((3,), float("nan"), requires_grad=True)
        find(x).backward()
        assert torch.allclose(x.grad, torch.full((3,), 1 / 3))


def test_operators_without_a_derivative_say_so_in_backward():
    values = torch.unique(leaf(2.0, 1.0, 1.0))
    assert values.requires_grad
    with pytest.raises(RuntimeError, match="_unique2"):
        values.sum().backward()


def test_a_product_of_zeros_has_no_second_derivative():
    x, src = leaf(1.0), leaf(0.0, 0.0)
    made = torch.scatter_reduce(x, 0, torch.zeros(2, dtype=torch.int64), src, "prod")
    (first,) = torch.autograd.grad(made.sum(), src, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backward is unsupported for"):
        first.sum().backward()


def test_names_of_old_programs_say_what_became_of_them():
    x = leaf()
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert x.volatile is False
    for name in ("_grad_fn", "_backward_hooks"):
        with pytest.raises(RuntimeError, match="not allowed"):
            delattr(x, name)
    y = x * 2
    y._grad_fn = None
    assert y.is_leaf and not y.requires_grad


def test_memory_that_did_not_change_has_no_new_version():
    x = torch.ones(3)
    x.resize_(3)
    assert x._version == 0
    x.resize_(2)
    x.resize_as_(torch.ones(2))
    assert x._version == 1


def test_errors_of_anomaly_mode_are_printed_where_warnings_are_errors(capsys):
    x = leaf()
    y = x + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            warnings.simplefilter("error")
            z = y**2
            y += 1
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                z.sum().backward()
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_a_gradient_of_a_batch_that_does_not_fit_is_explained():
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="we interpret the first dimension of each grad_output as the batch"
    ):
        torch.autograd.grad(x * 2, x, torch.ones(2, 2), is_grads_batched=True)


def test_events_can_be_described_by_a_program():
    from mindtorch_v2.autograd.profiler_util import EventList, FunctionEvent, FunctionEventAvg

    outer = FunctionEvent(id=0, name="outer", thread=1, start_us=0, end_us=10)
    inner = FunctionEvent(id=1, name="inner", thread=1, start_us=2, end_us=5, node_id=-1)
    events = EventList([outer, inner])
    events._populate_cpu_children()
    assert inner.cpu_parent is outer and outer.self_cpu_time_total == 7
    total = FunctionEventAvg().add(outer).add(FunctionEvent(2, "outer", 1, 20, 24))
    assert total.count == 2 and total.cpu_time == 7


def test_few_eigenpairs_of_a_symmetric_matrix_and_their_gradient():
    torch.manual_seed(0)
    a = torch.randn(9, 9, dtype=torch.float64)
    a = (a @ a.mT).requires_grad_()
    for largest, wanted in ((True, slice(-2, None)), (False, slice(None, 2))):
        values, vectors = torch.lobpcg(a, k=2, largest=largest, tol=1e-12)
        assert torch.allclose(values.sort().values, torch.linalg.eigvalsh(a)[wanted])
        assert torch.allclose(a @ vectors, vectors * values, atol=1e-8)
        (found,) = torch.autograd.grad(values.sum(), a)
        (right,) = torch.autograd.grad(torch.linalg.eigvalsh(a)[wanted].sum(), a)
        assert torch.allclose(found, (right + right.mT) / 2)
    with pytest.raises(ValueError, match="smaller than 3 x the number"):
        torch.lobpcg(a, k=4)


def test_what_a_function_is_told_to_keep_can_be_resized_by_its_old_name():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    made = torch.autograd._functions.Resize.apply(x, (2, 2))
    (made * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(RuntimeError, match="autograd's resize can only"):
        torch.autograd._functions.Resize.apply(x, (3,))


def test_a_function_is_asked_by_a_class_for_what_it_returns_as_it_was():
    class Named(torch.Tensor):
        pass

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    assert isinstance(Same.apply(torch.ones(2).as_subclass(Named)), Named)

"""What programs see of the nodes of a graph, and of the passes over it."""

import gc
import threading
import warnings
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd.graph import GradientEdge, Node, get_gradient_edge
from mindtorch_v2.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, None)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def test_a_node_shows_what_it_keeps():
    a = leaf()
    b = a * a
    assert b.grad_fn._saved_self is a and b.grad_fn._saved_other is a
    assert torch.equal(a.exp().grad_fn._saved_result, a.exp())
    assert torch.stack([a, a], 1).grad_fn._saved_dim == 1
    assert a.reshape(1, 2)[:, torch.tensor([0])].grad_fn._saved_indices[0] is None
    assert "_saved_self" in dir(b.grad_fn) and "_raw_saved_self" in dir(b.grad_fn)
    assert not hasattr(b.grad_fn, "_saved_nothing")
    b.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        b.grad_fn._saved_self  # noqa: B018


def test_what_is_kept_can_be_packed_later_once():
    a = leaf()
    y = a * a
    kept = y.grad_fn._raw_saved_self
    assert kept.data is a and kept.unpack_hook is None
    kept.register_hooks(lambda x: x.clone(), lambda x: x * 3)
    assert torch.equal(y.grad_fn._saved_self, a * 3)
    with pytest.raises(RuntimeError, match="already been set"):
        kept.register_hooks(lambda x: x, lambda x: x)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        kept.register_hooks(1, 1)
    y.sum().backward()
    assert torch.equal(a.grad, a + 3 * a)
    with pytest.raises(RuntimeError, match="after it has been freed"):
        kept.register_hooks(lambda x: x, lambda x: x)
    with pytest.raises(RuntimeError, match="from Python is forbidden"):
        torch.autograd.SavedTensor()


def test_a_pack_hook_may_not_write_to_what_it_packs():
    y = leaf() * 2.0
    z = y * y
    with pytest.raises(RuntimeError, match="modifying its input in place"):
        z.grad_fn._raw_saved_self.register_hooks(lambda x: x.mul_(2), lambda x: x)


def test_a_saved_input_that_was_detached_in_place_is_refused():
    a = leaf(1.0).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="detached in-place"):
        b.backward()


def test_the_object_of_a_node_is_one_and_has_a_dictionary():
    y = leaf().sin()
    node = y.grad_fn
    assert y.grad_fn is node and isinstance(node, Node) and issubclass(type(node), Node)
    node.metadata["note"] = 1
    del node
    assert y.grad_fn.metadata == {"note": 1}
    described = y.grad_fn._input_metadata[0]
    assert described.shape == (2,) and described.dtype is torch.float32 and described.device.type == "cpu"
    y.grad_fn._set_sequence_nr(123)
    assert y.grad_fn._sequence_nr() == 123


def test_the_node_of_a_function_is_its_context():
    a = leaf()
    y = Double.apply(a)
    assert (
        isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction)
        and y.grad_fn.name() == "DoubleBackward"
    )
    assert y.grad_fn.saved_tensors[0] is a and y.grad_fn.saved_tensors[1] is None
    with pytest.raises(RuntimeError, match="None is forbidden"):
        y.grad_fn._raw_saved_tensors[1].register_hooks(lambda x: x, lambda x: x)
    context = y.grad_fn
    assert context.next_functions[0][0].variable is a
    del y
    with pytest.raises(RuntimeError, match="Attribute 'next_functions' is invalid"):
        context.next_functions  # noqa: B018


def test_hooks_before_a_node_see_the_gradients_of_all_its_outputs():
    parts = leaf(1.0, 2.0, 3.0).unbind()
    seen = []
    handle = parts[0].grad_fn.register_prehook(lambda grads: seen.append(grads))
    (parts[0] * 2 + parts[2]).backward(retain_graph=True)
    assert [None if g is None else g.item() for g in seen[0]] == [2.0, None, 1.0]
    handle.remove()
    (parts[0] * 2).backward()
    assert len(seen) == 1


def test_hooks_run_in_the_order_tensor_node_accumulated_after():
    order = []
    x = leaf()
    y = x.clone()
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda grads: order.append("node"))
    x.register_hook(lambda grad: order.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda tensor: order.append("accumulated"))
    accumulator.register_hook(lambda inputs, outputs: order.append("after"))
    y.sum().backward()
    assert order == ["tensor", "node", "accumulated", "after"]


def test_a_pass_with_given_inputs_runs_only_what_leads_to_them():
    a, other = leaf(), leaf()
    b = a * other
    ran = []
    other.register_hook(lambda grad: ran.append("other"))
    a.register_hook(lambda grad: ran.append("a"))
    b.register_hook(lambda grad: ran.append("b"))
    b.sum().backward(inputs=[a], retain_graph=True)
    assert ran == ["b", "a"] and other.grad is None and torch.equal(a.grad, other.detach())
    ran.clear()
    torch.autograd.grad(b.sum(), b)
    assert ran == ["b"]


def test_callbacks_run_when_the_pass_is_done_and_may_add_others():
    engine = torch.autograd.Variable._execution_engine
    done = []
    x = leaf()

    def first():
        done.append(x.grad is not None)
        engine.queue_callback(lambda: done.append("last"))

    y = x * 2
    y.register_hook(lambda grad: engine.queue_callback(first))
    y.sum().backward()
    assert done == [True, "last"]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        engine.queue_callback(first)


def test_programs_may_ask_which_pass_and_node_are_running():
    x = leaf()
    y = x.sin()
    found = []
    y.register_hook(
        lambda grad: found.append((torch._C._current_graph_task_id(), torch._C._current_autograd_node()))
    )
    y.sum().backward()
    assert found[0][0] >= 0 and found[0][1] is y.grad_fn
    assert torch._C._current_graph_task_id() == -1 and torch._C._current_autograd_node() is None


def test_gradients_flow_from_and_to_edges():
    x = leaf()
    edge = get_gradient_edge(x)
    y = Double.apply(x)
    out = get_gradient_edge(y)
    del y
    assert isinstance(edge, GradientEdge)
    (grad,) = torch.autograd.grad([out], [edge], [torch.ones(2)])
    assert grad.tolist() == [2.0, 2.0]
    (grad,) = torch.autograd.grad(x.sum(), [edge], materialize_grads=True)
    assert grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="cannot be used when the given input is a GradientEdge"):
        torch.autograd.grad(leaf().sum(), [edge], materialize_grads=True)


def test_a_hook_of_several_tensors_waits_for_those_the_pass_reaches():
    a, b = leaf(), leaf()
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook((a, b), seen.append)
    (a * 2).sum().backward()
    assert seen[0][0].tolist() == [2.0, 2.0] and seen[0][1] is None
    (a + b).sum().backward()
    assert all(grad is not None for grad in seen[1])
    handle.remove()
    (a + b).sum().backward()
    assert len(seen) == 2


@pytest.mark.parametrize("register", ["tensor", "node", "leaf"])
def test_a_hook_that_refers_to_its_own_graph_is_collected(register):
    class Marker:
        pass

    def scope():
        a = leaf()
        b = a.clone()
        held = Marker()
        kept = a if register == "leaf" else b.grad_fn

        def hook(*args):
            return kept, held

        {"tensor": b, "node": b.grad_fn, "leaf": a}[register].register_hook(hook)
        return weakref.ref(held)

    found = scope()
    gc.collect()
    assert found() is None


def test_a_context_that_refers_to_its_own_result_is_collected():
    def scope():
        a = leaf()
        y = Double.apply(a)
        y.grad_fn.result = y
        return torch._C._WeakTensorRef(y)

    gc.disable()
    try:
        found = scope()
        assert not found.expired()
    finally:
        gc.enable()
    gc.collect()
    assert found.expired()


def test_anomaly_mode_says_what_induced_a_calculation():
    class Bad(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * Bad.apply(x)

    x = leaf(1.0)
    with (
        warnings.catch_warnings(record=True) as told,
        pytest.raises(RuntimeError, match="nan values in its 0th output"),
    ):
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            (grad,) = torch.autograd.grad(Outer.apply(x), x, create_graph=True)
            grad.sum().backward()
    texts = [str(each.message) for each in told]
    assert any("Error detected in BadBackward" in text for text in texts)
    assert any("Previous calculation was induced by OuterBackward" in text for text in texts)


def test_saved_tensors_may_be_written_to_where_that_is_allowed():
    a = leaf()
    with torch.autograd.graph.allow_mutation_on_saved_tensors() as context:
        b = a.clone()
        out = (b**2).sum()
        b.view(-1).sin_()
        assert len(context.cloned) == 1
        out.backward()
        assert len(context.cloned) == 0
    assert torch.equal(a.grad, 2 * a)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        late = (leaf() ** 2).sum()
        with pytest.raises(RuntimeError, match="cannot be nested"):
            with torch.autograd.graph.allow_mutation_on_saved_tensors():
                pass
    with pytest.raises(AssertionError, match="Trying to backward outside"):
        late.backward()


def test_checkpoints_inside_checkpoints_have_the_gradients_of_neither():
    def inner(x):
        return x.sin().exp()

    def outer(x):
        return checkpoint(inner, x.cos(), use_reentrant=False).sin()

    for early_stop in (True, False):
        with torch.utils.checkpoint.set_checkpoint_early_stop(early_stop):
            x, plain = leaf(), leaf()
            checkpoint(outer, x, use_reentrant=False).sum().backward()
            plain.cos().sin().exp().sin().sum().backward()
            assert torch.allclose(x.grad, plain.grad)


def test_a_policy_decides_what_a_checkpoint_computes_again():
    ran = []

    class Count(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ran.append(func)
            return func(*args, **(kwargs or {}))

    def policy(ctx, op, *args, **kwargs):
        return (
            CheckpointPolicy.MUST_SAVE
            if op is torch.ops.aten.exp.default
            else CheckpointPolicy.PREFER_RECOMPUTE
        )

    def contexts():
        return create_selective_checkpoint_contexts(policy)

    x, plain = leaf(), leaf()
    out = checkpoint(lambda x: x.cos().exp().sin(), x, use_reentrant=False, context_fn=contexts)
    with Count():
        out.sum().backward(retain_graph=True)
    assert torch.ops.aten.cos.default in ran and torch.ops.aten.exp.default not in ran
    plain.cos().exp().sin().sum().backward()
    assert torch.allclose(x.grad, plain.grad)
    with pytest.raises(RuntimeError, match="Trying to backward an extra time"):
        out.sum().backward()
    with pytest.raises(ValueError, match="to be an OpOverload"):
        create_selective_checkpoint_contexts([2])


def test_passes_of_several_threads_have_numbers_of_their_own():
    numbers, grads = [], []

    def run():
        x = leaf()
        y = x * 3
        y.register_hook(lambda grad: numbers.append(torch._C._current_graph_task_id()))
        y.sum().backward()
        grads.append(x.grad.tolist())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == 4 and grads == [[3.0, 3.0]] * 4

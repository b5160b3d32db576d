"""``make_fx``: the operators that a function calls, as a graph."""

import operator
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2._decomp import get_decompositions, register_decomposition
from mindtorch_v2._subclasses import FakeTensor, FakeTensorMode
from mindtorch_v2.fx.experimental.proxy_tensor import (
    ProxyTorchDispatchMode,
    disable_proxy_modes_tracing,
    get_proxy_mode,
    make_fx,
)
from mindtorch_v2.fx.passes.fake_tensor_prop import FakeTensorProp
from mindtorch_v2.fx.passes.shape_prop import ShapeProp

aten = torch.ops.aten


def targets(graph_module):
    return [node.target for node in graph_module.graph.nodes if node.op == "call_function"]


def test_a_function_is_traced_to_operators_and_runs_again():
    def function(x, y):
        values, places = (x @ y).sort(descending=True)
        return {"values": values.softmax(-1), "places": places}

    x, y = torch.randn(2, 3), torch.randn(3, 4)
    for mode in ("real", "fake"):
        traced = make_fx(function, tracing_mode=mode)(x, y)
        assert targets(traced) == [
            aten.mm.default, aten.sort.default, operator.getitem, operator.getitem, aten._softmax.default,
        ]  # fmt: skip
        again = traced(y.t(), x.t())
        wanted = function(y.t(), x.t())
        assert all(torch.equal(again[name], wanted[name]) for name in wanted)


def test_gradients_are_traced_and_no_value_is_kept():
    def gradient(x, w):
        loss = (torch.tanh(x @ w).exp() * x.sum()).mean()
        return torch.autograd.grad(loss, w)[0]

    x, w = torch.randn(4, 3), torch.randn(3, 2, requires_grad=True)
    for mode in ("real", "fake"):
        traced = make_fx(gradient, tracing_mode=mode)(x, w)
        assert not any(node.op == "get_attr" for node in traced.graph.nodes)
        other = torch.randn(4, 3)
        assert torch.allclose(traced(other, w), gradient(other, w))


def test_a_training_step_is_one_graph():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    names = [name for name, _ in model.named_parameters()]

    def step(values, images, labels):
        parameters = dict(zip(names, values, strict=True))
        out = torch.func.functional_call(model, parameters, (images,))
        loss = nn.functional.cross_entropy(out, labels)
        gradients = torch.autograd.grad(loss, values)
        return [value - 0.1 * gradient for value, gradient in zip(values, gradients, strict=True)]

    model.eval()
    values = [parameter.detach().clone().requires_grad_() for parameter in model.parameters()]
    images, labels = torch.randn(2, 1, 4, 4), torch.tensor([0, 2])
    traced = make_fx(step)(values, images, labels)
    images = torch.randn(2, 1, 4, 4)
    for got, wanted in zip(traced(values, images, labels), step(values, images, labels), strict=True):
        assert torch.allclose(got, wanted, atol=1e-6)
    assert aten.convolution_backward.default in targets(traced)


def test_parameters_of_a_module_are_constants_of_the_graph():
    model = nn.Linear(3, 2)
    traced = make_fx(model)(torch.ones(1, 3))
    assert [node.target for node in traced.graph.nodes if node.op == "get_attr"] == [
        "_param_constant0", "_param_constant1",
    ]  # fmt: skip
    assert traced._param_constant0 is model.weight


def test_what_is_written_in_place_is_the_same_value_afterwards():
    def function(x):
        x = x.clone()
        x.mul_(2)
        x[0] = 5
        return x + 1

    traced = make_fx(function)(torch.arange(3.0))
    assert traced(torch.tensor([1.0, 2.0, 3.0])).tolist() == [6.0, 5.0, 7.0]


def test_numbers_of_the_program_are_read_and_those_of_inputs_refused():
    traced = make_fx(lambda x: x * torch.tensor(2.0).item())(torch.ones(2))
    assert traced(torch.ones(2)).tolist() == [2.0, 2.0]
    for mode in ("real", "fake"):
        with pytest.raises(
            RuntimeError, match="get value out of a tracing tensor with aten._local_scalar_dense"
        ):
            make_fx(lambda x: x if x.sum() > 0 else -x, tracing_mode=mode)(torch.ones(2))


def test_symbolic_shapes_are_refused():
    with pytest.raises(NotImplementedError, match="no symbolic shapes"):
        make_fx(lambda x: x, tracing_mode="symbolic")


def test_operators_of_a_table_are_traced_as_their_parts():
    def sigmoid(x):
        return 1 / (1 + torch.exp(-x))

    traced = make_fx(torch.sigmoid, decomposition_table={aten.sigmoid.default: sigmoid})(torch.randn(3))
    assert aten.sigmoid.default not in targets(traced) and aten.exp.default in targets(traced)
    x = torch.randn(3)
    assert torch.allclose(traced(x), torch.sigmoid(x))


def test_decompositions_are_registered_and_found():
    table = {}

    @register_decomposition(aten.logit, registry=table)
    def logit(x, eps=None):
        return torch.log(x / (1 - x))

    assert table[aten.logit.default] is logit
    with pytest.raises(RuntimeError, match="duplicate registrations"):
        register_decomposition(aten.logit.default, registry=table)(logit)
    found = get_decompositions([aten.silu, aten.gelu.default, aten.mm])
    assert set(found) == {aten.silu.default, aten.gelu.default}
    x = torch.randn(5)
    for op in found:
        assert torch.allclose(make_fx(op, decomposition_table=found)(x)(x), op(x), atol=1e-6)


def test_the_mode_is_known_while_it_traces_and_can_be_left():
    def function(x):
        modes.append(get_proxy_mode())
        with disable_proxy_modes_tracing():
            x.exp()
        return x * 2

    modes = []
    traced = make_fx(function)(torch.ones(2))
    assert isinstance(modes[0], ProxyTorchDispatchMode) and get_proxy_mode() is None
    assert targets(traced) == [aten.mul.Tensor]


def test_nodes_know_the_shape_of_their_values():
    traced = make_fx(lambda x: x.t().double())(torch.ones(2, 3))
    node = list(traced.graph.nodes)[-2]
    assert isinstance(node.meta["val"], FakeTensor)
    assert node.meta["val"].shape == (3, 2) and node.meta["tensor_meta"].dtype is torch.float64


def test_shapes_are_propagated_with_fake_tensors():
    traced = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(3, 2), nn.ReLU()))
    FakeTensorProp(traced).propagate(torch.ones(4, 3))
    assert [tuple(node.meta["val"].shape) for node in traced.graph.nodes if node.op == "call_module"] == [
        (4, 2), (4, 2),
    ]  # fmt: skip
    result = ShapeProp(traced, fake_mode=FakeTensorMode()).propagate(torch.ones(5, 3))
    assert isinstance(result, FakeTensor)
    assert [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes if node.op == "call_module"] == [
        (5, 2), (5, 2),
    ]  # fmt: skip
    assert not isinstance(traced.get_parameter("0.weight"), FakeTensor)


def test_a_tracer_may_override_create_proxy_without_its_last_argument():
    class Plain(torch.fx.Tracer):
        def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None):
            return super().create_proxy(kind, target, args, kwargs, name, type_expr)

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3))

        def forward(self, x):
            return x * self.scale

    assert [node.op for node in Plain().trace(Scaled()).nodes] == [
        "placeholder", "get_attr", "call_function", "output",
    ]  # fmt: skip


def test_graphs_of_operators_are_pickled_and_printed():
    traced = make_fx(lambda x: x.softmax(-1).sum(-1))(torch.ones(2, 3))
    again = pickle.loads(pickle.dumps(traced))
    assert targets(again) == targets(traced) and "torch.ops.aten.sum.dim_IntList" in traced.code
    assert torch.allclose(again(torch.randn(2, 3)), torch.ones(2))

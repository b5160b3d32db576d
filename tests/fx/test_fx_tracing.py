"""Programs become graphs."""

import math

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.nn import functional as F


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("shift", torch.full((4,), 0.5))
        self.plain = torch.ones(4)

    def forward(self, x, *, factor: float = 2.0):
        return self.layers(x) * self.scale * factor + self.shift + self.plain


def body(function, **options):
    """The lines of the generated function."""
    return [line.strip() for line in fx.symbolic_trace(function, **options).code.strip().splitlines()]


def test_a_traced_module_computes_the_same_and_shares_the_parameters():
    module = Small()
    traced = fx.symbolic_trace(module)
    x = torch.randn(2, 3)
    assert torch.equal(traced(x), module(x)) and torch.equal(traced(x, factor=3.0), module(x, factor=3.0))
    assert traced.scale is module.scale
    assert [n.target for n in traced.graph.nodes if n.op == "get_attr"] == ["scale", "shift", "plain"]
    assert [n.target for n in traced.graph.nodes if n.op == "call_module"] == ["layers.0", "layers.1"]
    assert list(traced.graph.find_nodes(op="call_module")[0].meta["nn_module_stack"]) == [
        "layers",
        "layers.0",
    ]


def test_functions_methods_operators_and_attributes_are_recorded():
    assert body(lambda x: F.relu(torch.stack([x, 1 - x]).sum(dim=0))[..., 1:].T) == [
        "def forward(self, x):",
        "sub = 1 - x",
        "stack = torch.stack([x, sub]);  x = sub = None",
        "sum_1 = stack.sum(dim = 0);  stack = None",
        "relu = torch.nn.functional.relu(sum_1, inplace = False);  sum_1 = None",
        "getitem = relu[(Ellipsis, slice(1, None, None))];  relu = None",
        "getattr_1 = getitem.T;  getitem = None",
        "return getattr_1",
    ]


@pytest.mark.parametrize("use", [
    lambda t, x: t[x], lambda t, x: t[:, x], lambda t, x: t == x, lambda t, x: t < x, lambda t, x: t + x,
    lambda t, x: t @ x, lambda t, x: torch.add(t, x), lambda t, x: t.view(x.size(0), -1),
    lambda t, x: torch.ones(x.shape), lambda t, x: torch.full((2, x.size(0)), 1.0), lambda t, x: torch.cat([t, x]),
    lambda t, x: t.to(x.device), lambda t, x: F.linear(t, x), lambda t, x: F.layer_norm(x, (2,), t),
    lambda t, x: torch.einsum("ij,jk", t, x), lambda t, x: torch.linalg.norm(x), lambda t, x: torch.fft.rfft(x),
    lambda t, x: torch.ops.aten.relu(x), lambda t, x: torch.sym_int(x), lambda t, x: torch.is_floating_point(x),
])  # fmt: skip
def test_a_proxy_is_asked_wherever_it_is_an_argument(use):
    constant = torch.ones(2, 2)
    graph = fx.Tracer().trace(lambda x: use(constant, x))
    assert graph.output_node().all_input_nodes


def test_recorded_functions_run_again():
    def several(x):
        return torch.linalg.norm(x), torch.fft.rfft(x), F.linear(x, x), F.avg_pool1d(x, 2)

    x = torch.randn(2, 4)
    assert all(map(torch.equal, fx.symbolic_trace(several)(x), several(x)))


def test_what_python_wants_to_know_at_once_is_refused_by_name():
    with pytest.raises(fx.proxy.TraceError, match="cannot be used as inputs to control flow"):
        fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x)
    with pytest.raises(fx.proxy.TraceError, match="Proxy object cannot be iterated"):
        fx.symbolic_trace(lambda x: [row for row in x])
    with pytest.raises(RuntimeError, match="'len' is not supported in symbolic tracing by default"):
        fx.symbolic_trace(lambda x: len(x))
    with pytest.raises(RuntimeError, match="Keys for dictionaries used as an argument cannot contain a Node"):
        fx.symbolic_trace(lambda x: {x: 1})
    with pytest.raises(NotImplementedError, match="argument of type"):
        fx.symbolic_trace(lambda x: torch.add(x, object()))


def test_a_tracer_may_know_the_answers():
    class Truthful(fx.Tracer):
        def to_bool(self, obj):
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1]])

    graph = Truthful().trace(lambda x: sum([row for row in x]) if x > 0 else x)
    assert [n.name for n in graph.nodes if n.op == "call_function"] == [
        "gt",
        "getitem",
        "getitem_1",
        "add",
        "add_1",
    ]


def test_unpacking_a_proxy_takes_its_items():
    def both(x):
        a, b = x
        return a + b

    assert body(both)[1:3] == ["getitem = x[0]", "getitem_1 = x[1];  x = None"]


def test_assert_statements_are_recorded_if_the_tracer_wants_them():
    class Asserting(fx.Tracer):
        trace_asserts = True

    scope: dict = {}
    exec(
        "def positive(x):\n    assert x.sum() > 0\n    return x", scope
    )  # an assert that pytest leaves alone
    graph = Asserting().trace(scope["positive"])
    module = fx.GraphModule(nn.Module(), graph)
    module(torch.ones(2))
    with pytest.raises(AssertionError):
        module(-torch.ones(2))


def test_concrete_arguments_are_checked_when_the_graph_runs():
    traced = fx.symbolic_trace(lambda x, flag: x + 1 if flag else x, concrete_args={"flag": True})
    assert traced(1, True) == 2
    with pytest.raises(
        AssertionError, match="flag has been specialized to have value True but got another value"
    ):
        traced(1, False)


def test_nested_inputs_are_taken_apart_where_places_are_left():
    traced = fx.symbolic_trace(
        lambda x, y: {"sum": x["a"] + y[0]}, concrete_args={"x": {"a": fx.PH}, "y": [fx.PH, 3]}
    )
    assert traced({"a": 1}, [2, 3]) == {"sum": 3} and fx.Interpreter(traced).run({"a": 1}, [2, 3]) == {
        "sum": 3
    }
    assert [n.op for n in traced.graph.nodes].count("placeholder") == 3


def test_functions_of_math_and_those_asked_for_are_leaves():
    assert "sqrt = math_sqrt(x);  x = None" in body(lambda x: math.sqrt(x))

    def twice(x):
        return x * 2

    scope = {"twice": twice, "fx": fx}
    exec("fx.wrap('twice')\nfx.wrap('len')\ndef both(x): return twice(x) + len(x)", scope)
    traced = fx.symbolic_trace(scope["both"])
    assert [n.target for n in traced.graph.nodes if n.op == "call_function"][:2] == [twice, len]
    assert scope["twice"] is twice and "len" not in scope
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        fx.wrap("twice")


def test_stars_are_one_value_each():
    def starred(x, *args, **kwargs):
        return x + args[0] + kwargs["k"]

    traced = fx.symbolic_trace(starred)
    assert traced(1, 2, k=3) == 6
    assert [n.target for n in traced.graph.find_nodes(op="placeholder")] == ["x", "*args", "**kwargs"]


def test_tracing_leaves_modules_and_functions_as_they_were_also_after_an_error():
    before = nn.Module.__call__, nn.Module.__getattr__, math.sqrt
    with pytest.raises(ZeroDivisionError):
        fx.symbolic_trace(lambda x: x + 1 / 0)
    assert (nn.Module.__call__, nn.Module.__getattr__, math.sqrt) == before
    assert not fx._symbolic_trace.is_fx_tracing()


def test_shapes_of_parameters_are_numbers_if_asked_for():
    class Reshaping(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            return x.view(-1, self.weight.shape[1]) if self.weight.dim() == 2 else x

    graph = fx.Tracer(param_shapes_constant=True).trace(Reshaping())
    assert graph.find_nodes(op="call_method")[0].args[1:] == (-1, 3)


def test_functions_stay_the_objects_they_were_when_somebody_begins_to_listen():
    relu, table = F.relu, {F.relu: "mine"}
    fx.symbolic_trace(lambda x: F.relu(x))
    assert F.relu is relu and table[F.relu] == "mine"
    assert F.relu(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 1.0]

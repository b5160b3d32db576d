"""Modules made of graphs: files, copies, errors; what runs and rewrites them."""

import copy
import importlib
import io
import operator
import pickle
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx, nn
from mindtorch_v2.fx.passes.infra.pass_base import PassBase, PassResult
from mindtorch_v2.fx.passes.infra.pass_manager import PassManager
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.split_module import split_module
from mindtorch_v2.fx.subgraph_rewriter import replace_pattern_with_filters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.norm = nn.BatchNorm2d(2)
        self.linear = nn.Linear(2, 2)
        self.offset = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        x = torch.relu(self.norm(self.conv(x)))
        return self.linear(x.mean((2, 3))) + self.offset


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net().eval()


x = torch.arange(25.0).view(1, 1, 5, 5) / 25


def test_a_pickle_holds_code_and_weights_and_traces_again(net):
    traced = fx.symbolic_trace(net)
    traced.note = "kept"
    loaded = pickle.loads(pickle.dumps(traced))
    assert loaded.code == traced.code and torch.equal(loaded(x), net(x)) and loaded.note == "kept"
    assert pickle.loads(pickle.dumps(loaded)).code == traced.code
    file = io.BytesIO()
    torch.save(traced, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(x), net(x))


def test_annotations_survive_pickling():
    def annotated(a: torch.Tensor, b: int = 2) -> torch.Tensor:
        return a + b

    traced = fx.symbolic_trace(annotated)
    assert "def forward(self, a : torch.Tensor, b : int = 2) -> torch.Tensor:" in traced.code
    assert pickle.loads(pickle.dumps(traced)).code == traced.code


def test_deep_copies_are_independent(net):
    traced = fx.symbolic_trace(net)
    copied = copy.deepcopy(traced)
    assert copied.code == traced.code and copied.graph is not traced.graph
    assert type(copied).__name__ == "Net" and copied.conv.weight is not traced.conv.weight
    copied.graph.eliminate_dead_code()
    assert torch.equal(copied(x), net(x))


def test_a_folder_with_code_is_a_package(net, tmp_path, monkeypatch):
    traced = fx.symbolic_trace(net)
    traced.to_folder(tmp_path / "written", "Written")
    monkeypatch.syspath_prepend(str(tmp_path))
    made = importlib.import_module("written").Written().eval()
    assert torch.equal(made(x), net(x))
    monkeypatch.delitem(sys.modules, "written")


def test_an_error_shows_the_generated_line(capsys):
    traced = fx.symbolic_trace(lambda a: torch.matmul(a, torch.ones(7, 7)))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        traced(torch.ones(1, 2))
    told = capsys.readouterr().err
    assert "Call using an FX-traced Module, line 6 of the traced Module's generated forward function" in told
    assert "matmul = torch.matmul(a, _tensor_constant0)" in told and "<--- HERE" in told


def test_modules_inside_are_added_and_removed(net):
    traced = fx.symbolic_trace(net)
    assert traced.add_submodule("extra.deep.layer", nn.ReLU())
    assert isinstance(traced.extra.deep.layer, nn.ReLU)
    assert traced.delete_submodule("extra.deep.layer") and not traced.delete_submodule("extra.deep.layer")
    traced.delete_all_unused_submodules()
    assert [name for name, _ in traced.named_children()] == ["conv", "norm", "linear"]


def test_readable_code_has_shapes_and_lines():
    class Recording(fx.Tracer):
        record_stack_traces = True

    def double(x):
        return x * 2

    tracer = Recording()
    graph = tracer.trace(double)
    module = fx.GraphModule(tracer.root, graph)
    ShapeProp(module).propagate(torch.ones(2, 3))
    text = module.print_readable(print_output=False)
    assert 'def forward(self, x: "f32[2, 3]"):' in text and 'mul: "f32[2, 3]" = x * 2' in text
    assert "test_fx_modules.py" in text and "code: return x * 2" in text


def test_an_interpreter_runs_nodes_and_names_the_one_that_failed(net):
    traced = fx.symbolic_trace(net)
    assert torch.equal(fx.Interpreter(traced).run(x), net(x))
    with pytest.raises(RuntimeError, match="Expected positional argument for parameter x"):
        fx.Interpreter(traced).run()
    with pytest.raises(RuntimeError, match=r"(?s)While executing %conv : \[num_users=1\] = call_module"):
        fx.Interpreter(traced).run(torch.ones(1, 5, 5, 5))
    inputs = [x]
    assert torch.equal(fx.Interpreter(traced).boxed_run(inputs), net(x)) and not inputs


def test_a_transformer_writes_another_module(net):
    class Sigmoid(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.sigmoid if target is torch.relu else target, args, kwargs)

    made = Sigmoid(fx.symbolic_trace(net)).transform()
    expected = net.linear(torch.sigmoid(net.norm(net.conv(x))).mean((2, 3))) + net.offset
    assert torch.equal(made(x), expected)


def test_patterns_are_replaced_everywhere_they_stand_alone():
    traced = fx.symbolic_trace(lambda x: torch.neg(torch.relu(x)) + torch.neg(torch.relu(x + 1)))
    found = fx.replace_pattern(traced, lambda a: torch.neg(torch.relu(a)), lambda a: torch.abs(a))
    assert len(found) == 2 and not traced.graph.find_nodes(op="call_function", target=torch.relu)
    assert traced(torch.tensor([-3.0])).tolist() == [5.0]
    shared = fx.symbolic_trace(lambda x: (lambda a: torch.neg(a) + a)(torch.relu(x)))
    assert fx.replace_pattern(shared, lambda a: torch.neg(torch.relu(a)), lambda a: torch.abs(a)) == []


def test_filters_choose_among_the_places():
    traced = fx.symbolic_trace(lambda x: torch.add(x, 2) + torch.add(x, 3))
    done = replace_pattern_with_filters(
        traced,
        lambda x, y: torch.add(x, y),
        lambda x, y: torch.mul(x, y),
        [lambda match, graph, pattern: 3 in match.nodes_map.values()],
    )
    assert [n.name for place in done for n in place.replacements] == ["mul"]
    assert traced(torch.tensor(5)).item() == 7 + 15


def test_a_module_is_split_into_parts_that_compute_the_same(net):
    traced = fx.symbolic_trace(net)
    numbers = {
        node: index // 3
        for index, node in enumerate(n for n in traced.graph.nodes if n.op.startswith("call"))
    }
    parts = split_module(traced, net, lambda node: numbers[node])
    assert [name for name, _ in parts.named_children()] == ["submod_0", "submod_1"]
    assert torch.equal(parts(x), net(x))


def test_batch_norms_go_into_convolutions(net):
    from mindtorch_v2.fx.experimental.optimization import fuse

    fused = fuse(net)
    assert not any(
        isinstance(module, nn.BatchNorm2d) for _, module in fused.named_modules() if module is not fused
    )
    assert "norm" not in [n.target for n in fused.graph.nodes]
    torch.testing.assert_close(fused(x), net(x))


def test_passes_run_in_order_until_nothing_changes(net):
    class RemoveRelu(PassBase):
        def call(self, module):
            found = module.graph.find_nodes(op="call_function", target=torch.relu)
            for node in found:
                node.replace_all_uses_with(node.args[0])
                module.graph.erase_node(node)
            return PassResult(module, bool(found))

    traced = fx.symbolic_trace(net)
    assert PassManager([RemoveRelu()], steps=3)(traced).modified
    assert not traced.graph.find_nodes(op="call_function", target=torch.relu)
    with pytest.raises(Exception, match="An error occurred when running the 'broken' pass"):

        def broken(module):
            raise ValueError

        PassManager([broken])(traced)


def test_hooks_hear_of_created_erased_and_replaced_nodes():
    module = fx.symbolic_trace(lambda x: x + 1)
    heard = []
    module._register_create_node_hook(lambda node: heard.append(("made", node.name)))
    module._register_erase_node_hook(lambda node: heard.append(("erased", node.name)))
    module._register_replace_node_hook(lambda old, new, user: heard.append((old.name, new, user.name)))
    (add,) = module.graph.find_nodes(op="call_function", target=operator.add)
    with module.graph.inserting_after(add):
        product = module.graph.call_function(operator.mul, (2, 3))
    add.replace_all_uses_with(product)
    module.graph.erase_node(add)
    assert heard == [("made", "mul"), ("add", "mul", "output"), ("erased", "add")]

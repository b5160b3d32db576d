"""Graphs by hand: nodes, their users, order, checks, text and code."""

import operator

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import fx


def _relu_of_sum():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y", default_value=3)
    total = graph.call_function(torch.add, (x, y))
    result = graph.call_method("relu", (total,))
    graph.output(result)
    return graph, x, y, total, result


def test_a_graph_shows_its_nodes_and_the_number_of_their_users():
    graph = _relu_of_sum()[0]
    assert str(graph) == (
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %y : [num_users=1] = placeholder[target=y](default=3)\n"
        "    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})\n"
        "    %relu : [num_users=1] = call_method[target=relu](args = (%add,), kwargs = {})\n"
        "    return relu"
    )


def test_a_graph_becomes_python_that_lets_values_go_after_their_last_use():
    graph = _relu_of_sum()[0]
    module = fx.GraphModule({}, graph)
    assert module.code == (
        "\n\n\ndef forward(self, x, y = 3):\n    add = torch.add(x, y);  x = y = None\n"
        "    relu = add.relu();  add = None\n    return relu\n    "
    )
    assert module(torch.tensor([-5.0, 1.0])).tolist() == [0.0, 4.0]


def test_arguments_know_their_users_and_replacing_keeps_them_right():
    graph, x, y, total, result = _relu_of_sum()
    assert list(x.users) == [total] and total.all_input_nodes == [x, y]
    with graph.inserting_after(total):
        doubled = graph.call_function(operator.mul, (total, 2))
    assert total.replace_all_uses_with(doubled, delete_user_cb=lambda user: user is not doubled) == [result]
    assert list(total.users) == [doubled] and result.args == (doubled,)
    result.replace_input_with(doubled, x)
    assert not doubled.users and list(x.users) == [total, result]
    graph.lint()


def test_a_node_in_use_cannot_be_erased_and_dead_ones_can():
    graph, x, y, total, result = _relu_of_sum()
    with pytest.raises(RuntimeError, match="Tried to erase Node add but it still had 1 users in the graph"):
        graph.erase_node(total)
    with graph.inserting_before(result):
        graph.call_function(torch.neg, (x,))
        graph.call_function(torch._assert, (x, "stays"))
    assert graph.eliminate_dead_code()
    assert [n.name for n in graph.nodes] == ["x", "y", "add", "_assert", "relu", "output"]
    assert not graph.eliminate_dead_code()


def test_lint_finds_wrong_order_foreign_nodes_and_missing_targets():
    graph, x, y, total, result = _relu_of_sum()
    result.append(total)
    with pytest.raises(
        RuntimeError, match="Argument 'add' of Node 'relu' was used before it has been defined"
    ):
        graph.lint()
    other = fx.Graph()
    other.call_function(torch.neg, (x,))
    with pytest.raises(RuntimeError, match="does not belong to this Graph, but was used as an argument"):
        other.lint()
    module = fx.GraphModule({}, fx.Graph())
    module.graph.create_node("call_module", "layer")
    with pytest.raises(RuntimeError, match="references nonexistent attribute layer of"):
        module.graph.lint()


def test_arguments_in_a_node_cannot_be_changed_in_place():
    graph = fx.Graph()
    x = graph.placeholder("x")
    node = graph.call_function(torch.cat, ([x, x],), {"names": {"a": x}})
    for change in (
        lambda: node.args[0].append(x),
        lambda: node.args[0].__setitem__(0, 1),
        lambda: node.kwargs.update(dim=1),
        lambda: node.kwargs["names"].pop("a"),
    ):
        with pytest.raises(TypeError, match="object does not support mutation"):
            change()
    node.update_kwarg("dim", 1)
    node.update_arg(0, [x])
    node.insert_arg(1, 0)
    assert node.args == ([x], 0) and node.kwargs["dim"] == 1


def test_names_are_unique_and_never_pythons_own():
    graph = fx.Graph()
    names = ["x", "x", "x_1", "1abc", "a.b", "print", "torch", "lambda", "relu_2", "relu_2"]
    made = [graph.create_node("call_function", torch.relu, (), name=name).name for name in names]
    assert made == ["x", "x_1", "x_2", "_1abc", "a_b", "print_1", "torch_1", "lambda_1", "relu_2", "relu_3"]


def test_copies_of_graphs_are_graphs_of_their_own():
    import copy

    graph = _relu_of_sum()[0]
    copied = copy.deepcopy(graph)
    assert str(copied) == str(graph)
    copied.erase_node(copied.output_node())
    assert len(copied.nodes) == len(graph.nodes) - 1
    known: dict = {}
    joined = fx.Graph()
    joined.output(joined.graph_copy(graph, known))
    assert str(joined) == str(graph) and all(node.graph is joined for node in known.values())


def test_nodes_are_found_by_kind_and_target_in_order():
    graph, x, y, total, result = _relu_of_sum()
    with graph.inserting_before(total):
        first = graph.call_function(torch.add, (x, x))
    assert graph.find_nodes(op="call_function", target=torch.add) == [first, total]
    assert graph.find_nodes(op="placeholder") == [x, y]
    assert first < total < result and not result < first
    first.target = torch.mul
    assert graph.find_nodes(op="call_function", target=torch.add) == [total]


def test_a_table_of_the_graph_has_a_row_for_each_node(capsys):
    _relu_of_sum()[0].print_tabular()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert len(lines) == 7 and lines[2].split() == ["placeholder", "x", "x", "()", "{}"]


def test_another_codegen_changes_signature_and_result():
    class Listing(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation):
            return f"def forward(self, values: List){maybe_return_annotation}:\n    {', '.join(free_vars)} = values"

        def additional_globals(self):
            return [("List", list)]

        def process_inputs(self, *inputs):
            return inputs[0]

    module = fx.symbolic_trace(lambda a, b: a + b)
    module.graph.set_codegen(Listing())
    module.recompile()
    assert module([1, 2]) == 3 and fx.Interpreter(module).run([1, 2]) == 3


def test_lines_of_the_body_can_be_changed_for_a_while():
    module = fx.symbolic_trace(lambda x: x + 1)
    with module.graph.on_generate_code(
        lambda before: lambda body: ["x = x * 10\n", *(before(body) if before else body)]
    ):
        module.recompile()
        assert module(1) == 11
    module.recompile()
    assert module(1) == 2


def test_what_is_no_graph_is_refused():
    graph = fx.Graph()
    with pytest.raises(AssertionError, match="op 'jump' is not in _legal_ops"):
        graph.create_node("jump", "x")
    with pytest.raises(ValueError, match="target nothing has type str but a Callable is expected"):
        graph.call_function("nothing")
    with pytest.raises(AssertionError, match="args must be a tuple, got <class 'list'>"):
        graph.create_node("call_function", torch.add, [1])
    with pytest.raises(RuntimeError, match="Unsupported type 3 passed for root!"):
        fx.GraphModule(3, graph)

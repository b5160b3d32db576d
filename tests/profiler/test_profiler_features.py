"""Stacks, modules, FLOPs, and the way from forward to backward."""

import json
import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.profiler import profile


def event(prof, name):
    return next(e for e in prof.events() if e.name == name)


def exported(prof, path):
    prof.export_chrome_trace(path)
    return json.loads(path.read_text())["traceEvents"]


# --- stacks ---


def inner(x):
    return x + x


def outer(x):
    return inner(x).exp()


def test_stacks_name_file_line_and_function_from_the_inside():
    with profile(with_stack=True) as prof:
        outer(torch.ones(2))
    stack = event(prof, "aten::add").stack
    line = inner.__code__.co_firstlineno + 1
    assert stack[0].endswith(f"test_profiler_features.py({line}): inner")
    assert stack[1].endswith(": outer")
    assert event(prof, "aten::exp").stack[0].endswith(": outer")


def test_backward_has_the_stack_of_its_forward():
    x = torch.ones(2, requires_grad=True)
    with profile(with_stack=True) as prof:
        y = outer(x).sum()
        y.backward()
    node = event(prof, "ExpBackward0")
    assert node.stack[0].endswith(": outer")
    assert all(child.stack == node.stack for child in node.cpu_children)


def test_averages_can_be_told_apart_by_stacks():
    x = torch.ones(2)
    with profile(with_stack=True) as prof:
        inner(x)
        inner(x)
        x + x
    rows = [a for a in prof.key_averages(group_by_stack_n=1) if a.key == "aten::add"]
    assert sorted(a.count for a in rows) == [1, 2]
    table = prof.key_averages(group_by_stack_n=2).table(row_limit=-1)
    assert "Source Location" in table and ": inner" in table
    assert "Source Location" not in prof.key_averages().table()


def test_stacks_are_written_for_flame_graphs(tmp_path):
    x = torch.ones(200, 200)
    with profile(with_stack=True) as prof:
        outer(x)
    prof.export_stacks(tmp_path / "stacks.txt")
    lines = (tmp_path / "stacks.txt").read_text().splitlines()
    frames, _, value = next(line for line in lines if line.split(" ")[0].endswith(":_inner")).rpartition(" ")
    assert int(value) > 0
    assert frames.index(":_outer") < frames.index(":_inner")
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "stacks.txt", "beauty")


def test_traces_have_the_stack_from_the_outside(tmp_path):
    with profile(with_stack=True) as prof:
        outer(torch.ones(2))
    (add,) = (e for e in exported(prof, tmp_path / "trace.json") if e["name"] == "aten::add")
    assert add["args"]["Call stack"].split(";")[-1].endswith(": inner")


# --- modules ---


class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.exp()


def test_operators_know_the_module_that_they_run_in(tmp_path):
    model = Pair()
    call = torch.nn.Module.__call__
    with profile(with_modules=True) as prof:
        model(torch.ones(1, 2)).sum().backward()
    assert torch.nn.Module.__call__ is call
    linear = [e for e in prof.events() if e.name == "aten::linear"]
    assert [e.module_hierarchy for e in linear] == ["Pair.layers.0", "Pair.layers.1"]
    assert event(prof, "aten::exp").module_hierarchy == "Pair"
    assert event(prof, "aten::sum").module_hierarchy == ""
    assert event(prof, "ExpBackward0").module_hierarchy == "Pair"
    called = [e.name for e in prof.events() if e.is_python_function]
    assert called == ["nn.Module: Pair_0", "nn.Module: Linear_0", "nn.Module: Linear_1"]
    events = exported(prof, tmp_path / "trace.json")
    (exp,) = (e for e in events if e["name"] == "aten::exp")
    assert exp["args"]["Module Hierarchy"] == "Pair"
    assert {e["name"] for e in events if e.get("cat") == "python_function"} == set(called)


def test_modules_are_left_alone_after_an_exception():
    call = torch.nn.Module.__call__
    with pytest.raises(ValueError, match="inside"):
        with profile(with_modules=True):
            raise ValueError("inside")
    assert torch.nn.Module.__call__ is call


# --- FLOPs ---


@pytest.mark.parametrize(
    ("run", "name", "flops"),
    [
        (lambda: torch.ones(2, 3) @ torch.ones(3, 4), "aten::mm", 2 * 2 * 3 * 4),
        (lambda: torch.ones(5, 2, 3) @ torch.ones(5, 3, 4), "aten::bmm", 5 * 2 * 2 * 3 * 4),
        (lambda: torch.addmm(torch.ones(4), torch.ones(2, 3), torch.ones(3, 4)), "aten::addmm", 48),
        (lambda: torch.ones(2, 3) * torch.ones(3), "aten::mul", 6),
        (
            lambda: torch.nn.functional.conv2d(torch.ones(2, 4, 8, 8), torch.ones(6, 2, 3, 3), padding=1, groups=2),
            "aten::conv2d",
            2 * 2 * 6 * 8 * 8 * 2 * 9,
        ),
        (
            lambda: torch.nn.functional.scaled_dot_product_attention(*[torch.ones(2, 3, 5, 4)] * 3),
            "aten::_scaled_dot_product_flash_attention_for_cpu",
            2 * 2 * (2 * 3 * 5 * 4) * 5,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_operations_are_counted(run, name, flops):
    with profile(with_flops=True) as prof:
        run()
    assert sum(e.flops for e in prof.events() if e.name == name) == flops
    assert sum(e.flops for e in prof.events()) == flops
    assert "FLOPs" in prof.key_averages().table()
    assert all(e.input_shapes == [] for e in prof.events())


# --- forward and backward ---


def test_backward_nodes_carry_the_number_of_their_forward():
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        y = (x * x).sum()
        y.backward()
    multiply, node = event(prof, "aten::mul"), event(prof, "MulBackward0")
    assert node.sequence_nr == multiply.sequence_nr >= 0
    assert node.fwd_thread == multiply.thread and node.scope == 1
    assert node.cpu_parent.name == "autograd::engine::evaluate_function: MulBackward0"
    assert node.cpu_parent.sequence_nr == node.sequence_nr
    accumulate = event(prof, "torch::autograd::AccumulateGrad")
    assert accumulate.sequence_nr == -1


def test_arrows_lead_from_forward_to_backward(tmp_path):
    x = torch.ones(2, requires_grad=True)
    with profile() as prof:
        y = (x * x).sum()
        worker = threading.Thread(target=y.backward)
        worker.start()
        worker.join()
    events = exported(prof, tmp_path / "trace.json")
    arrows = [e for e in events if e.get("cat") == "fwdbwd"]
    (multiply,) = (e for e in events if e["name"] == "aten::mul" and "Sequence number" in e["args"])
    (visit,) = (e for e in events if e["name"] == "autograd::engine::evaluate_function: MulBackward0")
    number = multiply["args"]["Sequence number"]
    start, end = (next(e for e in arrows if e["id"] == number and e["ph"] == phase) for phase in "sf")
    assert (start["ts"], start["tid"]) == (multiply["ts"], multiply["tid"])
    assert (end["ts"], end["tid"], end["bp"]) == (visit["ts"], visit["tid"], "e")
    assert start["tid"] != end["tid"]
    assert visit["args"]["Fwd thread id"] > 0

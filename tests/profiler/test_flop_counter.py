"""FlopCounterMode: a product of (m, k) and (k, n) is 2mkn operations, in the module that made it."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.utils import flop_counter
from mindtorch_v2.utils.flop_counter import FlopCounterMode, register_flop_formula

aten = torch.ops.aten


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(4, 5)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def counted(function):
    with FlopCounterMode(display=False) as counter:
        function()
    return counter


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_counts_are_given_by_module_and_operator(device):
    net, x = Net().to(device), torch.randn(3, 2, 8, 8, device=device)
    convolution, product = 2 * 3 * 64 * 2 * 4 * 9, 2 * 3 * 4 * 5
    counter = counted(lambda: net(x))
    both = {aten.convolution: convolution, aten.addmm: product}
    assert counter.get_flop_counts() == {
        "Global": both,
        "Net": both,
        "Net.body": {aten.convolution: convolution},
        "Net.body.0": {aten.convolution: convolution},
        "Net.head": {aten.addmm: product},
    }
    assert counter.get_total_flops() == convolution + product


def test_the_backward_pass_counts_for_the_module_of_its_forward():
    net, x = Net(), torch.randn(3, 2, 8, 8, requires_grad=True)
    counts = counted(lambda: net(x).sum().backward()).get_flop_counts()
    assert counts["Net.head"] == {aten.addmm: 120, aten.mm: 240}
    forward = counts["Net.body"][aten.convolution]
    assert counts["Net.body"] == {aten.convolution: forward, aten.convolution_backward: 2 * forward}


def test_vectors_and_elements_are_not_counted():
    x = torch.randn(4, 8)
    assert counted(lambda: (x * x + 1, x @ x[0], torch.dot(x[0], x[1]))).get_flop_counts() == {}


def test_blocks_inside_blocks_count_for_both_and_can_be_read_on_the_way():
    x = torch.randn(2, 3)
    with FlopCounterMode(display=False) as outer:
        x @ x.T
        assert outer.get_total_flops() == 24
        with FlopCounterMode(display=False) as inner:
            x @ x.T
        x @ x.T
    assert (outer.get_total_flops(), inner.get_total_flops()) == (72, 24)
    with outer:
        pass
    assert outer.get_total_flops() == 0


def test_the_table_has_the_share_of_each_module(capsys):
    with FlopCounterMode(depth=2):
        Net()(torch.randn(3, 2, 8, 8))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert [line.split() for line in lines[2:5]] == [
        ["Net", "27.768K", "100.00%"],
        ["-", "aten.convolution", "27.648K", "99.57%"],
        ["-", "aten.addmm", "0.120K", "0.43%"],
    ]
    assert not any("body.0" in line for line in lines)


def test_programs_give_formulas_of_their_own_by_shape_or_by_tensor():
    def by_shape(shape, *args, out_shape=None, **kwargs):
        return shape[0] + out_shape[1]

    def by_tensor(tensor, *args, out_val=None, **kwargs):
        return tensor.numel() + out_val.dim()

    by_tensor._get_raw = True
    mapping = {aten.relu: by_shape, aten.tanh: by_tensor}
    with FlopCounterMode(display=False, custom_mapping=mapping) as counter:
        torch.randn(3, 4).relu().tanh()
    assert counter.get_flop_counts() == {"Global": {aten.relu: 7, aten.tanh: 14}}
    assert counted(lambda: torch.randn(3).relu()).get_total_flops() == 0


def test_a_formula_is_registered_once(monkeypatch):
    monkeypatch.setattr(flop_counter, "flop_registry", dict(flop_counter.flop_registry))
    register_flop_formula(aten.erf)(lambda shape, out_shape=None: 5)
    assert counted(lambda: torch.randn(3).erf()).get_total_flops() == 5
    with pytest.raises(RuntimeError, match="duplicate registrations for aten.mm"):
        register_flop_formula(aten.mm)(len)


def test_a_counter_counts_what_a_fake_model_would_do():
    from mindtorch_v2._subclasses import FakeTensorMode

    with FakeTensorMode(), FlopCounterMode(display=False) as counter:
        nn.Linear(4096, 4096, bias=False)(torch.empty(1024, 4096))
    assert counter.get_total_flops() == 2 * 1024 * 4096 * 4096

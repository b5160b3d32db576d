"""Sequential, ModuleList, ModuleDict."""

from collections import OrderedDict

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def kinds(modules):
    return [type(module).__name__ for module in modules]


def test_sequential_passes_each_output_on():
    net = nn.Sequential(nn.Flatten(), nn.ReLU())
    assert net(torch.tensor([[[-1.0, 2.0]], [[3.0, -4.0]]])).tolist() == [[0.0, 2.0], [3.0, 0.0]]


def test_sequential_is_indexed_like_a_list():
    net = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Flatten())
    assert net[-1] is net[2] and len(net) == 3
    assert kinds(net[0:2]) == ["ReLU", "Tanh"] and isinstance(net[0:2], nn.Sequential)
    with pytest.raises(IndexError, match="index 5 is out of range"):
        _ = net[5]
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        _ = net["a"]
    net[0] = nn.Identity()
    assert kinds(net) == ["Identity", "Tanh", "Flatten"]


def test_sequential_grows_and_shrinks_and_renumbers():
    net = nn.Sequential(nn.ReLU(), nn.Tanh())
    net.insert(1, nn.Flatten()).append(nn.Identity()).extend([nn.Sigmoid()])
    assert kinds(net) == ["ReLU", "Flatten", "Tanh", "Identity", "Sigmoid"]
    del net[1]
    assert isinstance(net.pop(0), nn.ReLU)
    assert list(net._modules) == ["0", "1", "2"] and kinds(net) == ["Tanh", "Identity", "Sigmoid"]
    del net[0:2]
    assert kinds(net) == ["Sigmoid"]
    with pytest.raises(IndexError, match="Index out of range: 9"):
        net.insert(9, nn.ReLU())


def test_sequential_adds_and_multiplies():
    one = nn.Sequential(nn.ReLU())
    assert kinds(one + nn.Sequential(nn.Tanh())) == ["ReLU", "Tanh"]
    assert kinds(one * 3) == kinds(3 * one) == ["ReLU"] * 3
    one *= 2
    assert kinds(one) == ["ReLU"] * 2
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        one * 0
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
        one + 3


def test_sequential_takes_names():
    net = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    assert net.a is net[0] and list(net[0:1]._modules) == ["a"]


def test_what_is_no_module_is_refused():
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        nn.Sequential(3)
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but got int"):
        nn.ModuleList().extend(3)


def test_module_list_registers_what_it_holds():
    modules = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1)])
    modules.append(nn.ReLU())
    modules.insert(0, nn.Tanh())
    assert kinds(modules) == ["Tanh", "Linear", "Linear", "ReLU"]
    assert [name for name, _ in modules.named_parameters()] == ["1.weight", "1.bias", "2.weight", "2.bias"]
    assert kinds(modules[1:3]) == ["Linear", "Linear"]
    assert kinds(modules + [nn.Flatten()])[-1] == "Flatten"
    assert isinstance(modules.pop(-1), nn.ReLU) and len(modules) == 3


def test_module_dict_registers_what_it_holds():
    modules = nn.ModuleDict({"a": nn.ReLU()})
    modules["b"] = nn.Linear(1, 1)
    modules.update([("c", nn.Tanh())])
    assert list(modules) == ["a", "b", "c"] and "b" in modules and len(modules) == 3
    assert list(modules.state_dict()) == ["b.weight", "b.bias"]
    assert isinstance(modules.pop("a"), nn.ReLU) and list(modules.keys()) == ["b", "c"]
    with pytest.raises(ValueError, match=r"update sequence element #0 has length 3; 2 is required"):
        modules.update([("d", 1, 2)])

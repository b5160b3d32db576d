"""What a Module is: its attributes, its tree, its state, its hooks."""

import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.act = nn.ReLU()
        self.second = nn.Linear(3, 1)
        self.register_buffer("scale", torch.ones(1))
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.second(self.act(self.first(x))) * self.scale


class Echo(nn.Module):
    def forward(self, *args, **kwargs):
        return args, kwargs


# --- attributes


def test_assigned_parameters_buffers_and_modules_are_found_by_name():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "first.weight",
        "first.bias",
        "second.weight",
        "second.bias",
    ]
    assert [name for name, _ in net.named_buffers()] == ["scale", "scratch"]
    assert [name for name, _ in net.named_modules()] == ["", "first", "act", "second"]
    assert [name for name, _ in net.named_children()] == ["first", "act", "second"]
    assert net.scale is dict(net.named_buffers())["scale"]


def test_a_shared_parameter_is_listed_once_unless_asked_for():
    net = Net()
    net.second.weight = nn.Parameter(torch.zeros(1, 3))
    net.tied = net.first
    assert len(list(net.named_parameters())) == 4
    assert len(list(net.named_parameters(remove_duplicate=False))) == 6
    assert [name for name, _ in net.named_modules()] == ["", "first", "act", "second"]


def test_only_a_parameter_can_take_a_parameters_place():
    layer = nn.Linear(2, 3)
    with pytest.raises(TypeError, match=r"cannot assign 'torch.FloatTensor' as parameter 'weight'"):
        layer.weight = torch.zeros(3, 2)
    layer.bias = None
    assert layer.bias is None and [name for name, _ in layer.named_parameters()] == ["weight"]


def test_only_a_module_can_take_a_modules_place():
    net = Net()
    with pytest.raises(
        TypeError, match=r"cannot assign 'int' as child module 'act' \(torch.nn.Module or None expected\)"
    ):
        net.act = 3
    net.act = None
    assert [name for name, _ in net.named_children()] == ["first", "second"]


def test_a_buffer_takes_tensors_only():
    net = Net()
    net.scale = torch.full((1,), 2.0)
    assert net.state_dict()["scale"].item() == 2.0
    with pytest.raises(TypeError, match=r"cannot assign 'float' as buffer 'scale'"):
        net.scale = 1.0


def test_assigning_another_kind_moves_the_name():
    net = Net()
    net.act = nn.Parameter(torch.ones(1))
    assert "act" not in net._modules and "act" in net._parameters
    net.scale = nn.Linear(1, 1)
    assert "scale" not in net._buffers and "scale" in net._modules


def test_an_assigned_buffer_object_is_registered():
    module = nn.Module()
    module.kept = nn.Buffer(torch.ones(2))
    module.passing = nn.Buffer(torch.ones(2), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert [name for name, _ in module.named_buffers()] == ["kept", "passing"]


def test_attributes_before_init_are_refused():
    class Early(nn.Module):
        def __init__(self, value):
            self.x = value

    with pytest.raises(AttributeError, match=r"cannot assign module before Module.__init__\(\) call"):
        Early(nn.ReLU())
    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early(nn.Parameter(torch.zeros(1)))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("a.b", KeyError, "parameter name can't contain"),
        ("", KeyError, "parameter name can't be empty string"),
        (3, TypeError, "parameter name should be a string. Got int"),
        ("forward", KeyError, "attribute 'forward' already exists"),
    ],
)
def test_a_bad_name_is_refused(name, error, message):
    with pytest.raises(error) as caught:
        nn.Module().register_parameter(name, None)
    assert message in caught.value.args[0]


def test_a_missing_attribute_names_the_class():
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nope'"):
        _ = Net().nope


class Told(dict):
    """A table that hears what is read of it."""

    def __init__(self, table):
        super().__init__(table)
        self.read = []

    def __getitem__(self, name):
        self.read.append(name)
        return super().__getitem__(name)


def test_a_table_of_another_class_is_asked_for_its_entries():
    layer = nn.Linear(2, 2)
    layer._parameters = table = Told(layer._parameters)
    assert layer.weight is dict(table)["weight"] and table.read == ["weight"]
    with pytest.raises(AttributeError, match="no attribute 'wait'"):
        _ = layer.wait


def test_attributes_are_looked_up_before_init_and_with_names_only():
    assert not hasattr(nn.Module.__new__(nn.Module), "weight")
    with pytest.raises(TypeError, match="wanted a name, got a int"):
        nn.Module().__getattr__(1)


def test_deleted_members_are_gone():
    net = Net()
    del net.first, net.scale
    assert "first" not in dict(net.named_children()) and "scale" not in net.state_dict()
    with pytest.raises(AttributeError):
        del net.first


def test_submodules_are_reached_by_dotted_paths():
    net = nn.Sequential(Net(), nn.ReLU())
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_submodule("") is net
    assert net.get_parameter("0.first.bias") is net[0].first.bias
    assert net.get_buffer("0.scale") is net[0].scale
    with pytest.raises(AttributeError, match="Net has no attribute `third`"):
        net.get_submodule("0.third")
    with pytest.raises(AttributeError, match="`weight` is not an nn.Module"):
        net.get_submodule("0.first.weight")
    with pytest.raises(AttributeError, match="`bias` is not a buffer"):
        net.get_buffer("0.first.bias")
    net.set_submodule("0.act", nn.Tanh())
    assert isinstance(net[0].act, nn.Tanh)


# --- text


def test_repr_shows_the_tree():
    net = nn.Sequential(
        nn.Linear(2, 3), nn.ReLU(inplace=True), nn.ModuleList([nn.Identity() for _ in range(3)])
    )
    assert repr(net) == (
        "Sequential(\n"
        "  (0): Linear(in_features=2, out_features=3, bias=True)\n"
        "  (1): ReLU(inplace=True)\n"
        "  (2): ModuleList(\n"
        "    (0-2): 3 x Identity()\n"
        "  )\n"
        ")"
    )
    assert repr(nn.Flatten()) == "Flatten(start_dim=1, end_dim=-1)"
    assert repr(nn.Sequential()) == "Sequential()"


def test_a_parameter_says_what_it_is():
    assert repr(nn.Parameter(torch.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


# --- modes, conversion


def test_train_and_eval_reach_every_module():
    net = Net()
    assert all(not module.training for module in net.eval().modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train(3)


def test_apply_visits_children_before_their_parent():
    seen = []
    Net().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Net"]


def test_conversion_keeps_the_parameter_objects_and_spares_integers():
    net = Net()
    net.register_buffer("count", torch.zeros(1, dtype=torch.int64))
    weight = net.first.weight
    net.double()
    assert net.first.weight is weight and weight.dtype == torch.float64
    assert net.count.dtype == torch.int64 and net.scale.dtype == torch.float64
    net.to(torch.float16)
    assert weight.dtype == torch.float16
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(torch.int32)


def test_conversion_takes_gradients_along():
    layer = nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    layer.double()
    assert layer.weight.grad.dtype == torch.float64
    assert layer.weight.grad.tolist() == [[1.0, 1.0]]


def test_moving_to_meta_and_back_gives_new_empty_parameters():
    net = Net().to("meta")
    assert all(parameter.is_meta for parameter in net.parameters())
    net.to_empty(device="cpu")
    assert not net.first.weight.is_meta and net.first.weight.requires_grad


def test_to_refuses_arguments_it_does_not_know():
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        Net().to(colour="red")


def test_zero_grad_drops_or_clears_gradients():
    layer = nn.Linear(2, 1)
    layer(torch.ones(1, 2)).sum().backward()
    kept = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad is kept and kept.tolist() == [[0.0, 0.0]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_requires_grad_freezes_all_parameters():
    net = Net().requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in net.parameters())


# --- copies


def test_a_deep_copy_is_independent():
    net = Net()
    twin = copy.deepcopy(net)
    with torch.no_grad():
        twin.first.weight.fill_(7.0)
    assert isinstance(twin.first.weight, nn.Parameter) and twin.first.weight.requires_grad
    assert net.first.weight.tolist() != twin.first.weight.tolist()


def test_pickling_keeps_values_and_structure():
    net = Net().eval()
    twin = pickle.loads(pickle.dumps(net))
    assert not twin.training
    assert {k: v.tolist() for k, v in twin.state_dict().items()} == {
        k: v.tolist() for k, v in net.state_dict().items()
    }
    assert isinstance(twin.first.weight, nn.Parameter)


# --- hooks and the call


def test_forward_must_be_defined():
    with pytest.raises(
        NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'
    ):
        nn.Module()(1)


def test_pre_hooks_may_replace_the_arguments():
    echo = Echo()
    echo.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    handle = echo.register_forward_pre_hook(lambda module, args: args[0] * 10, prepend=True)
    assert echo(1) == ((11,), {})
    handle.remove()
    assert echo(1) == ((2,), {})
    echo.register_forward_pre_hook(lambda module, args, kwargs: (args, {"k": 5}), with_kwargs=True)
    assert echo(1) == ((2,), {"k": 5})


def test_a_pre_hook_with_keywords_must_return_both():
    echo = Echo()
    echo.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        echo(1)


def test_forward_hooks_see_and_may_replace_the_output():
    echo = Echo()
    seen = []
    echo.register_forward_hook(lambda module, args, output: seen.append(output))
    with echo.register_forward_hook(lambda module, args, output: "replaced"):
        assert echo(1) == "replaced"
    assert echo(1) == ((1,), {})
    echo.register_forward_hook(lambda module, args, kwargs, output: seen.append(kwargs), with_kwargs=True)
    echo(2, k=3)
    assert seen == [((1,), {}), ((1,), {}), ((2,), {"k": 3}), {"k": 3}]


def test_an_always_called_hook_runs_when_forward_fails():
    class Broken(nn.Module):
        def forward(self):
            raise ZeroDivisionError

    module, seen = Broken(), []
    module.register_forward_hook(lambda *args: seen.append("skipped"))
    module.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ZeroDivisionError):
        module()
    assert seen == [None]


def test_hooks_of_a_copy_are_its_own():
    echo = Echo()
    handle = echo.register_forward_hook(lambda module, args, output: "hooked")
    twin = copy.deepcopy(echo)
    handle.remove()
    assert echo(1) == ((1,), {}) and twin(1) == "hooked"

"""__torch_function__ of a subclass, and function modes, are asked for the same functions as in PyTorch."""

import copy
import importlib

import pytest

_PROPERTIES = (
    "shape dtype device grad T mT H real data is_leaf requires_grad ndim layout itemsize nbytes is_cpu is_sparse "
    "grad_fn output_nr _version"
).split()  # fmt: skip

# name -> what is done with x, a 3 x 4 tensor of the subclass
_USES = {
    "one element": lambda torch, F, x: x[0],
    "a slice": lambda torch, F, x: x[:, 1:2],
    "a mask": lambda torch, F, x: x[x > 0],
    "assignment": lambda torch, F, x: x.__setitem__(0, 1.0),
    "numpy": lambda torch, F, x: x.numpy(),
    "tolist": lambda torch, F, x: x.tolist(),
    "item": lambda torch, F, x: x[0, 0].item(),
    "repr": lambda torch, F, x: repr(x),
    "len": lambda torch, F, x: len(x),
    "to": lambda torch, F, x: x.to(torch.float64),
    "double": lambda torch, F, x: x.double(),
    "size": lambda torch, F, x: x.size(),
    "stride": lambda torch, F, x: x.stride(),
    "dim": lambda torch, F, x: x.dim(),
    "numel": lambda torch, F, x: x.numel(),
    "contiguous": lambda torch, F, x: x.contiguous(),
    "clone": lambda torch, F, x: x.clone(),
    "detach": lambda torch, F, x: x.detach(),
    "x + 1": lambda torch, F, x: x + 1,
    "1 + x": lambda torch, F, x: 1 + x,
    "1 - x": lambda torch, F, x: 1 - x,
    "x % 2": lambda torch, F, x: x % 2,
    "x // 2": lambda torch, F, x: x // 2,
    "2 ** x": lambda torch, F, x: 2**x,
    "-x": lambda torch, F, x: -x,
    "+x": lambda torch, F, x: +x,
    "abs(x)": lambda torch, F, x: abs(x),
    "~(x > 0)": lambda torch, F, x: ~(x > 0),
    "x == x": lambda torch, F, x: x == x,
    "x < 1": lambda torch, F, x: x < 1,
    "1 < x": lambda torch, F, x: 1 < x,
    "x @ x.t()": lambda torch, F, x: x @ x.t(),
    "add_": lambda torch, F, x: x.add_(1),
    "bool": lambda torch, F, x: bool(x[0, 0]),
    "int": lambda torch, F, x: int(x[0, 0]),
    "float": lambda torch, F, x: float(x[0, 0]),
    "in": lambda torch, F, x: 1.0 in x,
    "format": lambda torch, F, x: f"{x[0, 0]}",
    "backward": lambda torch, F, x: x.requires_grad_().sum().backward(),
    "new_zeros": lambda torch, F, x: x.new_zeros(2),
    "type": lambda torch, F, x: x.type(),
    "untyped_storage": lambda torch, F, x: x.untyped_storage(),
    "isnan": lambda torch, F, x: torch.isnan(x),
    "stack": lambda torch, F, x: torch.stack([x, x]),
    "cat with a plain tensor": lambda torch, F, x: torch.cat([torch.zeros(1, 4), x]),
    "where": lambda torch, F, x: torch.where(x > 0, x, x),
    "norm": lambda torch, F, x: torch.norm(x),
    "einsum": lambda torch, F, x: torch.einsum("ij->i", x),
    "meshgrid": lambda torch, F, x: torch.meshgrid(x[0], indexing="ij")[0],
    "broadcast_tensors": lambda torch, F, x: torch.broadcast_tensors(x, x)[0],
    "allclose": lambda torch, F, x: torch.allclose(x, x),
    "equal": lambda torch, F, x: torch.equal(x, x),
    "zeros_like": lambda torch, F, x: torch.zeros_like(x),
    "out=": lambda torch, F, x: torch.add(x, 1, out=torch.zeros(3, 4)),
    "softmax": lambda torch, F, x: F.softmax(x, -1),
    "relu": lambda torch, F, x: F.relu(x),
    "linear": lambda torch, F, x: F.linear(x, torch.ones(5, 4)),
    "dropout": lambda torch, F, x: F.dropout(x),
    "layer_norm": lambda torch, F, x: F.layer_norm(x, (4,)),
    "mse_loss": lambda torch, F, x: F.mse_loss(x, x),
    "cross_entropy": lambda torch, F, x: F.cross_entropy(x, torch.zeros(3, dtype=torch.long)),
    "interpolate": lambda torch, F, x: F.interpolate(x[None, None], scale_factor=2),
    "pad": lambda torch, F, x: F.pad(x, (1, 1)),
    "reshape": lambda torch, F, x: x.reshape(-1),
    "view": lambda torch, F, x: x.view(12),
    "expand": lambda torch, F, x: x.expand(2, 3, 4),
    "unbind": lambda torch, F, x: x.unbind()[0],
    "max with dim": lambda torch, F, x: x.max(0),
    "requires_grad_": lambda torch, F, x: x.requires_grad_(),
    "is_floating_point": lambda torch, F, x: x.is_floating_point(),
    "set grad": lambda torch, F, x: setattr(x, "grad", None),
    "set data": lambda torch, F, x: setattr(x, "data", torch.zeros(3, 4)),
    "set requires_grad": lambda torch, F, x: setattr(x, "requires_grad", True),
}
_USES |= {f"get {name}": lambda torch, F, x, name=name: getattr(x, name) for name in _PROPERTIES}


def label(function):
    name = function.__name__
    return f"{function.__self__.__name__}.{name}" if name in ("__get__", "__set__") else name


def subclass_of(torch, log):
    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            log.append((label(func), [t.__name__ for t in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Sub


def kinds(value):
    if isinstance(value, (tuple, list)):
        return [type(v).__name__ for v in value] if type(value) in (tuple, list) else type(value).__name__
    return type(value).__name__


def tried(module, use):
    torch, functional = importlib.import_module(module), importlib.import_module(f"{module}.nn.functional")
    log = []
    x = torch.arange(12.0).reshape(3, 4).as_subclass(subclass_of(torch, log))
    log.clear()
    return kinds(use(torch, functional, x)), log


@pytest.mark.parametrize("name", _USES)
def test_a_subclass_is_asked_for_the_same_functions_and_gets_the_same_types(name):
    wanted, got = tried("torch", _USES[name]), tried("mindtorch_v2", _USES[name])
    assert got == wanted


def under_a_mode(module):
    torch, functional = importlib.import_module(module), importlib.import_module(f"{module}.nn.functional")
    overrides = importlib.import_module(f"{module}.overrides")
    log = []

    class Log(overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append(label(func))
            return func(*args, **(kwargs or {}))

    with Log():
        y = torch.randn(2)
        y.shape, y[0], y + 1, len(y)
        functional.relu(y)
        torch.tensor([1, 2])
        torch.zeros(2, dtype=torch.float64)
        with Log():
            y.sum()
    before = len(log)
    y.shape, y + 1, torch.zeros(1)
    assert len(log) == before
    return log


def test_a_mode_sees_the_functions_that_pytorchs_sees():
    assert under_a_mode("mindtorch_v2") == under_a_mode("torch")


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_a_mode_may_answer_in_an_operators_place(module):
    torch = importlib.import_module(module)

    class FortyTwo(importlib.import_module(f"{module}.overrides").TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 42 if func is torch.zeros else func(*args, **(kwargs or {}))

    with FortyTwo():
        assert torch.zeros(3) == 42
        assert torch.ones(2).tolist() == [1.0, 1.0]
    assert torch.zeros(1).tolist() == [0.0]


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_subclasses_can_be_switched_off_and_kept_apart(module):
    torch = importlib.import_module(module)
    log = []
    one, other = subclass_of(torch, log), subclass_of(torch, log)
    x, y = torch.ones(2).as_subclass(one), torch.ones(2).as_subclass(other)
    log.clear()
    with torch._C.DisableTorchFunctionSubclass():
        assert type(x + 1) is torch.Tensor
    assert log == []
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.add'"):
        torch.add(x, y)


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_a_class_that_is_no_tensor_takes_part(module):
    torch = importlib.import_module(module)

    class Diagonal:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return f"{func.__name__} of {[t.__name__ for t in types]}"

    assert torch.add(Diagonal(), torch.ones(1)) == "add of ['Diagonal']"
    assert torch.stack([Diagonal(), Diagonal()]) == "stack of ['Diagonal']"
    assert importlib.import_module(f"{module}.nn.functional").relu(Diagonal()) == "relu of ['Diagonal']"


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_attributes_that_a_class_in_between_defines_are_its_own(module):
    torch = importlib.import_module(module)

    class Named:
        shape = "a shape of my own"

        def tolist(self):
            return "a list of my own"

    class Both(Named, torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Both)
    assert x.shape == "a shape of my own"
    assert x.tolist() == "a list of my own"
    assert type(x + 1) is Both


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_parameters_give_plain_tensors_and_copies_stay_parameters(module):
    torch = importlib.import_module(module)
    p = torch.nn.Parameter(torch.ones(2))
    for made in (p + 1, p.data, p.detach(), p[0], p.clone()):
        assert type(made) is torch.Tensor
    assert type(copy.deepcopy(p)) is torch.nn.Parameter


@pytest.mark.parametrize("module", ["torch", "mindtorch_v2"])
def test_functions_have_names_and_kinds(module):
    torch = importlib.import_module(module)
    overrides = importlib.import_module(f"{module}.overrides")
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert overrides.is_tensor_like(torch.ones(1)) and not overrides.is_tensor_like([1])
    assert torch.add in overrides.get_overridable_functions()[torch]
    assert torch.is_tensor in overrides.get_ignored_functions()
    assert not overrides.has_torch_function((torch.ones(1), 2))

"""``__torch_function__`` for attributes, methods and syntax, modes, and what there is to override."""

import inspect
import subprocess
import sys
import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import overrides
from mindtorch_v2.overrides import TorchFunctionMode


class Seen(torch.Tensor):
    log: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})


class Slotted(torch.Tensor):
    __slots__ = ("extra",)


@pytest.fixture(autouse=True)
def empty_log():
    Seen.log.clear()


@pytest.mark.parametrize(
    "name", ["shape", "dtype", "grad", "requires_grad", "is_leaf", "T", "real", "layout", "data", "H"]
)
def test_reading_an_attribute_asks_for_its_getter(name):
    x = torch.ones(2, 2).as_subclass(Seen)
    getattr(x, name)
    assert Seen.log[0] == inspect.getattr_static(torch.Tensor, name).__get__
    Seen.log.clear()
    inspect.getattr_static(torch.Tensor, name).__get__(x)
    assert Seen.log[0] == inspect.getattr_static(torch.Tensor, name).__get__


@pytest.mark.parametrize(
    "name, value", [("requires_grad", True), ("grad", None), ("data", torch.zeros(2, 2))]
)
def test_writing_an_attribute_asks_for_its_setter(name, value):
    x = torch.ones(2, 2).as_subclass(Seen)
    setattr(x, name, value)
    assert Seen.log[0] == inspect.getattr_static(torch.Tensor, name).__set__


@pytest.mark.parametrize(
    "call, asked",
    [
        (lambda x: x[0], "__getitem__"),
        (lambda x: x.__setitem__(0, 1.0), "__setitem__"),
        (lambda x: len(x), "__len__"),
        (lambda x: bool(x[:1].sum()), "__getitem__"),
        (lambda x: x.size(), "size"),
        (lambda x: x.numel(), "numel"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: x.cpu(), "cpu"),
        (lambda x: x.is_contiguous(), "is_contiguous"),
        (lambda x: torch.Tensor.dim(x), "dim"),
    ],
)
def test_methods_and_syntax_ask(call, asked):
    call(torch.ones(3).as_subclass(Seen))
    assert Seen.log[0] is getattr(torch.Tensor, asked) or Seen.log[0] == getattr(torch.Tensor, asked)


def test_a_subclass_of_a_tensor_is_a_view_of_it():
    base = torch.ones(2)
    x = Seen(base)
    assert x._base is base and type(x + 1) is Seen


def test_slots_of_a_subclass_stay_while_the_graph_has_the_tensor():
    x = torch.ones(2).as_subclass(Slotted).requires_grad_()
    x.extra = "kept"
    with torch._C.DisableTorchFunctionSubclass():
        y = torch.mul(x, x)
    del x
    assert y.grad_fn._saved_self.extra == "kept"
    assert y.grad_fn._saved_self.extra == "kept"


def test_modes_see_attributes_factories_and_one_another():
    log = []

    class Named(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            log.append((self.name, overrides.resolve_name(func)))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2)
    with Named("outer"), Named("inner") as inner:
        assert overrides._get_current_function_mode() is inner
        x.shape  # noqa: B018
        torch.zeros(1)
    assert log == [
        ("inner", "torch.Tensor.shape.__get__"), ("outer", "torch.Tensor.shape.__get__"),
        ("inner", "torch.zeros"), ("outer", "torch.zeros"),
    ]  # fmt: skip
    assert overrides._get_current_function_mode_stack() == []


def test_a_mode_whose_handler_is_a_classmethod_is_refused():
    class Wrong(TorchFunctionMode):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RuntimeError, match="classmethod is not supported"), Wrong():
        torch.ones(1) + 1


def test_who_is_asked_can_be_switched_off_and_on():
    x = torch.ones(2).as_subclass(Seen)
    assert not torch._C._is_torch_function_all_disabled()
    with torch._C.DisableTorchFunction():
        assert torch._C._is_torch_function_all_disabled()
        assert type(x + 1) is torch.Tensor
        with overrides._enable_torch_function():
            assert type(x + 1) is Seen
        assert type(x + 1) is torch.Tensor
    with torch._C.DisableTorchFunctionSubclass():
        assert not torch._C._is_torch_function_all_disabled()


def test_a_handler_that_is_a_plain_method_is_asked_with_a_warning():
    class Plain:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return "asked"

    with pytest.warns(UserWarning, match="as a plain method is deprecated"):
        assert torch.abs(Plain()) == "asked"
    with pytest.warns(DeprecationWarning, match="as a plain method is deprecated"):
        assert torch.nn.functional.dropout(Plain()) == "asked"


def test_the_other_operand_is_asked_for_the_reflected_power():
    class Declines(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Reflected(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked" if func is torch.Tensor.__rpow__ else NotImplemented

    assert torch.ones(1).as_subclass(Declines) ** torch.ones(1).as_subclass(Reflected) == "asked"


def test_what_there_is_to_override_has_names_and_dummies_of_its_signature():
    spaces = overrides.get_overridable_functions()
    dummies = overrides.get_testing_overrides()
    every = [function for functions in spaces.values() for function in functions]
    assert len(every) > 1000 and all(function in dummies for function in every)
    named = {overrides.resolve_name(function) for function in every}
    wanted = {"torch.add", "torch.Tensor.add_", "torch.Tensor.shape.__get__", "torch.nn.functional.relu"}
    assert wanted | {"torch.linalg.norm", "torch.fft.fft", "torch.special.entr"} <= named
    assert dummies[torch.add](1, 2, alpha=3) == -1 and dummies[torch.bernoulli](1, 0.5) == -1
    with pytest.raises(TypeError):
        dummies[torch.nn.functional.relu]()
    assert (
        torch.zeros in overrides.get_ignored_functions()
        and torch.add not in overrides.get_ignored_functions()
    )
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)


def test_grad_gives_those_who_are_asked_tuples():
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return args

    x = Duck()
    assert torch.autograd.grad(x, x) == ((x,), (x,))


def test_casting_complex_numbers_to_real_ones_warns_once():
    program = (
        "import warnings, mindtorch_v2 as torch\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    x = torch.ones(2, dtype=torch.complex64)\n"
        "    x.to(torch.bool), x.abs()\n"
        "    assert not told\n"
        "    x.to(torch.float32), torch.zeros(2).copy_(x)\n"
        "print([str(w.message) for w in told])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['Casting complex values to real discards the imaginary part']"


def test_a_gradient_that_becomes_real_does_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(2, requires_grad=True)
        (x * torch.ones(2, dtype=torch.complex64)).real.sum().backward()
    assert x.grad.dtype is torch.float32

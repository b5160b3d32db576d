"""Conversions take the arguments that PyTorch takes, give what it gives, and refuse the rest in its words."""

import itertools

import pytest
import torch

import mindtorch_v2


def _described(result, receiver):
    if result is receiver:
        return "the tensor itself"
    if type(result).__name__ != "Tensor":
        return repr(result)
    values = None if result.is_meta else result.cpu().resolve_conj().tolist()
    return str(result.dtype), str(result.device), result.stride(), result.requires_grad, values


def _outcome(module, text):
    """What a call gives: the tensor itself, another one, some value, or an error and its words."""
    names = {"torch": module, "x": module.arange(6.0).reshape(2, 3), "z": module.ones(2, dtype=module.int32)}
    names["images"] = module.arange(24.0).reshape(1, 2, 3, 4)
    names["d"] = names["x"].double()
    names["m"] = module.nn.Linear(2, 2)
    try:
        return _described(eval(text, names), names.get(text.partition(".")[0]))
    except (AssertionError, AttributeError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)


def same(text):
    assert _outcome(mindtorch_v2, text) == _outcome(torch, text)


# ---- to ------------------------------------------------------------------------------------------------

_FIRST = (
    "",
    "None",
    "'cpu'",
    "torch.device('cpu')",
    "'meta'",
    "torch.float64",
    "torch.float32",
    "int",
    "d",
    "x",
)
_FIRST += ("True", "1.5", "2j", "[1]", "torch.channels_last", "torch.strided", "str")
_SECOND = ("", "None", "torch.float64", "True", "'cpu'", "1")
_NAMED = ("", "dtype=torch.int32", "dtype=None", "device='cpu'", "tensor=d", "copy=True", "copy=1", "other=d")
_NAMED += (
    "non_blocking=True, copy=True",
    "memory_format=torch.preserve_format",
    "memory_format=1",
    "b=1, a=2",
)


def _call(*parts):
    return f"x.to({', '.join(part for part in parts if part)})"


_FORMS = [_call(*parts) for parts in itertools.product(_FIRST, _SECOND, _NAMED) if parts[0] or not parts[1]]


@pytest.mark.parametrize("text", _FORMS)
def test_to_reads_every_mixture_of_arguments_as_pytorch_does(text):
    same(text)


@pytest.mark.parametrize(
    "text",
    [
        "x.to(torch.float64, True, True)",
        "x.to(torch.float64, True, True, True)",
        "x.to('cpu', torch.float64, True, True)",
        "x.to('cpu', torch.float64, True, True, True)",
        "x.to('cpu', torch.float64, True, True, nonsense=1)",
        "x.to('cpu', None, True, True)",
        "x.to(d, True, True)",
        "x.to(d, True, True, True)",
        "x.to(copy=True, dtype=torch.float64, device=torch.device('cpu'))",
        "x.to(memory_format=None, non_blocking=False)",
        "x.to('cpu:0')",
        "x.to('')",
        "x.to('cuda')",
        "x.to(torch.device('xpu'))",
        "x.to('mps')",
        "x.to('meta', torch.int8)",
        "x.to('meta').to('cpu')",
        "x.to('meta').to(torch.float64)",
        "z.to(torch.complex64)",
        "torch.ones(2, requires_grad=True).to(torch.int32).requires_grad",
        "torch.ones(2, requires_grad=True).to(torch.float64).grad_fn.name()",
        "torch.ones(2, requires_grad=True).to(torch.float32, copy=True).grad_fn.name()",
        "torch.ones(2, requires_grad=True).to('cpu').grad_fn",
        "torch.nn.Parameter(x).to(torch.float32, copy=True).is_leaf",
        "type(torch.nn.Parameter(x).to(torch.float64))is torch.Tensor",
        "torch.Tensor.to(x, torch.float64)",
        "torch.Tensor.to(d, dtype=torch.float32)",
        "torch.to",
    ],
)
def test_to_with_more_arguments(text):
    same(text)


_LAYOUTS = (
    "images", "images.permute(0, 2, 3, 1)", "images.permute(3, 2, 1, 0)", "images[:, :1]", "images[:, :, :1, :1]",
    "torch.ones(2, 3, 1, 1)", "torch.ones(1, 1, 4, 5)", "torch.ones(0, 3, 4, 5)", "x.expand(2, 2, 2, 3)", "x.t()",
    "images.contiguous(memory_format=torch.channels_last)", "torch.ones(1, 2, 3, 4, 5)", "x[:, ::2]",
    "torch.ones(1, 2, 3, 4, 5).contiguous(memory_format=torch.channels_last_3d)", "torch.ones(3, 1).expand(3, 4)",
)  # fmt: skip


@pytest.mark.parametrize(
    "order", ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]
)
@pytest.mark.parametrize("laid", _LAYOUTS)
@pytest.mark.parametrize("asked", ["torch.float32", "torch.float64", "'cpu'", "torch.float32, copy=True"])
def test_to_keeps_or_changes_the_order_in_memory_as_pytorch_does(laid, order, asked):
    same(
        f"(lambda t: (lambda made: (made is t, made))(t.to({asked}, memory_format=torch.{order})))({laid})[0]"
    )
    same(f"({laid}).to({asked}, memory_format=torch.{order}).stride()")


# ---- by the names of dtypes and devices ------------------------------------------------------------------

_DTYPES = (
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "char",
    "byte",
    "bool",
    "cfloat",
    "cdouble",
)


@pytest.mark.parametrize("name", [*_DTYPES, "cpu"])
@pytest.mark.parametrize(
    "arguments",
    ["", "None", "1", "1, 2", "torch.channels_last", "memory_format=None", "memory_format=1", "nonsense=1"],
)
def test_a_conversion_by_name_takes_a_memory_format_alone(name, arguments):
    same(f"x.{name}({arguments})")
    same(f"images.{name}(memory_format=torch.channels_last)")
    same(f"z.{name}()")


@pytest.mark.parametrize("name", ["cuda", "xpu"])
@pytest.mark.parametrize(
    "arguments",
    ["", "None", "'cpu'", "1.5", "torch.device('cuda', 0)", "'xpu', True", "nonsense=2", "None, False, 1"]
    + ["non_blocking=True, memory_format=None", "device='meta'"],
)
def test_devices_that_are_not_here_are_refused_as_pytorch_refuses_them(name, arguments):
    same(f"x.{name}({arguments})")


# ---- by types and tensors --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "", "None", "torch.float64", "torch.float32", "dtype=torch.float64", "'torch.DoubleTensor'",
        "'torch.FloatTensor'", "'DoubleTensor'", "'nonsense'", "''", "torch.DoubleTensor", "torch.FloatTensor",
        "torch.Tensor", "torch.nn.Parameter", "float", "str", "1", "x", "torch.float64, True",
        "torch.float64, non_blocking=True", "torch.float64, 'a'", "torch.float64, True, True", "nonsense=1",
        "non_blocking=True", "torch.float64, memory_format=torch.preserve_format",
        "torch.float64, memory_format=3", "memory_format=torch.channels_last",
    ],
)  # fmt: skip
def test_type_reads_its_arguments_as_pytorch_does(arguments):
    same(f"x.type({arguments})")
    same(f"x.to('meta').type({arguments})")


@pytest.mark.parametrize("name", _DTYPES)
def test_type_names_every_dtype_as_pytorch_does(name):
    same(f"x.{name}().type()")
    same(f"x.{name}().to('meta').type()")


@pytest.mark.parametrize(
    "arguments", ["x", "d", "other=d", "1", "", "x, x", "torch.float64", "x.to('meta')", "z", "None"]
)
def test_type_as_reads_its_arguments_as_pytorch_does(arguments):
    same(f"x.type_as({arguments})")


# ---- modules ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "", "None", "torch.float64", "'cpu', torch.float64", "d", "tensor=d", "other=d", "'cpu', torch.float64, True",
        "'cpu', torch.float64, True, True", "torch.float64, True, True", "torch.int32", "1.5", "nonsense=2",
        "copy=True", "memory_format=torch.channels_last", "memory_format=1", "torch.float64, 'cpu'", "'meta'",
        "dtype=torch.float64, device='cpu', non_blocking=True", "float", "'cuda'", "True", "[1]",
    ],
)  # fmt: skip
def test_modules_read_the_arguments_of_to_as_pytorch_does(arguments):
    same(f"torch._C._nn._parse_to({arguments})")
    same(f"m.to({arguments}).weight.dtype")
    same(f"torch.nn.utils.rnn.pack_sequence([x]).to({arguments}).data.dtype")
    same(f"torch.nn.utils.rnn.pack_sequence([x]).cpu({arguments}).data.dtype")


# ---- subclasses and modes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["x.to(torch.float64)", "x.to(d)", "d.to(x)", "x.float()", "x.cpu()", "x.type(torch.float64)"]
    + ["x.type_as(d)", "d.type_as(x)", "x.to()", "x.type()", "x.to(dtype=torch.int32, copy=True)"]
    + ["torch._C._nn._parse_to(x)"]
)  # fmt: skip
def test_a_subclass_is_asked_about_conversions_as_in_pytorch(text):
    def heard(module):
        calls = []

        class Asked(module.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                calls.append((func.__name__, len(args), sorted(kwargs or {}), [t.__name__ for t in types]))
                return super().__torch_function__(func, types, args, kwargs or {})

        x = module.ones(2).as_subclass(Asked)
        calls.clear()
        result = eval(text, {"torch": module, "x": x, "d": module.ones(2).double()})
        return calls, type(result).__name__

    assert heard(mindtorch_v2) == heard(torch)


def test_a_mode_hears_of_conversions_and_of_how_modules_read_their_arguments():
    def heard(module):
        calls = []

        class Mode(module.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                calls.append(func.__name__)
                return func(*args, **(kwargs or {}))

        linear, x = module.nn.Linear(2, 2), module.ones(2)
        with Mode():
            x.to(module.float64)
            x.double()
            x.cpu()
            x.type(module.float64)
            module._C._nn._parse_to(module.float64)
            linear.to(module.float64)
        return [name for name in calls if name in ("to", "double", "cpu", "type", "_parse_to")]

    assert heard(mindtorch_v2) == heard(torch)


# ---- memory formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "torch.channels_last", "[torch.contiguous_format, torch.legacy_contiguous_format, torch.preserve_format]",
        "torch.channels_last == 2", "torch.channels_last == torch.channels_last", "torch.memory_format(1)",
        "__import__('copy').deepcopy(torch.channels_last) is torch.channels_last",
        "__import__('pickle').loads(__import__('pickle').dumps(torch.channels_last)) is torch.channels_last",
        "isinstance(torch.channels_last, torch.memory_format)", "isinstance(torch.channels_last, int)",
        "x.contiguous(memory_format=2)", "images.is_contiguous(memory_format=torch.channels_last)",
    ],
)  # fmt: skip
def test_memory_formats_are_values_of_their_own(text):
    ours, theirs = _outcome(mindtorch_v2, text), _outcome(torch, text)
    assert str(ours).replace("mindtorch_v2.", "torch.") == str(theirs)

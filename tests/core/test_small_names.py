"""Small public and private names that packages import."""

import copy
import gc

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.parallel.scatter_gather import gather, scatter, scatter_kwargs
from mindtorch_v2.utils._contextlib import _DecoratorContextManager
from mindtorch_v2.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary


def test_entries_of_a_weak_dictionary_go_with_their_keys():
    key, other = torch.ones(2), torch.ones(2)
    held = WeakTensorKeyDictionary({key: "a", other: "b"})
    assert (held[key], held[other], len(held)) == ("a", "b", 2) and key in held and 3 not in held
    assert held == held.copy() and (held | {key: "c"})[key] == "c" and copy.copy(held)[other] == "b"
    del other
    gc.collect()
    assert len(held) == 1 and list(held) == [key]
    del held[key]
    assert key not in held and WeakIdKeyDictionary() == {}
    with pytest.raises(KeyError):
        held[key]


def test_weak_references_of_one_tensor_are_equal():
    tensor = torch.ones(1)
    first, second = TensorWeakRef(tensor), TensorWeakRef(tensor)
    assert first == second and hash(first) == hash(second) and first() is tensor
    assert first != TensorWeakRef(torch.ones(1))
    with pytest.raises(AssertionError, match=r"expected torch.Tensor, got"):
        TensorWeakRef(3)


def test_a_context_is_a_decorator_of_functions_and_generators():
    depth = []

    class Inside(_DecoratorContextManager):
        def __enter__(self):
            depth.append(1)

        def __exit__(self, *exception):
            depth.pop()

    @Inside()
    def function():
        return len(depth)

    @Inside()
    def generator():
        yield len(depth)
        yield len(depth)

    assert function() == 1 and depth == []
    running = generator()
    assert next(running) == 1 and depth == [] and next(running) == 1
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        Inside()(int)


def test_a_batch_is_spread_over_devices_and_collected_with_gradients():
    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    parts = scatter({"x": x, "n": 3, "l": [x]}, ["cpu", "cpu"])
    assert [part["x"].shape for part in parts] == [(2, 2), (1, 2)] and parts[1]["n"] == 3
    joined = gather([part["l"][0] * 2 for part in parts], "cpu")
    joined.sum().backward()
    assert joined.tolist() == (x * 2).tolist() and x.grad.tolist() == [[2, 2]] * 3
    assert scatter_kwargs((), {"a": 1}, ["cpu", "cpu"]) == (((), ()), ({"a": 1}, {"a": 1}))
    with pytest.warns(UserWarning, match="all input tensors were scalars"):
        assert gather([torch.tensor(1.0), torch.tensor(2.0)], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="All dicts must have the same number of keys"):
        gather([{"a": x}, {}], "cpu")


def test_printing_has_pytorchs_private_names():
    from mindtorch_v2 import _tensor_str

    with torch.printoptions(precision=2):
        assert _tensor_str.PRINT_OPTS.precision == 2
        assert _tensor_str._tensor_str(torch.tensor([1.5]), 0) == "[1.50]"
    assert _tensor_str.PRINT_OPTS.precision == 4
    assert _tensor_str._add_suffixes("tensor([1]", ["dtype=x"], 7, False) == "tensor([1], dtype=x)"
    assert "\n" in _tensor_str._add_suffixes("tensor([1]", ["dtype=x"], 7, True)


def test_a_module_holds_other_parameters_inside_a_block():
    from mindtorch_v2.nn.utils.stateless import _reparametrize_module

    module = torch.nn.Linear(1, 1, bias=False)
    before = module.weight
    with _reparametrize_module(module, {"weight": torch.tensor([[2.0]])}):
        assert module(torch.ones(1)).item() == 2
    assert module.weight is before


def test_arguments_of_to_are_read_for_others():
    device, dtype, non_blocking, form = torch._C._nn._parse_to("cpu", torch.float64, non_blocking=True)
    assert (device, dtype, non_blocking, form) == (torch.device("cpu"), torch.float64, True, None)


def test_stubs_of_quantization_pass_numbers_on():
    from mindtorch_v2.ao.quantization import DeQuantStub, QuantStub, QuantWrapper

    x = torch.ones(2)
    assert DeQuantStub()(QuantStub()(x)) is x
    assert QuantWrapper(torch.nn.Identity())(x) is x
    assert torch.nn.quantized.FloatFunctional().add_relu(x, -3 * x).tolist() == [0, 0]


def test_marks_of_torchscript_leave_functions_alone():
    from mindtorch_v2._jit_internal import _overload_method, boolean_dispatch

    assert _overload_method(len) is len
    chosen = boolean_dispatch("both", 1, False, lambda *a, **k: "yes", lambda *a, **k: "no", None, "f")
    assert [chosen(0), chosen(0, True), chosen(0, both=True)] == [
        "no",
        "yes",
        "yes",
    ] and chosen.__name__ == "f"


def test_no_tensor_is_dual():
    x = torch.ones(2)
    primal, tangent = torch.autograd.forward_ad.unpack_dual(x)
    assert primal is x and tangent is None


def test_settings_of_backends_may_be_assigned_in_a_block():
    before = torch.backends.cudnn.deterministic
    with getattr(torch.backends, "__allow_nonbracketed_mutation")():
        torch.backends.cudnn.deterministic = before
    assert not torch.backends.flags_frozen()


def test_tensors_and_storages_are_told_apart_by_a_number():
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    assert x._cdata == x._cdata != x.detach()._cdata and x.grad._cdata == x.grad._cdata
    storage = x.untyped_storage()
    assert storage._cdata == x.detach().untyped_storage()._cdata != torch.ones(2).untyped_storage()._cdata

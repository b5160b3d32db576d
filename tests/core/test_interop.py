"""Subclasses with __torch_function__, DLPack, copying and pickling."""

import copy
import pickle

import numpy as np
import pytest

import mindtorch_v2 as torch


class Logged(torch.Tensor):
    calls: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


@pytest.fixture
def logged():
    Logged.calls.clear()
    return torch.ones(2).as_subclass(Logged)


def test_operators_ask_the_subclass_and_keep_it(logged):
    made = [
        torch.add(logged, 1),
        logged.mul(2),
        logged + 1,
        1 + logged,
        -logged,
        logged == 1,
        torch.cat([logged]),
    ]
    assert all(type(m) is Logged for m in made)
    assert Logged.calls == ["add", "mul", "add", "add", "neg", "__eq__", "cat"]


def test_a_plain_subclass_is_kept_too():
    class Plain(torch.Tensor):
        pass

    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Plain)
    z = (y * 2).sum()
    assert type(z) is Plain
    z.backward()
    assert x.grad.tolist() == [2, 2]


def test_a_parameter_is_treated_as_a_tensor():
    made = torch.nn.Parameter(torch.ones(2)) * 2
    assert type(made) is torch.Tensor


def test_a_parameters_override_is_called_by_a_subclass_of_it():
    class Counted(torch.nn.Parameter):
        calls: list = []

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            cls.calls.append(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

    counted = Counted(torch.ones(2, 3))
    with torch.no_grad():
        assert counted.copy_(torch.zeros(2, 3)) is counted
    first, _ = torch.chunk(counted, 2)
    assert type(first) is torch.Tensor and (counted + 1).tolist() == [[1.0] * 3] * 2
    assert Counted.calls == ["copy_", "chunk", "add"]


def test_overrides_are_asked_again_after_an_operator_failed_without_them():
    disabled = torch._C._disabled_torch_function_impl
    with pytest.raises(RuntimeError, match="size"):
        disabled(torch.add, (), (torch.ones(2), torch.ones(3)))

    class Asked(torch.Tensor):
        pass

    assert type(torch.ones(2).as_subclass(Asked) + 1) is Asked
    assert disabled(torch.add, (), (torch.ones(1),), {"other": 1}).item() == 2


def test_objects_that_are_no_tensors_may_answer():
    class Diagonal:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "mine" if func is torch.mul else NotImplemented

    assert torch.mul(torch.ones(1), Diagonal()) == "mine"
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.add'"):
        torch.add(torch.ones(1), Diagonal())


def test_the_most_derived_type_is_asked_first():
    order = []

    class Base(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            order.append(cls.__name__)
            return NotImplemented if cls.__name__ == "Derived" else "answered"

    class Derived(Base):
        pass

    a, b = torch.ones(1).as_subclass(Base), torch.ones(1).as_subclass(Derived)
    assert torch.add(a, b) == "answered"
    assert order == ["Derived", "Base"]


def test_numpy_reads_tensors_through_dlpack_without_copying():
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    view = np.from_dlpack(x)
    x[0, 0] = 42
    assert view[0, 0] == 42 and view.shape == (2, 3)


def test_tensors_come_from_dlpack_without_copying():
    array = np.arange(4.0)
    x = torch.from_dlpack(array)
    array[1] = 7
    assert x.tolist() == [0, 7, 2, 3]
    again = torch.from_dlpack(torch.utils.dlpack.to_dlpack(x.t().reshape(2, 2).t()))
    assert again.tolist() == [[0, 2], [7, 3]]


def test_a_capsule_is_taken_once():
    capsule = torch.to_dlpack(torch.ones(2))
    torch.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="only once"):
        torch.from_dlpack(capsule)


def test_what_requires_grad_is_not_exported():
    with pytest.raises(BufferError, match="require gradient"):
        torch.ones(1, requires_grad=True).__dlpack__()


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.int8, torch.uint8, torch.float16, torch.bfloat16, torch.complex64]
)
def test_dlpack_keeps_the_dtype(dtype):
    x = torch.ones(3).to(dtype)
    y = torch.from_dlpack(x)
    assert y.dtype == dtype and y.data_ptr() == x.data_ptr()


def test_copies_and_pickles_are_equal_and_apart():
    x = torch.arange(4.0).reshape(2, 2).requires_grad_()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert other.tolist() == x.tolist() and other.requires_grad
        assert other.data_ptr() != x.data_ptr()
    assert copy.copy(x).data_ptr() == x.data_ptr()


def test_numpy_takes_a_tensor_that_requires_grad_where_nothing_is_recorded():
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        assert x.numpy().tolist() == np.asarray(x).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()


def test_einsum_is_seen_as_an_equation_and_operands_in_whatever_form_it_was_called():
    seen = []

    class Watched(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func is torch.einsum:
                seen.append(tuple("tensor" if isinstance(a, torch.Tensor) else a for a in args))
            return super().__torch_function__(func, types, args, kwargs)

    a, b = torch.ones(2, 3).as_subclass(Watched), torch.ones(3, 2)
    (
        torch.einsum("ij,jk->ik", a, b),
        torch.einsum("ij,jk->ik", [a, b]),
        torch.einsum(a, [0, 1], b, [1, 2], [0, 2]),
    )
    assert seen == [("ij,jk->ik", "tensor", "tensor")] * 2 + [("AB,BC->AC", "tensor", "tensor")]

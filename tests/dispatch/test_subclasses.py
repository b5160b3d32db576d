"""Classes of tensors that take their operators over: ``__torch_dispatch__``."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils._pytree import tree_map


class Logged(torch.Tensor):
    """Holds a tensor and writes down the operators that it meets."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    log = []

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device,
            requires_grad=inner.requires_grad,
        )  # fmt: skip
        made.inner = inner.detach() if inner.requires_grad else inner
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.log.append(str(func))
        inner = tree_map(lambda x: x.inner if isinstance(x, Logged) else x, (args, kwargs or {}))
        result = func(*inner[0], **inner[1])
        return tree_map(lambda x: Logged(x) if isinstance(x, torch.Tensor) else x, result)


@pytest.fixture(autouse=True)
def empty_log():
    Logged.log.clear()


@pytest.fixture(params=["cpu", "npu"])
def device(request):
    return request.param


def test_operators_go_to_the_class(device):
    x = Logged(torch.ones(2, 3, device=device))
    y = x + 1
    assert isinstance(y, Logged) and y.device.type == device
    assert torch.equal(y.inner, torch.full((2, 3), 2.0, device=device))
    assert Logged.log == ["aten.add.Tensor"]


def test_methods_functions_and_operators_of_python_are_the_same_calls():
    x, y = Logged(torch.ones(3)), torch.full((3,), 2.0)
    for result in (x * y, torch.mul(x, y), x.mul(y), y * x):
        assert isinstance(result, Logged) and result.inner.tolist() == [2.0, 2.0, 2.0]
    assert Logged.log == ["aten.mul.Tensor"] * 4


def test_gradients_flow_through_the_class(device):
    plain = torch.randn(3, 4, device=device)
    x = Logged(plain.clone().requires_grad_())
    loss = (x.tanh() * x).sum()
    loss.backward()
    assert isinstance(x.grad, Logged)
    wanted = plain.clone().requires_grad_()
    (wanted.tanh() * wanted).sum().backward()
    assert torch.equal(x.grad.inner, wanted.grad)
    assert "aten.tanh.default" in Logged.log and "aten.tanh_backward.default" in Logged.log


def test_a_module_trains_with_parameters_of_the_class():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    other = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    other.load_state_dict(model.state_dict())
    for module in other:
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, torch.nn.Parameter(Logged(parameter.detach())))
    data = torch.randn(16, 4)
    for each in (model, other):
        optimizer = torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimizer.zero_grad()
            each(data).square().mean().backward()
            optimizer.step()
    for wanted, got in zip(model.parameters(), other.parameters(), strict=True):
        assert type(got) is Logged and torch.equal(got.inner, wanted.detach())


def test_in_place_writes_reach_the_inner_tensor():
    x = Logged(torch.zeros(3))
    same = x.add_(2)
    assert same is x and x.inner.tolist() == [2.0, 2.0, 2.0]
    assert Logged.log == ["aten.add_.Tensor"]


def test_views_are_operators_too():
    x = Logged(torch.arange(6.0).reshape(2, 3))
    assert x.t().inner.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert x.view(3, 2).shape == (3, 2)
    assert x[0].inner.tolist() == [0.0, 1.0, 2.0]
    assert Logged.log == ["aten.t.default", "aten.view.default", "aten.select.int"]


def test_several_results_come_as_a_tuple():
    values, indices = torch.sort(Logged(torch.tensor([3.0, 1.0, 2.0])))
    assert isinstance(values, Logged) and isinstance(indices, Logged)
    assert values.inner.tolist() == [1.0, 2.0, 3.0] and indices.inner.tolist() == [1, 2, 0]


def test_a_class_that_does_not_answer_is_an_error():
    class Silent(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    made = torch.Tensor._make_wrapper_subclass(Silent, (2,))
    with pytest.raises(TypeError, match="returned NotImplemented"):
        made + 1


def test_errors_of_the_handler_come_through_unchanged():
    class Broken(Logged):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        Broken(torch.ones(2)) * 2


def test_a_class_without_a_handler_cannot_be_without_memory():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="no __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


class TwoTensors(torch.Tensor):
    """Does everything twice."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, a, b):
        made = torch.Tensor._make_wrapper_subclass(
            cls, a.size(), strides=a.stride(), dtype=a.dtype, device=a.device
        )
        made.a, made.b = a, b
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        def part(name):
            given = tree_map(
                lambda x: getattr(x, name) if isinstance(x, TwoTensors) else x, (args, kwargs or {})
            )
            return func(*given[0], **given[1])

        a, b = part("a"), part("b")
        return TwoTensors(a, b) if isinstance(a, torch.Tensor) else a


def test_a_tensor_may_be_two():
    x = TwoTensors(torch.ones(2, 2), torch.full((2, 2), 3.0)).requires_grad_()
    y = torch.softmax(x @ x, dim=-1).sum() + x.sum()
    y.backward()
    assert y.a.item() == 6.0 and y.b.item() == 14.0
    assert torch.allclose(x.grad.a, torch.ones(2, 2)) and torch.allclose(x.grad.b, torch.ones(2, 2))

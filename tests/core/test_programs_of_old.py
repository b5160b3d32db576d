"""What programs written for older versions of PyTorch, or around it, rely on."""

import pickle

import numpy as np
import pytest

import mindtorch_v2 as torch


def test_a_function_and_its_method_return_the_same_named_type():
    x = torch.eye(2)
    assert type(torch.max(x, 0)) is type(x.max(0)) is torch.return_types.max
    assert "topk" in dir(torch.return_types)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = torch.return_types.nothing


def test_named_results_are_pickled_by_name():
    made = pickle.loads(pickle.dumps(torch.eye(2).max(0)))
    assert type(made) is torch.return_types.max
    assert made.indices.tolist() == [0, 1]


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda x: x.add(3, torch.ones(2)), [4, 5]),
        (lambda x: torch.sub(x, 3, torch.ones(2)), [-2, -1]),
        (lambda x: x.clone().addcmul_(2, torch.ones(2), torch.ones(2)), [3, 4]),
        (lambda x: torch.addmv(2, x, 3, torch.eye(2), torch.ones(2)), [5, 7]),
        (lambda x: x.addmv(2, torch.eye(2), torch.ones(2)), [3, 5]),
    ],
)
def test_numbers_may_come_before_the_tensors_they_scale(call, wanted):
    assert call(torch.tensor([1.0, 2.0])).tolist() == wanted


def test_variable_makes_a_leaf_over_the_same_memory():
    x = torch.ones(2)
    v = torch.autograd.Variable(x, requires_grad=True)
    assert v.data_ptr() == x.data_ptr()
    assert v.requires_grad
    assert not x.requires_grad
    assert isinstance(x, torch.autograd.Variable)


def test_numbers_of_numpy_leave_operators_to_tensors():
    made = np.float64(2) * torch.ones(2)
    assert type(made) is torch.Tensor
    assert made.dtype is torch.float32
    assert type(np.exp(torch.zeros(2))) is torch.Tensor


@pytest.mark.parametrize(
    "parts, name",
    [
        (lambda x: x.split(2), "Split"),
        (lambda x: x.chunk(2), "Split"),
        (lambda x: x.split([1, 3]), "SplitWithSizes"),
        (lambda x: x.unbind(), "Unbind"),
    ],
)
def test_parts_of_a_tensor_are_one_node_and_refuse_writes(parts, name):
    x = torch.arange(4.0, requires_grad=True)
    made = parts(x * 1)
    assert {part.grad_fn for part in made} == {made[0].grad_fn}
    assert type(made[0].grad_fn).__name__ == f"{name}Backward0"
    with pytest.raises(RuntimeError, match=f"Output 1 of {name} is a view and is being modified inplace"):
        made[1].add_(1)
    (made[0] * 3).sum().backward()
    assert x.grad.sum() == 3 * made[0].numel()


def test_parts_made_by_the_unsafe_functions_may_be_written():
    x = torch.arange(4.0, requires_grad=True)
    first, second = torch.unsafe_split(x * 1, 2)
    first.mul_(3)
    (first.sum() + second.sum()).backward()
    assert x.grad.tolist() == [3, 3, 1, 1]


def test_a_gradient_kept_by_retain_grad_is_memory_of_its_own():
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.sum().backward()
    assert y.grad.stride() == (1,)


def test_only_inputs_is_still_an_argument_of_grad():
    x = torch.ones(2, requires_grad=True)
    (made,) = torch.autograd.grad((x * 2).sum(), x, only_inputs=True)
    assert made.tolist() == [2, 2]


def test_batched_gradients_run_one_pass_each():
    x = torch.ones(2, requires_grad=True)
    (made,) = torch.autograd.grad(x * 2, x, grad_outputs=torch.eye(2), is_grads_batched=True)
    assert made.tolist() == [[2, 0], [0, 2]]
    with pytest.raises(ValueError, match="same size in the mapped dimension"):
        torch.autograd.grad([x * 2, x * 3], x, [torch.eye(2), torch.ones(3, 2)], is_grads_batched=True)


def test_what_factories_make_has_not_been_written_to():
    made = (torch.ones(2), torch.eye(2), torch.arange(3), torch.randn(2), torch.zeros_like(torch.ones(2)))
    assert [x._version for x in made] == [0] * 5

"""Nested tensors in the strided layout: lists of tensors that may differ in every dimension."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F


def parts(device="cpu"):
    return [torch.arange(6.0, device=device).view(2, 3), torch.arange(9.0, device=device).view(3, 3)]


def nested(device="cpu", **options):
    return torch.nested.nested_tensor(parts(device), **options)


def same(tensor, expected):
    assert tensor.is_nested and tensor.layout is torch.strided and len(tensor) == len(expected)
    for a, b in zip(tensor.unbind(), expected, strict=True):
        assert a.shape == b.shape and torch.allclose(a.cpu(), b.cpu(), atol=1e-6)


def test_sizes_are_those_that_all_parts_share():
    tensor = nested()
    assert (tensor.size(0), tensor.size(2), tensor.dim(), tensor.numel()) == (2, 3, 3, 15)
    assert tensor._nested_tensor_size().tolist() == [[2, 3], [3, 3]]
    with pytest.raises(RuntimeError, match="dimension 1 is irregular"):
        tensor.size(1)
    with pytest.raises(RuntimeError, match=r"use size\(dim\)"):
        assert tensor.shape
    assert repr(torch.nested.nested_tensor([torch.ones(1)])) == "nested_tensor([\n  tensor([1.])\n])"


OF_EACH = {
    "pointwise": lambda t: (t * 2 - t).relu().neg(),
    "softmax": lambda t: t.softmax(-1),
    "sum": lambda t: t.sum(-1, keepdim=True),
    "linear": lambda t: F.linear(t, torch.ones(4, 3, device=t.device)),
    "layer norm": lambda t: F.layer_norm(
        t, (3,), torch.ones(3, device=t.device), torch.ones(3, device=t.device)
    ),
    "turned": lambda t: t.transpose(-1, -2).contiguous(),
    "product": lambda t: t.matmul(t.transpose(-1, -2)),
    "unsqueezed": lambda t: t.unsqueeze(-1),
    "double": lambda t: t.double().float(),
}


@pytest.mark.parametrize("name", OF_EACH)
def test_an_operator_is_that_of_each_part(name, device):
    same(OF_EACH[name](nested(device)), [OF_EACH[name](p) for p in parts(device)])


def test_gradients_reach_the_parts():
    given = [p.requires_grad_() for p in parts()]
    made = torch.nested.as_nested_tensor(given)
    (made * made).to_padded_tensor(0.0).sum().backward()
    assert all(torch.equal(p.grad, 2 * p.detach()) for p in given)
    tensor = nested(requires_grad=True)
    (tensor * 2).backward(nested())
    same(tensor.grad, [2 * p for p in parts()])


def test_parts_are_taken_joined_and_written():
    tensor = nested()
    same(torch.cat([tensor, tensor]), parts() * 2)
    same(tensor.narrow(0, 1, 1), parts()[1:])
    same(tensor.view(2, -1, 1, 3), [p.unsqueeze(1) for p in parts()])
    tensor[0].fill_(7.0)
    tensor.mul_(2)
    assert tensor[0].eq(14).all() and torch.equal(copy.deepcopy(tensor)[0], tensor[0])


def test_what_parts_do_not_share_is_refused():
    for call, message in (
        (lambda t: t + torch.ones(3), "Expected both self and other to be nested"),
        (lambda t: t + torch.nested.nested_tensor(parts()[::-1]), "does not support broadcasting"),
        (lambda t: t.transpose(0, 1), "dimension 0 cannot be transposed"),
        (lambda t: t.sum(1), "only be reduced across the last dimension"),
        (lambda t: torch.ones(2).is_same_size(t), "Expected both self and other to be nested tensors"),
        (
            lambda t: torch.nested.as_nested_tensor(t, layout=torch.jagged),
            "Converting between nested tensor layouts",
        ),
    ):
        with pytest.raises(RuntimeError, match=message):
            call(nested())
    with pytest.raises(NotImplementedError, match="is not there"):
        F.conv1d(nested(), torch.ones(1, 3, 1))


def test_parts_of_any_sizes_are_padded_to_the_largest():
    tensor = torch.nested.nested_tensor([torch.ones(2, 5), torch.ones(4, 3)])
    assert tensor.to_padded_tensor(0.0).shape == (2, 4, 5) and tensor.to_padded_tensor(0.0).sum() == 22
    assert torch.nested.nested_tensor([]).to_padded_tensor(0.0).shape == (0,)

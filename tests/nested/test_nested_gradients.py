"""Gradients of nested tensors, and networks over them."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.autograd import gradcheck, gradgradcheck
from mindtorch_v2.nn import functional as F

LENGTHS = (2, 4, 3)


def inputs():
    torch.manual_seed(0)
    return tuple(torch.randn(n, 3, dtype=torch.float64, requires_grad=True) for n in LENGTHS)


def jagged(*tensors):
    return torch.nested.as_nested_tensor(list(tensors), layout=torch.jagged)


def heads(nested):
    return nested.unflatten(-1, (1, 3)).transpose(1, 2)


FUNCTIONS = {
    "pointwise": lambda t: t.sin() * t + t.exp(),
    "dense operand": lambda t: t * torch.arange(9.0, dtype=torch.float64).view(3, 1, 3),
    "softmax": lambda t: t.softmax(1) + t.softmax(-1),
    "layer norm": lambda t: F.layer_norm(t, (3,)) + F.layer_norm(t, t.shape[1:]),
    "linear": lambda t: F.linear(t, torch.ones(2, 3, dtype=torch.float64)),
    "sum": lambda t: t.sum(1) * t.mean(1),
    "largest": lambda t: t.amax(1) + t.amax(-1).sum(1, keepdim=True),
    "padded": lambda t: t.to_padded_tensor(0.5).sin(),
    "batches": lambda t: torch.bmm(t, torch.ones(3, 3, 2, dtype=torch.float64)),
    "gram": lambda t: t.transpose(1, 2) @ t,
    "parts": lambda t: t[1] * t[0].sum() + t.unbind()[1],
    "attention": lambda t: F.scaled_dot_product_attention(heads(t), heads(t * 2), heads(t), is_causal=True),
    "written": lambda t: (t * 1).mul_(t).add_(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_dense_operators(name):
    def function(*tensors):
        made = FUNCTIONS[name](jagged(*tensors))
        return made.values() if made.is_nested else made

    assert gradcheck(function, inputs())
    if name != "attention":
        assert gradgradcheck(function, inputs())


def leaf(device="cpu"):
    return torch.nested.nested_tensor(
        [torch.ones(n, 3) for n in LENGTHS], layout=torch.jagged, device=device, requires_grad=True
    )


def test_a_nested_leaf_has_a_nested_gradient(device):
    tensor = leaf(device)
    seen = []
    doubled = tensor * 2
    doubled.retain_grad()
    doubled.register_hook(lambda grad: seen.append(grad.shape))
    doubled.pow(2).sum().backward()
    (tensor * 3).sum().backward()
    assert tensor.is_leaf and doubled.grad_fn is not None and seen == [tensor.shape]
    assert tensor.grad.is_nested and tensor.grad.shape == tensor.shape and doubled.grad.values().eq(4).all()
    assert tensor.grad.values().eq(11).all()


def test_a_nested_result_is_given_a_nested_gradient():
    tensor = leaf()
    out = tensor * 2
    out.backward(torch.ones_like(out) * 3)
    assert tensor.grad.values().eq(6).all()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (tensor * 2).backward(leaf().detach())


def test_gradients_of_gradients_are_nested_too():
    tensor = leaf()
    (grad,) = torch.autograd.grad(tensor.pow(3).sum(), tensor, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), tensor)
    assert grad.is_nested and second.values().eq(6).all()


def test_a_leaf_is_not_written_in_place():
    with pytest.raises(RuntimeError, match="leaf Variable"):
        leaf().mul_(2)
    assert leaf().detach().mul_(2).values().eq(2).all()


def test_nodes_know_nested_sizes():
    tensor = leaf()
    (meta,) = tensor.clone().grad_fn._input_metadata
    assert meta.is_nested_tensor and meta.shape == tensor.shape and not meta.is_cpp_nested_tensor
    (dense,) = (torch.ones(2, requires_grad=True) * 2).grad_fn._input_metadata
    assert not dense.is_nested_tensor and dense.shape == (2,)


def test_holes_have_no_gradient():
    values = torch.arange(16.0).view(8, 2).requires_grad_()
    tensor = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 4, 8]), torch.tensor([2, 3]))
    tensor.contiguous().values().sum().backward()
    assert values.grad.sum(1).tolist() == [2, 2, 0, 0, 2, 2, 2, 0]


class Block(nn.Module):
    def __init__(self, width, count):
        super().__init__()
        self.norm, self.count = nn.LayerNorm(width), count
        self.queries_keys_values, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * width, width)
        )

    def forward(self, x, causal):
        each = self.queries_keys_values(self.norm(x)).chunk(3, -1)
        query, key, value = (t.unflatten(-1, (self.count, -1)).transpose(1, 2) for t in each)
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.wide(x)


@pytest.mark.parametrize("causal", [False, True])
def test_a_transformer_block_sees_each_sequence_alone(device, causal):
    torch.manual_seed(0)
    table, block = nn.Embedding(11, 8).to(device), Block(8, 2).to(device).eval()
    words = [torch.tensor(w, device=device) for w in ([1, 2, 3], [4], [5, 6, 7, 8, 9])]
    batch = torch.nested.nested_tensor(words, layout=torch.jagged)
    block(table(batch), causal).pow(2).sum().backward()
    found = [p.grad.clone() for p in (*table.parameters(), *block.parameters())]
    table.zero_grad()
    block.zero_grad()
    for sentence in words:
        block(table(sentence).unsqueeze(0), causal).pow(2).sum().backward()
    for grad, parameter in zip(found, (*table.parameters(), *block.parameters()), strict=True):
        assert torch.allclose(grad, parameter.grad, atol=1e-4, rtol=1e-4)


def test_sequences_of_one_length_attend_in_one_call(device):
    torch.manual_seed(0)
    dense = torch.randn(2, 5, 2, 4, device=device)
    nested = torch.nested.as_nested_tensor(dense, layout=torch.jagged).transpose(1, 2)
    found = F.scaled_dot_product_attention(nested, nested, nested).transpose(1, 2)
    dense = dense.transpose(1, 2)
    expected = F.scaled_dot_product_attention(dense, dense, dense).transpose(1, 2)
    assert torch.allclose(found.to_padded_tensor(0.0), expected, atol=1e-5)


def test_attention_says_what_it_wants():
    tensor = leaf().detach()
    with pytest.raises(ValueError, match="transpose"):
        F.scaled_dot_product_attention(*[tensor.unflatten(-1, (1, 3))] * 3)
    with pytest.raises(ValueError, match="attn_mask must be None"):
        F.scaled_dot_product_attention(*[heads(tensor)] * 3, attn_mask=torch.ones(1))
    with pytest.raises(ValueError, match="nested or dense"):
        F.scaled_dot_product_attention(heads(tensor), torch.ones(3, 1, 2, 3), torch.ones(3, 1, 2, 3))


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop"])
@pytest.mark.parametrize("foreach", [None, True, False])
def test_optimizers_step_nested_parameters(kind, foreach):
    parameter, dense = leaf(), torch.ones(9, 3, requires_grad=True)
    for one in (parameter, dense):
        optimizer = getattr(torch.optim, kind)([one], lr=0.1, foreach=foreach)
        for _ in range(2):
            optimizer.zero_grad()
            one.pow(2).sum().backward()
            optimizer.step()
    assert torch.allclose(parameter.values(), dense)


def test_nested_tensors_are_compared_tensor_by_tensor():
    tensor = leaf().detach()
    torch.testing.assert_close(tensor, tensor.clone())
    with pytest.raises(AssertionError, match="not close"):
        torch.testing.assert_close(tensor, tensor + 1)
    with pytest.raises(AssertionError, match="is_nested"):
        torch.testing.assert_close(tensor, tensor.values())

"""nn.utils: clipping, parametrizations, pruning, packed sequences."""

import copy

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils import parametrizations, parametrize, prune, rnn


def with_gradients(*values):
    parameters = [nn.Parameter(torch.zeros(len(value))) for value in values]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = torch.tensor(value)
    return parameters


@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_gradients_are_scaled_to_the_largest_norm(device):
    parameters = with_gradients([3.0], [4.0])
    for parameter in parameters:
        parameter.data = parameter.data.to(device)
        parameter.grad = parameter.grad.to(device)
    total = nn.utils.clip_grad_norm_(parameters, 1.0)
    assert total.item() == pytest.approx(5.0)
    assert [p.grad.item() for p in parameters] == pytest.approx([0.6, 0.8], rel=1e-5)
    nn.utils.clip_grad_norm_(parameters, 10.0)
    assert [p.grad.item() for p in parameters] == pytest.approx([0.6, 0.8], rel=1e-5)


def test_gradients_are_held_between_two_values():
    parameters = with_gradients([3.0, -7.0, 0.5])
    nn.utils.clip_grad_value_(parameters, 1)
    assert parameters[0].grad.tolist() == [1.0, -1.0, 0.5]


def test_a_norm_that_is_not_finite_is_refused_when_asked():
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        nn.utils.clip_grad_norm_(with_gradients([float("nan")]), 1.0, error_if_nonfinite=True)


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).mT

    def right_inverse(self, A):
        return A.triu()


def test_a_parametrized_weight_is_computed_and_its_original_is_trained():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    assert torch.equal(layer.weight, layer.weight.mT)
    assert dict(layer.named_parameters()).keys() == {"bias", "parametrizations.weight.original"}
    layer.weight = torch.eye(3) * 2
    assert layer.weight.tolist() == (torch.eye(3) * 2).tolist()
    layer(torch.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    twin = copy.deepcopy(layer)
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear
    assert isinstance(layer.weight, nn.Parameter)
    assert parametrize.is_parametrized(twin, "weight")
    assert torch.equal(twin.weight, layer.weight)


def test_inside_cached_a_weight_is_computed_once():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_an_orthogonal_weight_stays_orthogonal():
    layer = parametrizations.orthogonal(nn.Linear(4, 4))
    layer(torch.ones(2, 4)).sum().backward()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter -= 0.1 * parameter.grad
    product = layer.weight.detach() @ layer.weight.detach().mT
    assert torch.allclose(product, torch.eye(4), atol=1e-5)


def test_pruning_keeps_elements_at_zero_until_it_is_made_permanent():
    layer = nn.Linear(4, 4)
    prune.l1_unstructured(layer, "weight", 0.5)
    assert prune.is_pruned(layer)
    assert int((layer.weight == 0).sum()) == 8
    layer(torch.ones(1, 4)).sum().backward()
    assert int((layer.weight_orig.grad == 0).sum()) == 8
    prune.remove(layer, "weight")
    assert sorted(layer.state_dict()) == ["bias", "weight"]
    assert int((layer.weight == 0).sum()) == 8


def test_sequences_survive_packing_and_a_recurrent_network_sees_no_padding():
    torch.manual_seed(0)
    rows = [torch.rand(n, 3) for n in (2, 5, 3)]
    packed = rnn.pack_sequence(rows, enforce_sorted=False)
    for row, other in zip(rows, rnn.unpack_sequence(packed), strict=True):
        assert torch.equal(row, other)
    network = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    output, (hidden, cell) = network(packed)
    padded, lengths = rnn.pad_packed_sequence(output)
    assert lengths.tolist() == [2, 5, 3]
    for place, row in enumerate(rows):
        alone, (own_hidden, own_cell) = network(row)
        assert torch.allclose(padded[: len(row), place], alone, atol=1e-6)
        assert torch.allclose(hidden[:, place], own_hidden, atol=1e-6)
        assert torch.allclose(cell[:, place], own_cell, atol=1e-6)


def test_skip_init_gives_memory_without_values():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    layer = nn.utils.skip_init(nn.Linear, 3, 4)
    assert layer.weight.device.type == "cpu"
    assert torch.equal(before, torch.get_rng_state())

"""Recurrent layers: gradients by finite differences, and the same results on every device and path."""

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils.rnn import pack_padded_sequence

KINDS = ("LSTM", "GRU", "RNN")


def made(kind, *sizes, **options):
    torch.manual_seed(0)
    return getattr(nn, kind)(*sizes, dtype=torch.float64, **options)


def first_state(kind, *shape):
    state = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    return (
        (state, torch.randn(shape, dtype=torch.float64, requires_grad=True)) if kind == "LSTM" else (state,)
    )


def results(network, x, state, lengths):
    if lengths is not None:
        x = pack_padded_sequence(x, torch.tensor(lengths))
    output, last = network(x, state if len(state) > 1 else state[0])
    return (output if lengths is None else output.data, *(last if isinstance(last, tuple) else (last,)))


@pytest.mark.parametrize("lengths", [None, [3, 2, 2]], ids=["padded", "packed"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_and_second_gradients_match_finite_differences(kind, lengths):
    network = made(kind, 2, 3, bidirectional=True)
    x = torch.randn(3, 3, 2, dtype=torch.float64, requires_grad=True)
    state = first_state(kind, 2, 3, 3)
    weights = tuple(network.parameters())

    def run(x, *rest):
        return results(network, x, rest[: len(state)], lengths)

    assert torch.autograd.gradcheck(run, (x, *state, *weights))
    assert torch.autograd.gradgradcheck(run, (x, *state))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_is_the_cell_step_by_step(kind):
    network, cell = made(kind, 4, 5), getattr(nn, f"{kind}Cell")(4, 5, dtype=torch.float64)
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in network.state_dict().items()})
    x = torch.randn(6, 2, 4, dtype=torch.float64)
    state, outputs = None, []
    for step in x:
        state = cell(step, state)
        outputs.append(state[0] if kind == "LSTM" else state)
    output, _ = network(x)
    np.testing.assert_allclose(output.detach().numpy(), torch.stack(outputs).detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_computes_in_float(kind, dtype):
    network = made(kind, 4, 8).float()
    x = torch.randn(5, 3, 4)
    with torch.no_grad():
        exact = network(x)[0]
    half = network.to(dtype)
    output = half(x.to(dtype))[0]
    output.sum().backward()
    assert output.dtype == dtype and all(p.grad.dtype == dtype for p in half.parameters())
    np.testing.assert_allclose(output.float().detach().numpy(), exact.numpy(), atol=0.03)


@pytest.mark.parametrize("kind", KINDS)
def test_meta_tensors_get_shapes(kind):
    network = getattr(nn, kind)(4, 5, 2, bidirectional=True, device="meta")
    output, last = network(torch.empty(3, 2, 4, device="meta"))
    assert output.shape == (3, 2, 10) and (last[0] if kind == "LSTM" else last).shape == (4, 2, 5)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([1, 2], "must not increase"),
        ([2, 2], "must sum up to"),
        ([3, 0], "must be positive"),
        ([], "larger than 0"),
    ],
)
def test_batch_sizes_that_do_not_fit_are_refused(sizes, message):
    weights = [torch.randn(15, 4), torch.randn(15, 5)]
    with pytest.raises(RuntimeError, match=message):
        torch.gru(
            torch.randn(3, 4), torch.tensor(sizes, dtype=torch.int64), torch.randn(1, 2, 5), weights, False, 1, 0.0,
            True, False,
        )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_weights_given_as_a_list_are_used_until_an_attribute_is_another(kind):
    network, x = made(kind, 3, 4), torch.ones(2, 1, 3, dtype=torch.float64)
    own = network(x)[0]
    halves = [weight * 0.5 for weight in network._flat_weights]
    network._flat_weights = halves
    given = network(x)[0]
    assert network._flat_weights is halves and not torch.allclose(given, own)
    given.sum().backward()
    assert network.weight_ih_l0.grad is not None  # through the list
    network.weight_hh_l0 = nn.Parameter(network.weight_hh_l0.detach().clone())
    assert torch.equal(network(x)[0], own)
    network._flat_weights = halves
    network.double()  # the list was made for what the weights were
    assert torch.equal(network(x)[0], own)

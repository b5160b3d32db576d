"""First values. The recorded numbers are PyTorch 2.13's for the same seed."""

import math

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import init


def test_linear_draws_pytorchs_parameters():
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    assert layer.weight[0].tolist() == pytest.approx(
        [-0.0037434101, 0.2682218, -0.41152257, -0.36796951], rel=1e-6
    )
    assert layer.bias.tolist() == pytest.approx([-0.47767425, -0.33114105, -0.20611155], rel=1e-6)


def test_bounds_and_spread_follow_the_fans():
    torch.manual_seed(0)
    tensor = torch.empty(200, 300)
    bound = math.sqrt(6 / 300)
    assert init.kaiming_uniform_(tensor) is tensor
    assert 0.99 * bound < tensor.abs().max().item() <= bound
    bound = math.sqrt(6 / 500)
    assert 0.99 * bound < init.xavier_uniform_(tensor).abs().max().item() <= bound
    for fill, std in (
        (lambda: init.kaiming_normal_(tensor, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 200)),
        (lambda: init.xavier_normal_(tensor, gain=2.0), 2 * math.sqrt(2 / 500)),
        (lambda: init.normal_(tensor, 0.0, 3.0), 3.0),
    ):
        assert fill().square().mean().sqrt().item() == pytest.approx(std, rel=0.02)


def test_constants():
    tensor = torch.empty(2, 3)
    assert init.constant_(tensor, 2.5).tolist() == [[2.5] * 3] * 2
    assert init.ones_(tensor).sum().item() == 6.0
    assert init.zeros_(tensor).sum().item() == 0.0
    assert init.eye_(tensor).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_parameter_stays_a_leaf():
    parameter = nn.Parameter(torch.empty(2, 2))
    init.uniform_(parameter, -1, 1)
    assert parameter.is_leaf and parameter.requires_grad


def test_a_generator_gives_its_own_numbers():
    first = init.uniform_(torch.empty(4), generator=torch.Generator().manual_seed(7))
    second = init.uniform_(torch.empty(4), generator=torch.Generator().manual_seed(7))
    assert first.tolist() == second.tolist()


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("leaky_relu", 1) == 1.0
    with pytest.raises(ValueError, match="Unsupported nonlinearity foo"):
        init.calculate_gain("foo")
    with pytest.raises(ValueError, match="negative_slope a not a valid number"):
        init.calculate_gain("leaky_relu", "a")


def test_what_has_no_fans_is_refused():
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(torch.empty(3))
    with pytest.raises(
        ValueError, match=r"Mode sideways not supported, please use one of \['fan_in', 'fan_out'\]"
    ):
        init.kaiming_uniform_(torch.empty(3, 3), mode="sideways")
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(torch.empty(0, 3))

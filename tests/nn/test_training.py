"""A small network trains alike on every device."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn, optim
from mindtorch_v2.nn import functional as F


def train(device, make_optimizer, steps=20):
    torch.manual_seed(0)
    x = torch.randn(32, 6).to(device)
    y = torch.randint(0, 3, (32,)).to(device)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    optimizer = make_optimizer(net.parameters())
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return net, optimizer, [loss.item() for loss in losses]


OPTIMIZERS = {
    "sgd": lambda params: optim.SGD(params, lr=0.5, momentum=0.9, weight_decay=1e-3),
    "adam": lambda params: optim.Adam(params, lr=0.05, amsgrad=True),
    "adamw": lambda params: optim.AdamW(params, lr=0.05),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_losses_fall_and_do_not_depend_on_the_device(name):
    _, _, on_cpu = train("cpu", OPTIMIZERS[name])
    _, _, on_npu = train("npu", OPTIMIZERS[name])
    assert on_cpu[-1] < 0.6 * on_cpu[0]
    assert on_npu == pytest.approx(on_cpu, rel=1e-4)


def test_state_moves_between_devices():
    net, optimizer, _ = train("npu", OPTIMIZERS["adam"])
    twin = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    twin.load_state_dict(net.state_dict())
    assert twin[0].weight.device.type == "cpu"
    assert twin[0].weight.tolist() == net[0].weight.cpu().tolist()
    resumed = OPTIMIZERS["adam"](twin.parameters())
    resumed.load_state_dict(optimizer.state_dict())
    state = resumed.state[twin[0].weight]
    assert state["exp_avg"].device.type == "cpu" and state["step"].item() == 20.0
    assert optimizer.state[net[0].weight]["step"].device.type == "cpu"


def test_a_module_keeps_its_parameters_when_it_moves():
    net = nn.Linear(2, 2)
    weight = net.weight
    assert net.npu().weight is weight and weight.is_npu
    assert net.cpu().weight is weight and weight.is_cpu

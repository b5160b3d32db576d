"""The same on the same GPU with PyTorch, where one with CUDA can be imported."""

import numpy
import pytest

import mindtorch_v2 as torch

try:
    import torch as pytorch

    HAS = pytorch.cuda.is_available()
except ImportError:
    HAS = False

OPERATORS = "exp log sin tanh sqrt sum softmax cumsum sort matmul var amax".split()


def applied(module, name, values):
    x = module.tensor(values, device="cuda")
    if name in ("softmax", "cumsum"):
        found = getattr(module, name)(x, -1)
    elif name == "sort":
        found = module.sort(x, -1).values
    elif name == "matmul":
        found = x @ x.t()
    else:
        found = getattr(module, name)(x)
    return found.cpu().numpy()


if HAS:  # without it there is nothing to compare with, and no test

    @pytest.mark.parametrize("name", OPERATORS)
    def test_operators_agree(name):
        values = numpy.random.default_rng(1).random((37, 53), dtype=numpy.float32) + 0.5
        ours, theirs = applied(torch, name, values), applied(pytorch, name, values)
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-5)

    def test_the_same_seed_gives_the_same_numbers():
        drawn = []
        for module in (torch, pytorch):
            module.manual_seed(7)
            drawn.append(module.randn(1000, device="cuda").cpu().numpy())
        numpy.testing.assert_allclose(*drawn, rtol=1e-6, atol=1e-7)

    def test_a_model_trains_with_the_same_losses():
        losses = []
        for module in (torch, pytorch):
            module.manual_seed(5)
            layers = [
                module.nn.Linear(20, 40),
                module.nn.GELU(),
                module.nn.LayerNorm(40),
                module.nn.Linear(40, 5),
            ]
            model = module.nn.Sequential(*layers).to("cuda")
            optimizer = module.optim.AdamW(model.parameters(), lr=0.01)
            inputs = module.linspace(-1, 1, 640, device="cuda").view(32, 20)
            wanted = module.arange(32, device="cuda") % 5
            for _ in range(20):
                optimizer.zero_grad()
                loss = module.nn.functional.cross_entropy(model(inputs), wanted)
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)

"""The example trains alike on PyTorch, on our CPU and on the software NPU."""

import pytest
import torch

import mindtorch_v2


@pytest.fixture(scope="module")
def digits(mnist_mlp):
    return mnist_mlp.draw_digits(1280, seed=0)


@pytest.fixture(scope="module")
def reference(mnist_mlp, digits):
    """PyTorch's losses by optimizer, computed once."""
    return {name: mnist_mlp.Trainer(torch, "cpu", name).train(*digits, epochs=5) for name in ("adam", "sgd")}


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_the_same_seed_gives_pytorchs_losses(mnist_mlp, digits, reference, device, optimizer):
    losses = mnist_mlp.Trainer(mindtorch_v2, device, optimizer).train(*digits, epochs=5)
    expected = reference[optimizer]
    assert len(losses) == len(expected) == 100
    assert losses == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert losses[-1] < 0.1 * losses[0]


def test_the_network_starts_from_pytorchs_parameters(mnist_mlp):
    ours = mnist_mlp.Trainer(mindtorch_v2, "cpu").model
    theirs = mnist_mlp.Trainer(torch, "cpu").model
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert mine.tolist() == other.tolist()


def test_optimizer_state_moves_to_pytorch_and_back(mnist_mlp, digits):
    images, labels = digits
    ours, theirs = mnist_mlp.Trainer(mindtorch_v2, "cpu"), mnist_mlp.Trainer(torch, "cpu")
    ours.train(images[:640], labels[:640], epochs=1)

    def as_torch(value):
        if isinstance(value, mindtorch_v2.Tensor):
            return torch.from_numpy(value.detach().numpy().copy())
        if isinstance(value, dict):
            return {key: as_torch(entry) for key, entry in value.items()}
        return [as_torch(entry) for entry in value] if isinstance(value, list) else value

    theirs.model.load_state_dict(as_torch(dict(ours.model.state_dict())))
    theirs.optimizer.load_state_dict(as_torch(ours.optimizer.state_dict()))
    continued = ours.train(images, labels, epochs=1)
    assert continued == pytest.approx(theirs.train(images, labels, epochs=1), rel=1e-3)

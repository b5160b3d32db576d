"""Ten steps of every optimizer against PyTorch."""

import numpy as np
import pytest

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6}),
    ("Adam", {"lr": 0.01, "maximize": True}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.2}),
]


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_parameters_and_state_agree(both, device, name, options):
    random = np.random.default_rng(0)
    start = random.normal(size=(3, 4)).tolist()
    gradients = [random.normal(size=(3, 4)).tolist() for _ in range(10)]
    params, states = [], []
    for module, place in zip(both, ("cpu", device), strict=True):
        param = module.tensor(start, device=place, requires_grad=True)
        optimizer = getattr(module.optim, name)([param], **options)
        for gradient in gradients:
            param.grad = module.tensor(gradient, device=place)
            optimizer.step()
        params.append(np.asarray(param.tolist()))
        states.append(optimizer.state_dict())
    np.testing.assert_allclose(params[1], params[0], rtol=1e-5, atol=1e-6)
    theirs, ours = states
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"].get(0, {})) == list(theirs["state"].get(0, {}))
    for key, value in theirs["state"].get(0, {}).items():
        np.testing.assert_allclose(ours["state"][0][key].tolist(), value.tolist(), rtol=1e-5, atol=1e-6)

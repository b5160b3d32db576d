"""Every optimizer with its options against PyTorch: parameters and state, step by step."""

import copy

import numpy as np
import pytest

OPTIMIZERS = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True},
    ],
    "Adam": [
        {"lr": 0.01},
        {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1, "betas": (0.8, 0.95), "eps": 1e-6},
        {"lr": 0.01, "maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.1},
    ],
    "AdamW": [{"lr": 0.01}, {"lr": 0.01, "amsgrad": True, "weight_decay": 0.2}],
    "Adadelta": [{}, {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}],
    "Adagrad": [
        {"lr": 0.1},
        {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.1},
        {"lr": 0.1, "maximize": True},
    ],
    "Adamax": [{"lr": 0.01}, {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1, "maximize": True}],
    "ASGD": [
        {"lr": 0.1},
        {"lr": 0.1, "t0": 2, "lambd": 0.01, "alpha": 0.5, "weight_decay": 0.1},
        {"maximize": True},
    ],
    "NAdam": [
        {"lr": 0.01},
        {"lr": 0.01, "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True},
        {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "RAdam": [
        {"lr": 0.01},
        {"lr": 0.01, "betas": (0.8, 0.7), "weight_decay": 0.1},
        {
            "lr": 0.01,
            "betas": (0.8, 0.7),
            "decoupled_weight_decay": True,
            "weight_decay": 0.1,
            "maximize": True,
        },
    ],
    "RMSprop": [
        {"lr": 0.01},
        {"lr": 0.01, "momentum": 0.9, "centered": True, "weight_decay": 0.1},
        {"lr": 0.01, "alpha": 0.5, "maximize": True},
    ],
    "Rprop": [{"lr": 0.01}, {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.02), "maximize": True}],
    "Adafactor": [{}, {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "eps": (1e-5, 1e-2), "maximize": True}],
}
CASES = [(name, options) for name, sets in OPTIMIZERS.items() for options in sets]
FUSED = ("SGD", "Adam", "AdamW", "Adagrad")
WITHOUT_DIFFERENTIABLE = ("Adafactor",)
SHAPES = [(3, 4), (5,), (2, 3, 2), ()]


def series(seed=0, dtype="float32"):
    """First values and five gradients of each parameter."""
    random = np.random.default_rng(seed)
    made = [[random.normal(size=shape) for shape in SHAPES] for _ in range(6)]
    return made[0], made[1:]


def train(module, device, name, options, dtype="float32", start_state=None):
    start, gradients = series()
    dtype = getattr(module, dtype)
    params = [module.tensor(v.tolist(), dtype=dtype, device=device, requires_grad=True) for v in start]
    optimizer = getattr(module.optim, name)(params, **options)
    seen = []
    for step in gradients:
        for param, gradient in zip(params, step, strict=True):
            param.grad = module.tensor(gradient.tolist(), dtype=dtype, device=device)
        optimizer.step()
        seen.append([np.asarray(param.detach().cpu().to(module.float64).tolist()) for param in params])
    return seen, optimizer


def compare_states(ours, theirs, rtol, atol):
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"]) == list(theirs["state"])
    for position, kept in theirs["state"].items():
        assert list(ours["state"][position]) == list(kept)
        for key, value in kept.items():
            mine = ours["state"][position][key]
            assert str(mine.dtype).split(".")[-1] == str(value.dtype).split(".")[-1]
            np.testing.assert_allclose(
                np.asarray(mine.cpu().double().tolist()),
                np.asarray(value.double().tolist()),
                rtol=rtol,
                atol=atol,
            )


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("device", ["cpu", "npu"])
def test_five_steps_agree(both, device, name, options):
    theirs, their_optimizer = train(both[0], "cpu", name, options)
    ours, our_optimizer = train(both[1], device, name, options)
    for mine, their in zip(ours, theirs, strict=True):
        for a, b in zip(mine, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    compare_states(our_optimizer.state_dict(), their_optimizer.state_dict(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_other_dtypes_agree(both, name, options, dtype):
    theirs, _ = train(both[0], "cpu", name, options, dtype)
    ours, _ = train(both[1], "cpu", name, options, dtype)
    rtol, atol = (1e-9, 1e-10) if dtype == "float64" else (3e-2, 3e-2)
    for mine, their in zip(ours, theirs, strict=True):
        for a, b in zip(mine, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("how", ["foreach", "fused"])
def test_foreach_and_fused_give_the_same_numbers(both, name, options, how):
    if how == "fused" and name not in FUSED:
        with pytest.raises(TypeError, match="unexpected keyword argument 'fused'"):
            getattr(both[1].optim, name)([both[1].ones(2, requires_grad=True)], fused=True)
        return
    theirs, their_optimizer = train(both[0], "cpu", name, {**options, how: True})
    ours, our_optimizer = train(both[1], "cpu", name, {**options, how: True})
    for mine, their in zip(ours, theirs, strict=True):
        for a, b in zip(mine, their, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)
    compare_states(our_optimizer.state_dict(), their_optimizer.state_dict(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", FUSED[:3])
def test_fused_runs_on_the_npu(both, name):
    theirs, _ = train(both[0], "cpu", name, {"lr": 0.05, "fused": True})
    ours, _ = train(both[1], "npu", name, {"lr": 0.05, "fused": True})
    for a, b in zip(ours[-1], theirs[-1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def through_steps(module, name, options, factors):
    """The parameters after differentiable steps, and their gradients by where they and their slope began."""
    start = module.tensor([1.0, -2.0, 3.0], dtype=module.float64, requires_grad=True)
    slope = module.tensor([0.5, 0.1, -0.7], dtype=module.float64, requires_grad=True)
    param = start.clone()
    optimizer = getattr(module.optim, name)([param], **options, differentiable=True)
    for factor in factors:
        param.grad = slope * factor
        optimizer.step()
    param.sum().backward()
    return param.tolist(), start.grad.tolist(), slope.grad.tolist()


# After two steps PyTorch says for these that their state was overwritten.
ONCE = ("Adam", "AdamW", "Adamax", "RMSprop", "Rprop")


@pytest.mark.parametrize(("name", "options"), [c for c in CASES if c[0] not in WITHOUT_DIFFERENTIABLE])
def test_gradients_pass_through_a_differentiable_step(both, name, options):
    factors = (1.0,) if name in ONCE else (1.0, 1.5)
    theirs, ours = (through_steps(module, name, options, factors) for module in both)
    for mine, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, their, rtol=1e-8, atol=1e-9)


COMPLEX = [c for c in CASES if c[0] not in ("Adafactor", "Rprop")]


@pytest.mark.parametrize(("name", "options"), COMPLEX)
def test_complex_parameters_are_pairs_of_real_ones(both, name, options):
    values = []
    for module in both:
        param = module.tensor([1 + 2j, -2 - 1j], requires_grad=True)
        optimizer = getattr(module.optim, name)([param], **options)
        for factor in (1.0, -0.5, 2.0):
            param.grad = module.tensor([0.5 - 1j, 2 + 0.3j]) * factor
            optimizer.step()
        values.append(param.tolist())
    np.testing.assert_allclose(values[1], values[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_states_move_both_ways(both, name, options):
    """Three steps here and two there are five steps."""
    theirs, their_optimizer = train(both[0], "cpu", name, options)
    ours, our_optimizer = train(both[1], "cpu", name, options)
    start, gradients = series()
    for source, target, stopped in (
        (both[0], both[1], their_optimizer),
        (both[1], both[0], our_optimizer),
    ):
        state = copy.deepcopy(stopped.state_dict())
        for kept in state["state"].values():
            for key, value in kept.items():
                kept[key] = target.tensor(
                    value.tolist(), dtype=getattr(target, str(value.dtype).split(".")[-1])
                )
        values = [p.tolist() for p in stopped.param_groups[0]["params"]]
        params = [target.tensor(v, requires_grad=True) for v in values]
        resumed = getattr(target.optim, name)(params, **options)
        resumed.load_state_dict(state)
        last = [param for param in stopped.param_groups[0]["params"]]
        for param, other, gradient in zip(params, last, gradients[0], strict=True):
            param.grad = target.tensor(gradient.tolist(), dtype=target.float32)
            other.grad = source.tensor(gradient.tolist(), dtype=source.float32)
        resumed.step()
        stopped.step()
        for param, other in zip(params, last, strict=True):
            np.testing.assert_allclose(param.tolist(), other.tolist(), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"nesterov": False}, {"adjust_lr_fn": "match_rms_adamw"}])
@pytest.mark.parametrize("shape", [(4, 6), (6, 4)])
def test_muon_agrees_within_bfloat16(both, options, shape):
    random = np.random.default_rng(1)
    start, gradients = random.normal(size=shape), random.normal(size=(3, *shape))
    values = []
    for module in both:
        param = module.tensor(start.tolist(), requires_grad=True)
        optimizer = module.optim.Muon([param], lr=0.05, **options)
        for gradient in gradients:
            param.grad = module.tensor(gradient.tolist())
            optimizer.step()
        values.append(param.tolist())
    np.testing.assert_allclose(values[1], values[0], rtol=2e-2, atol=2e-3)


def minimise(module, options):
    """The losses LBFGS saw, the parameters and the state it ended with."""
    param = module.tensor([-1.5, 2.0, 0.5], dtype=module.float64, requires_grad=True)
    optimizer = module.optim.LBFGS([param], **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        x, y, z = param[0], param[1], param[2]
        loss = (1 - x) ** 2 + 10 * (y - x * x) ** 2 + (z - y) ** 2
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(3):
        optimizer.step(closure)
    return losses, param.tolist(), optimizer.state_dict()["state"][0]


@pytest.mark.parametrize(
    "options",
    [{}, {"lr": 0.1, "max_iter": 5, "history_size": 3}, {"line_search_fn": "strong_wolfe"}],
)
def test_lbfgs_minimises_as_pytorch_does(both, options):
    (their_losses, theirs, their_state), (our_losses, ours, our_state) = (minimise(m, options) for m in both)
    assert len(our_losses) == len(their_losses)
    np.testing.assert_allclose(our_losses, their_losses, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert list(our_state) == list(their_state)
    assert our_state["func_evals"] == their_state["func_evals"]


BAD = [
    ("Adam", {"lr": -1}), ("Adam", {"betas": (1.0, 0.9)}), ("Adam", {"eps": -1}), ("Adam", {"weight_decay": -1}),
    ("Adam", {"fused": True, "foreach": True}), ("Adam", {"fused": True, "differentiable": True}),
    ("Adadelta", {"rho": 2.0}), ("Adadelta", {"lr": -1}), ("Adafactor", {"lr": -1}), ("Adafactor", {"d": 0.1}),
    ("Adafactor", {"beta2_decay": 1}), ("Adafactor", {"eps": (-1, 1)}), ("Adafactor", {"eps": (None, -1)}),
    ("Adafactor", {"weight_decay": -1}), ("Adagrad", {"lr_decay": -1}), ("Adagrad", {"eps": -1}),
    ("Adagrad", {"initial_accumulator_value": -1}), ("Adamax", {"betas": (0.9, 1.0)}), ("ASGD", {"weight_decay": -1}),
    ("NAdam", {"momentum_decay": -1}), ("RAdam", {"betas": (0.9, -1.0)}), ("RMSprop", {"alpha": -1}),
    ("RMSprop", {"momentum": -1}), ("Rprop", {"etas": (2.0, 1.0)}), ("SGD", {"momentum": -1}),
    ("SGD", {"nesterov": True}), ("Muon", {}), ("LBFGS", {"lr": -1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), BAD)
def test_bad_options_are_refused_with_pytorchs_words(both, name, options):
    messages = []
    for module in both:
        with pytest.raises((ValueError, RuntimeError)) as caught:
            getattr(module.optim, name)([module.ones(2, requires_grad=True)], **options)
        messages.append((type(caught.value), str(caught.value)))
    assert messages[1] == messages[0]

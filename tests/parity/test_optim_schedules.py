"""Every schedule of learning rates against PyTorch over 30 epochs, and averages of models."""

import copy
import math
import warnings

import numpy as np
import pytest


class Halving:
    """A callable object, whose attributes are saved."""

    def __init__(self):
        self.base = 0.5

    def __call__(self, epoch):
        return self.base**epoch


SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "lambda per group": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, Halving()]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.3),
    "multi step": lambda s, o: s.MultiStepLR(o, [3, 11, 11, 20], gamma=0.5),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.25, total_iters=8),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.9, total_iters=12),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=20, power=1.5),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 9, eta_min=0.01),
    "warm restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4, eta_min=0.01),
    "longer restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 4, 3),
    "triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 5, mode="triangular2", cycle_momentum=False),
    "exp range": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.2, 0.3], 5, mode="exp_range", gamma=0.97),
    "own scale": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 5, scale_fn=lambda x: 1 / x, scale_mode="cycle"),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.3, total_steps=32),
    "three phases": lambda s, o: s.OneCycleLR(
        o, [0.3, 0.2], epochs=4, steps_per_epoch=8, three_phase=True, anneal_strategy="linear"
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=5), s.ExponentialLR(o, 0.9), s.CosineAnnealingLR(o, 6)], [5, 15]
    ),
    "nested": lambda s, o: s.SequentialLR(
        o,
        [s.SequentialLR(o, [s.ConstantLR(o, 0.5, 2), s.StepLR(o, 2)], [4]), s.ExponentialLR(o, 0.8)],
        [10],
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 4), s.ExponentialLR(o, 0.95)]),
}


def optimizer_of(module, adam=False):
    groups = [
        {"params": [module.ones(2, requires_grad=True)]},
        {"params": [module.ones(3, requires_grad=True)], "lr": 0.05},
    ]
    if adam:
        return module.optim.Adam(groups, lr=0.1)
    return module.optim.SGD(groups, lr=0.1, momentum=0.9)


def rates(optimizer):
    return [[group.get(key) for key in ("lr", "momentum", "betas")] for group in optimizer.param_groups]


def plain(value):
    """Without the objects of a module."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


# A schedule in sequence inside another makes its first step twice, in PyTorch as well.
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("adam", [False, True], ids=["sgd", "adam"])
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_thirty_epochs_agree(both, make, adam):
    seen = []
    for module in both:
        optimizer = optimizer_of(module, adam)
        scheduler = make(module.optim.lr_scheduler, optimizer)
        history = [rates(optimizer)]
        states = [plain(copy.deepcopy(scheduler.state_dict()))]
        for _ in range(30):
            optimizer.step()
            scheduler.step()
            history.append(rates(optimizer))
            assert scheduler.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
        states.append(plain(scheduler.state_dict()))
        seen.append((history, states))
    assert seen[1] == seen[0]


@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_a_saved_schedule_goes_on(both, make):
    if make is SCHEDULES["own scale"]:
        make = SCHEDULES["triangular"]  # PyTorch's own cannot be resumed
    module = both[1]
    optimizer = optimizer_of(module)
    scheduler = make(module.optim.lr_scheduler, optimizer)
    other = optimizer_of(module)
    resumed = make(module.optim.lr_scheduler, other)
    for epoch in range(20):
        optimizer.step()
        scheduler.step()
        if epoch == 9:
            resumed.load_state_dict(copy.deepcopy(scheduler.state_dict()))
            other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        elif epoch > 9:
            other.step()
            resumed.step()
    assert rates(other) == rates(optimizer)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "factor": 0.5, "patience": 1},
        {"threshold_mode": "abs", "threshold": 0.1, "patience": 2, "cooldown": 3, "min_lr": [0.01, 0.001]},
    ],
)
def test_a_plateau_lowers_the_rates_as_in_pytorch(both, options):
    losses = [math.cos(epoch / 3) / (1 + epoch / 10) for epoch in range(30)]
    seen = []
    for module in both:
        optimizer = optimizer_of(module)
        scheduler = module.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **{"patience": 3, **options})
        history = []
        for loss in losses:
            scheduler.step(module.tensor(loss, dtype=module.float64))
            history.append((rates(optimizer), scheduler.num_bad_epochs, scheduler.best))
        seen.append((history, plain(scheduler.state_dict())))
    assert seen[1] == seen[0]


def test_a_rate_that_is_a_tensor_stays_one(both):
    values = []
    for module in both:
        rate = module.tensor(0.1)
        optimizer = module.optim.SGD([module.ones(2, requires_grad=True)], lr=rate)
        scheduler = module.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for _ in range(3):
            optimizer.step()
            scheduler.step()
        assert optimizer.param_groups[0]["lr"] is rate
        values.append((rate.item(), scheduler.get_last_lr()[0].item()))
    assert values[1] == values[0]


ERRORS = {
    "no optimizer": lambda s, o: s.StepLR(3, 3),
    "resumed without a start": lambda s, o: s.StepLR(o, 3, last_epoch=2),
    "functions": lambda s, o: s.LambdaLR(o, [lambda e: 1]),
    "linear start": lambda s, o: s.LinearLR(o, start_factor=2),
    "linear end": lambda s, o: s.LinearLR(o, end_factor=2),
    "constant": lambda s, o: s.ConstantLR(o, factor=2),
    "nothing in sequence": lambda s, o: s.SequentialLR(o, [], []),
    "milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2)], [2]),
    "plateau in sequence": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 2), s.ReduceLROnPlateau(o)], [2]),
    "nothing chained": lambda s, o: s.ChainedScheduler([]),
    "factor": lambda s, o: s.ReduceLROnPlateau(o, factor=2),
    "mode": lambda s, o: s.ReduceLROnPlateau(o, mode="x"),
    "threshold mode": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="x"),
    "least rates": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[1]),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="x"),
    "cyclic groups": lambda s, o: s.CyclicLR(o, [0.1], 0.2),
    "steps": lambda s, o: s.OneCycleLR(o, 0.1),
    "negative steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=-1),
    "share": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=10, pct_start=2),
    "strategy": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=10, anneal_strategy="x"),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restart factor": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, T_mult=0),
}


@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS)
def test_bad_schedules_are_refused_with_pytorchs_words(both, make):
    messages = []
    for module in both:
        with pytest.raises((ValueError, TypeError, KeyError)) as caught:
            make(module.optim.lr_scheduler, optimizer_of(module))
        messages.append((type(caught.value), str(caught.value)))
    assert messages[1] == messages[0]


def test_warnings_are_pytorchs(both):
    seen = []
    for module in both:
        optimizer = optimizer_of(module)
        scheduler = module.optim.lr_scheduler.StepLR(optimizer, 3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            scheduler.step()
            scheduler.step(5)
            scheduler.get_lr()
            late = optimizer_of(module)
            other = module.optim.lr_scheduler.StepLR(late, 3)
            late.step = lambda: None
            other.step()
        seen.append([(entry.category, str(entry.message)) for entry in caught])
    assert seen[1] == seen[0]


# --- averages of models


def model_of(module, seed):
    random = np.random.default_rng(seed)
    model = module.nn.Sequential(module.nn.Linear(3, 4), module.nn.Linear(4, 2))
    model.register_buffer("counts", module.tensor(random.normal(size=3).tolist()))
    with module.no_grad():
        for param in model.parameters():
            param.copy_(module.tensor(random.normal(size=tuple(param.shape)).tolist()))
    return model


AVERAGES = {
    "equal": lambda u: {},
    "ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9)},
    "ema one by one": lambda u: {"avg_fn": u.get_ema_avg_fn(0.8), "use_buffers": True},
    "equal one by one": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "with buffers": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
}


@pytest.mark.parametrize("options", AVERAGES.values(), ids=AVERAGES)
def test_averaged_models_agree(both, options):
    states = []
    for module in both:
        utils = module.optim.swa_utils
        averaged = utils.AveragedModel(model_of(module, 0), **options(utils))
        for seed in range(1, 5):
            averaged.update_parameters(model_of(module, seed))
        states.append({key: value.tolist() for key, value in averaged.state_dict().items()})
    assert list(states[1]) == list(states[0])
    for key, value in states[0].items():
        np.testing.assert_allclose(states[1][key], value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"anneal_epochs": 5, "anneal_strategy": "linear"}, {"anneal_epochs": 0}]
)
def test_swalr_agrees(both, options):
    seen = []
    for module in both:
        optimizer = optimizer_of(module)
        scheduler = module.optim.swa_utils.SWALR(optimizer, [0.01, 0.02], **options)
        history = []
        for _ in range(15):
            optimizer.step()
            scheduler.step()
            history.append(rates(optimizer))
        seen.append((history, plain(scheduler.state_dict())))
    assert seen[1] == seen[0]


def test_batch_normalisations_are_measured_anew(both):
    states = []
    for module in both:
        model = module.nn.Sequential(module.nn.BatchNorm1d(3), module.nn.BatchNorm1d(3, momentum=0.5))
        random = np.random.default_rng(9)
        batches = [[module.tensor(random.normal(size=(6, 3)).tolist())] for _ in range(3)]
        model.eval()
        module.optim.swa_utils.update_bn(batches, model)
        assert not model.training and model[1].momentum == 0.5
        states.append({key: value.tolist() for key, value in model.state_dict().items()})
    for key, value in states[0].items():
        np.testing.assert_allclose(states[1][key], value, rtol=1e-5, atol=1e-6)

"""Optimizers: numbers recorded from PyTorch 2.13, groups, state and hooks."""

import copy
import pickle

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim

GRADIENTS = [[0.5, -1.0, 2.0], [0.1, 0.2, -0.3], [-1.0, 0.0, 0.4]]


def parameter():
    return torch.tensor([1.0, -2.0, 3.0], requires_grad=True)


def run(optimizer, param, gradients=GRADIENTS):
    for gradient in gradients:
        param.grad = torch.tensor(gradient)
        optimizer.step()
    return param.tolist()


CASES = [
    ("SGD", {"lr": 0.1}, [1.04, -1.92, 2.79]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [0.9455, -1.767, 2.475]),
    (
        "SGD",
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1},
        [0.8645885, -1.667077, 2.346064],
    ),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, [0.99095, -1.7103, 2.3175]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "maximize": True}, [1.0545, -2.233, 3.525]),
    ("Adam", {"lr": 0.1}, [0.8484413, -1.809395, 2.790501]),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.8), "eps": 0.001}, [0.9001256, -1.854564, 2.82553]),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}, [0.8286622, -1.773234, 2.765702]),
    ("Adam", {"lr": 0.1, "amsgrad": True}, [0.8484413, -1.809415, 2.790501]),
    ("Adam", {"lr": 0.1, "maximize": True}, [1.151559, -2.190605, 3.209499]),
    (
        "Adam",
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.8215334, -1.752494, 2.703941],
    ),
    ("AdamW", {"lr": 0.1}, [0.8457245, -1.803652, 2.781765]),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.5, "amsgrad": True}, [0.7195815, -1.53647, 2.375137]),
]


@pytest.mark.parametrize(("name", "options", "expected"), CASES)
def test_three_steps_give_pytorchs_parameters(name, options, expected):
    param = parameter()
    assert run(getattr(optim, name)([param], **options), param) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_parameters_without_a_gradient_stay():
    used, unused = parameter(), parameter()
    optimizer = optim.SGD([used, unused], lr=0.1, momentum=0.9)
    run(optimizer, used)
    assert unused.tolist() == [1.0, -2.0, 3.0] and unused not in optimizer.state


def test_groups_have_their_own_options():
    slow, fast = parameter(), parameter()
    optimizer = optim.SGD([{"params": [slow], "lr": 0.1}, {"params": [fast]}], lr=1.0)
    for param in (slow, fast):
        param.grad = torch.ones(3)
    optimizer.step()
    assert slow.tolist() == pytest.approx([0.9, -2.1, 2.9]) and fast.tolist() == [0.0, -3.0, 2.0]
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 1.0]


def test_named_parameters_keep_their_names():
    optimizer = optim.SGD([("a", parameter()), ("b", parameter())])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("a", parameter()), parameter()])
    with pytest.raises(ValueError, match="cannot add param group without names to the optimizer"):
        optimizer.add_param_group({"params": [parameter()]})


def test_a_learning_rate_may_be_a_tensor():
    param = parameter()
    optimizer = optim.SGD([param], lr=torch.tensor(0.5))
    param.grad = torch.ones(3)
    optimizer.step()
    assert param.tolist() == [0.5, -2.5, 2.5]


def test_a_closure_runs_with_gradients_and_returns_the_loss():
    param = parameter()
    optimizer = optim.SGD([param], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (param * param).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 14.0
    assert param.tolist() == [0.0, 0.0, 0.0]


def test_a_step_leaves_no_graph_behind():
    param = parameter()
    run(optim.Adam([param]), param)
    assert param.is_leaf and param.requires_grad


def test_zero_grad_drops_or_clears():
    param = parameter()
    optimizer = optim.SGD([param])
    param.grad = torch.ones(3)
    optimizer.zero_grad(set_to_none=False)
    assert param.grad.tolist() == [0.0, 0.0, 0.0]
    optimizer.zero_grad()
    assert param.grad is None


# --- state


@pytest.mark.parametrize(
    ("make", "keys"),
    [
        (lambda p: optim.SGD(p, lr=0.1, momentum=0.9), ["momentum_buffer"]),
        (lambda p: optim.Adam(p, amsgrad=True), ["step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
        (lambda p: optim.AdamW(p), ["step", "exp_avg", "exp_avg_sq"]),
    ],
)
def test_saved_state_continues_where_it_stopped(make, keys):
    reference = parameter()
    run(make([reference]), reference)
    stopped = parameter()
    before = make([stopped])
    run(before, stopped, GRADIENTS[:2])
    state = copy.deepcopy(before.state_dict())
    assert list(state) == ["state", "param_groups"] and list(state["state"][0]) == keys
    assert state["param_groups"][0]["params"] == [0]
    resumed = stopped.detach().clone().requires_grad_()
    after = make([resumed])
    after.load_state_dict(state)
    assert run(after, resumed, GRADIENTS[2:]) == pytest.approx(reference.tolist(), rel=1e-6)


def test_the_step_counter_is_a_float_tensor_on_the_host():
    param = parameter()
    optimizer = optim.Adam([param])
    run(optimizer, param)
    step = optimizer.state[param]["step"]
    assert step.item() == 3.0 and step.dtype == torch.float32 and step.device.type == "cpu"


def test_group_options_are_pytorchs():
    sgd = optim.SGD([parameter()]).state_dict()["param_groups"][0]
    options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused params"
    assert list(sgd) == options.split()
    adam = optim.AdamW([parameter()]).state_dict()["param_groups"][0]
    options = "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused"
    assert list(adam) == [*options.split(), "decoupled_weight_decay", "params"]
    assert adam["weight_decay"] == 0.01 and adam["decoupled_weight_decay"] is True


def test_loaded_state_takes_the_parameters_dtype():
    source = parameter()
    saved = optim.SGD([source], lr=0.1, momentum=0.9)
    run(saved, source)
    target = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimizer = optim.SGD([target], lr=0.5, momentum=0.9)
    optimizer.load_state_dict(saved.state_dict())
    assert optimizer.state[target]["momentum_buffer"].dtype == torch.float64
    assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.param_groups[0]["params"][0] is target


def test_state_that_does_not_fit_is_refused():
    optimizer = optim.SGD([parameter()])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]})


def test_an_optimizer_survives_pickling():
    param = parameter()
    optimizer = optim.Adam([param])
    run(optimizer, param)
    twin = pickle.loads(pickle.dumps(optimizer))
    (copied,) = twin.param_groups[0]["params"]
    assert twin.state[copied]["step"].item() == 3.0
    assert run(twin, copied) == pytest.approx(run(optimizer, param))


def test_repr_lists_the_options():
    text = repr(optim.SGD([parameter()], lr=0.25))
    assert text.startswith("SGD (\nParameter Group 0\n    dampening: 0\n") and "    lr: 0.25\n" in text


# --- hooks


def test_step_hooks_surround_the_step():
    param, seen = parameter(), []
    optimizer = optim.SGD([param], lr=1.0)
    before = optimizer.register_step_pre_hook(lambda *args: seen.append(("before", param.tolist()[0])))
    optimizer.register_step_post_hook(lambda *args: seen.append(("after", param.tolist()[0])))
    param.grad = torch.ones(3)
    optimizer.step()
    assert seen == [("before", 1.0), ("after", 0.0)]
    before.remove()
    optimizer.step()
    assert seen[2:] == [("after", -1.0)]


def test_a_pre_hook_that_returns_nonsense_is_an_error():
    optimizer = optim.SGD([parameter()])
    optimizer.register_step_pre_hook(lambda *args: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()


def test_state_hooks_may_change_the_state():
    optimizer = optim.SGD([parameter()], lr=1.0)
    optimizer.register_state_dict_post_hook(lambda opt, state: {**state, "note": 1})
    assert optimizer.state_dict()["note"] == 1

    def halve(opt, state):
        state["param_groups"] = [{**group, "lr": group["lr"] / 2} for group in state["param_groups"]]

    optimizer.register_load_state_dict_pre_hook(halve)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.param_groups[0]["lr"] == 0.5


def test_a_user_defined_optimizer_gets_hooks_and_groups():
    class SignDescent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.sub_(param.grad.sign() * group["lr"])

    param, seen = parameter(), []
    optimizer = SignDescent([param], lr=0.5)
    optimizer.register_step_post_hook(lambda *args: seen.append(1))
    assert run(optimizer, param, GRADIENTS[:1]) == [0.5, -1.5, 2.5] and seen == [1]


# --- bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: optim.SGD([]), ValueError, "optimizer got an empty parameter list"),
        (
            lambda: optim.SGD(parameter()),
            TypeError,
            "iterable of Tensors or dicts, but got torch.FloatTensor",
        ),
        (lambda: optim.SGD([3]), TypeError, "one of the params is int"),
        (lambda: optim.SGD([parameter() * 2]), ValueError, "can't optimize a non-leaf Tensor"),
        (lambda: optim.SGD([{"params": {parameter()}}]), TypeError, "ordered collections"),
        (lambda: optim.SGD([parameter()], lr=-1), ValueError, "Invalid learning rate: -1"),
        (lambda: optim.SGD([parameter()], momentum=-1), ValueError, "Invalid momentum value: -1"),
        (
            lambda: optim.SGD([parameter()], nesterov=True),
            ValueError,
            "Nesterov momentum requires a momentum",
        ),
        (
            lambda: optim.Adam([parameter()], betas=(1.0, 0.9)),
            ValueError,
            "Invalid beta parameter at index 0: 1.0",
        ),
        (lambda: optim.Adam([parameter()], eps=-1), ValueError, "Invalid epsilon value: -1"),
        (lambda: optim.Adam([parameter()], lr=torch.ones(2)), ValueError, "Tensor lr must be 1-element"),
        (
            lambda: optim.Adam([parameter()], fused=True, foreach=True),
            RuntimeError,
            "cannot be `True` together",
        ),
    ],
)
def test_bad_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_parameter_belongs_to_one_group_once():
    param = parameter()
    with pytest.raises(ValueError, match="some parameters appear in more than one parameter group"):
        optim.SGD([{"params": [param]}, {"params": [param]}])
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([param, param])


# --- all of them

ALL = "Adadelta Adafactor Adagrad Adam Adamax AdamW ASGD NAdam RAdam RMSprop Rprop SGD Muon".split()


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("way", ["pickle", "deepcopy"])
def test_copies_go_on_as_the_original_would(name, way):
    param = torch.tensor([[1.0, -2.0], [3.0, 0.5]], requires_grad=True)
    optimizer = getattr(optim, name)([param], lr=0.1)
    param.grad = torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
    optimizer.step()
    twin = pickle.loads(pickle.dumps(optimizer)) if way == "pickle" else copy.deepcopy(optimizer)
    (copied,) = twin.param_groups[0]["params"]
    assert copied is not param
    copied.grad = param.grad.clone()
    optimizer.step()
    twin.step()
    assert copied.tolist() == param.tolist()


@pytest.mark.parametrize("name", ALL)
def test_a_loss_falls_on_both_devices(name):
    for device in ("cpu", "npu"):
        param = torch.tensor([[1.0, -2.0], [3.0, 0.5]], device=device, requires_grad=True)
        optimizer = getattr(optim, name)([param], lr=0.05)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (param * param).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0]


def test_hooks_of_all_optimizers_surround_each_step():
    seen = []
    before = optim.optimizer.register_optimizer_step_pre_hook(lambda *args: seen.append("before"))
    after = optim.optimizer.register_optimizer_step_post_hook(lambda *args: seen.append("after"))
    try:
        param = parameter()
        run(optim.SGD([param]), param, GRADIENTS[:1])
    finally:
        before.remove()
        after.remove()
    run(optim.SGD([param]), param, GRADIENTS[:1])
    assert seen == ["before", "after"]


def test_a_step_outside_may_use_the_decorator_for_gradients():
    class Halving(optim.Optimizer):
        def __init__(self, params, differentiable=False):
            super().__init__(params, {"differentiable": differentiable})

        @optim.optimizer._use_grad_for_differentiable
        def step(self, closure=None):
            assert torch.is_grad_enabled() == self.defaults["differentiable"]
            for param in self.param_groups[0]["params"]:
                param.mul_(0.5)

    param = parameter()
    Halving([param]).step()
    assert param.tolist() == [0.5, -1.0, 1.5]
    start = parameter()
    halved = start.clone()
    Halving([halved], differentiable=True).step()
    halved.sum().backward()
    assert start.grad.tolist() == [0.5, 0.5, 0.5]


def test_a_wrapper_that_never_calls_init_may_step():
    class Wrapper(optim.Optimizer):
        def __init__(self, inner):
            self.inner = inner

        def step(self, closure=None):
            return self.inner.step(closure)

    param, seen = parameter(), []
    inner = optim.SGD([param], lr=1.0)
    inner.register_step_post_hook(lambda *args: seen.append(1))
    param.grad = torch.ones(3)
    Wrapper(inner).step()
    assert param.tolist() == [0.0, -3.0, 2.0] and seen == [1]

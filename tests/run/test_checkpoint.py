"""``torch.utils.checkpoint``: the second run draws the same numbers and stops when it has enough."""

import contextlib

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
from mindtorch_v2.utils.checkpoint import checkpoint, set_checkpoint_early_stop


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("use_reentrant", [False, True])
def test_dropout_is_the_same_in_both_runs(device, use_reentrant):
    x = torch.randn(500, device=device, requires_grad=True)
    y = checkpoint(lambda x: F.dropout(x * 2, 0.5) * x, x, use_reentrant=use_reentrant)
    torch.rand(3, device=device)  # the generator has moved on when backward runs
    y.sum().backward()
    torch.testing.assert_close(x.grad, (2 * y / x).detach())


@pytest.mark.parametrize(
    "function",
    [torch.div, torch.pow, torch.atan2, torch.maximum, F.mse_loss, lambda a, b: torch.where(a > b, a, b)],
)
def test_gradients_of_two_arguments_that_need_the_same_tensor(function):
    plain = [
        torch.tensor([0.5, 2.0, 3.0], requires_grad=True),
        torch.tensor([1.5, 1.0, 2.0], requires_grad=True),
    ]
    wanted = torch.autograd.grad(function(*plain).sum(), plain)
    again = [x.detach().requires_grad_() for x in plain]
    made = checkpoint(lambda a, b: function(a * 1, b * 1), *again, use_reentrant=False)
    for grad, other in zip(torch.autograd.grad(made.sum(), again), wanted, strict=True):
        torch.testing.assert_close(grad, other)


def test_the_second_run_stops_when_backward_has_what_it_needs():
    steps = []

    def function(x):
        steps.append("sin")
        y = x.sin()
        steps.append("exp")
        z = y.exp()
        steps.append("end")
        return z + 1

    checkpoint(function, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()
    assert steps == ["sin", "exp", "end", "sin", "exp"]
    steps.clear()
    with set_checkpoint_early_stop(False):
        checkpoint(function, torch.ones(2, requires_grad=True), use_reentrant=False).sum().backward()
    assert steps == ["sin", "exp", "end"] * 2


def test_each_run_has_its_context():
    entered = []

    @contextlib.contextmanager
    def mark(name):
        entered.append(name)
        yield

    x = torch.ones(2, requires_grad=True)
    contexts = lambda: (mark("first"), mark("second"))  # noqa: E731 - it is handed over as a function
    checkpoint(torch.sin, x, use_reentrant=False, context_fn=contexts).sum().backward()
    assert entered == ["first", "second"]
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="sometimes")

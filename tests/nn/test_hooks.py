"""Hooks on gradients, and hooks of all modules."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.nn.modules import module as hooks


def test_backward_hooks_see_the_gradients_of_input_and_output():
    seen = []
    layer = torch.nn.Linear(2, 1, bias=False)
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: seen.append((m, grad_in, grad_out)))
    x = torch.ones(1, 2, requires_grad=True)
    (layer(x) * 3).sum().backward()
    ((module, grad_in, grad_out),) = seen
    assert module is layer
    assert grad_out[0].tolist() == [[3.0]]
    assert grad_in[0].tolist() == x.grad.tolist() == (layer.weight * 3).tolist()


def test_backward_hooks_may_change_the_gradients():
    layer = torch.nn.Identity()
    layer.register_full_backward_pre_hook(lambda m, grad_out: (grad_out[0] * 2,))
    layer.register_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] + 1,))
    x = torch.ones(2, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_removed_backward_hook_is_not_called():
    layer = torch.nn.ReLU()
    handle = layer.register_full_backward_hook(lambda *_: pytest.fail("called"))
    handle.remove()
    x = torch.ones(2, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_one_module_has_one_kind_of_backward_hooks():
    layer = torch.nn.ReLU()
    layer.register_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        layer.register_backward_hook(lambda *_: None)


def test_global_hooks_run_for_every_module_until_they_are_removed():
    seen = []
    handle = hooks.register_module_forward_hook(lambda m, args, output: seen.append(type(m).__name__))
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    with handle:
        model(torch.ones(1, 2))
    model(torch.ones(1, 2))
    assert seen == ["Linear", "ReLU", "Sequential"]
    assert not hooks._has_any_global_hook()


def test_a_hook_on_registration_may_replace_what_is_registered():
    with hooks.register_module_parameter_registration_hook(
        lambda module, name, parameter: torch.nn.Parameter(parameter.detach() * 0)
    ):
        layer = torch.nn.Linear(2, 2)
    assert layer.weight.shape == (2, 2)
    module = torch.nn.Module()
    with hooks.register_module_parameter_registration_hook(
        lambda m, n, p: torch.nn.Parameter(p.detach() * 0)
    ):
        module.weight = torch.nn.Parameter(torch.ones(2))
    assert module.weight.tolist() == [0.0, 0.0]

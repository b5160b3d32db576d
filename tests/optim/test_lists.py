"""Operators over lists and the fused steps of optimizers."""

import json

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import optim, softnpu


def test_one_call_over_a_list_is_one_operator_in_a_profile():
    with torch.profiler.profile() as profile:
        torch._foreach_add_([torch.ones(2), torch.ones(3)], 1)
    names = [event.name for event in profile.events()]
    assert names.count("aten::_foreach_add_") == 1 and names.count("aten::add_") == 2


def test_the_list_is_returned_by_in_place_forms():
    tensors = [torch.ones(2), torch.ones(3)]
    assert torch._foreach_mul_(tensors, 2) is tensors and tensors[1].tolist() == [2.0, 2.0, 2.0]


def test_what_optimizers_ask_of_a_list():
    facts = torch._C._lists
    tensors = [torch.ones(2), torch.ones(2, device="meta"), torch.ones(1), torch.ones(2).to_sparse()]
    assert facts.devices(tensors) == [torch.device("cpu"), torch.device("meta")]
    assert facts.sparse_places(tuple(tensors)) == [3] and facts.sparse_places([]) == []
    assert not facts.any_complex(tensors) and facts.any_complex([*tensors, torch.ones(1) * 1j])
    with pytest.raises(TypeError, match="wanted a list of tensors, got a int in it"):
        facts.devices([1])


def test_lists_run_on_meta_and_npu():
    made = torch._foreach_sqrt([torch.ones(2, 3, device="meta"), torch.ones(2, device="npu")])
    assert made[0].shape == (2, 3) and made[1].device.type == "npu"


def adam_by_hand(value, gradients, lr=0.1, beta1=0.9, beta2=0.999, eps=1e-8):
    mean = square = np.zeros_like(value)
    for step, gradient in enumerate(gradients, 1):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        spread = np.sqrt(square / (1 - beta2**step)) + eps
        value = value - lr * mean / (1 - beta1**step) / spread
    return value


@pytest.mark.parametrize("layout", ["dense", "transposed", "strided", "many"])
def test_fused_adam_takes_any_layout(layout):
    random = np.random.default_rng(0)
    start = random.normal(size=(200, 300) if layout == "many" else (6, 8))
    gradients = random.normal(size=(3, *start.shape))
    param = torch.tensor(start)
    if layout == "transposed":
        param = param.t()
    elif layout == "strided":
        param = param[::2, 1::3]
    seen = param.clone().numpy()
    chosen = [
        g.T if layout == "transposed" else g[::2, 1::3] if layout == "strided" else g for g in gradients
    ]
    state = [torch.zeros_like(param) for _ in range(2)]
    for step, gradient in enumerate(chosen, 1):
        torch._fused_adam_(
            [param], [torch.tensor(gradient.copy())], [state[0]], [state[1]], [], [torch.tensor(float(step))],
            lr=0.1, beta1=0.9, beta2=0.999, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip
    np.testing.assert_allclose(param.numpy(), adam_by_hand(seen, chosen), rtol=1e-12, atol=1e-15)


def test_a_step_whose_gradients_overflowed_is_left_out():
    param = torch.ones(2)
    torch._fused_sgd_(
        [param], [torch.ones(2)], [], weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False,
        maximize=False, is_first_step=False, found_inf=torch.tensor(1.0),
    )  # fmt: skip
    assert param.tolist() == [1.0, 1.0]


def test_fused_steps_write_unscaled_gradients():
    param, gradient = torch.ones(2), torch.full((2,), 8.0)
    torch._fused_sgd_(
        [param], [gradient], [], weight_decay=0.0, momentum=0.0, lr=0.5, dampening=0.0, nesterov=False,
        maximize=False, is_first_step=False, grad_scale=torch.tensor(4.0),
    )  # fmt: skip
    assert param.tolist() == [0.0, 0.0] and gradient.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grads": []}, "grads has 0 tensors, wanted one for each of the 1 parameters"),
        ({"grads": [torch.ones(3)]}, "entry 0 of grads must be a floating tensor with the shape"),
        ({"self": [torch.ones(2, dtype=torch.int64)]}, "\"fused_sgd_kernel\" not implemented for 'Long'"),
    ],
)
def test_lists_that_do_not_fit_are_refused(change, message):
    lists = {"self": [torch.ones(2)], "grads": [torch.ones(2)], **change}
    with pytest.raises((RuntimeError, NotImplementedError), match=message):
        torch._fused_sgd_(
            lists["self"], lists["grads"], [], weight_decay=0.0, momentum=0.0, lr=0.5, dampening=0.0,
            nesterov=False, maximize=False, is_first_step=False,
        )  # fmt: skip


def test_unscaling_finds_infinities_in_any_tensor():
    found, tensors = torch.zeros(()), [torch.ones(3), torch.tensor([1.0, float("inf")])]
    torch._amp_foreach_non_finite_check_and_unscale_(tensors, found, torch.tensor(0.5))
    assert found.item() == 1.0 and tensors[0].tolist() == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("device", ["cpu", "npu"])
@pytest.mark.parametrize("fused", [None, True])
def test_a_list_of_many_parameters_steps_as_each_alone(device, fused):
    random = np.random.default_rng(1)
    shapes = [(3, 5), (7,), (), (2, 2, 2), (64, 33)]
    values = [random.normal(size=shape).tolist() for shape in shapes]
    slopes = [random.normal(size=shape).tolist() for shape in shapes]

    def run(groups):
        params = [torch.tensor(value, device=device, requires_grad=True) for value in values]
        for param, slope in zip(params, slopes, strict=True):
            param.grad = torch.tensor(slope, device=device)
        for group in groups(params):
            optimizer = optim.AdamW(group, lr=0.1, fused=fused)
            for _ in range(3):
                optimizer.step()
        return [param.tolist() for param in params]

    together, alone = run(lambda params: [params]), run(lambda params: [[param] for param in params])
    for a, b in zip(together, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_capturable_needs_an_accelerator():
    param = torch.ones(2, requires_grad=True)
    param.grad = torch.ones(2)
    with pytest.raises(
        AssertionError, match="If capturable=True, params and state_steps must be on supported"
    ):
        optim.Adam([param], capturable=True).step()


def test_capturable_keeps_its_counters_on_the_npu():
    param = torch.ones(2, device="npu", requires_grad=True)
    param.grad = torch.ones(2, device="npu")
    optimizer = optim.NAdam([param], capturable=True, lr=0.1)
    optimizer.step()
    assert optimizer.state[param]["step"].device.type == "npu"
    plain = torch.ones(2, requires_grad=True)
    plain.grad = torch.ones(2)
    optim.NAdam([plain], lr=0.1).step()
    assert param.tolist() == pytest.approx(plain.tolist(), rel=1e-6)


def test_older_names_of_foreach_optimizers_remain():
    from mindtorch_v2.optim import _multi_tensor

    optimizer = _multi_tensor.AdamW([torch.ones(2, requires_grad=True)], lr=0.5)
    assert optimizer.defaults["foreach"] is True and isinstance(optimizer, optim.AdamW)


def test_other_parameters_can_be_swapped_in():
    param = torch.ones(2, requires_grad=True)
    param.grad = torch.ones(2)
    optimizer = optim.SGD([param], lr=0.5, momentum=0.9)
    optimizer.step()
    other = torch.zeros(2, requires_grad=True)
    other.grad = torch.ones(2)
    with optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, optimizer.state_dict()):
        optimizer.step()
    assert other.tolist() == pytest.approx([-0.95, -0.95]) and param.tolist() == [0.5, 0.5]
    assert optimizer.param_groups[0]["params"][0] is param


def launches(path):
    """The operators that the software NPU was asked to run."""
    names = [json.loads(line)["function"] for line in path.read_text().splitlines()]
    return [name for name in names if name.startswith("aclnn") and not name.endswith("GetWorkspaceSize")]


def test_the_npu_does_a_list_in_one_launch(tmp_path):
    alike = [torch.ones(3, device="npu"), torch.ones(2, 2, device="npu")]
    mixed = [torch.ones(3, device="npu"), torch.ones(2, dtype=torch.float16, device="npu")]
    torch.npu.synchronize()
    with softnpu.trace(tmp_path / "alike.jsonl"):
        torch._foreach_mul_(alike, 2)
    with softnpu.trace(tmp_path / "mixed.jsonl"):
        torch._foreach_mul_(mixed, 2)
    assert launches(tmp_path / "alike.jsonl") == ["aclnnForeachMulScalarV2"]
    assert launches(tmp_path / "mixed.jsonl") == ["aclnnInplaceMuls", "aclnnInplaceMuls"]
    assert [t.sum().item() for t in (*alike, *mixed)] == [6.0, 8.0, 6.0, 4.0]

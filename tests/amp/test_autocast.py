"""torch.autocast: dtypes, nesting, the cache of casts, threads, Functions and the NPU."""

import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn


def matrix(device="cpu", **options):
    return torch.ones(4, 4, device=device, **options)


def test_products_run_in_the_lower_precision():
    with torch.autocast("cpu"):
        assert torch.mm(matrix(), matrix()).dtype == torch.bfloat16
        assert (matrix() + matrix()).dtype == torch.float32
    assert torch.mm(matrix(), matrix()).dtype == torch.float32


def test_lists_choose_the_widest_dtype():
    with torch.autocast("cpu"):
        assert torch.cat([matrix(dtype=torch.bfloat16), matrix()]).dtype == torch.float32
        assert torch.stack([matrix(dtype=torch.bfloat16)] * 2).dtype == torch.bfloat16


def test_losses_run_in_float32():
    half = matrix(dtype=torch.bfloat16)
    with torch.autocast("cpu"):
        assert nn.functional.mse_loss(half, half).dtype == torch.float32
        assert nn.functional.cross_entropy(half, torch.tensor([0, 1, 2, 3])).dtype == torch.float32


def test_doubles_and_integers_are_left_alone():
    with torch.autocast("cpu"):
        assert torch.mm(matrix(dtype=torch.float64), matrix(dtype=torch.float64)).dtype == torch.float64
        assert torch.mm(matrix(dtype=torch.int64), matrix(dtype=torch.int64)).dtype == torch.int64


def test_inner_contexts_switch_it_off_and_on():
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            assert (matrix() @ matrix()).dtype == torch.float32
            with torch.autocast("cpu", dtype=torch.float16):
                assert (matrix() @ matrix()).dtype == torch.float16
        assert (matrix() @ matrix()).dtype == torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


def test_it_decorates_functions():
    @torch.autocast("cpu", dtype=torch.float16)
    def product(x):
        """Squares."""
        return x @ x

    assert product(matrix()).dtype == torch.float16 and product.__doc__ == "Squares."


def test_an_exception_leaves_nothing_behind():
    with pytest.raises(ZeroDivisionError), torch.autocast("cpu"):
        1 / 0  # noqa: B018
    assert not torch.is_autocast_enabled("cpu") and torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def test_parameters_are_cast_once():
    weight = matrix(requires_grad=True)
    with torch.profiler.profile() as profile, torch.autocast("cpu"):
        torch.mm(matrix(), weight)
        torch.mm(matrix(), weight)
    names = [event.name for event in profile.events()]
    assert names.count("aten::_to_copy") == 3  # both inputs, one parameter
    with torch.profiler.profile() as profile, torch.autocast("cpu", cache_enabled=False):
        torch.mm(matrix(), weight)
        torch.mm(matrix(), weight)
    assert [event.name for event in profile.events()].count("aten::_to_copy") == 4


def test_the_cache_ends_with_the_outermost_context():
    weight = matrix(requires_grad=True)
    with torch.autocast("cpu"):
        before = torch.mm(matrix(), weight)
    with torch.no_grad():
        weight.zero_()
    with torch.autocast("cpu"):
        after = torch.mm(matrix(), weight)
    assert before.sum().item() != 0 and after.sum().item() == 0


def test_gradients_come_back_in_the_parameters_dtype():
    layer = nn.Linear(4, 2)
    with torch.autocast("cpu"):
        out = layer(matrix())
    out.sum().backward()
    assert out.dtype == torch.bfloat16 and layer.weight.grad.dtype == torch.float32


def test_other_threads_are_not_concerned():
    seen = []

    def work():
        seen.append((matrix() @ matrix()).dtype)

    with torch.autocast("cpu"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_out_and_in_place_forms_are_not_cast():
    with torch.autocast("cpu"):
        out = torch.empty(4, 4)
        torch.mm(matrix(), matrix(), out=out)
        assert out.dtype == torch.float32 and matrix().add_(1).dtype == torch.float32


class Scaled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x @ x

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        Scaled.seen = (x @ x).dtype
        return grad.to(x.dtype)


def test_backward_of_a_function_runs_as_its_forward_did():
    x = matrix(requires_grad=True)
    with torch.autocast("cpu"):
        out = Scaled.apply(x)
    out.sum().backward()
    assert Scaled.seen == torch.bfloat16 and out.dtype == torch.bfloat16


def test_inputs_of_a_function_can_be_cast():
    class InFloat(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            assert not torch.is_autocast_enabled("cpu")
            return x @ x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            return grad

    with torch.autocast("cpu"):
        assert InFloat.apply(matrix(dtype=torch.bfloat16)).dtype == torch.float32


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_runs_again_as_it_ran_first(reentrant):
    seen = []

    def product(x):
        seen.append((x @ x).dtype)
        return x @ x

    x = matrix(requires_grad=True)
    with torch.autocast("cpu"):
        out = torch.utils.checkpoint.checkpoint(product, x, use_reentrant=reentrant)
    out.sum().backward()
    assert seen == [torch.bfloat16, torch.bfloat16] and x.grad.dtype == torch.float32


def test_functions_of_the_state():
    assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    assert torch.get_autocast_dtype("npu") == torch.float16
    torch.set_autocast_dtype("cpu", torch.float16)
    torch.set_autocast_enabled("cpu", True)
    try:
        assert torch.is_autocast_cpu_enabled() and (matrix() @ matrix()).dtype == torch.float16
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    assert torch.amp.is_autocast_available("npu") and not torch.amp.is_autocast_available("meta")


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'meta'"):
        torch.autocast("meta")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        mode = torch.autocast("cpu", dtype=torch.float32)
    with mode:
        assert (matrix() @ matrix()).dtype == torch.float32


def test_a_device_that_is_not_here_changes_nothing_on_those_that_are():
    with pytest.warns(UserWarning, match="CUDA is not available. Disabling"):
        absent = torch.autocast("cuda", dtype=torch.bfloat16)
    assert (absent.device, absent._enabled, absent.fast_dtype) == ("cuda", False, torch.bfloat16)
    with torch.autocast("npu"), absent, torch.autocast("cuda", enabled=False):
        assert torch.get_autocast_dtype("cuda") == torch.bfloat16 and not torch.is_autocast_enabled("cuda")
        assert (matrix("npu") @ matrix("npu")).dtype == torch.float16
    with torch.autocast("xpu", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("xpu") and torch.get_autocast_dtype("xpu") == torch.bfloat16
        assert (matrix() @ matrix()).dtype == torch.float32
    assert not torch.is_autocast_enabled("xpu") and torch.get_autocast_dtype("xpu") == torch.float16


# --- the NPU, whose lists are torch_npu's


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_npu_has_its_own_lists(dtype):
    x = matrix("npu")
    with torch.autocast("npu", dtype=dtype):
        assert (x @ x).dtype == dtype
        low = x @ x
        assert torch.exp(low).dtype == torch.float32
        assert torch.softmax(low, -1).dtype == torch.float32
        assert low.sum().dtype == torch.float32
        assert low.sum(dtype=dtype).dtype == dtype
        assert nn.functional.layer_norm(low, (4,)).dtype == torch.float32
        assert torch.addcmul(low, low, x).dtype == torch.float32
        assert torch.relu(low).dtype == dtype
        assert (matrix() @ matrix()).dtype == torch.float32  # the host's autocast is another


def test_probabilities_are_refused_on_the_npu():
    x = torch.full((4,), 0.5, device="npu")
    with (
        torch.autocast("npu"),
        pytest.raises(RuntimeError, match="binary_cross_entropy is unsafe to autocast"),
    ):
        nn.functional.binary_cross_entropy(x, x)


def test_a_network_trains_on_the_npu():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).to("npu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
    scaler = torch.npu.amp.GradScaler(init_scale=128.0)
    x, target = torch.randn(32, 8).to("npu"), torch.randint(0, 4, (32,)).to("npu")
    losses = []
    for _ in range(15):
        optimizer.zero_grad()
        with torch.npu.amp.autocast():
            loss = nn.functional.cross_entropy(model(x), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.9

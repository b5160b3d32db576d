"""Classes of tensors as libraries write them: one that logs, one that keeps two tensors, one that quantises."""

import gc
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.utils._device import DeviceContext
from mindtorch_v2.utils._mode_utils import no_dispatch
from mindtorch_v2.utils._python_dispatch import (
    TorchDispatchMode,
    get_alias_info,
    is_traceable_wrapper_subclass,
    return_and_correct_aliasing,
    transform_subclass,
)
from mindtorch_v2.utils._pytree import tree_map, tree_map_only
from mindtorch_v2.utils.module_tracker import ModuleTracker

aten = torch.ops.aten


def model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4), nn.GELU(), nn.Flatten(), nn.Linear(24, 6), nn.LayerNorm(6),
        nn.Linear(6, 3),
    )  # fmt: skip


def trained(network, data, labels, steps=3):
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(data), labels).backward()
        optimizer.step()
    return network


def with_parameters(network, make):
    for module in network.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            setattr(module, name, nn.Parameter(make(parameter.detach())))
    return network


@pytest.fixture
def batch():
    torch.manual_seed(1)
    return torch.randn(5, 2, 8), torch.randint(0, 3, (5,))


class Logging(torch.Tensor):
    """Keeps its tensor in a slot, as PyTorch's own does."""

    __slots__ = ["elem"]
    __torch_function__ = torch._C._disabled_torch_function_impl
    seen = []

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(
            cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(), dtype=elem.dtype,
            layout=elem.layout, device=elem.device, requires_grad=requires_grad,
        )  # fmt: skip
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)
        args, kwargs = tree_map_only(cls, lambda t: t.elem, (args, kwargs or {}))
        return tree_map(lambda t: cls(t) if isinstance(t, torch.Tensor) else t, func(*args, **kwargs))


def test_a_class_that_logs_trains_and_sees_pytorchs_operators(batch):
    wanted = trained(model(), *batch)
    Logging.seen.clear()
    got = trained(with_parameters(model(), Logging), *batch)
    for a, b in zip(got.parameters(), wanted.parameters(), strict=True):
        assert torch.allclose(a.elem, b, atol=1e-6)
    names = set(map(str, Logging.seen))
    assert {
        "aten.convolution.default", "aten.convolution_backward.default", "aten.native_group_norm.default",
        "aten.native_group_norm_backward.default", "aten.native_layer_norm_backward.default", "aten.gelu.default",
        "aten.addmm.default", "aten.sum.dim_IntList",
    } <= names  # fmt: skip
    assert not any(
        name.startswith(("aten._convolve", "aten._layer_norm", "aten._group_norm")) for name in names
    )


class Pair(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, a, b):
        made = torch.Tensor._make_wrapper_subclass(
            cls, a.size(), strides=a.stride(), dtype=a.dtype, device=a.device
        )
        made.a, made.b = a, b
        return made

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, meta, outer_size, outer_stride):
        return Pair(inner["a"], inner["b"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        results = [
            func(*given[0], **given[1])
            for given in (
                tree_map_only(Pair, lambda t, name=name: getattr(t, name), (args, kwargs))
                for name in ("a", "b")
            )
        ]
        out = tree_map(lambda a, b: Pair(a, b) if isinstance(a, torch.Tensor) else a, *results)
        return return_and_correct_aliasing(func, args, kwargs, out)


def test_a_class_of_two_tensors_trains_both(batch):
    data, labels = batch
    wanted = [trained(model(), data * scale, labels) for scale in (1, 2)]
    network = with_parameters(model(), lambda t: Pair(t.clone(), t.clone()))
    trained(network, Pair(data, data * 2), labels)
    for got, first, second in zip(network.parameters(), *(w.parameters() for w in wanted), strict=True):
        assert type(got) is Pair
        assert torch.allclose(got.a, first, atol=1e-6) and torch.allclose(got.b, second, atol=1e-6)


def test_a_wrapper_is_taken_apart_and_put_together():
    pair = Pair(torch.ones(2), torch.zeros(2))
    assert is_traceable_wrapper_subclass(pair) and not is_traceable_wrapper_subclass(pair.a)
    doubled = transform_subclass(pair, lambda name, tensor: tensor + (name == "b"))
    assert doubled.a.tolist() == [1.0, 1.0] and doubled.b.tolist() == [1.0, 1.0]


def test_what_is_written_is_returned_as_itself():
    pair = Pair(torch.ones(2), torch.zeros(2))
    assert pair.add_(1) is pair and pair.b.tolist() == [1.0, 1.0]
    info = get_alias_info(aten.add_.Tensor)
    assert info.args[0].is_write and info.outs[0].alias_set == info.args[0].alias_set


class Quantised(torch.Tensor):
    """Eight-bit numbers and a scale, which stand for the weight; gradients are plain."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, codes, scale, dtype):
        made = torch.Tensor._make_wrapper_subclass(cls, codes.size(), dtype=dtype, device=codes.device)
        made.codes, made.scale = codes, scale
        return made

    @classmethod
    def of(cls, tensor):
        scale = tensor.abs().amax().clamp(min=1e-8) / 127
        return cls((tensor / scale).round().to(torch.int8), scale, tensor.dtype)

    def plain(self):
        return self.codes.to(self.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func in (aten.detach.default, aten.alias.default):
            return cls(args[0].codes, args[0].scale, args[0].dtype)
        if func._schema.is_mutable and isinstance(args[0], cls):
            plain = args[0].plain()
            func(plain, *tree_map_only(cls, cls.plain, args[1:]), **tree_map_only(cls, cls.plain, kwargs))
            made = cls.of(plain)
            args[0].codes.copy_(made.codes)
            args[0].scale.copy_(made.scale)
            return args[0]
        args, kwargs = tree_map_only(cls, cls.plain, (args, kwargs))
        return func(*args, **kwargs)


def test_a_class_that_quantises_trains_what_is_not_quantised(batch):
    data, labels = batch
    network = model()
    frozen = Quantised.of(network[4].weight.detach())
    network[4].weight = nn.Parameter(frozen, requires_grad=False)
    rest = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.SGD(rest, lr=0.1)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(data), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and type(network[4].weight) is Quantised
    assert torch.equal(network[4].weight.codes, frozen.codes)
    frozen.mul_(0.5)
    assert torch.allclose(frozen.plain(), network[4].weight.plain())


def test_tensors_without_memory_do_not_reach_a_kernel():
    wrapper = Logging(torch.ones(2, 2))
    with no_dispatch(), pytest.raises(RuntimeError, match="without memory"):
        wrapper + 1
    with pytest.raises(RuntimeError, match="not supported for tensor subclasses"):
        wrapper.numpy()
    with pytest.raises(RuntimeError, match="doesn't have storage"):
        torch.utils.dlpack.to_dlpack(wrapper)
    assert wrapper.tolist() == [[1.0, 1.0], [1.0, 1.0]] and wrapper.sum().item() == 4.0
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv(Logging(torch.zeros(2, 2)))


def test_slots_live_as_long_as_the_tensor():
    x = Logging(torch.ones(2), requires_grad=True)
    y = (x * 2).exp()
    del x
    gc.collect()
    y.sum().backward()
    assert y.elem.tolist() == pytest.approx([7.389056, 7.389056])


def test_a_wrapper_goes_when_nobody_holds_it():
    inner = torch.ones(2)
    kept = weakref.ref(inner)
    wrapper = Pair(inner, torch.zeros(2))
    wrapper.itself = wrapper
    del inner, wrapper
    gc.collect()
    assert kept() is None


def test_a_mode_sees_what_a_program_makes_of_numbers_and_reads():
    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names = []
    with Seen():
        x = torch.tensor([1.0, 2.0])
        assert (2 - x).sum().item() == 1.0 and (2**x).tolist() == [2.0, 4.0]
        torch.linalg.cholesky(torch.eye(2))
    assert names[:6] == [
        "aten.lift_fresh.default", "aten.rsub.Scalar", "aten.sum.default", "aten._local_scalar_dense.default",
        "aten.pow.Scalar", "aten.eye.default",
    ]  # fmt: skip
    assert names[6:] == ["aten.linalg_cholesky_ex.default", "aten._linalg_check_errors.default"]


def test_a_device_context_says_where_tensors_are_made():
    with DeviceContext("npu"):
        assert torch.ones(2).device.type == "npu" and torch.tensor([1]).device.type == "npu"
        assert torch.ones(2, device="cpu").device.type == "cpu"
    assert torch.ones(2).device.type == "cpu"


def test_modules_are_known_while_they_run_forward_and_backward():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, x):
            y = self.inner(x * 1)
            y.register_hook(lambda grad: parents.append(set(tracker.parents)))
            return y * 2

    parents = []
    with ModuleTracker() as tracker:
        handle = nn.modules.module.register_module_forward_hook(
            lambda *args: parents.append(set(tracker.parents)), always_call=True
        )
        Net()(torch.ones(1, 2, requires_grad=True)).sum().backward()
        handle.remove()
    assert parents[0] == {"Global", "Net"} and parents[-1] >= {"Global", "Net"}
    assert {"Global", "Net"} <= parents[-1]

"""Modes that see every operator of a thread: ``TorchDispatchMode``."""

import threading

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import library
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode


class Seen(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_operators_and_factories():
    with Seen() as mode:
        x = torch.zeros(2, 3)
        y = x + torch.ones(3)
        y.mul_(2)
        y.sum()
    assert mode.names == [
        "aten.zeros.default", "aten.ones.default", "aten.add.Tensor", "aten.mul_.Tensor", "aten.sum.default",
    ]  # fmt: skip
    assert y.tolist() == [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]


def test_gradients_under_a_mode_are_those_without():
    x = torch.randn(4, 3, requires_grad=True)
    (wanted,) = torch.autograd.grad(x.exp().mul(2).sum(), x)
    with Seen() as mode:
        (got,) = torch.autograd.grad(x.exp().mul(2).sum(), x)
    assert torch.equal(got, wanted)
    assert "aten.exp.default" in mode.names


def test_an_in_place_write_through_a_view_keeps_its_history_under_a_mode():
    def run():
        a = torch.ones(3, requires_grad=True)
        b = a * 2
        b[0].mul_(5)
        b.sum().backward()
        return a.grad.tolist()

    with Seen():
        assert run() == [10.0, 2.0, 2.0]


def test_modes_nest_and_the_innermost_is_asked_first():
    with Seen() as outer, Seen() as inner:
        assert _get_current_dispatch_mode() is inner
        torch.ones(2).neg()
    assert outer.names == inner.names == ["aten.ones.default", "aten.neg.default"]
    assert _get_current_dispatch_mode() is None


def test_a_mode_is_of_its_thread():
    with Seen() as mode:
        other = threading.Thread(target=lambda: torch.ones(2) + 1)
        other.start()
        other.join()
    assert mode.names == []


def test_a_mode_may_change_results():
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is torch.ops.aten.add.Tensor else result

    x = torch.ones(2)
    with Doubled():
        assert (x + x).tolist() == [4.0, 4.0]
    assert (x + x).tolist() == [2.0, 2.0]


def test_a_mode_and_the_profiler_see_the_same_operators():
    with torch.profiler.profile() as prof, Seen():
        torch.ones(3).exp()
    with Seen() as mode, torch.profiler.profile():
        torch.ones(3).exp()
    assert mode.names == ["aten.ones.default", "aten.exp.default"]
    assert "aten::exp" in {event.name for event in prof.events()}


def test_operators_of_programs_are_seen_as_one_and_have_fake_results():
    import numpy as np

    from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode, UnsupportedOperatorException
    from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

    @library.custom_op("handlers::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    with Seen() as mode:
        sine(torch.ones(2))
    assert mode.names == ["aten.ones.default", "handlers.sine.default"]
    with FakeTensorMode(), pytest.raises(UnsupportedOperatorException, match="handlers.sine.default"):
        sine(torch.ones(2))
    sine.register_fake(torch.empty_like)
    with FakeTensorMode():
        assert sine(torch.ones(2, 3)).shape == (2, 3)
    traced = make_fx(lambda x: sine(x) * 2, tracing_mode="fake")(torch.ones(2))
    assert "torch.ops.handlers.sine.default(x_1)" in traced.code
    assert traced(torch.zeros(2)).tolist() == [0.0, 0.0]
